package balance

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// change is a partition's new place: the brokers of its slots, pair[i] the
// former slot whose replica broker i of the list holds.
type change struct {
	part    int32
	brokers []int32 // the wanted leader first
	slots   []int32
	leader  int32 // slot, model.None without one
	forced  bool
	// first marks what an expansion is begun with.
	first bool
	bytes float64
	gain  float64
	index int // in the heap's order of input, for ties
	// why is set where a change has another reason than the loads.
	why string
}

// changes lists the partitions that a placement changes.
func (s *state) changes(place placement) []*change {
	var out []*change
	for p := range int32(s.P) {
		from, to := s.slots(p)
		list := place[from:to]
		ch := &change{part: p, brokers: list, slots: pair(s.c, int(p), list), leader: model.None, index: len(out)}
		same := true
		for i, r := range ch.slots {
			if s.c.Broker[r] == list[i] {
				continue
			}
			same = false
			ch.bytes += s.rep[r].disk
			ch.forced = ch.forced || s.o.leaves(s.c.Broker[r]) || s.sameRackBefore(p, r) > s.rackLimit(p)
		}
		if s.c.Leader[p] != model.None {
			ch.leader = ch.slots[0]
			same = same && ch.leader == s.c.Leader[p]
		}
		if !same {
			out = append(out, ch)
		}
	}
	return out
}

func (s *state) sameRackBefore(p, r int32) int {
	from, to := s.slots(p)
	n := 0
	for q := from; q < to; q++ {
		if s.rack[s.c.Broker[q]] == s.rack[s.c.Broker[r]] {
			n++
		}
	}
	return n
}

// ordered is what order made of changes.
type ordered struct {
	done []*change
	// blocked could never be made within capacity, cut did not fit the budget.
	blocked, cut []*change
}

// order sorts changes best first by simulating them: the next is the one that
// lowers the penalty most for its bytes, as things stand then, forced ones
// before all others. A change that would lift a broker or a volume above its
// capacity at that moment waits until that broker has got rid of something. It
// leaves s as it is after the changes that were done. O(changes × log changes)
// as long as few wait long.
func (s *state) order(all []*change, d *dirs) (out ordered) {
	s.markFirst()
	h := &changeHeap{}
	for _, ch := range all {
		s.rateChange(ch)
		h.list = append(h.list, ch)
	}
	heap.Init(h)
	b := budget{bytes: s.o.MaxBytes, moves: s.o.MaxMoves}
	waiting := make([][]*change, s.B) // by the broker without room
	for pass := 0; ; pass++ {
		n := len(out.done)
		for h.Len() > 0 {
			ch := heap.Pop(h).(*change)
			if s.rateChange(ch); h.Len() > 0 && less(h.list[0], ch) {
				heap.Push(h, ch)
			} else if full := s.fullBroker(ch, d); full != model.None {
				waiting[full] = append(waiting[full], ch)
			} else if !b.take(ch, ch.moves(s)) {
				out.cut = append(out.cut, ch)
			} else {
				s.perform(ch, d)
				out.done = append(out.done, ch)
				s.wake(ch, waiting, h)
			}
		}
		out.blocked = slices.Concat(waiting...)
		slices.SortFunc(out.blocked, func(x, y *change) int { return cmp.Compare(x.index, y.index) })
		// Perhaps only the log directories thought of have no room.
		if pass > 0 && n == len(out.done) || !s.redirect(out.blocked, d) {
			break
		}
		clear(waiting)
		for _, w := range out.blocked {
			heap.Push(h, w)
		}
	}
	if len(out.blocked)+len(out.cut) > 0 {
		s.bestPrefix(&out, d)
	}
	return out
}

// budget is what a plan may still copy; 0 at the start is no bound.
type budget struct {
	bytes int64
	moves int

	usedBytes float64
	usedMoves int
}

func (b *budget) take(ch *change, moves int) bool {
	if b.bytes > 0 && b.usedBytes+ch.bytes > float64(b.bytes) || b.moves > 0 && b.usedMoves+moves > b.moves {
		return false
	}
	b.usedBytes, b.usedMoves = b.usedBytes+ch.bytes, b.usedMoves+moves
	return true
}

// wake puts the changes back in line that waited for brokers from which ch has
// taken something.
func (s *state) wake(ch *change, waiting [][]*change, h *changeHeap) {
	free := func(b int32) {
		for _, w := range waiting[b] {
			heap.Push(h, w)
		}
		waiting[b] = waiting[b][:0]
	}
	for i, r := range ch.slots {
		free(s.c.Broker[r])
		free(ch.brokers[i])
	}
}

// markFirst remembers the loads at the start.
func (s *state) markFirst() {
	s.firstLoad = slices.Clone(s.load)
	s.firstUsed = make([][]float64, s.B)
	for b := range s.B {
		for _, v := range s.volumes[b] {
			s.firstUsed[b] = append(s.firstUsed[b], v.used)
		}
	}
}

// redirect chooses log directories with room now for arrivals of changes that
// wait.
func (s *state) redirect(waiting []*change, d *dirs) bool {
	found := false
	used := func(b int32, v int) float64 { return s.volumes[b][v].used }
	for _, ch := range waiting {
		for i, r := range ch.slots {
			if s.c.Broker[r] == ch.brokers[i] || s.roomOnVolume(r, ch.brokers[i], d) {
				continue
			}
			if d.at[r] != model.None {
				d.take(r)
			}
			if dir := d.emptiest(r, used); dir != model.None {
				d.put(r, dir)
				found = true
			}
		}
	}
	return found
}

// bestPrefix takes back, from the end, what does no good when some changes were
// left out: one half of an exchange for instance. Forced changes stay.
func (s *state) bestPrefix(out *ordered, d *dirs) {
	n := len(out.done)
	forced := 0
	for forced < n && out.done[forced].forced {
		forced++
	}
	best, bestAt := s.outsideBand(), n
	for i := n - 1; i >= forced; i-- {
		s.undoChange(out.done[i])
		if x := s.outsideBand(); x < best-negligible*1e-3 {
			best, bestAt = x, i
		}
	}
	for _, ch := range out.done[forced:bestAt] {
		s.perform(ch, d)
	}
	out.done = out.done[:bestAt]
}

func (ch *change) moves(s *state) int {
	n := 0
	for i, r := range ch.slots {
		if s.c.Broker[r] != ch.brokers[i] {
			n++
		}
	}
	return n
}

// deltas are the changes of load by broker that a change makes. They are valid
// until the next call.
func (s *state) deltas(ch *change) (brokers []int32, d []vec) {
	brokers, d = s.deltaOf[:0], s.delta[:0]
	add := func(b int32, v *vec, sign float64) {
		i := slices.Index(brokers, b)
		if i < 0 {
			i = len(brokers)
			brokers, d = append(brokers, b), append(d, vec{})
		}
		for k := range K {
			d[i][k] += sign * v[k]
		}
	}
	for i, r := range ch.slots {
		v := s.vec(r)
		if s.rep[r].at == ch.brokers[i] && s.rep[r].leads == (ch.leader == r) {
			continue
		}
		add(s.rep[r].at, &v, -1)
		lead := s.leadVec(r)
		for k := range K {
			switch {
			case s.rep[r].leads && ch.leader != r:
				v[k] -= lead[k]
			case !s.rep[r].leads && ch.leader == r:
				v[k] += lead[k]
			}
		}
		add(ch.brokers[i], &v, 1)
	}
	s.deltaOf, s.delta = brokers, d
	return brokers, d
}

// rateChange computes what a change is worth now: the fall of the penalty per byte.
func (s *state) rateChange(ch *change) {
	brokers, d := s.deltas(ch)
	g := 0.0
	for i, b := range brokers {
		g += s.change(b, &d[i], 1)
	}
	ch.gain = g / (ch.bytes + s.o.bytesUnit)
}

// fullBroker finds a broker that a change lifts above its capacity, or what it
// carried above it before the plan, or on which it finds no room on the volumes
// that it puts replicas on. None if there is none.
func (s *state) fullBroker(ch *change, d *dirs) int32 {
	brokers, delta := s.deltas(ch)
	for i, b := range brokers {
		for k := range K {
			if s.exceeds(b, k, delta[i][k]) {
				return b
			}
		}
	}
	for i, r := range ch.slots {
		b := ch.brokers[i]
		if (s.c.Broker[r] != b || d.at[r] != s.c.Dir[r]) && !s.roomOnVolume(r, b, d) {
			return b
		}
	}
	return model.None
}

func (s *state) exceeds(b int32, k int, more float64) bool {
	return more > 0 && s.load[b][k]+more > max(s.limK[b][k], s.firstLoad[b][k])
}

// roomOnVolume tells whether the volume of the directory that a replica is to
// have on b has room for it now.
func (s *state) roomOnVolume(r, b int32, d *dirs) bool {
	if len(s.volumes[b]) == 0 {
		return true
	}
	if d.at[r] == model.None {
		return false
	}
	n := d.of[b][d.at[r]]
	v := &s.volumes[b][n]
	return s.rep[r].disk == 0 || v.used+s.rep[r].disk <= max(v.capacity, s.firstUsed[b][n])
}

func (s *state) perform(ch *change, d *dirs) {
	for i, r := range ch.slots {
		b := ch.brokers[i]
		moved := s.rep[r].at != b
		if moved {
			s.move(r, b)
		}
		if dir := d.at[r]; dir != model.None && (moved || dir != s.c.Dir[r]) {
			s.leaveVolume(r)
			s.backToVolume(r, d.of[b][dir])
		}
	}
	if ch.leader != model.None {
		s.elect(ch.leader)
	}
}

// undoChange is the opposite of perform.
func (s *state) undoChange(ch *change) {
	for _, r := range ch.slots {
		s.leaveVolume(r)
		if s.rep[r].at != s.c.Broker[r] {
			s.move(r, s.c.Broker[r])
		} else {
			s.backToVolume(r, s.firstVol[r])
		}
	}
	if l := s.c.Leader[ch.part]; l != model.None {
		s.elect(l)
	}
}

type changeHeap struct{ list []*change }

func less(a, b *change) bool {
	if a.forced != b.forced {
		return a.forced
	}
	if a.first != b.first {
		return a.first
	}
	if a.gain != b.gain {
		return a.gain < b.gain
	}
	return a.index < b.index
}

func (h *changeHeap) Len() int           { return len(h.list) }
func (h *changeHeap) Less(i, j int) bool { return less(h.list[i], h.list[j]) }
func (h *changeHeap) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *changeHeap) Push(x any)         { h.list = append(h.list, x.(*change)) }
func (h *changeHeap) Pop() any {
	n := len(h.list) - 1
	x := h.list[n]
	h.list = h.list[:n]
	return x
}
