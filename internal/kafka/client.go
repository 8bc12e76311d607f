package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
)

// Observer is told of every request: its API, its outcome's class ("" for
// success) and how long it took. It is called from many goroutines.
type Observer func(api string, class connect.Class, took time.Duration)

// Client reads from one cluster. It is safe for concurrent use. It connects
// when first used, outlives every failure and never creates a topic.
type Client struct {
	connector       *connect.Connector
	observe         Observer
	requestTimeout  time.Duration
	retryAfter      time.Duration
	softwareVersion string
	chunk           int

	mu      sync.Mutex
	seeds   []*conn
	brokers map[int32]*conn
	next    int
	// controller is what Metadata told last.
	controller int32
	// parent is the client that this one stands beside, children those beside it.
	parent   *Client
	children []*Client
}

// Option changes a Client.
type Option func(*Client)

// WithObserver sets who is told of every request.
func WithObserver(o Observer) Option { return func(c *Client) { c.observe = o } }

// WithRetryAfter sets for how long a broker that failed to answer is not asked
// again (default 5 s).
func WithRetryAfter(d time.Duration) Option { return func(c *Client) { c.retryAfter = d } }

// WithRequestTimeout sets the deadline of one request (default 10 s).
func WithRequestTimeout(d time.Duration) Option { return func(c *Client) { c.requestTimeout = d } }

// WithGroupsPerRequest sets how many groups one request asks for (default 500).
func WithGroupsPerRequest(n int) Option { return func(c *Client) { c.chunk = n } }

// New makes a client; it connects when first used.
func New(connector *connect.Connector, opts ...Option) *Client {
	c := &Client{
		connector:       connector,
		observe:         func(string, connect.Class, time.Duration) {},
		requestTimeout:  10 * time.Second,
		retryAfter:      5 * time.Second,
		softwareVersion: "dev",
		chunk:           500,
		brokers:         map[int32]*conn{},
		controller:      -1,
	}
	for _, o := range opts {
		o(c)
	}
	for _, a := range connector.Addresses() {
		c.seeds = append(c.seeds, &conn{id: -1, addr: a.String(), c: c})
	}
	return c
}

// Beside returns a client with connections of its own to the brokers that this
// one learns of. A broker answers the requests of a connection one after
// another: what takes long (log directories of thousands of partitions) must
// not hold up what is read every few seconds. It is closed with this one.
func (c *Client) Beside() *Client {
	b := New(c.connector, WithObserver(c.observe), WithRequestTimeout(c.requestTimeout), WithRetryAfter(c.retryAfter), WithGroupsPerRequest(c.chunk))
	b.parent = c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.children = append(c.children, b)
	return b
}

// Close closes all connections; the client cannot be used any more.
func (c *Client) Close() {
	c.mu.Lock()
	conns := slices.Clone(c.seeds)
	for _, b := range c.brokers {
		conns = append(conns, b)
	}
	children := slices.Clone(c.children)
	c.mu.Unlock()
	for _, b := range children {
		b.Close()
	}
	for _, b := range conns {
		b.close()
	}
}

// learn takes over controller and brokers' addresses from a Metadata answer.
func (c *Client) learn(controller int32, brokers []*sarama.Broker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.children {
		b.learn(controller, brokers)
	}
	c.controller = controller
	alive := make(map[int32]bool, len(brokers))
	for _, b := range brokers {
		alive[b.ID()] = true
		if old := c.brokers[b.ID()]; old == nil || old.addr != b.Addr() {
			if old != nil {
				old.close()
			}
			c.brokers[b.ID()] = &conn{id: b.ID(), addr: b.Addr(), c: c}
		}
	}
	for id, b := range c.brokers {
		if !alive[id] {
			delete(c.brokers, id)
			b.close()
		}
	}
}

// broker returns the connection to a broker, nil if it is not alive.
func (c *Client) broker(id int32) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.brokers[id]
}

// BrokerIDs returns the ids of the brokers that the cluster lists, sorted.
func (c *Client) BrokerIDs() []int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]int32, 0, len(c.brokers))
	for id := range c.brokers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// on runs one request on a broker.
func on[T any](ctx context.Context, c *Client, id int32, a api, f func(*sarama.Broker) (T, error)) (T, error) {
	b := c.broker(id)
	if b == nil {
		var none T
		return none, &BrokerDownError{Broker: id}
	}
	return ask(ctx, b, a, f)
}

// BrokerDownError says that the cluster does not list the broker as alive.
type BrokerDownError struct{ Broker int32 }

func (e *BrokerDownError) Error() string {
	return fmt.Sprintf("broker %d is not alive: the cluster does not list it", e.Broker)
}

// whoever runs a request that every broker can answer on one after another
// until one answers.
func whoever[T any](ctx context.Context, c *Client, a api, f func(*sarama.Broker) (T, error)) (T, error) {
	return oneOf(ctx, c.candidates(), func(ctx context.Context, b *conn) (T, error) { return ask(ctx, b, a, f) })
}

// candidates lists whom to ask what everybody knows: brokers first, each time
// starting with another, then the bootstrap servers; those whose last request
// failed come last.
func (c *Client) candidates() []*conn {
	c.mu.Lock()
	ids := make([]int32, 0, len(c.brokers))
	for id := range c.brokers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var conns []*conn
	for i := range ids {
		conns = append(conns, c.brokers[ids[(c.next+i)%len(ids)]])
	}
	c.next++
	conns = append(conns, c.seeds...)
	c.mu.Unlock()
	good := make([]*conn, 0, len(conns))
	var bad []*conn
	for _, b := range conns {
		if b.failing() {
			bad = append(bad, b)
		} else {
			good = append(good, b)
		}
	}
	return append(good, bad...)
}

// oneOf asks one after another until one answers.
func oneOf[T any](ctx context.Context, conns []*conn, ask func(context.Context, *conn) (T, error)) (T, error) {
	var none T
	var errs []error
	for i, b := range conns {
		res, err := func() (T, error) {
			ctx, cancel := shareOf(ctx, i == len(conns)-1)
			defer cancel()
			return ask(ctx, b)
		}()
		if err == nil {
			return res, nil
		}
		var k sarama.KError
		var e *kerr.Error
		if errors.As(err, &k) || errors.As(err, &e) {
			return none, err // the broker answered: another would say the same
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return none, &NoBrokerError{Errs: errs}
}

// shareOf leaves half of the time to those who are asked next: one silent
// broker must not use all of it up.
func shareOf(ctx context.Context, last bool) (context.Context, context.CancelFunc) {
	d, ok := ctx.Deadline()
	if !ok || last {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(d)/2)
}

// NoBrokerError says that no broker and no bootstrap server answered.
type NoBrokerError struct{ Errs []error }

func (e *NoBrokerError) Error() string {
	if len(e.Errs) == 0 {
		return "no broker to ask"
	}
	return fmt.Sprintf("no broker answered (%d tried); the last: %v", len(e.Errs), e.Errs[len(e.Errs)-1])
}

// Unwrap returns what each of them answered.
func (e *NoBrokerError) Unwrap() []error { return e.Errs }

// each runs f for every broker in parallel and returns the failures by broker.
func each(brokers []int32, f func(id int32) error) map[int32]error {
	var mu sync.Mutex
	failed := map[int32]error{}
	var wg sync.WaitGroup
	for _, id := range brokers {
		wg.Go(func() {
			if err := f(id); err != nil {
				mu.Lock()
				failed[id] = err
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return failed
}
