package monitor

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/gather"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
)

// errorClasses are the reasons that every collector counts from the start.
var errorClasses = []connect.Class{
	connect.ClassAuth, connect.ClassTLS, connect.ClassACL, connect.ClassTimeout,
	connect.ClassNetwork, connect.ClassUnsupported, connect.ClassOther,
}

// ledger keeps how collectors and requests went.
type ledger struct {
	mu         sync.Mutex
	collectors map[string]*snapshot.CollectorStatus
	rpcs       map[rpcKey]*snapshot.RPCCount
}

type rpcKey struct {
	api   string
	class connect.Class
}

func newLedger(cfg *config.Cluster) *ledger {
	l := &ledger{collectors: map[string]*snapshot.CollectorStatus{}, rpcs: map[rpcKey]*snapshot.RPCCount{}}
	for _, info := range config.CollectorInfos() {
		c := cfg.Collector(info.Name)
		if !c.Enabled {
			continue
		}
		s := &snapshot.CollectorStatus{Name: info.Name, Interval: c.Interval, Errors: map[string]uint64{}}
		for _, class := range errorClasses {
			s.Errors[string(class)] = 0
		}
		l.collectors[info.Name] = s
	}
	return l
}

// observe counts one request; it is a kafka.Observer.
func (l *ledger) observe(api string, class connect.Class, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := rpcKey{api, class}
	c := l.rpcs[k]
	if c == nil {
		c = &snapshot.RPCCount{API: api, Class: string(class)}
		l.rpcs[k] = c
	}
	c.Count++
	c.Seconds += took.Seconds()
}

// finish records a collector's run. unsupported runs are not failures: the
// cluster is of a kind that does not have the subject.
func (l *ledger) finish(name string, start time.Time, failures gather.Failures, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.collectors[name]
	if s == nil {
		return
	}
	s.LastRun = time.Now()
	s.Duration = s.LastRun.Sub(start)
	s.Missing = slices.Clone(failures)
	s.Success, s.Partial, s.Denied, s.Unsupported = err == nil, err == nil && len(failures) > 0, false, false
	for i := range failures {
		s.Errors[failures[i].Class]++
	}
	if err == nil {
		s.LastSuccess = s.LastRun
		return
	}
	class := kafka.Classify(err)
	s.Errors[string(class)]++
	s.Denied = class == connect.ClassACL
	s.Unsupported = class == connect.ClassUnsupported
	s.Missing = append(s.Missing, snapshot.Missing{What: "everything", Broker: -1, Class: string(class), Err: err.Error()})
}

// skip records that a collector does not apply to the cluster.
func (l *ledger) skip(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.collectors[name]; s != nil {
		s.LastRun = time.Now()
		s.Success, s.Unsupported, s.LastSuccess = true, true, s.LastRun
		s.Missing = nil
	}
}

// report copies the state into a snapshot.
func (l *ledger) report(c *snapshot.Cluster) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.collectors)) {
		s := *l.collectors[name]
		s.Errors = make(map[string]uint64, len(l.collectors[name].Errors))
		for k, v := range l.collectors[name].Errors {
			s.Errors[k] = v
		}
		c.Collectors = append(c.Collectors, s)
	}
	for _, r := range l.rpcs {
		c.RPCs = append(c.RPCs, *r)
	}
	slices.SortFunc(c.RPCs, func(a, b snapshot.RPCCount) int {
		return cmp.Or(cmp.Compare(a.API, b.API), cmp.Compare(a.Class, b.Class))
	})
}
