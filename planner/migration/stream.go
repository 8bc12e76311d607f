package migration

import (
	"container/heap"
	"math"
	"slices"
)

// ends is a heap of running steps by their end.
type ends []ending

type ending struct {
	at int64
	k  int32
}

func (h ends) Len() int           { return len(h) }
func (h ends) Less(i, j int) bool { return h[i].at < h[j].at || h[i].at == h[j].at && h[i].k < h[j].k }
func (h ends) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ends) Push(x any)        { *h = append(*h, x.(ending)) }
func (h *ends) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// stream runs a schedule in virtual time. A step that cannot start waits at
// what hinders it, and is tried again when that gives way.
type stream struct {
	*run
	m *meters
	// users are the meters of every flow, perFlow each, -1 for none.
	users    []int32
	started  []bool
	done     []bool
	follower []int32 // a step's successor in its partition
	used     []int64
	coming   []int64   // by disk: sizes of copies that have not started
	order    [][]int32 // by disk: steps that copy to it, in order
	rates    []int64   // by flow
	left     []int64   // by flow: bytes to copy, as of since
	since    []int64   // by flow
	runs     [][]int32 // by meter: flows that use it now
	stepOf   []int32   // by flow
	times    []int64   // start and end of every step
	atMeter  []intHeap // by meter: steps that wait for it
	atDisk   []intHeap // by disk: steps that wait for space
	running  ends
	now      int64
	est      Estimate
}

const perFlow = 4

// simulate runs the schedule as a stream and returns start and end of its steps.
func (r *run) simulate(throttle, dirThrottle int64) (Estimate, []int64) {
	s := r.newStream(throttle, dirThrottle)
	for k := range int32(len(r.records)) {
		s.attempt(k)
	}
	for len(s.running) > 0 {
		s.next()
	}
	for k := range s.started {
		if !s.started[k] { // cannot be: a test holds against it
			s.times[2*k], s.times[2*k+1] = -1, -1
		}
	}
	s.est.Millis = s.now
	s.est.BatchedMillis = r.batched(throttle, dirThrottle)
	return s.est, s.times
}

// newStream makes a stream in which nothing has started.
func (r *run) newStream(throttle, dirThrottle int64) *stream {
	n, disks := len(r.records), len(r.limit)
	s := &stream{
		run: r, m: r.newMeters(throttle, dirThrottle), users: make([]int32, perFlow*len(r.flows)),
		started: make([]bool, n), done: make([]bool, n), follower: make([]int32, n),
		used: slices.Clone(r.start), coming: make([]int64, disks), order: make([][]int32, disks), rates: make([]int64, len(r.flows)), left: make([]int64, len(r.flows)), since: make([]int64, len(r.flows)), stepOf: make([]int32, len(r.flows)),
		times: make([]int64, 2*n), atDisk: make([]intHeap, disks),
	}
	s.atMeter, s.runs = make([]intHeap, len(s.m.list)), make([][]int32, len(s.m.list))
	s.queue()
	return s
}

// next goes on to the next end of a step.
func (s *stream) next() {
	e := heap.Pop(&s.running).(ending)
	if s.done[e.k] || s.times[2*e.k+1] != e.at {
		return // it was sped up and ends at another time
	}
	s.now = e.at
	s.finish(e.k)
}

// queue enters every step as a future user of its meters and disks.
func (s *stream) queue() {
	for i := range s.users {
		s.users[i] = -1
	}
	for k := range s.records {
		rec := &s.records[k]
		s.follower[k] = -1
		if rec.prev >= 0 {
			s.follower[rec.prev] = int32(k)
		}
		for f := rec.flow; f < rec.flowTo; f++ {
			s.stepOf[f] = int32(k)
			d := s.flows[f].dstDisk
			s.coming[d] += s.flows[f].size
			s.order[d] = append(s.order[d], int32(k))
			for _, i := range s.m.of(&s.flows[f], s.users[f*perFlow:f*perFlow]) {
				s.m.list[i].waiting++
			}
		}
	}
}

// uses are the meters of a flow.
func (s *stream) uses(f int32) []int32 {
	u := s.users[f*perFlow : (f+1)*perFlow]
	for len(u) > 0 && u[len(u)-1] < 0 {
		u = u[:len(u)-1]
	}
	return u
}

// attempt starts a step if everything allows it, or lets it wait.
func (s *stream) attempt(k int32) {
	rec := &s.records[k]
	if s.started[k] || rec.prev >= 0 && !s.done[rec.prev] {
		return
	}
	scarce, full := s.tokens(rec)
	if full >= 0 {
		s.atMeter[full].push(k)
		return
	}
	inflow := s.parts[rec.part].rate
	dur := int64(1) // nothing is done in no time
	for f := rec.flow; f < rec.flowTo; f++ {
		if !s.fits(k, f) {
			s.undo(rec.flow, f)
			s.atDisk[s.flows[f].dstDisk].push(k)
			return
		}
		rate := s.rate(f, inflow)
		if rate < catchUp(inflow) && scarce >= 0 {
			// Too little is left beside the others: wait until they are done.
			s.undo(rec.flow, f)
			s.atMeter[scarce].push(k)
			return
		}
		t, ok := millis(s.flows[f].size, rate, inflow)
		if !ok {
			s.endless(rec)
		}
		s.take(f, rate)
		dur = max(dur, t)
	}
	s.started[k] = true
	s.times[2*k], s.times[2*k+1] = s.now, s.now+dur
	for f := rec.flow; f < rec.flowTo; f++ {
		s.coming[s.flows[f].dstDisk] -= s.flows[f].size
		for _, i := range s.uses(f) {
			s.m.list[i].waiting--
		}
	}
	heap.Push(&s.running, ending{s.now + dur, k})
	for f := rec.flow; f < rec.flowTo; f++ {
		s.wakeDisk(s.flows[f].dstDisk) // it may be the next one's turn
	}
}

// tokens returns a meter that takes no more copies, -1 if all do, and of those
// in use the one that has least left, -1 if none is. The copies of a joined
// step do not shut out each other.
func (s *stream) tokens(rec *record) (scarce, full int32) {
	scarce = -1
	least := int64(math.MaxInt64)
	for f := rec.flow; f < rec.flowTo; f++ {
		for _, i := range s.uses(f) {
			m := &s.m.list[i]
			if m.active == 0 {
				continue
			}
			if m.active+int(rec.flowTo-rec.flow) > m.tokens {
				return i, i
			}
			if left := m.rate - m.taken; left < least {
				scarce, least = i, left
			}
		}
	}
	return scarce, -1
}

// fits checks the disk space for one copy.
func (s *stream) fits(k, f int32) bool {
	size, d := s.flows[f].size, s.flows[f].dstDisk
	if s.limit[d] == math.MaxInt64 {
		return true
	}
	if s.used[d]+size > s.limit[d] {
		return false
	}
	// Room for all that is to come, or its turn.
	if s.used[d]+s.coming[d] <= s.limit[d] {
		return true
	}
	for len(s.order[d]) > 0 && s.started[s.order[d][0]] {
		s.order[d] = s.order[d][1:]
	}
	return s.order[d][0] == k
}

// rate is what a copy gets of its meters.
func (s *stream) rate(f int32, inflow int64) int64 {
	rate, free := int64(math.MaxInt64), int64(math.MaxInt64)
	for _, i := range s.uses(f) {
		m := &s.m.list[i]
		left := m.rate - m.taken
		free = min(free, left)
		rate = min(rate, left/int64(max(1, min(m.tokens-m.active, m.waiting))))
	}
	// A partition written to fast needs more than its part, or never ends.
	return max(rate, min(free, catchUp(inflow)))
}

func (s *stream) take(f int32, rate int64) {
	s.rates[f], s.left[f], s.since[f] = rate, s.flows[f].size, s.now
	for _, i := range s.uses(f) {
		s.m.list[i].taken += rate
		s.m.list[i].active++
		s.runs[i] = append(s.runs[i], f)
	}
	s.used[s.flows[f].dstDisk] += s.flows[f].size
}

// undo gives back what the first copies of a joined step took.
func (s *stream) undo(from, to int32) {
	for f := from; f < to; f++ {
		s.leave(f)
		s.used[s.flows[f].dstDisk] -= s.flows[f].size
	}
}

func (s *stream) leave(f int32) {
	for _, i := range s.uses(f) {
		s.m.list[i].taken -= s.rates[f]
		s.m.list[i].active--
		at := slices.Index(s.runs[i], f)
		s.runs[i] = slices.Delete(s.runs[i], at, at+1)
	}
}

// finish ends a step and tries what waited for it.
func (s *stream) finish(k int32) {
	rec := &s.records[k]
	s.done[k] = true
	for f := rec.flow; f < rec.flowTo; f++ {
		s.leave(f)
	}
	for _, h := range s.holds[rec.hold:rec.holdTo] {
		s.used[h.disk] -= h.size
	}
	if s.follower[k] >= 0 {
		s.attempt(s.follower[k])
	}
	for f := rec.flow; f < rec.flowTo; f++ {
		for _, i := range s.uses(f) {
			s.wake(i)
		}
	}
	for _, h := range s.holds[rec.hold:rec.holdTo] {
		s.wakeDisk(h.disk)
	}
	for f := rec.flow; f < rec.flowTo; f++ {
		for _, i := range s.uses(f) {
			for _, g := range s.runs[i] {
				s.speedUp(g)
			}
		}
	}
}

// speedUp gives a running copy a part of what its meters have left, if nobody
// waits for any of them: the last copies are not as slow as the first.
func (s *stream) speedUp(f int32) {
	rec := &s.records[s.stepOf[f]]
	inflow := s.parts[rec.part].rate
	if rec.flowTo-rec.flow > 1 || s.rates[f] <= inflow {
		return
	}
	more := int64(math.MaxInt64)
	for _, i := range s.uses(f) {
		m := &s.m.list[i]
		if m.waiting > 0 {
			return
		}
		more = min(more, (m.rate-m.taken)/int64(m.active))
	}
	if more < s.rates[f]/10 {
		return
	}
	k := s.stepOf[f]
	dt := s.now - s.since[f]
	net := s.rates[f] - inflow
	if dt > 0 && net > math.MaxInt64/dt {
		return
	}
	s.left[f], s.since[f] = max(0, s.left[f]-net*dt/1000), s.now
	s.rates[f] += more
	for _, i := range s.uses(f) {
		s.m.list[i].taken += more
	}
	t, _ := millis(s.left[f], s.rates[f], inflow)
	s.times[2*k+1] = s.now + max(1, t)
	heap.Push(&s.running, ending{s.times[2*k+1], k})
}

// patience is how many waiting steps are tried when a meter takes one more, as
// long as others use it: their end is the next occasion.
const patience = 6

// wake tries the steps that wait for a meter while it takes more. Those that
// something else hinders go and wait there.
func (s *stream) wake(i int32) {
	m := &s.m.list[i]
	left := patience
	for n := len(s.atMeter[i]); n > 0 && len(s.atMeter[i]) > 0 && m.active < m.tokens && (left > 0 || m.active == 0); n-- {
		s.attempt(s.atMeter[i].pop())
		left--
	}
}

// wakeDisk tries the steps that wait for space on a disk until one has to wait
// on.
func (s *stream) wakeDisk(d int32) {
	for n := len(s.atDisk[d]); n > 0 && len(s.atDisk[d]) > 0; n-- {
		k := s.atDisk[d].pop()
		before := len(s.atDisk[d])
		s.attempt(k)
		if !s.started[k] && len(s.atDisk[d]) > before {
			return
		}
	}
}

func (s *stream) endless(rec *record) {
	s.est.Endless++
	if name := s.c.PartitionName(s.parts[rec.part].p); len(s.est.Examples) < maxExamples && !slices.Contains(s.est.Examples, name) {
		s.est.Examples = append(s.est.Examples, name)
	}
}
