package monitor

import (
	"context"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/gather"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// subject is a reading that needs no other of the same moment. It runs on its
// own interval beside the rounds, so that a slow one holds nothing up.
type subject struct {
	name string
	read func(ctx context.Context, now parts) (gather.Failures, error)
}

func (m *Monitor) background() []subject {
	return []subject{
		{"quorum", func(ctx context.Context, _ parts) (gather.Failures, error) {
			q, err := m.reader.Quorum(ctx)
			return nil, m.keep(err, func(p *parts) { p.quorum = q })
		}},
		{"logdirs", func(ctx context.Context, now parts) (gather.Failures, error) {
			dirs, f, err := m.reader.LogDirs(ctx, now.topology)
			return f, m.keep(err, func(p *parts) { p.logDirs = dirs })
		}},
		{"configs", func(ctx context.Context, now parts) (gather.Failures, error) {
			c, f, err := m.reader.Configs(ctx, now.topology)
			return f, m.keep(err, func(p *parts) { p.configs = withNeeds(c, p.reassignments, p.logDirs, now.topology) })
		}},
		{"quotas", func(ctx context.Context, _ parts) (gather.Failures, error) {
			q, err := m.reader.Quotas(ctx)
			return nil, m.keep(err, func(p *parts) { p.quotas = q })
		}},
		{"transactions", func(ctx context.Context, now parts) (gather.Failures, error) {
			t, f, err := m.reader.Transactions(ctx, now.topology, now.offsets)
			return f, m.keep(err, func(p *parts) { p.transactions = t })
		}},
		{"acls", func(ctx context.Context, _ parts) (gather.Failures, error) {
			a, err := m.reader.ACLs(ctx)
			return nil, m.keep(err, func(p *parts) { p.acls = a })
		}},
	}
}

// keep publishes a reading unless it failed.
func (m *Monitor) keep(err error, change func(*parts)) error {
	if err == nil {
		m.publish(change)
	}
	return err
}

// every runs a subject on its interval, from the first topology on.
func (m *Monitor) every(ctx context.Context, c config.ResolvedCollector, s subject) {
	select {
	case <-ctx.Done():
		return
	case <-m.known:
	}
	for {
		start := time.Now()
		_, _ = m.run(ctx, s.name, func(ctx context.Context) (gather.Failures, error) {
			now := m.current()
			if now.offsets == nil {
				now.offsets = &snapshot.Offsets{}
			}
			return s.read(ctx, now)
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(0, c.Interval-time.Since(start))):
		}
	}
}
