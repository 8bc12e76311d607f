package gather

import (
	"context"
	"slices"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/lag"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
)

// seedAges are the moments before now at which past end offsets are asked for,
// oldest first.
var seedAges = []time.Duration{
	7 * 24 * time.Hour, 3 * 24 * time.Hour, 24 * time.Hour, 12 * time.Hour, 4 * time.Hour,
	time.Hour, 20 * time.Minute, 5 * time.Minute, time.Minute,
}

// SeedHistory asks the leaders where the partitions' ends were in the past
// (ListOffsets by time), so that lag in seconds is right from the first minute
// after a start and not only once history has been watched. It runs once for a
// partition, and only for those in which a group lags: 9 requests per leader.
func (r *Reader) SeedHistory(ctx context.Context, t *snapshot.Topology, o *snapshot.Offsets, tracker *lag.Tracker, partitions []lag.TopicPartition) Failures {
	a := kafka.Assignment{}
	for _, p := range partitions {
		if part := t.Topic(p.Topic).Partition(p.Partition); part != nil && part.Leader >= 0 {
			a.Add(part.Leader, p.Topic, p.Partition)
		}
	}
	now := r.now()
	points := make(map[lag.TopicPartition][]seed, len(partitions))
	var failures Failures
	for _, age := range seedAges {
		at := now.Add(-age)
		failed := r.client.ListOffsets(ctx, a, kafka.AtTime(at.UnixMilli()), func(x kafka.OffsetResult) {
			p := lag.TopicPartition{Topic: x.Topic, Partition: x.Partition}
			end := x.Offset
			if end < 0 {
				// No record since then: the end already was where it is now.
				end = snapshot.At(o.Topic(p.Topic).End, p.Partition)
			}
			if x.Err != nil || end < 0 {
				return
			}
			points[p] = append(points[p], seed{at, end})
			if x.Timestamp > at.UnixMilli() {
				// The end stood there until the record that was found was written.
				points[p] = append(points[p], seed{time.UnixMilli(x.Timestamp), end})
			}
		})
		failures.brokers(failed)
		if ctx.Err() != nil {
			break
		}
	}
	for p, seeds := range points {
		slices.SortStableFunc(seeds, func(a, b seed) int { return a.at.Compare(b.at) })
		times, ends := make([]time.Time, len(seeds)), make([]int64, len(seeds))
		for i, s := range seeds {
			times[i], ends[i] = s.at, s.end
		}
		tracker.Seed(p, times, ends)
	}
	return failures
}

// seed is where a partition's end was at a moment.
type seed struct {
	at  time.Time
	end int64
}

// ExactSeconds replaces the estimate of lag in seconds by the timestamp of the
// record at the committed offset, for the groups that the configuration names.
// What retention removed has no timestamp: the oldest record that is left is
// read then. Requests: one Fetch per leader, times the groups that share a partition.
func (r *Reader) ExactSeconds(ctx context.Context, t *snapshot.Topology, o *snapshot.Offsets, g *snapshot.Groups, l *snapshot.Lag) Failures {
	type key struct {
		topic     string
		partition int32
	}
	waiting := map[key][]*snapshot.PartitionLag{}
	for i := range l.Groups {
		if !r.cfg.Lag.Exact(g.Groups[i].ID) || g.Groups[i].Stale {
			continue
		}
		for j := range l.Groups[i].Topics {
			tl := &l.Groups[i].Topics[j]
			for k := range tl.Partitions {
				if p := &tl.Partitions[k]; p.Lag > 0 {
					id := key{tl.Topic, p.Partition}
					waiting[id] = append(waiting[id], p)
				}
			}
		}
	}
	var failures Failures
	for len(waiting) > 0 && ctx.Err() == nil {
		a, offsets, asked := kafka.Assignment{}, map[string]map[int32]int64{}, map[key]*snapshot.PartitionLag{}
		for id, ps := range waiting {
			asked[id] = ps[0]
			if waiting[id] = ps[1:]; len(ps) == 1 {
				delete(waiting, id)
			}
			part := t.Topic(id.topic).Partition(id.partition)
			if part == nil || part.Leader < 0 {
				continue
			}
			a.Add(part.Leader, id.topic, id.partition)
			if offsets[id.topic] == nil {
				offsets[id.topic] = map[int32]int64{}
			}
			offsets[id.topic][id.partition] = asked[id].Committed
			if to := o.Topic(id.topic); to != nil {
				offsets[id.topic][id.partition] = max(asked[id].Committed, snapshot.At(to.Start, id.partition))
			}
		}
		times, failed := r.client.RecordTimes(ctx, a, offsets)
		failures.brokers(failed)
		for _, x := range times {
			if x.Err != nil || x.Timestamp < 0 {
				continue // the estimate stands
			}
			p := asked[key{x.Topic, x.Partition}]
			p.Seconds, p.Exact, p.Truncated = max(0, r.now().Sub(time.UnixMilli(x.Timestamp)).Seconds()), true, false
		}
	}
	return failures
}
