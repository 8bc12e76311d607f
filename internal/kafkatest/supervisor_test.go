package kafkatest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fakeCluster stands for a cluster in tests of the supervisor.
type fakeCluster struct {
	mode    Mode
	stopped atomic.Bool
	dead    atomic.Bool
}

func (f *fakeCluster) State() State            { return State{Mode: f.mode, Bootstrap: map[string]string{}} }
func (f *fakeCluster) Stop()                   { f.stopped.Store(true) }
func (f *fakeCluster) deadBroker() (int, bool) { return 2, f.dead.Load() }

// fakeSupervisor returns a supervisor of fake clusters and the list of what it
// has started.
func fakeSupervisor(t *testing.T, maxModes int) (*Supervisor, *fakeStarts) {
	t.Helper()
	s := NewSupervisor(SupervisorOptions{MaxModes: maxModes})
	starts := &fakeStarts{}
	s.start = starts.start
	t.Cleanup(s.Close)
	return s, starts
}

type fakeStarts struct {
	mu   sync.Mutex
	all  []*fakeCluster
	fail error
}

func (f *fakeStarts) start(_ context.Context, mode Mode) (lentCluster, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	c := &fakeCluster{mode: mode}
	f.all = append(f.all, c)
	return c, nil
}

// running lists the modes that run, in the order of their starts.
func (f *fakeStarts) running() []Mode {
	f.mu.Lock()
	defer f.mu.Unlock()
	var modes []Mode
	for _, c := range f.all {
		if !c.stopped.Load() {
			modes = append(modes, c.mode)
		}
	}
	return modes
}

func acquire(t *testing.T, s *Supervisor, mode Mode, holding bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	st, err := s.Acquire(ctx, mode, holding)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode != mode {
		t.Fatalf("got the cluster of %s, want %s", st.Mode, mode)
	}
}

func wantRunning(t *testing.T, f *fakeStarts, want ...Mode) {
	t.Helper()
	if got := f.running(); !slices.Equal(got, want) {
		t.Errorf("running %v, want %v", got, want)
	}
}

func TestSupervisorStartsOnce(t *testing.T) {
	s, f := fakeSupervisor(t, 2)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { acquire(t, s, KRaft4, false) })
	}
	wg.Wait()
	wantRunning(t, f, KRaft4)
	if len(f.all) != 1 {
		t.Errorf("%d starts, want 1", len(f.all))
	}
	s.Close()
	wantRunning(t, f)
}

func TestSupervisorEvictsLeastRecentlyLeased(t *testing.T) {
	s, f := fakeSupervisor(t, 2)
	acquire(t, s, KRaft4, false)
	acquire(t, s, ZK39, false)
	s.Release(KRaft4)
	s.Release(ZK39)
	acquire(t, s, KRaft4, false) // now ZK39 is the one leased longest ago
	s.Release(KRaft4)
	acquire(t, s, ZK28, false)
	wantRunning(t, f, KRaft4, ZK28)
}

func TestSupervisorWaitsForALease(t *testing.T) {
	s, f := fakeSupervisor(t, 1)
	acquire(t, s, KRaft4, false)
	got := make(chan error, 1)
	go func() {
		_, err := s.Acquire(context.Background(), ZK39, false)
		got <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.Acquire(ctx, ZK28, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait that is broken off: %v", err)
	}
	wantRunning(t, f, KRaft4)
	s.Release(KRaft4)
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	wantRunning(t, f, ZK39)
}

func TestSupervisorHolderDoesNotWait(t *testing.T) {
	s, f := fakeSupervisor(t, 1)
	acquire(t, s, KRaft4, false)
	acquire(t, s, ZK39, true)
	wantRunning(t, f, KRaft4, ZK39)
}

func TestSupervisorPatienceEnds(t *testing.T) {
	s, f := fakeSupervisor(t, 1)
	s.patience = 50 * time.Millisecond
	acquire(t, s, KRaft4, false)
	acquire(t, s, ZK39, false)
	wantRunning(t, f, KRaft4, ZK39)
}

func TestSupervisorFailedStart(t *testing.T) {
	s, f := fakeSupervisor(t, 1)
	f.fail = errors.New("no java")
	if _, err := s.Acquire(t.Context(), KRaft4, false); !errors.Is(err, f.fail) {
		t.Errorf("error %v", err)
	}
	f.fail = nil
	acquire(t, s, KRaft4, false) // a failure is not for ever
}

func TestSupervisorDeadBroker(t *testing.T) {
	s, f := fakeSupervisor(t, 1)
	acquire(t, s, KRaft4, false)
	f.all[0].dead.Store(true)
	if _, err := s.Acquire(t.Context(), KRaft4, false); err == nil || !strings.Contains(err.Error(), "broker 2") {
		t.Errorf("a dead broker of a leased cluster: error %v", err)
	}
	s.Release(KRaft4)
	acquire(t, s, KRaft4, false)
	wantRunning(t, f, KRaft4)
	if len(f.all) != 2 {
		t.Errorf("%d starts, want 2", len(f.all))
	}
}

func TestLeasesEndWithTheConnection(t *testing.T) {
	s, f := fakeSupervisor(t, 1)
	dir, cleanup, err := SharedDir()
	if err != nil {
		t.Fatal(err)
	}
	defer cleanup()
	ctx, cancel := context.WithCancel(t.Context())
	done, err := s.Listen(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	first, err := dialSupervisor(dir)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := first.acquire(KRaft4); err != nil || st.Mode != KRaft4 {
		t.Fatal(st, err)
	}
	if !exists(dir + "/kraft4.json") {
		t.Error("no state file of the lent cluster")
	}
	// A process that dies while it waits must not get the next free place.
	dying, err := dialSupervisor(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := dying.enc.Encode(leaseRequest{Mode: ZK28}); err != nil {
		t.Fatal(err)
	}
	dying.conn.Close()
	first.conn.Close()

	second, err := dialSupervisor(dir)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := second.acquire(ZK39); err != nil || st.Mode != ZK39 {
		t.Fatal(st, err)
	}
	wantRunning(t, f, ZK39)
	cancel()
	<-done
	if _, err := second.acquire(ZK39); err == nil {
		t.Error("no error from a supervisor that has ended")
	}
	if _, err := dialSupervisor(dir); err == nil || !strings.Contains(err.Error(), SharedDirEnv) {
		t.Errorf("error %v does not name the variable to unset", err)
	}
}
