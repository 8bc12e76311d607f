package balance

import (
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// listed is a broker's replica with all that a search asks of it. A broker's lie
// together in memory: the search walks over them again and again, and with a
// million replicas each look elsewhere would wait for the memory.
type listed struct {
	in, disk, cpu     float64
	out, leadCPU      float64
	slot              int32
	leads, away, held bool
}

// vec is what the replica costs its broker now.
func (x *listed) vec() vec {
	v := vec{model.In: x.in, model.Disk: x.disk, model.CPU: x.cpu, model.Replicas: 1}
	if x.leads {
		v[model.Out], v[model.Leaders], v[model.LeaderIn] = x.out, 1, x.in
		v[model.CPU] += x.leadCPU
	}
	return v
}

func (s *state) listedOf(r int32) listed {
	x := &s.rep[r]
	return listed{in: x.in, disk: x.disk, cpu: x.cpu, out: s.out[x.part], leadCPU: s.leadCPU[x.part], slot: r, leads: x.leads, away: x.away, held: x.held}
}

// gather makes the brokers' lists for the search: without the replicas of
// partitions that stay as they are, since it finds nothing there. From here on
// neither fixed nor held change.
func (s *state) gather() {
	s.lists = make([][]listed, s.B)
	for b := range s.byB {
		list := slices.DeleteFunc(s.byB[b], func(r int32) bool { return s.fixed[s.rep[r].part] })
		s.lists[b] = make([]listed, len(list), len(list)+len(list)/8)
		for i, r := range list {
			s.pos[r] = int32(i)
			s.lists[b][i] = s.listedOf(r)
		}
		s.byB[b] = list
	}
}
