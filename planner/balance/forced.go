package balance

import "github.com/kafka-steward/kafka-steward/planner/model"

// forced repairs what must not stay: replicas on brokers to be emptied, and
// racks that hold more copies of a partition than the racks force. It returns
// the replicas that found no place.
func (se *search) forced(repairRacks bool) []stuck {
	se.lambda = se.firstLambda()
	se.forcing = true
	defer func() { se.forcing = false }()
	out := se.evacuate()
	if !repairRacks {
		return out
	}
	for p := range int32(se.P) {
		if se.fixed[p] || se.rackSafe(p) {
			continue
		}
		for se.repairRack(p) {
			se.rackRepairs++
		}
	}
	return out
}

// evacuate empties the brokers that leave, biggest replicas first: they are
// the hardest to place.
func (se *search) evacuate() (out []stuck) {
	var slots []int32
	for b := range int32(se.B) {
		if se.o.leaves(b) {
			slots = append(slots, se.byB[b]...)
		}
	}
	sortBySize(slots, se.rep)
	given := map[int32]bool{} // partitions given up
	for _, r := range slots {
		p := se.rep[r].part
		if given[p] {
			continue
		}
		if se.fixed[p] {
			given[p] = true
			out = append(out, stuck{slot: r, reason: se.fixedBecause(p)})
			continue
		}
		b, ok := se.bestPlace(r, -1)
		if !ok {
			given[p] = true
			out = append(out, stuck{slot: r, rejected: se.whyNot(r)})
			se.undoPartition(p)
			continue
		}
		if se.c.Brokers[se.rep[r].at].Dead && se.rep[r].leads {
			se.electAnother(p, r)
		}
		se.move(r, b)
	}
	return out
}

// undoPartition puts a partition back as it was: one that cannot be taken off
// all brokers to be emptied stays as it is.
func (se *search) undoPartition(p int32) {
	from, to := se.slots(p)
	for r := from; r < to; r++ {
		if se.rep[r].at != se.c.Broker[r] {
			se.move(r, se.c.Broker[r])
		}
	}
	if l := se.c.Leader[p]; l != model.None {
		se.elect(l)
	}
}

// fixedBecause is the reason why a partition must not be changed.
func (s *state) fixedBecause(p int32) string {
	if s.c.Moving[p] {
		return "moving"
	}
	from, to := s.slots(p)
	for r := from; r < to; r++ {
		if s.onDead(r) {
			return "brokers"
		}
	}
	return "excluded"
}

// electAnother makes the live replica lead instead of r that is best for it,
// if there is one: rather one whose broker can carry it.
func (se *search) electAnother(p, r int32) {
	from, to := se.slots(p)
	best, bestChange, bestCarries := model.None, inf, false
	for q := from; q < to; q++ {
		if q == r || !se.member[se.rep[q].at] {
			continue
		}
		v := se.leadVec(q)
		g, ok := se.change(se.rep[q].at, &v, 1), se.carries(se.rep[q].at, &v)
		if best == model.None || ok && !bestCarries || ok == bestCarries && g < bestChange {
			best, bestChange, bestCarries = q, g, ok
		}
	}
	if best != model.None {
		se.elect(best)
	}
}

// bestPlace finds the best legal broker for a replica, outside a rack if that
// is not -1. O(brokers).
func (se *search) bestPlace(r, outside int32) (int32, bool) {
	v := se.vec(r)
	best, bestGain, found := int32(0), inf, false
	for b := range int32(se.B) {
		if se.rack[b] == outside || !se.legal(r, b) {
			continue
		}
		if g := se.change(b, &v, 1) + se.lambda*se.price(r, b); g < bestGain {
			best, bestGain, found = b, g, true
		}
	}
	return best, found
}

func (se *search) rackSafe(p int32) bool {
	from, to := se.slots(p)
	limit := se.rackLimit(p)
	for r := from; r < to; r++ {
		if se.sameRack(p, r) > limit {
			return false
		}
	}
	return true
}

// sameRack counts the partition's replicas in the rack of slot r's, r included.
func (se *search) sameRack(p, r int32) int {
	from, to := se.slots(p)
	n := 0
	for q := from; q < to; q++ {
		if se.rack[se.rep[q].at] == se.rack[se.rep[r].at] {
			n++
		}
	}
	return n
}

// repairRack moves the cheapest copy out of a rack with too many.
func (se *search) repairRack(p int32) bool {
	from, to := se.slots(p)
	limit := se.rackLimit(p)
	best := candidate{gain: inf}
	for r := from; r < to; r++ {
		if se.rep[r].held || se.sameRack(p, r) <= limit {
			continue
		}
		if b, ok := se.bestPlace(r, se.rack[se.rep[r].at]); ok {
			v := se.vec(r)
			g := se.change(se.rep[r].at, &v, -1) + se.change(b, &v, 1) + se.lambda*se.price(r, b)
			if g < best.gain {
				best = candidate{r, b, g}
			}
		}
	}
	if best.gain == inf {
		return false
	}
	se.move(best.slot, best.to)
	return true
}

// takeLeaders begins an expansion: from brokers that lead several partitions
// of one busy topic, leaders go to the new brokers, busiest topics first, as
// long as that helps.
func (se *search) takeLeaders() {
	for _, t := range se.busyTopics() {
		counts := make([]int, se.B)
		for p := t.first; p < t.last; p++ {
			if l := se.lead[p]; l != model.None {
				counts[se.rep[l].at]++
			}
		}
		for p := t.first; p < t.last; p++ {
			l := se.lead[p]
			if l == model.None || se.fixed[p] || se.rep[l].held || counts[se.rep[l].at] < 2 || se.receive[se.rep[l].at] {
				continue
			}
			b, ok := se.bestPlace(l, -1)
			if !ok {
				continue
			}
			v := se.vec(l)
			if se.change(se.rep[l].at, &v, -1)+se.change(b, &v, 1) < -tiny {
				counts[se.rep[l].at]--
				se.move(l, b)
			}
		}
	}
}
