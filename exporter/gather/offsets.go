package gather

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
)

// leaders assigns every partition that has a leader to it; want nil means all.
func leaders(t *snapshot.Topology, want func(topic *snapshot.Topic, partition int32) bool) kafka.Assignment {
	a := kafka.Assignment{}
	for i := range t.Topics {
		topic := &t.Topics[i]
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			if p.Leader >= 0 && (want == nil || want(topic, p.ID)) {
				a.Add(p.Leader, topic.Name, p.ID)
			}
		}
	}
	return a
}

// Offsets reads one kind of offset of all partitions, one request per leader,
// into a fresh set of slices; what was not read is Unknown.
func (r *Reader) Offsets(ctx context.Context, t *snapshot.Topology, spec kafka.OffsetSpec) (map[string][]int64, Failures, error) {
	values := make(map[string][]int64, len(t.Topics))
	for i := range t.Topics {
		values[t.Topics[i].Name] = unknowns(&t.Topics[i])
	}
	failures, err := r.readOffsets(ctx, t, leaders(t, nil), spec, values)
	return values, failures, err
}

func unknowns(t *snapshot.Topic) []int64 {
	n := 0
	if len(t.Partitions) > 0 {
		n = int(t.Partitions[len(t.Partitions)-1].ID) + 1
	}
	v := make([]int64, n)
	for i := range v {
		v[i] = snapshot.Unknown
	}
	return v
}

func (r *Reader) readOffsets(ctx context.Context, t *snapshot.Topology, a kafka.Assignment, spec kafka.OffsetSpec, values map[string][]int64) (Failures, error) {
	var failures Failures
	var refused []kafka.PartitionError
	failed := r.client.ListOffsets(ctx, a, spec, func(o kafka.OffsetResult) {
		if o.Err != nil {
			// Leaders move between Metadata and ListOffsets: expected, told, and
			// right again in the next round.
			refused = append(refused, kafka.PartitionError{Topic: o.Topic, Partition: o.Partition, Err: o.Err})
			return
		}
		value := o.Offset
		if spec == kafka.MaxTimestamp {
			value = o.Timestamp
		}
		if v := values[o.Topic]; o.Partition >= 0 && int(o.Partition) < len(v) && value >= 0 {
			v[o.Partition] = value
		}
	})
	failures.brokers(failed)
	failures.partitions(refused)
	return failures, whole(failed, len(a))
}

// shownPerError is how many partitions with the same error are named.
const shownPerError = 3

// partitions adds what partitions were refused with: of each error the first
// ones by name, the others as a number.
func (f *Failures) partitions(refused []kafka.PartitionError) {
	slices.SortFunc(refused, func(a, b kafka.PartitionError) int {
		return cmp.Or(cmp.Compare(a.Err.Error(), b.Err.Error()), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	for i := 0; i < len(refused); {
		same := i + 1
		for same < len(refused) && refused[same].Err.Error() == refused[i].Err.Error() {
			same++
		}
		for j := i; j < min(same, i+shownPerError); j++ {
			f.item("partition "+partitionName(refused[j].Topic, refused[j].Partition), -1, refused[j].Err)
		}
		if n := same - i - shownPerError; n > 0 {
			f.item(fmt.Sprintf("%d more partitions", n), -1, refused[i].Err)
		}
		i = same
	}
}

// MergeOffsets builds the offsets part from the separate readings.
func MergeOffsets(t *snapshot.Topology, end, start, stable, lastRecord map[string][]int64) map[string]*snapshot.TopicOffsets {
	out := make(map[string]*snapshot.TopicOffsets, len(t.Topics))
	for i := range t.Topics {
		name := t.Topics[i].Name
		out[name] = &snapshot.TopicOffsets{ID: t.Topics[i].ID, End: end[name], Start: start[name], Stable: stable[name], LastRecord: lastRecord[name]}
	}
	return out
}
