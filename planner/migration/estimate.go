package migration

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// Estimate is how long a schedule takes.
type Estimate struct {
	// Millis is the time as a stream, BatchedMillis batch by batch.
	Millis        int64 `json:"ms"`
	BatchedMillis int64 `json:"batched_ms"`
	// Endless counts copies that would never catch up with what is written to
	// their partition; they are left out of the times. Examples names some.
	Endless  int      `json:"endless,omitempty"`
	Examples []string `json:"endless_examples,omitempty"`
}

// maxExamples bounds lists of names.
const maxExamples = 10

// meter is something that copies share: a broker's network one way, a disk, or
// a throttle. Rates are bytes/s.
type meter struct {
	rate, taken int64
	// active copies use it, waiting ones will; tokens bounds the active.
	active, waiting, tokens int
}

// meters are all meters of a cluster under one throttle.
//
// A copy gets, when it starts, an equal part of what its meters have left for
// the copies that may still join, and keeps it: the sum never exceeds a rate.
type meters struct {
	list []meter
	n    int // brokers
}

// Meters by broker come first: in, out, between directories; then disks.
func (m *meters) in(b int32) int32   { return b }
func (m *meters) out(b int32) int32  { return int32(m.n) + b }
func (m *meters) dirs(b int32) int32 { return 2*int32(m.n) + b }
func (m *meters) disk(d int32) int32 { return 3*int32(m.n) + d }

// least is the part of a bandwidth that copying gets on a broker whose traffic
// seems to leave nothing: figures are rough, and Kafka shares.
const least = 20

// newMeters finds what traffic leaves free, bounded by throttles.
func (r *run) newMeters(throttle, dirThrottle int64) *meters {
	n := len(r.c.Brokers)
	m := &meters{n: n, list: make([]meter, 3*n+len(r.limit))}
	loads := r.c.BrokerLoads()
	writes := make([]int64, len(r.limit))
	for s, b := range r.c.Broker {
		if d := r.disk(b, r.c.Dir[s]); d != model.None {
			writes[d] += r.c.InRate[s]
		}
	}
	set := func(i int32, rate, throttle int64, tokens int) {
		if throttle > 0 {
			rate = min(rate, throttle)
		}
		m.list[i] = meter{rate: max(1, rate), tokens: tokens}
	}
	for b := range int32(n) {
		set(m.in(b), r.freeRate(b, model.In, loads[b][model.In]), throttle, r.o.BrokerIn)
		set(m.out(b), r.freeRate(b, model.Out, loads[b][model.Out]), throttle, r.o.BrokerOut)
		set(m.dirs(b), math.MaxInt64/2, dirThrottle, math.MaxInt)
	}
	for b := range int32(n) {
		for d := r.first[b]; d < r.first[b+1]; d++ {
			v := r.diskRate(b)
			set(m.disk(d), max(v-writes[d], v/least), 0, r.o.PerDisk)
		}
	}
	return m
}

// freeRate is what a broker's traffic leaves of its network one way.
func (r *run) freeRate(b int32, k model.Resource, load int64) int64 {
	v := r.c.Brokers[b].Capacity[k]
	if v == model.Unlimited || v <= 0 {
		v = r.o.Bandwidth
	}
	return max(v-load, v/least)
}

// diskRate is what a broker's disks carry each: what is given, or the default,
// or more if the broker is known to take in more.
func (r *run) diskRate(b int32) int64 {
	if r.o.DiskBandwidth > 0 {
		return r.o.DiskBandwidth
	}
	if v := r.c.Brokers[b].Capacity[model.In]; v != model.Unlimited {
		return max(DefaultDiskBandwidth, v/int64(r.first[b+1]-r.first[b]))
	}
	return DefaultDiskBandwidth
}

// of lists the meters of a copy.
func (m *meters) of(f *flow, out []int32) []int32 {
	if f.dst != f.src {
		out = append(out, m.in(f.dst), m.out(f.src))
	} else {
		out = append(out, m.dirs(f.dst))
	}
	out = append(out, m.disk(f.dstDisk))
	if f.srcDisk != model.None && f.srcDisk != f.dstDisk {
		out = append(out, m.disk(f.srcDisk))
	}
	return out
}

// estimate fills in the schedule's times and the suggested throttle.
func (r *run) estimate(s *Schedule) {
	m := r.newMeters(0, 0)
	bytes := make([]int64, len(m.list))
	for k := range s.Batches {
		b := &s.Batches[k]
		b.Millis = r.batchTime(m, bytes, b.First, b.First+b.Count)
	}
	s.Throttle = r.suggest(s)
	throttle := r.o.Throttle
	if throttle == 0 {
		throttle = s.Throttle.BytesPerSecond
	}
	var times, throttled []int64
	var both sync.WaitGroup
	both.Go(func() { s.Unthrottled, times = r.simulate(0, 0) })
	s.Throttled, throttled = r.simulate(throttle, r.o.DirThrottle)
	both.Wait()
	if r.o.Throttle > 0 || r.o.DirThrottle > 0 {
		times = throttled
	}
	for k := range s.Steps {
		s.Steps[k].Start, s.Steps[k].End = times[2*k], times[2*k+1]
	}
	if t := &s.Throttled; t.Endless > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("with a throttle of %s (log dirs: %s) %d copies never catch up with what is written to their partitions, among them %s; raise it to %s or more", rate(throttle), rate(r.o.DirThrottle), t.Endless, strings.Join(t.Examples, ", "), rate(s.Throttle.Least)))
	}
}

// millis is the time to copy size bytes at a rate while inflow is added.
// ok is false if that never ends.
func millis(size, rate, inflow int64) (int64, bool) {
	if rate <= inflow {
		return 0, false
	}
	hi, lo := bits.Mul64(uint64(size), 1000)
	if hi >= uint64(rate-inflow) {
		return 0, false
	}
	q, rem := bits.Div64(hi, lo, uint64(rate-inflow))
	if rem > 0 {
		q++
	}
	return int64(min(q, math.MaxInt64/4)), true
}
