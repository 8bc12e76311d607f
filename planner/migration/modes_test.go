package migration

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// byBatch runs batch by batch; the steps of one end in a random order.
func (r *replay) byBatch(rnd *rand.Rand) {
	next := 0
	for k, b := range r.s.Batches {
		if b.First != next || b.Count < 1 {
			r.bad("batch %d has steps from %d, %d of them; %d is next", k, b.First, b.Count, next)
			return
		}
		next += b.Count
		lists := make([][]copyOf, b.Count)
		elected := map[int32]int{}
		least, most := int64(math.MaxInt64), int64(0)
		for j := range b.Count {
			t := &r.s.Steps[b.First+j]
			lists[j] = r.begin(b.First + j)
			if t.Batch != k {
				r.bad("step %d says batch %d, it is in %d", b.First+j, t.Batch, k)
			}
			if t.Kind == Elect {
				elected[t.Leader]++
				if elected[t.Leader] > r.o.Elections {
					r.bad("batch %d: broker %d gains %d leaderships", k, t.Leader, elected[t.Leader])
				}
			}
			if n := t.Bytes + t.DirBytes; n > 0 {
				least, most = min(least, n), max(most, n)
			}
		}
		if most > 0 && most >= 2*least {
			r.bad("batch %d has copies of %d to %d bytes", k, least, most)
		}
		for _, j := range rnd.Perm(b.Count) {
			r.end(b.First+j, lists[j])
		}
	}
	if next != len(r.s.Steps) {
		r.bad("%d steps are in no batch", len(r.s.Steps)-next)
	}
}

// byTime runs the steps at their times.
func (r *replay) byTime() {
	type event struct {
		at   int64
		kind int // ends come before starts
		step int
	}
	var events []event
	for i, t := range r.s.Steps {
		if t.Start < 0 || t.End < t.Start {
			r.bad("step %d runs from %d to %d", i, t.Start, t.End)
			return
		}
		kind := 0
		if t.End == t.Start {
			kind = 2 // begins and ends at once
		}
		events = append(events, event{t.Start, 1, i}, event{t.End, kind, i})
	}
	// Steps of no length may follow one another at one time: in their order.
	slices.SortStableFunc(events, func(x, y event) int {
		if x.at != y.at {
			return int(min(1, max(-1, x.at-y.at)))
		}
		return min(x.kind, 1) - min(y.kind, 1)
	})
	lists := map[int][]copyOf{}
	for _, e := range events {
		if e.kind == 1 {
			lists[e.step] = r.begin(e.step)
		} else {
			r.end(e.step, lists[e.step])
		}
	}
}

// asStream runs the steps as the package comment says, each with a random
// duration.
func (r *replay) asStream(rnd *rand.Rand) {
	n := len(r.s.Steps)
	state := make([]int, n) // 0 waiting, 1 running, 2 done
	lists := make([][]copyOf, n)
	var running []int
	for done := 0; done < n; {
		for i := range n {
			if state[i] == 0 && r.mayStart(i, state) {
				lists[i], state[i] = r.begin(i), 1
				running = append(running, i)
			}
		}
		if len(running) == 0 {
			r.bad("stream: %d of %d steps done and none can start", done, n)
			return
		}
		k := rnd.IntN(len(running))
		i := running[k]
		running = slices.Delete(running, k, k+1)
		r.end(i, lists[i])
		state[i] = 2
		done++
	}
}

func (r *replay) mayStart(i int, state []int) bool {
	t := &r.s.Steps[i]
	for j := range i {
		if o := &r.s.Steps[j]; state[j] < 2 && o.Topic == t.Topic && o.Partition == t.Partition {
			return false
		}
	}
	name := fmt.Sprintf("%s-%d", t.Topic, t.Partition)
	for _, x := range r.copies(t) {
		if !x.within && (r.in[x.to.Broker] >= r.o.BrokerIn || r.out[r.source(name).Broker] >= r.o.BrokerOut) {
			return false
		}
		for _, d := range slices.Concat(r.disksOf(x.to), r.disksOf(x.from)) {
			if r.disk[d] > 0 && r.disk[d]+len(r.copies(t)) > r.o.PerDisk {
				return false
			}
		}
		for _, d := range r.disksOf(x.to) {
			ahead := int64(0)
			for j := range i {
				if state[j] == 0 {
					ahead += r.arrives(&r.s.Steps[j], d)
				}
			}
			if limit := r.limit(x.to); limit != math.MaxInt64 && r.used[d]+x.size+ahead > limit {
				return false
			}
		}
	}
	return true
}

// arrives is what a step that has not started will put on a disk.
func (r *replay) arrives(t *Step, disk string) (n int64) {
	for _, x := range t.To {
		old := at(t.From, x.Broker)
		if !slices.Contains(r.disksOf(x), disk) {
			continue
		}
		if old == nil {
			n += t.Bytes
		} else if old.Dir != x.Dir {
			n += t.DirBytes
		}
	}
	return n
}

// finished compares the end with what the changes asked for.
func (r *replay) finished(changes []plan.Change) {
	refused := map[string]bool{}
	for _, x := range r.s.Refusals {
		refused[fmt.Sprintf("%s-%d", x.Topic, x.Partition)] = true
	}
	for i := range changes {
		ch := &changes[i]
		name := fmt.Sprintf("%s-%d", ch.Topic, ch.Partition)
		now := r.list[name]
		if refused[name] {
			if !slices.Equal(now, r.first[name]) {
				r.bad("%s is refused, but goes from %v to %v", name, r.first[name], now)
			}
			continue
		}
		if !slices.Equal(ids(now), ids(ch.To)) {
			r.bad("%s ends on %v, the change asks for %v", name, now, ch.To)
			continue
		}
		for k, x := range ch.To {
			was := at(r.first[name], x.Broker)
			if x.Dir != "" && now[k].Dir != x.Dir && (was == nil || was.Dir != "") {
				r.bad("%s ends in %v, the change asks for %v", name, now, ch.To)
			}
		}
		if r.leader[name] != ch.NewLeader {
			r.bad("%s is led by %d in the end, the change asks for %d", name, r.leader[name], ch.NewLeader)
		}
	}
}
