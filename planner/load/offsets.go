package load

import (
	"context"
	"fmt"
	"time"

	"github.com/kafka-steward/kafka-steward/internal/kafka"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

// OffsetSource is what is asked without Prometheus; *kafka.Client is one.
type OffsetSource interface {
	ListOffsets(ctx context.Context, leaders kafka.Assignment, spec kafka.OffsetSpec, each func(kafka.OffsetResult)) map[int32]error
	ListGroups(ctx context.Context, brokers []int32) ([]kafka.ListedGroup, map[int32]error)
	CommittedOffsets(ctx context.Context, byCoordinator map[int32][]string) ([]kafka.GroupCommits, map[int32]error)
}

// OffsetOptions say how to read offsets twice.
type OffsetOptions struct {
	// Group is the resource group whose topics are asked for, "" for all.
	Group string
	// Interval between the readings.
	Interval time.Duration
	// Now and Wait are the clock, by default the real one.
	Now  func() time.Time
	Wait func(ctx context.Context, d time.Duration) error
}

// FromOffsets measures the rates of a cluster's partitions from two readings of
// end and committed offsets, puts them into c and reports. Sizes must be in c
// already: they tell how big records are. Two readings show one moment: there
// are no statistics, and a load that comes at other hours is not seen. Partial
// answers leave partitions to be filled from their topic. If it fails, c is as
// it was. Requests: per leader three, per coordinator two lists and twice the
// commits.
func FromOffsets(ctx context.Context, src OffsetSource, c *model.Cluster, o OffsetOptions) (*Report, error) {
	if o.Interval <= 0 {
		return nil, fmt.Errorf("offsets cannot be read twice %v apart", o.Interval)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	r, err := newRates(c, o.Group, "offsets")
	if err != nil {
		return nil, err
	}
	m := &offsetMeasurer{rates: r, src: src, o: o, failed: map[int32]error{}}
	first := m.readOffsets(ctx)
	if err := o.Wait(ctx, o.Interval); err != nil {
		return nil, fmt.Errorf("waiting for the second reading of offsets: %w", err)
	}
	second := m.readOffsets(ctx)
	start, _ := m.offsets(ctx, kafka.StartOffsets)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("reading offsets: %w", context.Cause(ctx))
	}
	m.derive(first, second, start)
	if m.nothing() {
		return nil, fmt.Errorf("loads from offsets: %w: %v", ErrNothingMeasured, m.firstFailure())
	}
	m.fill()
	m.apply()
	return m.report, nil
}

// wait waits, and no longer than ctx lasts.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

type offsetMeasurer struct {
	*rates
	src    OffsetSource
	o      OffsetOptions
	failed map[int32]error
}

// groupPartition is a group's place in a partition.
type groupPartition struct {
	group string
	p     int
}

// reading holds offsets at one time, -1 where one is not known.
type reading struct {
	ends    []int64
	endsAt  time.Time
	commits map[groupPartition]int64
	// commitsAt is when they were read.
	commitsAt time.Time
}

func (m *offsetMeasurer) readOffsets(ctx context.Context) *reading {
	r := &reading{commits: map[groupPartition]int64{}}
	r.ends, r.endsAt = m.offsets(ctx, kafka.EndOffsets)
	r.commitsAt = m.o.Now()
	m.commits(ctx, r.commits)
	return r
}

func (m *offsetMeasurer) offsets(ctx context.Context, spec kafka.OffsetSpec) ([]int64, time.Time) {
	c := m.c
	out := make([]int64, c.NumPartitions())
	for p := range out {
		out[p] = -1
	}
	leaders := kafka.Assignment{}
	m.each(func(p int) {
		// A partition that is moving may be led by another than who is to lead it.
		// Its leader would answer NOT_LEADER: it stays without a sample.
		if l := c.Leader[p]; l != model.None {
			leaders.Add(c.Brokers[c.Broker[l]].ID, c.Topics[c.Topic[p]].Name, c.ID[p])
		}
	})
	at := m.o.Now()
	failed := m.src.ListOffsets(ctx, leaders, spec, func(r kafka.OffsetResult) {
		if p, ok := c.PartitionIndex(r.Topic, r.Partition); ok && r.Err == nil {
			out[p] = r.Offset
		}
	})
	m.note(failed)
	return out, at
}

func (m *offsetMeasurer) note(failed map[int32]error) {
	for b, err := range failed {
		m.failed[b] = err
	}
}

// firstFailure is that of the broker with the lowest id.
func (m *offsetMeasurer) firstFailure() error {
	for i := range m.c.Brokers {
		if err := m.failed[m.c.Brokers[i].ID]; err != nil {
			return fmt.Errorf("broker %d: %w", m.c.Brokers[i].ID, err)
		}
	}
	return nil
}

func (m *offsetMeasurer) commits(ctx context.Context, out map[groupPartition]int64) {
	var alive []int32
	for i := range m.c.Brokers {
		if !m.c.Brokers[i].Dead {
			alive = append(alive, m.c.Brokers[i].ID)
		}
	}
	groups, failed := m.src.ListGroups(ctx, alive)
	m.note(failed)
	byCoordinator := map[int32][]string{}
	for _, g := range groups {
		byCoordinator[g.Coordinator] = append(byCoordinator[g.Coordinator], g.ID)
	}
	commits, failed := m.src.CommittedOffsets(ctx, byCoordinator)
	m.note(failed)
	for _, g := range commits {
		for _, t := range g.Topics {
			for _, x := range t.Partitions {
				if p, ok := m.c.PartitionIndex(t.Topic, x.Partition); ok && m.wanted[m.c.Topic[p]] {
					out[groupPartition{g.ID, p}] = x.Offset
				}
			}
		}
	}
}

// derive turns two readings into rates. An offset that went back is a topic
// made anew or a group rewound: no sample, and no reading.
func (m *offsetMeasurer) derive(first, second *reading, start []int64) {
	rep := m.report
	rep.From, rep.To, rep.Step = first.endsAt.UTC(), second.endsAt.UTC(), second.endsAt.Sub(first.endsAt)
	records := make([]float64, len(start))
	for p := range records {
		records[p] = -1
		if start[p] >= 0 && second.ends[p] >= 0 {
			records[p] = float64(second.ends[p] - start[p])
		}
	}
	size := recordSizes(m.c, records)
	took, noSize := second.endsAt.Sub(first.endsAt).Seconds(), 0
	m.each(func(p int) {
		grown := second.ends[p] - first.ends[p]
		if first.ends[p] < 0 || second.ends[p] < 0 || grown < 0 || took <= 0 {
			return
		}
		if grown > 0 && size[p] == 0 {
			noSize++
			return
		}
		m.in[p], m.known[p], m.some[p] = float64(grown)/took*size[p], true, true
	})
	// Whole offsets are added, so that the order of a map cannot show.
	advanced := make([]int64, len(start))
	for k, offset := range second.commits {
		if before, ok := first.commits[k]; ok && offset > before {
			advanced[k.p] += offset - before
		}
	}
	if took := second.commitsAt.Sub(first.commitsAt).Seconds(); took > 0 {
		for p, n := range advanced {
			m.read[p] = float64(n) / took * size[p]
		}
	}
	rep.Methods = []string{
		"in: end offsets read twice × mean size of a record (size / records held)",
		"out: bytes in × (replicas - 1), and what groups committed between the readings × mean size of a record",
	}
	rep.note("two readings %v apart show one moment only: there are no statistics", second.endsAt.Sub(first.endsAt).Round(time.Millisecond))
	if noSize > 0 {
		rep.note("%d partitions are written, but the size of their records is not known", noSize)
	}
	for i := range m.c.Brokers {
		if err := m.failed[m.c.Brokers[i].ID]; err != nil {
			rep.note("broker %d did not tell everything: %v", m.c.Brokers[i].ID, err)
		}
	}
}
