package fake

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
)

// Cluster is a running fake cluster. All methods may be called from any
// goroutine.
type Cluster struct {
	opts    options
	brokers map[int32]*listener // fixed after New

	mu      sync.RWMutex // guards state and changed
	state   *State
	changed chan struct{} // closed and replaced on each Update

	ctlMu    sync.RWMutex // guards versions and rules
	versions versionTable
	rules    []*rule

	cache cache
	log   requestLog

	done chan struct{}
	wg   sync.WaitGroup
	once sync.Once
}

type options struct {
	brokers  int
	ipv6     bool
	state    *State
	users    map[string]string
	tls      *tls.Config
	logLimit int
}

// Option configures New.
type Option func(*options)

// WithBrokers sets the number of brokers (default 3). WithState overrides it.
func WithBrokers(n int) Option { return func(o *options) { o.brokers = n } }

// WithState starts from s: one listener for each of its brokers. The Cluster
// owns s from then on and overwrites the brokers' hosts and ports.
func WithState(s *State) Option { return func(o *options) { o.state = s } }

// WithIPv6 listens on and advertises ::1 in place of 127.0.0.1.
func WithIPv6() Option { return func(o *options) { o.ipv6 = true } }

// WithUsers demands SASL/PLAIN with one of these users (name to password)
// before any request but ApiVersions.
func WithUsers(users map[string]string) Option { return func(o *options) { o.users = users } }

// WithTLS serves TLS with the given server configuration.
func WithTLS(config *tls.Config) Option { return func(o *options) { o.tls = config } }

// WithRequestLog sets how many requests are kept for Requests (default
// 100,000); later ones are only counted. 0 keeps none.
func WithRequestLog(limit int) Option { return func(o *options) { o.logLimit = limit } }

// New starts a cluster; the caller closes it. It fails when a listener cannot
// be opened.
func New(opts ...Option) (*Cluster, error) {
	o := options{brokers: 3, logLimit: 100_000}
	for _, opt := range opts {
		opt(&o)
	}
	if o.state == nil {
		o.state = NewState(o.brokers)
	}
	c := &Cluster{
		opts: o, state: o.state, changed: make(chan struct{}), done: make(chan struct{}),
		brokers: make(map[int32]*listener, len(o.state.Brokers)), versions: newVersionTable(),
	}
	c.cache.init()
	c.log.init(o.logLimit)
	for id, b := range o.state.Brokers {
		l, err := c.listen(id)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.brokers[id] = l
		b.Host, b.Port = l.host, int32(l.port)
	}
	c.state.reindex()
	return c, nil
}

// TB is what Start needs of a testing.TB.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Start is New for tests: a failure is fatal, the end of the test closes the
// cluster.
func Start(t TB, opts ...Option) *Cluster {
	t.Helper()
	c, err := New(opts...)
	if err != nil {
		t.Fatalf("fake.Start: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// Close closes all listeners and connections and waits for their goroutines.
func (c *Cluster) Close() {
	c.once.Do(func() {
		close(c.done)
		for _, b := range c.brokers {
			b.stop()
		}
	})
	c.wg.Wait()
}

// Update changes the state under its lock; fn must not keep s. Cached
// responses are forgotten and waiting fetches look again.
func (c *Cluster) Update(fn func(s *State)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(c.state)
	c.state.reindex()
	c.touch()
}

// View reads the state under its lock; fn must neither change nor keep s.
func (c *Cluster) View(fn func(s *State)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	fn(c.state)
}

// touch forgets what was derived from the state; c.mu is held for writing.
func (c *Cluster) touch() {
	c.cache.clear()
	close(c.changed)
	c.changed = make(chan struct{})
}

// Addrs are the "host:port" of all brokers ("[::1]:port" for IPv6), in order
// of their ids.
func (c *Cluster) Addrs() []string {
	ids := make([]int32, 0, len(c.brokers))
	for id := range c.brokers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	addrs := make([]string, len(ids))
	for i, id := range ids {
		addrs[i] = c.brokers[id].addr()
	}
	return addrs
}

// Bootstrap is Addrs as one comma-separated list.
func (c *Cluster) Bootstrap() string { return strings.Join(c.Addrs(), ",") }

// Addr is the "host:port" of one broker, "" when there is none.
func (c *Cluster) Addr(broker int32) string {
	if b := c.brokers[broker]; b != nil {
		return b.addr()
	}
	return ""
}

// StopBroker closes a broker's listener and connections: new connections are
// refused. The state is not changed (see [State.KillBroker]).
func (c *Cluster) StopBroker(broker int32) {
	if b := c.brokers[broker]; b != nil {
		b.stop()
	}
}

// StartBroker opens a stopped broker's listener again, on the same port. It
// fails when another process has taken the port.
func (c *Cluster) StartBroker(broker int32) error {
	b := c.brokers[broker]
	if b == nil {
		return fmt.Errorf("fake: start broker %d: the cluster has no such listener", broker)
	}
	return b.start()
}

// DropConnections closes a broker's open connections; new ones are accepted.
func (c *Cluster) DropConnections(broker int32) {
	if b := c.brokers[broker]; b != nil {
		b.dropConns()
	}
}

// BlackHole makes a broker accept connections and requests without ever
// answering, until Restore. Requests are still recorded (and a TLS handshake is
// still done).
func (c *Cluster) BlackHole(broker int32) {
	if b := c.brokers[broker]; b != nil {
		b.setHole(true)
	}
}

// Restore ends BlackHole: what was held back is answered now.
func (c *Cluster) Restore(broker int32) {
	if b := c.brokers[broker]; b != nil {
		b.setHole(false)
	}
}

// listen opens a broker's listener on a free port.
func (c *Cluster) listen(id int32) (*listener, error) {
	b := &listener{c: c, id: id, host: "127.0.0.1", conns: map[net.Conn]struct{}{}}
	if c.opts.ipv6 {
		b.host = "::1"
	}
	if err := b.start(); err != nil {
		return nil, err
	}
	return b, nil
}
