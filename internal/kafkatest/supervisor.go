package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// leasePatience bounds how long a process waits for another one to give up its
// mode; after that the limit is exceeded rather than the test failed.
const leasePatience = 4 * time.Minute

// Supervisor runs at most one cluster of each mode and lends them to test
// processes; see Listen.
type Supervisor struct {
	opts     SupervisorOptions
	patience time.Duration
	start    func(ctx context.Context, mode Mode) (lentCluster, error)
	ctx      context.Context // of the starts; ends with Close
	cancel   context.CancelFunc

	mu      sync.Mutex
	slots   map[Mode]*slot
	changed chan struct{} // closed and replaced at every change of slots
	closed  bool
	wg      sync.WaitGroup // starts and stops under way
}

// SupervisorOptions configures a Supervisor.
type SupervisorOptions struct {
	// MaxModes is how many modes run at once; 0 means no limit. A mode that
	// nobody leases is stopped, the one least recently leased first, when
	// another is asked for. A process that already holds a lease never waits,
	// so that two processes cannot wait for each other; the limit is then
	// exceeded.
	MaxModes int
	// Log receives progress; nil discards it.
	Log *slog.Logger
}

// lentCluster is what the supervisor needs of a Cluster.
type lentCluster interface {
	State() State
	Stop()
	deadBroker() (id int, dead bool)
}

// slot is one mode's cluster.
type slot struct {
	ready    chan struct{} // closed when the start has ended
	cluster  lentCluster
	err      error
	leases   int
	last     time.Time // when it was last leased
	stopping bool
}

func (s *slot) started() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// NewSupervisor returns a supervisor that runs nothing yet. The caller must
// Close it.
func NewSupervisor(opts SupervisorOptions) *Supervisor {
	opts.Log = orDiscard(opts.Log)
	s := &Supervisor{opts: opts, patience: leasePatience, slots: map[Mode]*slot{}, changed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.start = func(ctx context.Context, mode Mode) (lentCluster, error) {
		c, err := Start(ctx, sharedOptions(mode, opts.Log))
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	return s
}

// Acquire leases the cluster of the mode, starting it first if need be, and
// returns its state. holding says that the caller already has a lease of
// another mode. Every lease must be given back with Release.
func (s *Supervisor) Acquire(ctx context.Context, mode Mode, holding bool) (State, error) {
	deadline := time.NewTimer(s.patience)
	defer deadline.Stop()
	mayWait := !holding
	for {
		sl, changed, err := s.take(mode, mayWait)
		if err != nil {
			return State{}, err
		}
		if sl != nil {
			return s.await(ctx, mode, sl)
		}
		select {
		case <-changed:
		case <-deadline.C:
			s.opts.Log.Warn("every running mode is in use: exceeding the limit", "mode", mode, "limit", s.opts.MaxModes, "waited", s.patience)
			mayWait = false
		case <-ctx.Done():
			return State{}, fmt.Errorf("wait for a %s cluster: %w", mode, context.Cause(ctx))
		}
	}
}

// take leases the slot of the mode, or returns nil and a channel that is closed
// when it is worth trying again.
func (s *Supervisor) take(mode Mode, mayWait bool) (*slot, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errors.New("the test bed is shutting down")
	}
	sl := s.slots[mode]
	if sl != nil && !sl.stopping && sl.started() && sl.err == nil {
		if id, dead := sl.cluster.deadBroker(); dead {
			if sl.leases > 0 {
				return nil, nil, fmt.Errorf("broker %d of the shared %s cluster has died while other tests use it; see its log in %s", id, mode, sl.cluster.State().Dir)
			}
			s.opts.Log.Warn("a broker of a shared cluster has died: starting the cluster anew", "mode", mode, "broker", id)
			s.evict(mode, sl)
		}
	}
	if sl == nil {
		if room := s.makeRoom(); room || !mayWait {
			sl = s.launch(mode)
		}
	}
	if sl == nil || sl.stopping {
		return nil, s.changed, nil
	}
	sl.leases++
	sl.last = time.Now()
	return sl, nil, nil
}

// makeRoom reports whether one more mode may run now, and begins to stop an
// idle one if not. s.mu is held.
func (s *Supervisor) makeRoom() bool {
	if s.opts.MaxModes == 0 || len(s.slots) < s.opts.MaxModes {
		return true
	}
	var victim Mode
	for m, sl := range s.slots {
		if sl.stopping {
			return false // room is being made already
		}
		if sl.leases == 0 && sl.started() && (victim == "" || sl.last.Before(s.slots[victim].last)) {
			victim = m
		}
	}
	if victim != "" {
		s.opts.Log.Info("stopping an idle cluster to make room", "mode", victim)
		s.evict(victim, s.slots[victim])
	}
	return false
}

// evict stops a started cluster in the background. s.mu is held.
func (s *Supervisor) evict(mode Mode, sl *slot) {
	sl.stopping = true
	s.wg.Go(func() {
		sl.cluster.Stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.slots, mode)
		s.notify()
	})
}

// launch starts a cluster in the background. s.mu is held.
func (s *Supervisor) launch(mode Mode) *slot {
	sl := &slot{ready: make(chan struct{}), last: time.Now()}
	s.slots[mode] = sl
	s.wg.Go(func() {
		// Not the asker's context: others may be waiting for the same cluster.
		c, err := s.start(s.ctx, mode)
		s.mu.Lock()
		defer s.mu.Unlock()
		sl.cluster, sl.err = c, err
		close(sl.ready)
		if err != nil {
			delete(s.slots, mode) // the next one to ask tries again
		}
		s.notify()
	})
	return sl
}

// await waits until a leased slot is ready.
func (s *Supervisor) await(ctx context.Context, mode Mode, sl *slot) (State, error) {
	select {
	case <-sl.ready:
	case <-ctx.Done():
		s.giveBack(sl)
		return State{}, fmt.Errorf("wait for the %s cluster to start: %w", mode, context.Cause(ctx))
	}
	if sl.err != nil {
		return State{}, sl.err
	}
	return sl.cluster.State(), nil
}

// Release gives one lease of the mode back.
func (s *Supervisor) Release(mode Mode) {
	s.mu.Lock()
	sl := s.slots[mode]
	s.mu.Unlock()
	if sl != nil {
		s.giveBack(sl)
	}
}

func (s *Supervisor) giveBack(sl *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sl.leases > 0 {
		sl.leases--
	}
	s.notify()
}

// notify wakes everybody who waits for a change. s.mu is held.
func (s *Supervisor) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Close stops every cluster and breaks off the starts that are under way.
func (s *Supervisor) Close() {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	s.notify()
	s.mu.Unlock()
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var wg sync.WaitGroup
	for _, sl := range s.slots {
		if sl.cluster != nil {
			wg.Go(sl.cluster.Stop)
		}
	}
	wg.Wait()
	clear(s.slots)
}
