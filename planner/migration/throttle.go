package migration

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// Throttle is a suggestion for Kafka's replication throttle, which holds for
// each broker and direction. Rates are bytes/s.
type Throttle struct {
	// BytesPerSecond is the suggestion, 0 if nothing is copied between brokers.
	BytesPerSecond int64 `json:"bytes_per_second"`
	// Least is what lets all copies of every batch catch up with 1.2 times what
	// is written to their partitions; LeastBecause names what needs it.
	Least        int64  `json:"least"`
	LeastBecause string `json:"least_because,omitempty"`
	// Most is the free bandwidth of the busiest broker that copies,
	// MostBroker its id.
	Most       int64 `json:"most"`
	MostBroker int32 `json:"most_broker"`
	// Movers is the greatest number of copies at once in the cluster,
	// MoversPerBroker on one broker in one direction.
	Movers          int `json:"movers"`
	MoversPerBroker int `json:"movers_per_broker"`
	// Enough tells that the suggestion is no less than Least; Note says what
	// that means.
	Enough bool   `json:"enough"`
	Note   string `json:"note,omitempty"`
}

// catchUp is the least rate of a copy for the inflow of its partition: 1.2 of it.
func catchUp(inflow int64) int64 { return inflow + (inflow+4)/5 }

// suggest finds the throttle: the budget split over the copies at once, no less
// than what lets them end, and never more than brokers have free.
func (r *run) suggest(s *Schedule) Throttle {
	t := Throttle{Most: math.MaxInt64, MostBroker: model.None}
	m := r.newMeters(0, 0)
	need := make([]int64, 2*m.n)
	count := make([]int, 2*m.n)
	for bi := range s.Batches {
		b := &s.Batches[bi]
		movers := 0
		r.between(b, func(rec *record, f *flow) {
			movers++
			for _, i := range []int32{m.in(f.dst), m.out(f.src)} {
				need[i] += catchUp(r.parts[rec.part].rate)
				count[i]++
				t.MoversPerBroker = max(t.MoversPerBroker, count[i])
				broker := r.c.Brokers[int(i)%m.n].ID
				if need[i] > t.Least {
					t.Least = need[i]
					t.LeastBecause = fmt.Sprintf("%d copies at once on broker %d in batch %d, among them %s", count[i], broker, bi+1, r.c.PartitionName(r.parts[rec.part].p))
				}
				if m.list[i].rate < t.Most {
					t.Most, t.MostBroker = m.list[i].rate, broker
				}
			}
		})
		t.Movers = max(t.Movers, movers)
		r.between(b, func(_ *record, f *flow) {
			for _, i := range []int32{m.in(f.dst), m.out(f.src)} {
				need[i], count[i] = 0, 0
			}
		})
	}
	if t.Movers == 0 {
		return Throttle{MostBroker: model.None, Enough: true, Note: "nothing is copied between brokers"}
	}
	t.BytesPerSecond = t.Most
	if r.o.Budget > 0 {
		t.BytesPerSecond = min(t.Most, max(t.Least, r.o.Budget/int64(t.Movers)*int64(t.MoversPerBroker), 1))
	}
	t.Enough = t.BytesPerSecond >= t.Least
	switch {
	case !t.Enough:
		t.Note = fmt.Sprintf("broker %d has only %s free: %s need %s; lower the concurrency or move at a quieter time", t.MostBroker, rate(t.Most), t.LeastBecause, rate(t.Least))
	case r.o.Budget > 0 && t.BytesPerSecond == t.Least && r.o.Budget/int64(t.Movers)*int64(t.MoversPerBroker) < t.Least:
		t.Note = fmt.Sprintf("the budget of %s would give each broker less than %s, and copies would never end: %s", rate(r.o.Budget), rate(t.Least), t.LeastBecause)
	}
	return t
}

// between calls f for every copy between brokers in a batch.
func (r *run) between(b *Batch, f func(*record, *flow)) {
	for k := b.First; k < b.First+b.Count; k++ {
		rec := &r.records[k]
		for i := rec.flow; i < rec.flowTo; i++ {
			if r.flows[i].dst != r.flows[i].src {
				f(rec, &r.flows[i])
			}
		}
	}
}

// batched sums the times of the batches, one after the other.
func (r *run) batched(throttle, dirThrottle int64) int64 {
	m := r.newMeters(throttle, dirThrottle)
	bytes := make([]int64, len(m.list))
	first := 0
	var sum int64
	for _, end := range r.batchEnd {
		sum += r.batchTime(m, bytes, first, end)
		first = end
	}
	return sum
}

// batchTime is how long the steps of a batch take together: as long as the
// meter with most to do, or the longest copy by itself. Copies that never end
// are left out.
func (r *run) batchTime(m *meters, bytes []int64, first, end int) int64 {
	var longest int64
	var users [perFlow]int32
	each := func(f func(rec *record, fl *flow, i int32)) {
		for k := first; k < end; k++ {
			rec := &r.records[k]
			for j := rec.flow; j < rec.flowTo; j++ {
				for _, i := range m.of(&r.flows[j], users[:0]) {
					f(rec, &r.flows[j], i)
				}
			}
		}
	}
	each(func(rec *record, fl *flow, i int32) {
		bytes[i] += fl.size
		if t, ok := millis(fl.size, m.list[i].rate, r.parts[rec.part].rate); ok {
			longest = max(longest, t)
		}
	})
	each(func(_ *record, _ *flow, i int32) {
		if t, ok := millis(bytes[i], m.list[i].rate, 0); ok {
			longest = max(longest, t)
		}
		bytes[i] = 0
	})
	return longest
}

// rate writes bytes/s for people, in powers of 1,000 as networks count. It
// rounds up: what is told as the least that does must do.
func rate(n int64) string {
	v, unit := float64(n), "B/s"
	for _, u := range []string{"kB/s", "MB/s", "GB/s"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	return strconv.FormatFloat(math.Ceil(v*10)/10, 'f', 1, 64) + " " + unit
}
