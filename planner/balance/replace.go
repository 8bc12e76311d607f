package balance

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// Pair is a broker and the one that takes its place.
type Pair struct{ Old, New int32 }

// Replace puts everything that lies on old brokers onto new ones, position for
// position: only that moves, leaders stay where they are in the lists. What a
// new broker cannot take (it has a copy already, its rack or capacity does not
// allow it) goes to the best other broker.
func Replace(c *model.Cluster, pairs []Pair, o Options) (*plan.Plan, error) {
	if err := validate(c, o); err != nil {
		return nil, err
	}
	pairs = slices.SortedFunc(slices.Values(pairs), func(x, y Pair) int { return cmp.Or(cmp.Compare(x.Old, y.Old), cmp.Compare(x.New, y.New)) })
	var old []int32
	to := map[int32]int32{}
	for _, p := range pairs {
		a, okA := c.BrokerIndex(p.Old)
		b, okB := c.BrokerIndex(p.New)
		switch {
		case !okA:
			return nil, fmt.Errorf("broker %d, to be replaced, is not in the cluster", p.Old)
		case !okB:
			return nil, fmt.Errorf("broker %d, to take its place, is not in the cluster", p.New)
		case c.Brokers[b].Dead:
			return nil, fmt.Errorf("broker %d, to take the place of %d, is dead", p.New, p.Old)
		}
		if _, twice := to[a]; twice {
			return nil, fmt.Errorf("broker %d is to be replaced twice", p.Old)
		}
		old, to[a] = append(old, p.Old), b
	}
	drain, err := markBrokers(c, old)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		if b, _ := c.BrokerIndex(p.New); drain[b] {
			return nil, fmt.Errorf("broker %d is both to be replaced and to take the place of %d", p.New, p.Old)
		}
	}
	t := task{opts: o, drain: drain, forcedOnly: true}
	s := newState(c, prepare(c, o, drain, nil))
	s.fix(t)
	se := newSearch(s)
	found := &outcome{before: s.outsideBand()}
	for _, p := range pairs {
		a, _ := c.BrokerIndex(p.Old)
		for _, r := range append([]int32(nil), s.byB[a]...) {
			// The wanted broker is exempt from the topic's spread and from racks:
			// it stands where the old one stood.
			if s.replaceable(r, to[a]) {
				s.move(r, to[a])
			}
		}
	}
	found.stuck = se.forced(false)
	found.after, found.steps, found.place = s.outsideBand(), s.steps, s.inPlace()
	return finish(newPlan(c, plan.Replace), t, arrange(c, t, found.place), found), nil
}

// replaceable tells whether a replica may move to the broker that takes the
// place of its own: same rack or a rack with room, capacity, no copy there yet.
func (s *state) replaceable(r, b int32) bool {
	p := s.rep[r].part
	if s.fixed[p] || s.rep[r].held || !s.receive[b] || !s.inGroup(int(s.c.Topic[p]), int(b)) {
		return false
	}
	from, to := s.slots(p)
	same := 0
	for q := from; q < to; q++ {
		if s.rep[q].at == b {
			return false
		}
		if q != r && s.rack[s.rep[q].at] == s.rack[b] {
			same++
		}
	}
	if s.rack[b] != s.rack[s.rep[r].at] && same+1 > s.rackLimit(p) {
		return false
	}
	return s.fits(r, b)
}

// inPlace is the placement with every list that changes in its former order,
// except that it begins with the wanted leader where leadership changed. Lists
// of which nothing moves begin with their leader, as is usual: they are no
// change then.
func (s *state) inPlace() placement {
	out := s.placement()
	for p := range int32(s.P) {
		from, to := s.slots(p)
		moved := false
		for r := from; r < to; r++ {
			moved = moved || s.rep[r].at != s.c.Broker[r]
		}
		if !moved || s.lead[p] != s.c.Leader[p] {
			continue
		}
		for r := from; r < to; r++ {
			out[r] = s.rep[r].at
		}
	}
	return out
}
