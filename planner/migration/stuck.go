package migration

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// stuck is called when nothing more can start because disks are full. It lets
// moves within a broker go first, parks a replica to break a cycle, or refuses
// all that is left: none of it could help the rest. again tells to start anew
// without what was refused, progress that something can start now.
func (r *run) stuck() (again, progress bool) {
	waiting := r.waiting()
	if r.dirsFirst(waiting) || !r.o.NoTemporary && r.park(waiting) {
		r.requeue()
		return false, true
	}
	leaving := r.leaving(waiting)
	for _, i := range waiting {
		r.refusals = append(r.refusals, r.refusal(i, leaving))
	}
	for _, i := range waiting {
		r.dead[i] = true
		again = again || r.now[i].moved
	}
	r.pending = 0
	return again, false
}

// waiting are the parts that have actions left.
func (r *run) waiting() []int32 {
	var out []int32
	for i := range r.now {
		if len(r.now[i].chain) > 0 && !r.dead[i] {
			out = append(out, int32(i))
		}
	}
	return out
}

// requeue builds the queues anew after chains were changed.
func (r *run) requeue() {
	r.classes = [65]class{}
	for _, i := range r.waiting() {
		r.push(i)
	}
}

// dirsFirst swaps a waiting move with a later move between log directories of
// the same partition that has room now.
func (r *run) dirsFirst(waiting []int32) bool {
	swapped := false
	for _, i := range waiting {
		chain := r.now[i].chain
		k := slices.IndexFunc(chain, func(a action) bool { return a.kind == DirMove })
		if k < 1 || chain[0].kind != Move {
			continue
		}
		a := chain[k]
		a.order = brokersOf(r.now[i].at)
		flows, _ := r.flowsOf(i, &a, nil)
		if len(flows) != 1 || r.free(flows[0].dstDisk) < flows[0].size {
			continue
		}
		copy(chain[1:k+1], chain[:k])
		chain[0] = a
		swapped = true
	}
	return swapped
}

// want is what a waiting action needs and from where it would take load away.
type want struct {
	part int32
	need int64
	// to are the disks that would do, all of them too full; from is the disk
	// that it would relieve, None for none or several.
	to   []int32
	from int32
}

func (r *run) want(i int32) want {
	a := &r.now[i].chain[0]
	w := want{part: i, need: a.size, from: model.None}
	locate := func(b int32) int32 {
		for _, h := range r.now[i].at {
			if h.broker == b {
				return r.disk(b, h.dir)
			}
		}
		return model.None
	}
	switch {
	case a.add != model.None && a.dir != model.None:
		w.to = []int32{r.disk(a.add, a.dir)}
	case a.add != model.None:
		for d := r.first[a.add]; d < r.first[a.add+1]; d++ {
			w.to = append(w.to, d)
		}
	case len(a.dirs) > 0:
		g := a.dirs[0]
		w.to = []int32{r.disk(g.broker, g.dir)}
		w.from = locate(g.broker)
		for _, h := range r.now[i].at {
			if h.broker == g.broker {
				w.need = h.size
			}
		}
	}
	if len(a.remove) > 0 {
		w.from = locate(a.remove[0])
	}
	return w
}

// park moves a waiting replica to a temporary place, so that what waits for its
// disk can start. The smallest one that is enough is chosen; failing that, the
// biggest on a disk that others wait for.
func (r *run) park(waiting []int32) bool {
	wants := make([]want, 0, len(waiting))
	lack := map[int32]int64{} // by disk: the least that has to leave it
	for _, i := range waiting {
		w := r.want(i)
		wants = append(wants, w)
		for _, d := range w.to {
			if n := w.need - r.free(d); n > 0 && (lack[d] == 0 || n < lack[d]) {
				lack[d] = n
			}
		}
	}
	var able []want
	for _, w := range wants {
		if w.from != model.None && lack[w.from] > 0 && !r.now[w.part].chain[0].parked {
			able = append(able, w)
		}
	}
	slices.SortFunc(able, func(x, y want) int {
		ex, ey := x.need >= lack[x.from], y.need >= lack[y.from]
		if ex != ey {
			return compareBool(ey, ex)
		}
		if !ex {
			x, y = y, x
		}
		return cmp.Or(cmp.Compare(x.need, y.need), cmp.Compare(x.part, y.part))
	})
	for _, w := range able {
		if r.parkPart(w) {
			return true
		}
	}
	return false
}

// parkPart puts a stop on a part's way: on another broker for a move between
// brokers, in another log directory for one within a broker.
func (r *run) parkPart(w want) bool {
	at := &r.now[w.part]
	a := at.chain[0]
	if a.kind == DirMove {
		b := a.dirs[0].broker
		dir := r.emptiest(b, w.need)
		if dir == model.None || dir == a.dirs[0].dir || r.disk(b, dir) == w.from {
			return false
		}
		stop := a
		stop.dirs, stop.temp = []dirGoal{{b, dir}}, true
		a.parked = true
		at.chain = append([]action{stop, a}, at.chain[1:]...)
		return true
	}
	b, dir := r.parking(w, &a)
	if b == model.None {
		return false
	}
	stop := action{kind: Move, add: b, dir: dir, size: a.size, remove: a.remove[:1], temp: true}
	stop.order = apply(brokersOf(at.at), pairing{b, a.remove[0]})
	a.remove = append([]int32{b}, a.remove[1:]...)
	a.parked = true
	at.chain = append([]action{stop, a}, at.chain[1:]...)
	return true
}

// parking is the broker and log directory with most free space that may take a
// replica for a while: alive, of the topic's group, and no worse for racks.
func (r *run) parking(w want, a *action) (int32, int32) {
	x := r.parts[w.part]
	now := brokersOf(r.now[w.part].at)
	group := r.c.Topics[r.c.Topic[x.p]].Group
	best, bestDir, most := model.None, model.None, int64(-1)
	for i := range r.c.Brokers {
		b := int32(i)
		br := &r.c.Brokers[i]
		if br.Dead || r.o.Exclude[br.ID] || group != model.None && br.Group != group || slices.Contains(now, b) || r.goesTo(w.part, b) {
			continue
		}
		dir, disk := model.None, r.first[b]
		if len(br.Dirs) > 0 {
			if dir = r.emptiest(b, w.need); dir == model.None {
				continue
			}
			disk = r.diskOf[b][dir]
		}
		if r.free(disk) < w.need || r.free(disk) <= most {
			continue
		}
		if mostInRack(r.c, apply(now, pairing{b, a.remove[0]})) > x.rack {
			continue
		}
		best, bestDir, most = b, dir, r.free(disk)
	}
	return best, bestDir
}

// goesTo tells whether a part still has a replica to put on a broker.
func (r *run) goesTo(i, b int32) bool {
	return slices.ContainsFunc(r.now[i].chain, func(a action) bool { return a.add == b || slices.Contains(a.order, b) })
}

// leave is what would leave a disk if waiting parts could go on.
type leave struct {
	bytes int64
	parts []int32 // some of them
}

// maxNamed is how many partitions a refusal names.
const maxNamed = 5

// leaving sums what waiting parts would take away, by disk.
func (r *run) leaving(waiting []int32) map[int32]*leave {
	out := map[int32]*leave{}
	for _, i := range waiting {
		w := r.want(i)
		if w.from == model.None {
			continue
		}
		l := out[w.from]
		if l == nil {
			l = &leave{}
			out[w.from] = l
		}
		l.bytes += w.need
		if len(l.parts) <= maxNamed {
			l.parts = append(l.parts, i)
		}
	}
	return out
}

// refusal says why a waiting part cannot go on: what it needs where, what is
// free, and what would have to leave first.
func (r *run) refusal(i int32, leaving map[int32]*leave) plan.Refusal {
	x, w := r.parts[i], r.want(i)
	t := plan.Refusal{Topic: r.c.Topics[r.c.Topic[x.p]].Name, Partition: r.c.ID[x.p], Reason: "disk"}
	var bytes int64
	var names []string
	for _, d := range w.to {
		b := r.brokerOf(d)
		t.Rejected = append(t.Rejected, plan.Rejection{Broker: r.c.Brokers[b].ID, Reason: "disk" + r.dirsOn(b, d), Need: w.need, Free: max(0, r.free(d))})
		l := leaving[d]
		if l == nil {
			continue
		}
		bytes += l.bytes
		if w.from == d {
			bytes -= w.need
		}
		for _, j := range l.parts {
			if j != i && len(names) < maxNamed {
				names = append(names, r.c.PartitionName(r.parts[j].p))
			}
		}
	}
	if len(t.Rejected) == 0 {
		t.Detail = "it waits for a step that cannot be made"
		return t
	}
	j := t.Rejected[0]
	t.Detail = fmt.Sprintf("it needs %d bytes on broker %d (%s), where %d are free above the reserve", j.Need, j.Broker, j.Reason, j.Free)
	switch {
	case len(names) == 0:
		t.Detail += "; nothing in this plan leaves that disk any more"
	case j.Free+bytes < j.Need:
		t.Detail += fmt.Sprintf("; even if %v left it would not suffice", names)
	default:
		t.Detail += fmt.Sprintf("; it waits for %v to leave, which wait for full disks themselves, and no other place can take one of them for a while", names)
	}
	return t
}

func (r *run) brokerOf(disk int32) int32 {
	i, ok := slices.BinarySearch(r.first, disk)
	if !ok {
		i--
	}
	return int32(i)
}

// dirsOn names a disk's directories.
func (r *run) dirsOn(b, disk int32) string {
	s := ""
	for i, d := range r.diskOf[b] {
		if d == disk {
			s += " " + r.c.Brokers[b].Dirs[i].Path
		}
	}
	return s
}
