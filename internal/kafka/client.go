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
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

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

	kgoMu sync.Mutex
	kgo   *kgo.Client
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
	}
	for _, o := range opts {
		o(c)
	}
	for _, a := range connector.Addresses() {
		c.seeds = append(c.seeds, &conn{id: -1, addr: a.String(), c: c})
	}
	return c
}

// Close closes all connections; the client cannot be used any more.
func (c *Client) Close() {
	c.mu.Lock()
	conns := slices.Clone(c.seeds)
	for _, b := range c.brokers {
		conns = append(conns, b)
	}
	c.mu.Unlock()
	for _, b := range conns {
		b.close()
	}
	c.kgoMu.Lock()
	defer c.kgoMu.Unlock()
	if c.kgo != nil {
		c.kgo.Close()
		c.kgo = nil
	}
}

// learn takes over the brokers' addresses from a Metadata answer.
func (c *Client) learn(brokers []*sarama.Broker) {
	c.mu.Lock()
	defer c.mu.Unlock()
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

// franz returns the franz-go client for what sarama lacks, made when first needed.
func (c *Client) franz() (*kgo.Client, error) {
	c.kgoMu.Lock()
	defer c.kgoMu.Unlock()
	if c.kgo != nil {
		return c.kgo, nil
	}
	opts, err := c.connector.Kgo()
	if err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(append(opts, kgo.RequestRetries(1), kgo.RetryTimeout(c.requestTimeout))...)
	if err != nil {
		return nil, err
	}
	c.kgo = cl
	return cl, nil
}

// raw sends a kmsg request to one broker, or to the controller or any other
// for broker < 0.
func raw[T kmsg.Response](ctx context.Context, c *Client, broker int32, req kmsg.Request) (T, error) {
	var none T
	name := kmsg.NameForKey(req.Key())
	var b *conn
	if broker >= 0 {
		if b = c.broker(broker); b == nil {
			return none, &BrokerDownError{Broker: broker}
		}
		if err := b.recentFailure(); err != nil {
			return none, err
		}
	}
	cl, err := c.franz()
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.requestTimeout)
	defer cancel()
	start := time.Now()
	var res kmsg.Response
	if b == nil {
		res, err = cl.Request(ctx, req)
	} else {
		// Once more if an idle connection turns out to be closed.
		res, err = cl.Broker(int(broker)).RetriableRequest(ctx, req)
	}
	took := time.Since(start)
	class := Classify(err)
	if b != nil && class == connect.ClassTimeout && took >= min(c.requestTimeout/2, time.Second) {
		b.fail(err)
	}
	c.observe(name, class, took)
	if err != nil {
		return none, fmt.Errorf("%s on %s: %w", name, brokerName(broker), err)
	}
	return res.(T), nil
}

// rawWhoever sends a kmsg request that is meant for the controller. In KRaft
// mode every broker passes it on, so that none is needed in particular.
func rawWhoever[T kmsg.Response](ctx context.Context, c *Client, req kmsg.Request) (T, error) {
	if !c.offersQuorum() {
		return raw[T](ctx, c, -1, req)
	}
	brokers := slices.DeleteFunc(c.candidates(), func(b *conn) bool { return b.id < 0 })
	return oneOf(ctx, brokers, func(ctx context.Context, b *conn) (T, error) { return raw[T](ctx, c, b.id, req) })
}
