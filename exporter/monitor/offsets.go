package monitor

import (
	"context"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/gather"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
)

// offsetKind is a kind of offset with a collector, and so an interval, of its own.
type offsetKind struct {
	collector string
	spec      kafka.OffsetSpec
	readAt    func(*snapshot.Offsets) *time.Time
	values    func(*snapshot.TopicOffsets) []int64
}

var (
	stableKind = offsetKind{
		"stable_offsets", kafka.StableOffsets,
		func(o *snapshot.Offsets) *time.Time { return &o.StableReadAt },
		func(o *snapshot.TopicOffsets) []int64 { return o.Stable },
	}
	startKind = offsetKind{
		"start_offsets", kafka.StartOffsets,
		func(o *snapshot.Offsets) *time.Time { return &o.StartReadAt },
		func(o *snapshot.TopicOffsets) []int64 { return o.Start },
	}
	lastRecordKind = offsetKind{
		"last_record", kafka.MaxTimestamp,
		func(o *snapshot.Offsets) *time.Time { return &o.LastRecordReadAt },
		func(o *snapshot.TopicOffsets) []int64 { return o.LastRecord },
	}
)

func (m *Monitor) readKind(ctx context.Context, collector string, spec kafka.OffsetSpec, topo *snapshot.Topology) (values map[string][]int64, f gather.Failures, err error) {
	f, err = m.run(ctx, collector, func(ctx context.Context) (f gather.Failures, err error) {
		values, f, err = m.reader.Offsets(ctx, topo, spec)
		return f, err
	})
	return values, f, err
}

// readWhenDue reads a kind of offset if its interval has passed, and else takes
// over what was read before; next is told when that was.
func (m *Monitor) readWhenDue(ctx context.Context, k offsetKind, topo *snapshot.Topology, last, next *snapshot.Offsets, all *[]gather.Failures) map[string][]int64 {
	c := m.cfg.Collector(k.collector)
	if !c.Enabled {
		return nil
	}
	lastAt := *k.readAt(last)
	// A round that starts a moment early must not put a reading off by a whole
	// further round.
	const slack = time.Second
	if time.Since(lastAt) >= c.Interval-slack {
		values, f, err := m.readKind(ctx, k.collector, k.spec, topo)
		*all = append(*all, f)
		if err == nil {
			*k.readAt(next) = time.Now()
			return values
		}
		if time.Since(lastAt) > m.cfg.Limit(c.Interval) {
			return nil
		}
	}
	*k.readAt(next) = lastAt
	values := make(map[string][]int64, len(last.Topics))
	for name, o := range last.Topics {
		// A topic of the same name but another id starts anew.
		if t := topo.Topic(name); t != nil && t.ID == o.ID {
			values[name] = k.values(o)
		}
	}
	return values
}
