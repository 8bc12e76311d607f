package kafkatest

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
)

// Off reports whether the tests that need Kafka are switched off, and why. It
// may be called once the test flags have been parsed.
func Off() (reason string, off bool) {
	switch {
	case os.Getenv("KAFKATEST") == "off":
		return "KAFKATEST=off: no real Kafka", true
	case testing.Short():
		return "-short: no real Kafka", true
	}
	return "", false
}

// SkipIfOff skips the test when the tests that need Kafka are switched off.
func SkipIfOff(t testing.TB) {
	t.Helper()
	if reason, off := Off(); off {
		t.Skip(reason)
	}
}

// Shared returns the cluster of that mode which all tests share: those of every
// package under "testbed run", else those of this process. It is started by the
// first test that asks, has three brokers with the TLS listeners, unsecured
// OAUTHBEARER and, where the machine has IPv6, the IPv6 listener, and lives at least as long as this process.
//
// A test must leave it as it found it and use names of its own (Topic,
// UniqueName); methods that stop brokers return ErrShared.
func Shared(t testing.TB, mode Mode) *Cluster {
	t.Helper()
	SkipIfOff(t)
	c, err := shared.get(t.Context(), mode)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Private starts a cluster for this test alone and stops it at the end of the
// test.
func Private(t testing.TB, opts Options) *Cluster {
	t.Helper()
	SkipIfOff(t)
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	c, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// sharedOptions are the options of every shared cluster.
func sharedOptions(mode Mode, log *slog.Logger) Options {
	return Options{Mode: mode, TLS: true, OAuth: &OAuth{}, IPv6: HasIPv6(), Log: log}
}

// shared is this process's view of the shared clusters.
var shared = &sharedClusters{entries: map[Mode]*sharedEntry{}}

type sharedClusters struct {
	mu      sync.Mutex
	entries map[Mode]*sharedEntry

	leaseMu sync.Mutex
	lease   *leaseClient
}

// sharedEntry is one mode's cluster, or the reason why there is none: a failed
// start is not tried again for every further test.
type sharedEntry struct {
	done    chan struct{}
	cluster *Cluster
	err     error
}

// get returns the shared cluster of the mode, starting or attaching to it
// first if need be.
func (s *sharedClusters) get(ctx context.Context, mode Mode) (*Cluster, error) {
	s.mu.Lock()
	e := s.entries[mode]
	if e == nil {
		e = &sharedEntry{done: make(chan struct{})}
		s.entries[mode] = e
		// Not ctx: the cluster outlives the test that asks first.
		go func() {
			defer close(e.done)
			e.cluster, e.err = s.open(context.Background(), mode)
		}()
	}
	s.mu.Unlock()
	select {
	case <-e.done:
		return e.cluster, e.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *sharedClusters) open(ctx context.Context, mode Mode) (*Cluster, error) {
	dir := os.Getenv(SharedDirEnv)
	if dir == "" {
		// Nobody stops it: the reaper does when this process ends.
		c, err := Start(ctx, sharedOptions(mode, slog.Default()))
		if err != nil {
			return nil, err
		}
		c.shared = true
		return c, nil
	}
	// One request at a time on the one connection, which holds all leases of
	// this process.
	s.leaseMu.Lock()
	defer s.leaseMu.Unlock()
	if s.lease == nil {
		l, err := dialSupervisor(dir)
		if err != nil {
			return nil, err
		}
		s.lease = l
	}
	state, err := s.lease.acquire(mode)
	if err != nil {
		return nil, err
	}
	c := Attach(*state)
	c.shared = true
	return c, nil
}

// Attach returns a view of a cluster that another process runs, from its state.
// Its brokers cannot be stopped or paused through it, and Stop leaves it
// running.
func Attach(s State) *Cluster {
	c := &Cluster{plan: &layout{State: s, opts: Options{Mode: s.Mode, Brokers: len(s.Brokers), Log: orDiscard(nil)}}}
	for i := range s.Brokers {
		b := &s.Brokers[i]
		c.brokers = append(c.brokers, &Broker{c: c, state: b, pid: b.PID})
	}
	return c
}
