package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
)

// conn is the connection to one broker. It is opened by the first request and
// again after a failure. After a failed connection or a missing answer it
// refuses further requests for a while with the same error: within one round
// of collection a dead broker costs one deadline, not one for every request.
type conn struct {
	id   int32
	addr string
	c    *Client

	// mu is never held while anything waits for the network.
	mu   sync.Mutex
	link *link
	// versions are those of the last connection: they outlive it.
	versions map[int16]versionRange
	// failedAt and failure are the last failure of the transport.
	failedAt time.Time
	failure  error
	closed   bool
	// kgo is for what sarama lacks, passing for what the broker passes on; nil
	// until needed.
	kgo, passing *kgo.Client
}

// fair tells whether a broker that did not answer had time enough: who had
// hardly any left of its round says nothing about the broker.
func (c *Client) fair(waited time.Duration) bool {
	return waited >= min(c.requestTimeout/2, time.Second)
}

// ask runs one request on the broker, within ctx and the request timeout.
func ask[T any](ctx context.Context, c *conn, a api, request func(*sarama.Broker) (T, error)) (T, error) {
	var none T
	if err := c.recentFailure(); err != nil {
		return none, err
	}
	limit := c.c.requestTimeout
	if d, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(d))
	}
	if limit <= 0 {
		return none, fmt.Errorf("%s on %s: no time left in this round: %w", a.name, c, context.DeadlineExceeded)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		res T
		err error
	}
	start := time.Now()
	// sarama's calls take no context: the request runs beside, and what comes
	// too late ends in the channel, where nobody sees it.
	done := make(chan answer, 1)
	go func() {
		res, err := exchange(ctx, c, a, request)
		done <- answer{res, err}
	}()
	var got answer
	select {
	case got = <-done:
	case <-ctx.Done():
		got.err = ctx.Err()
	}
	took := time.Since(start)
	if errors.Is(got.err, context.DeadlineExceeded) {
		got.err = fmt.Errorf("no answer within %s: %w", took.Round(time.Millisecond), context.DeadlineExceeded)
		if c.c.fair(took) {
			c.fail(got.err)
		}
	}
	c.c.observe(a.name, Classify(got.err), took)
	if got.err != nil {
		return none, fmt.Errorf("%s on %s: %w", a.name, c, got.err)
	}
	return got.res, nil
}

// exchange opens the connection if needed, checks the API's versions and sends.
func exchange[T any](ctx context.Context, c *conn, a api, request func(*sarama.Broker) (T, error)) (T, error) {
	var none T
	for {
		l, reused, err := c.open(ctx)
		if err != nil {
			return none, err
		}
		if err := a.check(c.id, l.versions); err != nil {
			return none, err
		}
		res, err := request(l.broker)
		if err == nil || !isTransport(err) {
			return res, err
		}
		// A connection that was idle may have been closed by the broker
		// (connections.max.idle.ms) or by its restart: that is no failure of the
		// broker. All requests of this package are reads, so once more is safe.
		again := reused && Classify(err) != connect.ClassTimeout
		c.drop(l, err, !again)
		if !again {
			return none, err
		}
		if err := c.recentFailure(); err != nil {
			return none, err
		}
	}
}

// open returns the live connection, making it first if there is none. reused
// tells that it was there before.
func (c *conn) open(ctx context.Context) (l *link, reused bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, false, fmt.Errorf("the client is closed: %w", net.ErrClosed)
	}
	if c.link == nil {
		c.link = newLink()
		go c.connect(c.link)
	}
	l = c.link
	c.mu.Unlock()
	select {
	case <-l.ready:
		return l, true, l.err
	default:
	}
	select {
	case <-l.ready:
		return l, false, l.err
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// connect makes the connection and tells those who wait for it.
func (c *conn) connect(l *link) {
	l.broker, l.versions, l.err = c.dial(&l.socket)
	c.mu.Lock()
	switch {
	case c.link != l: // given up meanwhile
		l.socket.close()
		if l.broker != nil {
			go closeQuietly(l.broker)
		}
	case l.err != nil:
		c.link, c.failedAt, c.failure = nil, time.Now(), l.err
	default:
		c.versions, c.failure = l.versions, nil
	}
	c.mu.Unlock()
	close(l.ready)
}

func (c *conn) dial(s *socket) (*sarama.Broker, map[int16]versionRange, error) {
	// A fresh configuration for each connection, so that changed secrets and
	// certificates are used without a restart.
	conf, err := c.c.connector.Sarama()
	if err != nil {
		return nil, nil, err
	}
	s.dialer = conf.Net.Proxy.Dialer
	conf.Net.Proxy.Dialer = s
	b := sarama.NewBroker(c.addr)
	if err := b.Open(conf); err != nil {
		return nil, nil, fmt.Errorf("connecting: %w", err)
	}
	// Connected waits for the end of dialling and of the SASL exchange.
	if ok, err := b.Connected(); !ok || err != nil {
		if err == nil {
			err = sarama.ErrNotConnected
		}
		closeQuietly(b)
		return nil, nil, fmt.Errorf("connecting: %w", err)
	}
	start := time.Now()
	res, err := b.ApiVersions(&sarama.ApiVersionsRequest{Version: apiAPIVersions.max, ClientSoftwareName: "kafka-steward", ClientSoftwareVersion: c.c.softwareVersion})
	if err == nil && res.ErrorCode != 0 {
		err = sarama.KError(res.ErrorCode)
	}
	c.c.observe(apiAPIVersions.name, Classify(err), time.Since(start))
	if err != nil {
		closeQuietly(b)
		return nil, nil, fmt.Errorf("asking for API versions: %w", err)
	}
	versions := make(map[int16]versionRange, len(res.ApiKeys))
	for _, k := range res.ApiKeys {
		versions[k.ApiKey] = versionRange{k.MinVersion, k.MaxVersion}
	}
	return b, versions, nil
}

// recentFailure returns the last transport failure while it is fresh.
func (c *conn) recentFailure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil || time.Since(c.failedAt) >= c.c.retryAfter {
		return nil
	}
	return &RecentFailureError{Broker: c.id, At: c.failedAt, Err: c.failure}
}

// failing tells whether the last thing known of the broker is a failure.
func (c *conn) failing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure != nil
}

// fail gives the connection up, made or being made, and keeps why.
func (c *conn) fail(cause error) {
	c.mu.Lock()
	l := c.link
	c.link, c.failedAt, c.failure = nil, time.Now(), cause
	c.mu.Unlock()
	l.close()
}

// drop gives one connection up; failed tells whether that speaks against the broker.
func (c *conn) drop(l *link, cause error, failed bool) {
	c.mu.Lock()
	if c.link == l {
		c.link = nil
		if failed {
			c.failedAt, c.failure = time.Now(), cause
		}
	}
	c.mu.Unlock()
	l.close()
}

// close ends the connection for good.
func (c *conn) close() {
	c.mu.Lock()
	l, clients := c.link, []*kgo.Client{c.kgo, c.passing}
	c.link, c.kgo, c.passing, c.closed = nil, nil, nil, true
	c.mu.Unlock()
	l.close()
	for _, k := range clients {
		if k != nil {
			go k.Close() // it may wait for a dial
		}
	}
}

// lastVersions returns what the broker last said it accepts; nil before the
// first connection.
func (c *conn) lastVersions() map[int16]versionRange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.versions
}

func (c *conn) String() string {
	if c.id < 0 {
		return "bootstrap server " + c.addr
	}
	return fmt.Sprintf("broker %d (%s)", c.id, c.addr)
}

// RecentFailureError repeats a broker's last failure without asking it again.
type RecentFailureError struct {
	Broker int32
	At     time.Time
	Err    error
}

func (e *RecentFailureError) Error() string {
	return fmt.Sprintf("%s did not answer %s ago and is not asked again yet: %v", brokerName(e.Broker), time.Since(e.At).Round(100*time.Millisecond), e.Err)
}

func (e *RecentFailureError) Unwrap() error { return e.Err }

// isTransport tells errors of the connection from errors that a broker answered.
func isTransport(err error) bool {
	var k sarama.KError
	if errors.As(err, &k) {
		return false
	}
	switch Classify(err) {
	case connect.ClassUnsupported, connect.ClassACL:
		return false
	}
	return true
}
