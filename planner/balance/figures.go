package balance

import (
	"math"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// summarise enters the figures before and after into a plan.
func summarise(p *plan.Plan, before, after *state, done []*change, d *dirs) {
	sum := &p.Summary
	in, out := make([]int64, before.B), make([]int64, before.B)
	for i := range p.Changes {
		before.account(&p.Changes[i], done[i], d, sum, in, out)
	}
	for k := range model.NumResources {
		sum.Resources = append(sum.Resources, plan.ResourceFigures{Resource: k.String(), Before: before.spread(int(k)), After: after.spread(int(k))})
	}
	sum.RackViolationsBefore, sum.RackViolationsAfter = before.rackViolations(), after.rackViolations()
	sum.TopicExcessBefore, sum.TopicExcessAfter = before.topicExcess(), after.topicExcess()
	was, is := before.exact(), after.exact()
	for b := range before.B {
		br := &before.c.Brokers[b]
		f := plan.BrokerFigures{Broker: br.ID, Rack: br.Rack, Dead: br.Dead, BytesIn: in[b], BytesOut: out[b], Before: was[b], After: is[b]}
		for k := range K {
			if after.inv[b][k] > 0 {
				f.Share[k] = int64(math.Round(1 / after.inv[b][k]))
			}
		}
		for i := range br.Dirs {
			f.Dirs = append(f.Dirs, plan.DirFigures{Path: br.Dirs[i].Path, Capacity: br.Dirs[i].Capacity})
		}
		sum.Brokers = append(sum.Brokers, f)
	}
	after.dirFigures(sum.Brokers, done, d)
}

// exact sums loads by broker in whole numbers: those of the search are only
// exact up to 2^53.
func (s *state) exact() []model.Vector {
	out := make([]model.Vector, s.B)
	for r := range s.R {
		x := &s.rep[r]
		v := s.c.Load(int(x.part), int32(r), x.leads)
		out[x.at].Add(&v)
	}
	return out
}

// dirFigures enters what log directories hold before and after.
func (s *state) dirFigures(brokers []plan.BrokerFigures, done []*change, d *dirs) {
	changed := make([]bool, s.P)
	for _, ch := range done {
		changed[ch.part] = true
	}
	for r := range s.R {
		b, dir := s.c.Broker[r], s.c.Dir[r]
		if dir != model.None {
			f := &brokers[b].Dirs[dir]
			f.SizeBefore += s.c.Size[r]
			f.InBefore += s.c.InRate[r]
		}
		if changed[s.rep[r].part] {
			b, dir = s.rep[r].at, d.at[r]
		}
		if dir != model.None {
			f := &brokers[b].Dirs[dir]
			f.SizeAfter += s.c.Size[r]
			f.InAfter += s.c.InRate[r]
		}
	}
}

// account adds a change's moves and bytes. New copies are read from the leader
// as it was.
func (s *state) account(ch *plan.Change, done *change, d *dirs, sum *plan.Summary, in, out []int64) {
	sum.Bytes += ch.Bytes
	sum.DirBytes += ch.DirBytes
	if ch.OldLeader != ch.NewLeader {
		sum.LeaderChanges++
	}
	for i, r := range done.slots {
		switch b := done.brokers[i]; {
		case s.c.Broker[r] != b:
			sum.ReplicaMoves++
			in[b] += s.c.Size[r]
		case d.at[r] != s.c.Dir[r]:
			sum.DirMoves++
		}
	}
	if l := s.c.Leader[done.part]; l != model.None {
		out[s.c.Broker[l]] += ch.Bytes
	}
}

// spread tells how load/fair share of a resource lies over the members.
func (s *state) spread(k int) plan.Spread {
	out := plan.Spread{Min: math.Inf(1)}
	n, in, squares := 0, 0, 0.0
	for b := range s.B {
		if s.inv[b][k] == 0 {
			continue
		}
		x := s.load[b][k] * s.inv[b][k]
		out.Max, out.Min = max(out.Max, x), min(out.Min, x)
		squares += (x - 1) * (x - 1)
		if math.Abs(x-1) <= s.o.Band {
			in++
		}
		n++
	}
	if n == 0 {
		return plan.Spread{}
	}
	out.CV, out.InBand = math.Sqrt(squares/float64(n)), float64(in)/float64(n)
	return out
}

func (s *state) rackViolations() int {
	n := 0
	for p := range int32(s.P) {
		from, to := s.slots(p)
		limit := s.rackLimit(p)
		for r := from; r < to; r++ {
			same := 0
			for q := from; q < to; q++ {
				if s.rack[s.rep[q].at] == s.rack[s.rep[r].at] {
					same++
				}
			}
			if same > limit {
				n++
				break
			}
		}
	}
	return n
}

func (s *state) topicExcess() int {
	n := 0
	for t := range s.c.Topics {
		for b := range s.B {
			n += max(0, int(s.cnt[t*s.B+b])-int(s.top[t]))
		}
	}
	return n
}

// Explain tells where a partition's replicas could go and why not elsewhere:
// for each of its replicas the brokers that may not take it.
func Explain(c *model.Cluster, o Options, topic string, partition int32) ([]ReplicaReasons, error) {
	if err := validate(c, o); err != nil {
		return nil, err
	}
	s := newState(c, prepare(c, o, nil, nil))
	t := task{opts: o}
	s.fix(t)
	s.leaveAlone(o.LeaveIdle, o.LeaveEven)
	for p := range int32(s.P) {
		if c.ID[p] != partition || c.Topics[c.Topic[p]].Name != topic {
			continue
		}
		var out []ReplicaReasons
		from, to := s.slots(p)
		for r := from; r < to; r++ {
			x := ReplicaReasons{Broker: c.Brokers[c.Broker[r]].ID, Rejected: s.whyNot(r)}
			for b := range int32(s.B) {
				if s.legal(r, b) {
					v := s.vec(r)
					x.Possible = append(x.Possible, Possible{c.Brokers[b].ID, s.change(c.Broker[r], &v, -1) + s.change(b, &v, 1)})
				}
			}
			slices.SortStableFunc(x.Possible, func(a, b Possible) int {
				switch {
				case a.Change < b.Change:
					return -1
				case a.Change > b.Change:
					return 1
				}
				return 0
			})
			out = append(out, x)
		}
		return out, nil
	}
	return nil, model.Problem{Where: topic + "-" + itoa(partition), Reason: "is not in the cluster"}
}

// ReplicaReasons are the reasons about one replica.
type ReplicaReasons struct {
	Broker   int32            `json:"broker"`
	Possible []Possible       `json:"possible"`
	Rejected []plan.Rejection `json:"rejected"`
}

// Possible is a broker that could take the replica, and what that would do to
// the objective: negative is better.
type Possible struct {
	Broker int32   `json:"broker"`
	Change float64 `json:"change"`
}
