// Package monitor keeps the snapshot of one cluster fresh. A scrape never
// waits for Kafka: it renders what the last round left here.
package monitor

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/gather"
	"github.com/kafka-steward/kafka-steward/exporter/lag"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
)

// Monitor watches one cluster.
type Monitor struct {
	cfg     config.Cluster
	log     *slog.Logger
	client  *kafka.Client
	reader  *gather.Reader
	tracker *lag.Tracker
	ledger  *ledger
	// reporter logs what collectors lack.
	reporter *reporter

	// unseeded are partitions whose history is still to be asked for; only the
	// rounds touch it.
	unseeded []lag.TopicPartition

	// known is closed when the first topology was read.
	known chan struct{}

	mu    sync.Mutex
	parts parts
	tried bool
	state string
	// rounds counts finished rounds; roundDone wakes those who wait for one.
	rounds    uint64
	roundDone *sync.Cond
}

// parts are the latest readings; each is immutable once here.
type parts struct {
	topology      *snapshot.Topology
	quorum        *snapshot.Quorum
	offsets       *snapshot.Offsets
	groups        *snapshot.Groups
	lag           *snapshot.Lag
	logDirs       *snapshot.LogDirs
	configs       *snapshot.Configs
	reassignments *snapshot.Reassignments
	quotas        *snapshot.Quotas
	transactions  *snapshot.Transactions
	acls          *snapshot.ACLs
}

// New makes a monitor; it connects when run.
func New(cfg config.Cluster, log *slog.Logger) (*Monitor, error) {
	log = log.With("kafka_cluster", cfg.Name)
	connector, err := connect.New(cfg.Config, connect.WithLogger(log))
	if err != nil {
		return nil, fmt.Errorf("cluster %q: %w", cfg.Name, err)
	}
	interval := time.Duration(cfg.Interval)
	m := &Monitor{cfg: cfg, log: log, ledger: newLedger(&cfg), reporter: newReporter(log), known: make(chan struct{}), state: "not tried yet"}
	m.roundDone = sync.NewCond(&m.mu)
	m.client = kafka.New(connector,
		kafka.WithObserver(m.ledger.observe),
		kafka.WithRequestTimeout(min(time.Duration(cfg.RequestTimeout), max(interval/2, time.Second))),
		// A broker that did not answer is asked again in the next round.
		kafka.WithRetryAfter(interval*8/10),
	)
	m.reader = gather.New(m.client, cfg)
	m.tracker = lag.New(lag.Options{
		Window: time.Duration(cfg.Lag.Window), HistoryPoints: cfg.Lag.HistoryPoints,
		UncommittedRecords: cfg.Lag.Uncommitted == config.UncommittedFull, AssignedTopicsOnly: cfg.Lag.AssignedTopicsOnly,
	})
	return m, nil
}

// Name is the cluster's name.
func (m *Monitor) Name() string { return m.cfg.Name }

// Run watches the cluster until the context ends.
func (m *Monitor) Run(ctx context.Context) error {
	defer m.client.Close()
	var wg sync.WaitGroup
	for _, b := range m.background() {
		if c := m.cfg.Collector(b.name); c.Enabled {
			wg.Go(func() { m.every(ctx, c, b) })
		}
	}
	m.rounding(ctx)
	wg.Wait()
	return ctx.Err()
}

// rounding runs round after round. Until the first one succeeds it tries more
// often, so that series appear soon after Kafka does.
func (m *Monitor) rounding(ctx context.Context) {
	const eager = 3 * time.Second
	interval := time.Duration(m.cfg.Interval)
	for {
		start := time.Now()
		ok := m.round(ctx)
		wait := interval
		if !ok {
			wait = min(interval, eager)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(0, wait-time.Since(start))):
		}
	}
}

// Ready tells whether a round has ended, well or not, and how things stand.
func (m *Monitor) Ready() (tried bool, detail string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tried, m.state
}

// WaitRound waits until n rounds have ended or the context does.
func (m *Monitor) WaitRound(ctx context.Context, n uint64) error {
	stop := context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.roundDone.Broadcast()
	})
	defer stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.rounds < n && ctx.Err() == nil {
		m.roundDone.Wait()
	}
	return ctx.Err()
}

// Rounds is how many rounds have ended.
func (m *Monitor) Rounds() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rounds
}

// Snapshot returns what is known now. Parts that are older than their limit
// are left out: no data is better than data that lies.
func (m *Monitor) Snapshot() *snapshot.Cluster {
	now := time.Now()
	c := &snapshot.Cluster{Name: m.cfg.Name}
	m.mu.Lock()
	p := m.parts
	m.mu.Unlock()
	fresh := func(name string, at time.Time) bool {
		return now.Sub(at) <= m.cfg.Limit(m.cfg.Collector(name).Interval)
	}
	if p.topology != nil && fresh("topology", p.topology.ReadAt) {
		c.Topology = p.topology
	}
	if p.quorum != nil && fresh("quorum", p.quorum.ReadAt) {
		c.Quorum = p.quorum
	}
	if p.offsets != nil && fresh("offsets", p.offsets.EndReadAt) {
		c.Offsets = p.offsets
	}
	if p.groups != nil && fresh("groups", p.groups.ReadAt) {
		c.Groups = p.groups
		c.Lag = p.lag
		c.RenamedLabels = p.groups.RenamedLabels
	}
	if p.logDirs != nil && fresh("logdirs", p.logDirs.ReadAt) {
		c.LogDirs = p.logDirs
	}
	if p.configs != nil && fresh("configs", p.configs.ReadAt) {
		c.Configs = p.configs
	}
	if p.reassignments != nil && fresh("reassignments", p.reassignments.ReadAt) {
		c.Reassignments = p.reassignments
	}
	if p.quotas != nil && fresh("quotas", p.quotas.ReadAt) {
		c.Quotas = p.quotas
	}
	if p.transactions != nil && fresh("transactions", p.transactions.ReadAt) {
		c.Transactions = p.transactions
	}
	if p.acls != nil && fresh("acls", p.acls.ReadAt) {
		c.ACLs = p.acls
	}
	m.ledger.report(c)
	return c
}

// publish changes the parts.
func (m *Monitor) publish(change func(*parts)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.parts)
}

func (m *Monitor) current() parts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.parts
}
