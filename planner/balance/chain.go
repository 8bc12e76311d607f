package balance

import (
	"cmp"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// chains relieve brokers that lead too much although no single change of a
// leader helps: a hot partition is handed to a broker that then hands its own
// leaderships on. What does not help in the end is undone.
func (se *search) chains() int {
	done := 0
	for range 4 {
		n := 0
		se.worstFirst()
		for _, b := range slices.Clone(se.order) {
			if se.penK[b][model.Out]+se.penK[b][model.CPU]+se.penK[b][model.LeaderIn] < 1e-6 {
				continue
			}
			if se.chain(b) {
				n++
			}
		}
		done += n
		if n == 0 {
			break
		}
	}
	return done
}

// chainWidth is how many of a broker's biggest leaderships are tried.
const chainWidth = 12

func (se *search) chain(b int32) bool {
	var led []int32
	for _, r := range se.byB[b] {
		if se.lead[se.rep[r].part] == r && !se.fixed[se.rep[r].part] {
			led = append(led, r)
		}
	}
	slices.SortFunc(led, func(x, y int32) int {
		return cmp.Or(cmp.Compare(se.out[se.rep[y].part], se.out[se.rep[x].part]), cmp.Compare(x, y))
	})
	for _, r := range led[:min(chainWidth, len(led))] {
		from, to := se.slots(se.rep[r].part)
		for q := from; q < to; q++ {
			if q != r && se.leadsOK[se.rep[q].at] && se.sameGroup(b, se.rep[q].at) && !se.keeps[b] && se.handOver(q) {
				return true
			}
		}
	}
	return false
}

// within tells whether a broker is within its capacity of all that comes with
// leading.
func (s *state) within(b int32) bool {
	for _, k := range []model.Resource{model.Out, model.CPU, model.LeaderIn} {
		if s.load[b][k] > s.limK[b][k] {
			return false
		}
	}
	return true
}

// handOver elects a replica, lets its broker and the former leader's settle,
// and keeps the outcome if it is better.
func (se *search) handOver(q int32) bool {
	before := se.total()
	old := se.lead[se.rep[q].part]
	se.undo = make([]int32, 0, 16)
	se.elect(q)
	for range 3 {
		if se.leaders(se.rep[q].at)+se.leaders(se.rep[old].at) == 0 {
			break
		}
	}
	undo := se.undo
	se.undo = nil
	if se.total() < before-tiny && se.within(se.rep[q].at) {
		return true
	}
	for i := len(undo) - 1; i >= 0; i-- {
		se.elect(undo[i])
	}
	return false
}
