// Package loadgen gives a Kafka cluster the traffic of a small company: several
// users and client ids, a hot topic with skewed partitions, idle topics, a
// compacted topic, transactions (one of which is left open for a while),
// consumers that keep up, lag, stall and stop, a quota, ACLs, and now and then a
// throttled reassignment.
//
// What is sent where follows from a seed; when it is sent depends on the clock.
// Everything is bounded: rates, buffers, and by retention the disk space, about
// 1 GB on three brokers however long it runs.
package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Options says where the load goes and how much it is.
type Options struct {
	// Bootstrap is a list of "host:port" where clients need not log in. What is
	// set up (topics, ACLs, quotas, reassignments) is set up through it.
	Bootstrap []string
	// SASL is a list of "host:port" where alice and bob log in with SASL/PLAIN.
	// Without it there are no users and no ACLs.
	SASL []string
	// Password returns a user's password.
	Password func(user string) string
	// Rate is the number of records that are produced per second, all producers
	// together; default 300.
	Rate float64
	// Seed makes the choice of partitions, keys and sizes repeatable; 0 takes
	// one by chance, see Load.Seed.
	Seed uint64
	// Reassign is the time between two reassignments, default 90s; below 0
	// there are none.
	Reassign time.Duration
	// Log receives what happens now and then, and errors; nil discards it.
	Log *slog.Logger
}

// Load is a running load.
type Load struct {
	opts   Options
	admin  *kadm.Client
	client *kgo.Client // admin's
	cancel context.CancelFunc
	wait   sync.WaitGroup
	counts counts
}

type counts struct {
	produced, consumed, failed, committed, aborted, reassigned atomic.Int64
}

// Stats counts what was done since the start.
type Stats struct {
	// Produced and Consumed are records; every group counts its own.
	Produced, Consumed int64
	// Failed are records that were not written and polls, commits and other
	// steps that went wrong. A cluster whose brokers are stopped makes some.
	Failed int64
	// Committed and Aborted are transactions.
	Committed, Aborted int64
	// Reassigned are partitions that were moved to other brokers.
	Reassigned int64
}

// Start sets up topics, users' rights and quotas, and starts the clients. They
// run until Stop, or until ctx ends, when Stop must still be called.
func Start(ctx context.Context, o Options) (*Load, error) {
	o = o.withDefaults()
	client, err := o.client("", "loadgen-admin")
	if err != nil {
		return nil, fmt.Errorf("start the load: %w", err)
	}
	l := &Load{opts: o, client: client, admin: kadm.NewClient(client)}
	offered, err := l.setUp(ctx)
	if err != nil {
		client.Close()
		return nil, fmt.Errorf("start the load on %v: %w", o.Bootstrap, err)
	}
	ctx, l.cancel = context.WithCancel(ctx)
	if err := l.launch(ctx, offered); err != nil {
		l.Stop()
		return nil, fmt.Errorf("start the load on %v: %w", o.Bootstrap, err)
	}
	o.Log.Info("the load runs", "seed", o.Seed, "records_per_second", o.Rate)
	return l, nil
}

func (o Options) withDefaults() Options {
	o.Rate = cmp.Or(o.Rate, 300)
	o.Reassign = cmp.Or(o.Reassign, 90*time.Second)
	for o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// launch starts every client in its own goroutine.
func (l *Load) launch(ctx context.Context, offered offeredAPIs) error {
	var failures []error
	add := func(user, id string, run func(context.Context, *kgo.Client), opts ...kgo.Opt) {
		client, err := l.opts.client(user, id, opts...)
		if err != nil {
			failures = append(failures, fmt.Errorf("client %s: %w", id, err))
			return
		}
		l.wait.Go(func() {
			defer closeWithin(client, 3*time.Second)
			run(ctx, client)
		})
	}
	for _, p := range producers {
		add(p.user, p.clientID, func(ctx context.Context, c *kgo.Client) { l.produce(ctx, c, p) }, p.options()...)
	}
	for _, t := range transactors {
		add(t.user, t.id, func(ctx context.Context, c *kgo.Client) { l.transact(ctx, c, t) }, t.options()...)
	}
	for _, c := range consumers {
		if !offered.group(c.kind) {
			l.opts.Log.Info("left out: the cluster does not offer this kind of group", "group", c.group, "kind", c.kind)
			continue
		}
		for _, id := range c.clientIDs {
			add(c.user, id, func(ctx context.Context, k *kgo.Client) { l.consume(ctx, k, c) }, c.options(id)...)
		}
	}
	if l.opts.Reassign > 0 {
		l.wait.Go(func() { l.reassign(ctx) })
	}
	return errors.Join(failures...)
}

// closeWithin closes a client; a cluster that does not answer must not hold up
// the end.
func closeWithin(c *kgo.Client, patience time.Duration) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c.CloseAllowingRebalance()
	}()
	select {
	case <-closed:
	case <-time.After(patience):
	}
}

// Seed returns the seed in use.
func (l *Load) Seed() uint64 { return l.opts.Seed }

// Stats returns what was done so far.
func (l *Load) Stats() Stats {
	return Stats{
		Produced: l.counts.produced.Load(), Consumed: l.counts.consumed.Load(), Failed: l.counts.failed.Load(),
		Committed: l.counts.committed.Load(), Aborted: l.counts.aborted.Load(), Reassigned: l.counts.reassigned.Load(),
	}
}

// Stop ends all clients: they leave their groups, end their transactions and
// remove the throttle of a reassignment in flight. Topics, ACLs and quotas stay.
// It returns when all have ended, after at most some 20 seconds when the cluster
// does not answer.
func (l *Load) Stop() {
	l.cancel()
	l.wait.Wait()
	l.client.Close()
}

// failed counts and logs something that went wrong, unless the load is ending.
func (l *Load) failed(ctx context.Context, what string, err error) {
	if err == nil || ctx.Err() != nil || errors.Is(err, kgo.ErrClientClosed) {
		return
	}
	l.counts.failed.Add(1)
	l.opts.Log.Warn("the load met an error", "doing", what, "err", err)
}

// random returns the source of random numbers of one actor.
func (l *Load) random(actor string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(actor))
	return rand.New(rand.NewPCG(l.opts.Seed, h.Sum64()))
}

// sleep waits and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
