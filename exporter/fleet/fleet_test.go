package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// fakeRunner runs until it is told to stop, or as end says.
type fakeRunner struct {
	name    string
	events  *events
	end     func(ctx context.Context) error
	unknown bool
}

func (r *fakeRunner) Name() string          { return r.name }
func (r *fakeRunner) Ready() (bool, string) { return true, "collecting" }
func (r *fakeRunner) Snapshot() *snapshot.Cluster {
	if r.unknown {
		return nil
	}
	return &snapshot.Cluster{Name: r.name}
}

func (r *fakeRunner) Run(ctx context.Context) error {
	r.events.add("run " + r.name)
	defer r.events.add("end " + r.name)
	if r.end != nil {
		return r.end(ctx)
	}
	<-ctx.Done()
	return nil
}

type events struct {
	mu   sync.Mutex
	list []string
}

func (e *events) add(s string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, s)
}

// take returns what happened since the last call, once all goroutines rest.
func (e *events) take() []string {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.list
	e.list = nil
	return list
}

func (e *events) factory(c config.Cluster, _ *slog.Logger) (Runner, error) {
	if len(c.BootstrapServers) == 0 {
		return nil, fmt.Errorf("cluster %q: no brokers", c.Name)
	}
	return &fakeRunner{name: c.Name, events: e}, nil
}

func cluster(name string, change ...func(*config.Cluster)) config.Cluster {
	c := config.Cluster{Name: name}
	c.BootstrapServers = []string{"kafka:9092"}
	c.Topics.Include = []config.Regexp{config.MustRegexp("a.*|b")}
	c.SetDefaults()
	for _, f := range change {
		f(&c)
	}
	return c
}

func noLimits(*config.Cluster) map[string]exposition.Limits { return nil }

func file(clusters ...config.Cluster) *config.Config { return &config.Config{Clusters: clusters} }

func apply(t *testing.T, f *Fleet, cfg *config.Config) Change {
	t.Helper()
	change, err := f.Apply(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return change
}

func names(f *Fleet) []string {
	var names []string
	for _, c := range f.Clusters() {
		names = append(names, c.Name())
	}
	return names
}

func TestApplyTouchesOnlyWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		f := New(e.factory, noLimits, slog.New(slog.DiscardHandler))
		defer f.Stop()

		change := apply(t, f, file(cluster("a"), cluster("b"), cluster("c")))
		if got := change.String(); got != "started a, b, c" {
			t.Errorf("first change is %q", got)
		}
		if got := e.take(); len(got) != 3 {
			t.Errorf("first events are %q", got)
		}
		before := f.Clusters()

		slower := func(c *config.Cluster) { c.Interval = model.Duration(time.Minute) }
		change = apply(t, f, file(cluster("d"), cluster("b", slower), cluster("a")))
		if got := change.String(); got != "started d; replaced b; stopped c; unchanged a" {
			t.Errorf("second change is %q", got)
		}
		got := e.take()
		slices.Sort(got)
		if diff := cmp.Diff([]string{"end b", "end c", "run b", "run d"}, got); diff != "" {
			t.Errorf("second events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"d", "b", "a"}, names(f)); diff != "" {
			t.Errorf("clusters (-want +got):\n%s", diff)
		}
		if f.Clusters()[2] != before[0] {
			t.Error("the unchanged cluster has another runner")
		}

		apply(t, f, file(cluster("d"), cluster("b", slower), cluster("a")))
		if got := e.take(); len(got) != 0 {
			t.Errorf("the same configuration caused %q", got)
		}
	})
}

// Every field of a cluster counts as a change, expressions inside included.
func TestApplySeesEveryChange(t *testing.T) {
	yes := true
	changes := map[string]func(*config.Cluster){
		"bootstrap":   func(c *config.Cluster) { c.BootstrapServers = []string{"other:9092"} },
		"topics":      func(c *config.Cluster) { c.Topics.Include = []config.Regexp{config.MustRegexp("a.*")} },
		"metrics":     func(c *config.Cluster) { c.Metrics = map[string]config.Metric{"m": {MaxSeries: 1}} },
		"collector":   func(c *config.Cluster) { c.Collectors = map[string]config.Collector{"acls": {Enabled: &yes}} },
		"shard":       func(c *config.Cluster) { c.Shard = config.Shard{Index: 1, Of: 2} },
		"exact_group": func(c *config.Cluster) { c.Lag.ExactGroups = &config.Filter{} },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var e events
				f := New(e.factory, noLimits, slog.New(slog.DiscardHandler))
				defer f.Stop()
				apply(t, f, file(cluster("a")))
				if got := apply(t, f, file(cluster("a", change))).String(); got != "replaced a" {
					t.Errorf("change is %q", got)
				}
			})
		})
	}
}

// The new runner of a cluster never runs beside the old one.
func TestApplyStopsBeforeItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		slowEnd := func(c config.Cluster, _ *slog.Logger) (Runner, error) {
			return &fakeRunner{name: c.Name + c.ClientID, events: &e, end: func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(2 * time.Second) // virtual: requests in flight
				return nil
			}}, nil
		}
		f := New(slowEnd, noLimits, slog.New(slog.DiscardHandler))
		defer f.Stop()
		as := func(id string) func(*config.Cluster) { return func(c *config.Cluster) { c.ClientID = id } }
		apply(t, f, file(cluster("a", as("1"))))
		e.take()
		apply(t, f, file(cluster("a", as("2"))))
		if diff := cmp.Diff([]string{"end a1", "run a2"}, e.take()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestApplyChangesNothingOnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		f := New(e.factory, noLimits, slog.New(slog.DiscardHandler))
		defer f.Stop()
		apply(t, f, file(cluster("a")))
		e.take()
		unusable := func(c *config.Cluster) { c.BootstrapServers = nil }
		_, err := f.Apply(file(cluster("b"), cluster("x", unusable), cluster("y", unusable)))
		if err == nil || err.Error() != "cluster \"x\": no brokers\ncluster \"y\": no brokers" {
			t.Errorf("error is %v", err)
		}
		if got := e.take(); len(got) != 0 {
			t.Errorf("a failed change caused %q", got)
		}
		if diff := cmp.Diff([]string{"a"}, names(f)); diff != "" {
			t.Errorf("clusters (-want +got):\n%s", diff)
		}
	})
}

// A runner that fails, or panics, is started again ever less often, and its
// neighbour does not notice.
func TestRunnerIsRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		began := time.Now()
		var starts []time.Duration
		factory := func(c config.Cluster, logger *slog.Logger) (Runner, error) {
			r := &fakeRunner{name: c.Name, events: &e}
			if c.Name == "bad" {
				r.end = func(context.Context) error {
					starts = append(starts, time.Since(began))
					if len(starts)%2 == 0 {
						panic("a bug")
					}
					return errors.New("gave up")
				}
			}
			return r, nil
		}
		f := New(factory, noLimits, slog.New(slog.DiscardHandler))
		apply(t, f, file(cluster("bad"), cluster("good")))
		time.Sleep(20 * time.Second)
		synctest.Wait()
		want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second}
		if diff := cmp.Diff(want, starts); diff != "" {
			t.Errorf("starts of the bad runner (-want +got):\n%s", diff)
		}
		f.Stop()
		got := e.take()
		if slices.Index(got, "end good") != len(got)-1 {
			t.Errorf("the good runner did not run on: %q", got)
		}
	})
}

// A runner that does not end costs a few seconds, once for all.
func TestStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		release := make(chan struct{})
		factory := func(c config.Cluster, _ *slog.Logger) (Runner, error) {
			return &fakeRunner{name: c.Name, events: &e, end: func(context.Context) error { <-release; return nil }}, nil
		}
		f := New(factory, noLimits, slog.New(slog.DiscardHandler))
		apply(t, f, file(cluster("a"), cluster("b"), cluster("c")))
		began := time.Now()
		f.Stop()
		if took := time.Since(began); took != stopPatience {
			t.Errorf("stopping took %s, want %s", took, stopPatience)
		}
		if _, err := f.Apply(file(cluster("a"))); !errors.Is(err, errStopped) {
			t.Errorf("a stopped fleet says %v", err)
		}
		close(release)
	})
}

func TestSourcesBeforeTheFirstSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		factory := func(c config.Cluster, _ *slog.Logger) (Runner, error) {
			return &fakeRunner{name: c.Name, events: &e, unknown: true}, nil
		}
		limits := func(c *config.Cluster) map[string]exposition.Limits {
			return map[string]exposition.Limits{"family": {MaxSeries: c.Lag.HistoryPoints}}
		}
		f := New(factory, limits, slog.New(slog.DiscardHandler))
		defer f.Stop()
		apply(t, f, file(cluster("a")))
		sources := f.Sources()
		if len(sources) != 1 || sources[0].Snapshot == nil || sources[0].Snapshot.Name != "a" || sources[0].Limits["family"].MaxSeries != config.DefaultHistoryPoints {
			t.Errorf("sources are %+v", sources)
		}
	})
}
