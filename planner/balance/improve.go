package balance

import (
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// placement lists for every partition the brokers of its replicas, in the
// slots' ranges: the wanted leader first, the others in their former order.
type placement []int32

// task says what a search has to do.
type task struct {
	opts Options
	// drain marks brokers to be emptied, only the brokers that alone receive.
	drain, only []bool
	// repairRacks moves copies out of racks that hold too many.
	repairRacks bool
	// forcedOnly moves nothing but what must move.
	forcedOnly bool
	// evenDirs moves replicas between log directories of a broker, too.
	evenDirs bool
	// seedLeaders first takes leaders from brokers that hold several of one
	// busy topic (expansion).
	seedLeaders bool
}

// outcome is what one search found.
type outcome struct {
	place placement
	// before and after are what lies outside the promised band (the search
	// itself aims a margin inside it).
	before, after float64
	steps         int64
	stuck         []stuck
	idle, even    int
	// rackRepairs counts copies moved out of racks with too many.
	rackRepairs int
}

// stuck is a replica that must move and cannot: for a reason, or because of
// what each broker lacked when it was its turn.
type stuck struct {
	slot     int32
	reason   string
	rejected []plan.Rejection
}

// improve runs one search over a cluster.
func improve(c *model.Cluster, t task) *outcome {
	s := newState(c, prepare(c, t.opts, t.drain, t.only))
	out := &outcome{before: s.outsideBand()}
	s.fix(t)
	se := newSearch(s)
	out.stuck = se.forced(t.repairRacks)
	out.rackRepairs = se.rackRepairs
	// From here on it is about evenness: racks are repaired everywhere.
	s.freezeInBand()
	if !t.forcedOnly {
		out.idle, out.even = s.leaveAlone(t.opts.LeaveIdle, t.opts.LeaveEven)
	}
	if t.forcedOnly {
		// Only what had to move may move again, to a better place, and only its
		// partitions may be led by others.
		touched := make([]bool, s.P)
		for r := range s.rep {
			s.rep[r].held = s.rep[r].held || !s.rep[r].away
			touched[s.rep[r].part] = touched[s.rep[r].part] || s.rep[r].away
		}
		for p := range s.fixed {
			s.fixed[p] = s.fixed[p] || !touched[p]
		}
	}
	s.gather()
	if t.seedLeaders {
		se.takeLeaders()
	}
	se.anneal()
	se.chains()
	for range 2 {
		se.giveBack()
		se.pairUp()
		se.settle(3)
	}
	out.after, out.steps, out.place = s.outsideBand(), s.steps, s.placement()
	return out
}

// fix freezes what a plan must not touch. What a dead broker holds moves only
// when the broker is given up, and until then nothing else of the partition
// does either: its new list would have the dead broker in it.
func (s *state) fix(t task) {
	for p := range s.P {
		topic := &s.c.Topics[s.c.Topic[p]]
		s.fixed[p] = s.c.Moving[p] || t.opts.Exclude[topic.Name]
		if !t.forcedOnly && topic.ReplicationFactor > 0 && s.c.RF(p) != int(topic.ReplicationFactor) {
			s.fixed[p] = true
		}
	}
	for r := range s.R {
		if s.onDead(int32(r)) {
			s.rep[r].held, s.fixed[s.rep[r].part] = true, true
		}
	}
}

// onDead tells whether a replica lies on a dead broker that is not given up.
func (s *state) onDead(r int32) bool {
	return s.c.Brokers[s.c.Broker[r]].Dead && !s.o.leaves(s.c.Broker[r])
}

// freezeInBand keeps, if light plans are asked for, what brokers within the
// band hold and lead.
func (s *state) freezeInBand() {
	for r := range s.R {
		s.rep[r].held = s.rep[r].held || s.keeps[s.c.Broker[r]] && !s.rep[r].away
	}
}

// outsideBand is the objective with the band as promised.
func (s *state) outsideBand() float64 {
	sum := 0.0
	for b := range s.B {
		for k := range K {
			if s.inv[b][k] == 0 {
				continue
			}
			d := s.load[b][k]*s.inv[b][k] - 1
			if x := d - s.o.Band; x > 0 {
				sum += s.o.weight[k] * x * x
			} else if x := -d - s.o.Band; x > 0 {
				sum += s.o.under[k] * x * x
			}
		}
	}
	return sum
}

// pairUp renames replicas so that slots are paired with brokers as a reader of
// the plan pairs them (see pair): where copies of a partition differ
// in size, it matters which one a new broker is thought to replace.
func (s *state) pairUp() {
	list := s.placement()
	for p := range int32(s.P) {
		from, to := s.slots(p)
		slots := pair(s.c, int(p), list[from:to])
		leader := s.lead[p]
		for i, r := range slots {
			if s.rep[r].at == list[int(from)+i] {
				continue
			}
			// Two slots trade places; both brokers hold one of them already.
			for q := from; q < to; q++ {
				if s.rep[q].at == list[int(from)+i] {
					s.trade(r, q)
					break
				}
			}
		}
		if leader != model.None && s.lead[p] != slots[0] {
			s.elect(slots[0])
		}
	}
}

// trade exchanges the places of two replicas of one partition.
func (s *state) trade(r, q int32) {
	a, b := s.rep[r].at, s.rep[q].at
	s.move(r, b)
	s.move(q, a)
}

func (s *state) placement() placement {
	out := make(placement, 0, s.R)
	for p := range s.P {
		from, to := s.slots(int32(p))
		if l := s.lead[p]; l != model.None {
			out = append(out, s.rep[l].at)
		}
		for r := from; r < to; r++ {
			if r != s.lead[p] {
				out = append(out, s.rep[r].at)
			}
		}
	}
	return out
}

// pair tells for every broker of a partition's new list which former slot's
// replica it holds: its own where it held one, else, in order, one of those
// that are given up.
func pair(c *model.Cluster, p int, brokers []int32) []int32 {
	from, to := c.Slots(p)
	out := make([]int32, len(brokers))
	var free []int32
	for r := from; r < to; r++ {
		kept := false
		for i, b := range brokers {
			if c.Broker[r] == b {
				out[i], kept = r+1, true
			}
		}
		if !kept {
			free = append(free, r)
		}
	}
	for i := range out {
		if out[i] == 0 {
			out[i], free = free[0]+1, free[1:]
		}
		out[i]--
	}
	return out
}
