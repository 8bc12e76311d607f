package migration

import (
	"container/heap"
	"math/bits"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// class holds the parts whose next action copies about as much: queues by
// destination, and the destinations by their best part. Parts are numbered by
// rank, so the least number is the best.
type class struct {
	queues map[int32]*queue
	heads  ranks
	// stale tells that heads is not in the order of a heap.
	stale bool
}

// settle brings heads in order.
func (c *class) settle() {
	if c.stale {
		heap.Init(&c.heads)
		c.stale = false
	}
}

type queue struct {
	dst    int32
	parts  intHeap
	listed bool // in heads
}

// intHeap is a heap of numbers, the least first.
type intHeap []int32

func (h *intHeap) push(x int32) {
	l := append(*h, x)
	i := len(l) - 1
	for i > 0 {
		up := (i - 1) / 2
		if l[up] <= x {
			break
		}
		l[i] = l[up]
		i = up
	}
	l[i] = x
	*h = l
}

func (h *intHeap) pop() int32 {
	l := *h
	top, x := l[0], l[len(l)-1]
	l = l[:len(l)-1]
	*h = l
	for i := 0; len(l) > 0; {
		k := 2*i + 1
		if k >= len(l) {
			l[i] = x
			break
		}
		if k+1 < len(l) && l[k+1] < l[k] {
			k++
		}
		if l[k] >= x {
			l[i] = x
			break
		}
		l[i] = l[k]
		i = k
	}
	return top
}

// ranks are queues by their first part.
type ranks []*queue

func (h ranks) Len() int           { return len(h) }
func (h ranks) Less(i, j int) bool { return h[i].parts[0] < h[j].parts[0] }
func (h ranks) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ranks) Push(x any)        { *h = append(*h, x.(*queue)) }
func (h *ranks) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// classOf is the power of two above an action's bytes; 0 for none.
func (r *run) classOf(i int32, a *action) int {
	size := a.size
	for _, g := range a.dirs {
		for _, h := range r.now[i].at {
			if h.broker == g.broker {
				size += h.size
			}
		}
	}
	return bits.Len64(uint64(size))
}

// push queues a part's next action.
func (r *run) push(i int32) {
	a := &r.now[i].chain[0]
	dst := a.add
	if dst == model.None {
		dst = a.order[0]
	}
	if len(a.dirs) > 0 && a.add == model.None {
		dst = a.dirs[0].broker
	}
	c := &r.classes[r.classOf(i, a)]
	if c.queues == nil {
		c.queues = map[int32]*queue{}
	}
	q := c.queues[dst]
	if q == nil {
		q = &queue{dst: dst}
		c.queues[dst] = q
	}
	q.parts.push(i)
	if !q.listed {
		q.listed = true
		c.heads = append(c.heads, q)
	}
	c.stale = true
}

// lookahead is how many parts of a destination are tried past ones that wait.
const lookahead = 32

// batches makes batches until nothing is left. It returns true when parts were
// refused whose first steps are in the schedule already: then all starts anew
// without them.
func (r *run) batches() bool {
	for i := range r.parts {
		r.push(int32(i))
		r.pending++
	}
	for r.pending > 0 {
		first := len(r.records)
		room := r.o.BatchSteps
		if room == 0 {
			room = len(r.parts)
		}
		room -= r.fill(0, lookahead, room)
		if room > 0 {
			r.fillOneClass(lookahead, room)
		}
		if len(r.records) == first {
			r.fill(0, len(r.parts), room)
			r.fillOneClass(len(r.parts), room)
		}
		if len(r.records) == first {
			if again, progress := r.stuck(); again || !progress {
				return again
			}
			continue
		}
		r.endBatch(first)
	}
	return false
}

// fillOneClass fills the batch with actions of one size: that of the best part,
// or the smallest.
func (r *run) fillOneClass(look, room int) {
	var order []int
	for k := 1; k < len(r.classes); k++ {
		if r.classes[k].settle(); len(r.classes[k].heads) > 0 {
			order = append(order, k)
		}
	}
	if !r.o.SmallFirst {
		slices.SortFunc(order, func(x, y int) int {
			return int(r.classes[x].heads[0].parts[0]) - int(r.classes[y].heads[0].parts[0])
		})
	}
	for _, k := range order {
		if r.fill(k, look, room) > 0 {
			return
		}
	}
}

// fill schedules what may start of a class, best first, and returns how much.
func (r *run) fill(k, look, room int) int {
	c := &r.classes[k]
	c.settle()
	var aside []*queue
	var waiting []intHeap
	done := 0
	stash := map[*queue]int{}
	keep := func(q *queue, i int32) {
		n, ok := stash[q]
		if !ok {
			n = len(aside)
			stash[q] = n
			aside, waiting = append(aside, q), append(waiting, nil)
		}
		if i >= 0 {
			waiting[n] = append(waiting[n], i)
		}
	}
	for len(c.heads) > 0 && done < room {
		q := c.heads[0]
		i := q.parts[0]
		ob := r.try(i)
		switch ob {
		case brokerIn:
			heap.Pop(&c.heads)
			q.listed = false
			keep(q, -1)
			continue
		case none:
			done++
			r.pending--
		default:
			keep(q, i)
		}
		q.parts.pop()
		n, waits := stash[q]
		if len(q.parts) == 0 || waits && len(waiting[n]) >= look {
			heap.Pop(&c.heads)
			q.listed = false
			keep(q, -1)
			continue
		}
		heap.Fix(&c.heads, 0)
	}
	for n, q := range aside {
		for _, i := range waiting[n] {
			q.parts.push(i)
		}
		switch {
		case len(q.parts) == 0:
			delete(c.queues, q.dst)
		case !q.listed:
			q.listed = true
			c.heads = append(c.heads, q)
		}
	}
	c.stale = true
	return done
}

// endBatch gives the space free that the batch's steps leave behind and queues
// the next actions of their partitions.
func (r *run) endBatch(first int) {
	for k := first; k < len(r.records); k++ {
		rec := &r.records[k]
		for _, h := range r.holds[rec.hold:rec.holdTo] {
			r.used[h.disk] -= h.size
		}
		for _, f := range r.flows[rec.flow:rec.flowTo] {
			r.in[f.dst], r.out[f.src], r.busy[f.dstDisk] = 0, 0, 0
			if f.srcDisk != model.None {
				r.busy[f.srcDisk] = 0
			}
		}
		if rec.kind == Elect {
			r.elected[rec.leader] = 0
		}
	}
	for k := first; k < len(r.records); k++ {
		if i := r.records[k].part; len(r.now[i].chain) > 0 {
			r.push(i)
			r.pending++
		}
	}
	r.batchEnd = append(r.batchEnd, len(r.records))
}
