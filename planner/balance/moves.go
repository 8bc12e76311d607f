package balance

import "github.com/kafka-steward/kafka-steward/planner/model"

func (s *state) slots(p int32) (int32, int32) { return s.c.Off[p], s.c.Off[p+1] }

// home tells whether a broker held a replica of the partition at the start.
func (s *state) home(p, b int32) bool {
	from, to := s.slots(p)
	for r := from; r < to; r++ {
		if s.c.Broker[r] == b {
			return true
		}
	}
	return false
}

// price is the difference in bytes to copy when a slot's replica goes to b: a
// replica away from every original place costs its size, one that goes back
// to an original place gives it back.
func (s *state) price(r, b int32) float64 {
	p := s.rep[r].part
	cost := 0.0
	if !s.home(p, b) {
		cost += s.rep[r].disk
	}
	if s.rep[r].away {
		cost -= s.rep[r].disk
	}
	return cost
}

// legal tells whether a slot's replica may go to b: another broker that takes
// replicas of the topic, within racks, capacity and the topic's spread.
func (s *state) legal(r, b int32) bool {
	p := s.rep[r].part
	if s.fixed[p] || s.rep[r].held || s.rep[r].at == b || !s.receive[b] && !s.homecoming(r, b) {
		return false
	}
	t := int(s.c.Topic[p])
	if !s.inGroup(t, int(b)) || s.strays(t, s.rep[r].at, b) {
		return false
	}
	from, to := s.slots(p)
	sameRack, oldRack := 0, 0
	for q := from; q < to; q++ {
		if s.rep[q].at == b {
			return false
		}
		if q == r {
			continue
		}
		if s.rack[s.rep[q].at] == s.rack[b] {
			sameRack++
		}
		if s.rack[s.rep[q].at] == s.rack[s.rep[r].at] {
			oldRack++
		}
	}
	// No rack gets more copies than the racks force, unless it only takes the
	// place of one that was worse.
	if limit := s.rackLimit(p); sameRack+1 > limit && sameRack >= oldRack {
		return false
	}
	if to := int(s.cnt[t*s.B+int(b)]) + 1; to > int(s.top[t]) && !s.forcing && to > s.topOn(t, b) && to >= int(s.cnt[t*s.B+int(s.rep[r].at)]) && !s.o.leaves(s.rep[r].at) {
		return false
	}
	return s.fits(r, b)
}

// strays tells whether a move would take load of a topic without a group from
// one group's brokers to another's. Fair shares are by group, of the load that
// is there: what wanders would make brokers look even that are not, and wander
// back the next time. What must move may.
func (s *state) strays(topic int, from, to int32) bool {
	return !s.forcing && s.c.Topics[topic].Group == model.None && !s.sameGroup(from, to) && !s.o.leaves(from)
}

func (s *state) sameGroup(a, b int32) bool { return s.group[a] == s.group[b] }

// homecoming tells whether b is an original place to which a moved replica may
// return although b receives nothing else. In an expansion that is its own
// former place only, and only with the leadership that it had there: otherwise
// old brokers would exchange leaders by way of the new ones.
func (s *state) homecoming(r, b int32) bool {
	if !s.rep[r].away || !s.member[b] {
		return false
	}
	p := s.rep[r].part
	if s.o.only != nil {
		return s.c.Broker[r] == b && (!s.rep[r].leads || s.c.Leader[p] == r)
	}
	return s.home(p, b)
}

// fits tells whether b can carry the replica on top of what it has.
func (s *state) fits(r, b int32) bool {
	v := s.vec(r)
	return s.carries(b, &v) && s.findsVolume(r, b)
}

// carries tells whether a broker's capacity allows v on top of its load. What
// does not grow may be above it.
func (s *state) carries(b int32, v *vec) bool {
	for k := range K {
		if v[k] > 0 && s.load[b][k]+v[k] > s.limK[b][k] {
			return false
		}
	}
	return true
}

// move puts a slot's replica on b.
func (s *state) move(r, b int32) {
	v := s.vec(r)
	a := s.rep[r].at
	s.moved += int64(s.price(r, b))
	for k := range K {
		s.load[a][k] -= v[k]
		s.load[b][k] += v[k]
	}
	s.rate(a)
	s.rate(b)
	s.leaveVolume(r)
	s.enterVolume(r, b)
	t := int(s.c.Topic[s.rep[r].part]) * s.B
	s.cnt[t+int(a)]--
	s.cnt[t+int(b)]++
	last := s.byB[a][len(s.byB[a])-1]
	from := s.pos[r]
	s.byB[a][from], s.pos[last] = last, from
	s.byB[a] = s.byB[a][:len(s.byB[a])-1]
	s.pos[r] = int32(len(s.byB[b]))
	s.byB[b] = append(s.byB[b], r)
	s.rep[r].at = b
	s.rep[r].away = !s.home(s.rep[r].part, b)
	if s.lists != nil {
		n := len(s.lists[a]) - 1
		s.lists[a][from] = s.lists[a][n]
		s.lists[a] = s.lists[a][:n]
		s.lists[b] = append(s.lists[b], s.listedOf(r))
	}
}

// elect makes a slot's replica lead its partition.
func (s *state) elect(r int32) {
	p := s.rep[r].part
	old := s.lead[p]
	if old == r {
		return
	}
	if s.undo != nil {
		s.undo = append(s.undo, old)
	}
	if old != model.None {
		s.addLead(old, -1)
		s.markLead(old, false)
	}
	s.lead[p] = r
	s.markLead(r, true)
	s.addLead(r, 1)
}

func (s *state) markLead(r int32, leads bool) {
	s.rep[r].leads = leads
	if s.lists != nil && !s.fixed[s.rep[r].part] {
		s.lists[s.rep[r].at][s.pos[r]].leads = leads
	}
}

func (s *state) addLead(r int32, sign float64) {
	v, b := s.leadVec(r), s.rep[r].at
	for k := range K {
		s.load[b][k] += sign * v[k]
	}
	s.rate(b)
}
