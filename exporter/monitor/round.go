package monitor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/gather"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
)

// round reads what must fit together, in this order: the shape of the cluster
// and its moves, commits, then end offsets (commits must be the older ones, or
// lag would come out below zero), and publishes all of it at once. It returns
// false if the cluster could not be read at all.
func (m *Monitor) round(ctx context.Context) bool {
	old := m.current()
	topo, moves, err := m.readTopology(ctx, &old)
	if err != nil {
		m.ended(ctx, err)
		return false
	}
	next := parts{topology: topo, reassignments: moves}
	failures := []gather.Failures{}
	next.groups, err = m.readGroups(ctx, topo, &old, &failures)
	groupsRead := err == nil
	next.offsets, err = m.readOffsets(ctx, topo, &old, &failures)
	gather.MarkUnreachable(topo, failures...)
	switch {
	case !groupsRead, err != nil && m.fresh(old.lag):
		// Commits and ends only make lag together. What was known stays, as old
		// as it is, until it is too old to be shown.
		next.groups, next.lag = old.groups, old.lag
		if err != nil {
			next.offsets = old.offsets
		}
	case err != nil:
		// Ends cannot be read for long, or at all: groups go on without lag.
		next.offsets = old.offsets
	case next.groups != nil && next.offsets != nil:
		next.lag = m.tracker.Compute(time.Now(), topo, next.offsets, next.groups)
		m.sharpen(ctx, &next)
	}
	next.reassignments = gather.WithRemainingBytes(moves, old.logDirs, topo)
	m.publish(func(p *parts) {
		p.topology, p.reassignments = next.topology, next.reassignments
		p.offsets = next.offsets
		p.groups, p.lag = next.groups, next.lag
		p.configs = withNeeds(p.configs, moves, p.logDirs, topo)
	})
	m.ended(ctx, nil)
	return true
}

// fresh tells whether lag is known and young enough to be shown.
func (m *Monitor) fresh(l *snapshot.Lag) bool {
	return l != nil && time.Since(l.ComputedAt) <= m.cfg.Limit(m.cfg.Collector("groups").Interval)
}

// ended records how the round went and wakes those who wait for it.
func (m *Monitor) ended(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.state
	m.tried = true
	m.rounds++
	if err == nil {
		m.state = "collecting"
		select {
		case <-m.known:
		default:
			close(m.known)
		}
	} else {
		m.state = fmt.Sprintf("not collecting (%s): %v", kafka.Classify(err), err)
	}
	if (before == "collecting") != (err == nil) {
		if err != nil {
			m.log.Error("the cluster cannot be read", "class", kafka.Classify(err), "err", err)
		} else {
			m.log.Info("the cluster is read", "brokers", len(m.parts.topology.Brokers), "topics", len(m.parts.topology.Topics))
		}
	}
	m.roundDone.Broadcast()
}

// guarded turns a panic into an error: one subject's bug must not end the
// collection of all others.
func guarded(ctx context.Context, read func(ctx context.Context) (gather.Failures, error)) (f gather.Failures, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a bug, please report it: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return read(ctx)
}

// run calls a reading with its collector's timeout and books the outcome.
func (m *Monitor) run(ctx context.Context, name string, read func(ctx context.Context) (gather.Failures, error)) (gather.Failures, error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Collector(name).Timeout)
	defer cancel()
	start := time.Now()
	failures, err := guarded(ctx, read)
	if errors.Is(err, kafka.ErrNoQuorum) {
		m.ledger.skip(name)
		return nil, nil
	}
	m.ledger.finish(name, start, failures, err)
	m.reporter.report(name, failures, err)
	return failures, err
}

func (m *Monitor) readTopology(ctx context.Context, old *parts) (topo *snapshot.Topology, moves *snapshot.Reassignments, err error) {
	read := func() error {
		_, err := m.run(ctx, "topology", func(ctx context.Context) (f gather.Failures, err error) {
			topo, f, err = m.reader.Topology(ctx)
			return f, err
		})
		return err
	}
	if err := read(); err != nil || !m.cfg.Collector("reassignments").Enabled {
		return topo, nil, err
	}
	_, err = m.run(ctx, "reassignments", func(ctx context.Context) (_ gather.Failures, err error) {
		moves, err = m.reader.Reassignments(ctx)
		return nil, err
	})
	if err != nil {
		if moves = old.reassignments; moves != nil && time.Since(moves.ReadAt) > m.cfg.Limit(m.cfg.Collector("reassignments").Interval) {
			moves = nil
		}
	} else if old.reassignments != nil && !gather.SameReassignments(moves, old.reassignments) || gather.Unsettled(topo, old.topology, moves) {
		// Moves began or ended just now: read the replica lists again, so that
		// both tell of the same moment and no move looks like under-replication.
		before := topo
		if err := read(); err != nil {
			return nil, nil, err
		}
		gather.MarkEnded(topo, moves, old.reassignments)
		gather.MarkBegun(topo, before, moves)
		gather.MarkBegun(topo, old.topology, moves)
	}
	gather.MarkReassigning(topo, moves)
	return topo, moves, nil
}

func (m *Monitor) readGroups(ctx context.Context, topo *snapshot.Topology, old *parts, all *[]gather.Failures) (groups *snapshot.Groups, err error) {
	if !m.cfg.Collector("groups").Enabled {
		return nil, nil
	}
	f, err := m.run(ctx, "groups", func(ctx context.Context) (f gather.Failures, err error) {
		groups, f, err = m.reader.Groups(ctx, topo, old.groups)
		return f, err
	})
	*all = append(*all, f)
	if groups != nil {
		gather.DropOlderThan(groups, time.Now().Add(-m.cfg.Limit(m.cfg.Collector("groups").Interval)))
	}
	return groups, err
}

// readOffsets reads end offsets each round and the other kinds when due. What
// is not due is taken over from before.
func (m *Monitor) readOffsets(ctx context.Context, topo *snapshot.Topology, old *parts, all *[]gather.Failures) (*snapshot.Offsets, error) {
	if !m.cfg.Collector("offsets").Enabled {
		return nil, nil
	}
	next := &snapshot.Offsets{}
	last := old.offsets
	if last == nil {
		last = &snapshot.Offsets{}
	}
	end, f, err := m.readKind(ctx, "offsets", kafka.EndOffsets, topo)
	*all = append(*all, f)
	if err != nil {
		return nil, err
	}
	next.EndReadAt = time.Now()
	stable := m.readWhenDue(ctx, stableKind, topo, last, next, all)
	start := m.readWhenDue(ctx, startKind, topo, last, next, all)
	lastRecord := m.readWhenDue(ctx, lastRecordKind, topo, last, next, all)
	next.Topics = gather.MergeOffsets(topo, end, start, stable, lastRecord)
	return next, nil
}

// seedsPerBroker bounds how many partitions' history is asked for in one round
// of each broker, on average: a look-up by time reads from the broker's disk.
const seedsPerBroker = 1000

// sharpen makes lag in seconds exact where asked, and asks for the past of
// partitions whose history is too short, once for each.
func (m *Monitor) sharpen(ctx context.Context, p *parts) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Collector("offsets").Timeout)
	defer cancel()
	m.unseeded = append(m.unseeded, m.tracker.Unseeded()...)
	if n := min(len(m.unseeded), seedsPerBroker*len(p.topology.Brokers)); n > 0 {
		m.reporter.report("lag history", m.reader.SeedHistory(ctx, p.topology, p.offsets, m.tracker, m.unseeded[:n]), nil)
		m.unseeded = slices.Delete(m.unseeded, 0, n)
		m.tracker.Resolve(p.lag, p.groups)
	}
	if m.cfg.Lag.ExactGroups != nil {
		m.reporter.report("exact lag", m.reader.ExactSeconds(ctx, p.topology, p.offsets, p.groups, p.lag), nil)
	}
}

// withNeeds tells anew which throttles are needed, on a copy: published parts
// do not change.
func withNeeds(c *snapshot.Configs, moves *snapshot.Reassignments, dirs *snapshot.LogDirs, topo *snapshot.Topology) *snapshot.Configs {
	if c == nil {
		return nil
	}
	cp := *c
	cp.Throttles = append([]snapshot.Throttle(nil), c.Throttles...)
	gather.MarkNeeded(&cp, moves, dirs, topo)
	return &cp
}
