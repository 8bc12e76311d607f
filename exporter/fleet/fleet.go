// Package fleet runs one runner per configured cluster, each on its own, and
// replaces those whose configuration changed.
package fleet

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/exporter/web"
)

// Runner observes one cluster. All methods but Run may be called at any time.
type Runner interface {
	web.Cluster
	// Run observes until ctx is done.
	Run(ctx context.Context) error
}

// Factory makes a runner; it does not wait for Kafka. The runner adds the
// cluster's name to what it logs, and the error, which says that the
// configuration cannot be used, names it.
type Factory func(config.Cluster, *slog.Logger) (Runner, error)

// LimitsFunc tells what a cluster's configuration says about metric families.
type LimitsFunc func(*config.Cluster) map[string]exposition.Limits

// stopPatience is how long a runner may take to end before it is left behind.
const stopPatience = 3 * time.Second

// Fleet is the set of running clusters. It is safe for concurrent use.
type Fleet struct {
	factory Factory
	limits  LimitsFunc
	logger  *slog.Logger

	// applying serialises Apply and Stop; mu guards members only, so that
	// scrapes go on while a cluster is being stopped.
	applying sync.Mutex
	mu       sync.Mutex
	members  []*member
	stopped  bool
}

// member is one running cluster. Everything but runner stays as it is.
type member struct {
	cluster config.Cluster
	limits  map[string]exposition.Limits
	logger  *slog.Logger
	cancel  context.CancelFunc
	done    chan struct{}

	mu     sync.Mutex
	runner Runner
}

// New makes a fleet without clusters.
func New(factory Factory, limits LimitsFunc, logger *slog.Logger) *Fleet {
	return &Fleet{factory: factory, limits: limits, logger: logger}
}

// Change says what Apply did, by cluster name in the order of the configuration.
type Change struct {
	Started, Replaced, Stopped, Unchanged []string
}

// String is the change on one line.
func (c Change) String() string {
	var parts []string
	for _, p := range []struct {
		verb  string
		names []string
	}{{"started", c.Started}, {"replaced", c.Replaced}, {"stopped", c.Stopped}, {"unchanged", c.Unchanged}} {
		if len(p.names) > 0 {
			parts = append(parts, p.verb+" "+strings.Join(p.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// errStopped: the process ends.
var errStopped = errors.New("the exporter is stopping")

// Apply makes the configuration's clusters the running ones. Those whose
// configuration is the same run on untouched. On an error nothing was changed.
func (f *Fleet) Apply(cfg *config.Config) (Change, error) {
	f.applying.Lock()
	defer f.applying.Unlock()
	if f.stopped {
		return Change{}, errStopped
	}
	next, old, change, err := f.plan(cfg)
	if err != nil {
		return Change{}, err
	}
	// The old runner of a cluster ends before the new one starts: two would
	// ask the brokers twice and count everything double.
	stopAll(old)
	for _, m := range next {
		if m.cancel == nil {
			m.start(f.factory)
		}
	}
	f.mu.Lock()
	f.members = next
	f.mu.Unlock()
	return change, nil
}

// plan makes the members to be, those to start not yet started, and lists
// those to stop. Nothing is changed.
func (f *Fleet) plan(cfg *config.Config) (next, old []*member, change Change, err error) {
	running := map[string]*member{}
	for _, m := range f.list() {
		running[m.cluster.Name] = m
	}
	var errs []error
	for _, c := range cfg.Clusters {
		m := running[c.Name]
		delete(running, c.Name)
		switch {
		case m != nil && reflect.DeepEqual(m.cluster, c):
			change.Unchanged = append(change.Unchanged, c.Name)
			next = append(next, m)
			continue
		case m != nil:
			change.Replaced = append(change.Replaced, c.Name)
			old = append(old, m)
		default:
			change.Started = append(change.Started, c.Name)
		}
		m, err := f.member(c)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		next = append(next, m)
	}
	for _, m := range f.list() {
		if running[m.cluster.Name] != nil {
			change.Stopped = append(change.Stopped, m.cluster.Name)
			old = append(old, m)
		}
	}
	return next, old, change, errors.Join(errs...)
}

func (f *Fleet) member(c config.Cluster) (*member, error) {
	runner, err := f.factory(c, f.logger)
	if err != nil {
		return nil, err
	}
	return &member{cluster: c, limits: f.limits(&c), logger: f.logger, runner: runner, done: make(chan struct{})}, nil
}

func (f *Fleet) list() []*member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members
}

// Clusters lists the running clusters in the order of the configuration.
func (f *Fleet) Clusters() []web.Cluster {
	var clusters []web.Cluster
	for _, m := range f.list() {
		clusters = append(clusters, m.current())
	}
	return clusters
}

// Sources lists what a scrape renders. A cluster of which nothing is known yet
// is there with its name only.
func (f *Fleet) Sources() []exposition.Source {
	var sources []exposition.Source
	for _, m := range f.list() {
		snap := m.current().Snapshot()
		if snap == nil {
			snap = &snapshot.Cluster{Name: m.cluster.Name}
		}
		sources = append(sources, exposition.Source{Snapshot: snap, Limits: m.limits})
	}
	return sources
}

// Stop ends all runners and waits for them, a few seconds at most. The fleet
// cannot be used again.
func (f *Fleet) Stop() {
	f.applying.Lock()
	defer f.applying.Unlock()
	f.stopped = true
	stopAll(f.list())
}

// stopAll stops members all at once, so that several slow ones cost no more
// than one.
func stopAll(members []*member) {
	var wg sync.WaitGroup
	for _, m := range members {
		wg.Go(m.stop)
	}
	wg.Wait()
}
