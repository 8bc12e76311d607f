package balance

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

func itoa(n int32) string { return strconv.Itoa(int(n)) }

func round3(x float64) float64 { return math.Round(x*1000) / 1000 }

// planChange describes a change; s is the state before the plan.
func (s *state) planChange(ch *change, d *dirs) plan.Change {
	p := ch.part
	out := plan.Change{
		Topic: s.c.Topics[s.c.Topic[p]].Name, Partition: s.c.ID[p], OldLeader: model.None, NewLeader: model.None,
		From: s.replicas(p), Why: s.why(ch),
	}
	for i, r := range ch.slots {
		b := &s.c.Brokers[ch.brokers[i]]
		out.To = append(out.To, plan.Replica{Broker: b.ID, Dir: dirPath(b, d.at[r])})
		switch {
		case s.c.Broker[r] != ch.brokers[i]:
			out.Bytes += s.c.Size[r]
		case d.at[r] != s.c.Dir[r]:
			out.DirBytes += s.c.Size[r]
		}
	}
	if l := s.c.Leader[p]; l != model.None {
		out.OldLeader = s.c.Brokers[s.c.Broker[l]].ID
		out.NewLeader = out.To[0].Broker
	}
	return out
}

// why names the reason of a change: what forced it, else the load at the
// outset that it relieves or fills most.
func (s *state) why(ch *change) string {
	if ch.why != "" {
		return ch.why
	}
	for i, r := range ch.slots {
		from := s.c.Broker[r]
		if from == ch.brokers[i] {
			continue
		}
		if s.o.leaves(from) {
			return fmt.Sprintf("broker %d is to be emptied", s.c.Brokers[from].ID)
		}
		if n := s.sameRackBefore(ch.part, r); n > s.rackLimit(ch.part) {
			return fmt.Sprintf("rack %s holds %d copies, %d would do", s.c.Brokers[from].Rack, n, s.rackLimit(ch.part))
		}
	}
	brokers, d := s.deltas(ch)
	best, text := 0.0, "makes room for other changes"
	for i, b := range brokers {
		for k := range K {
			if d[i][k] == 0 || s.inv[b][k] == 0 {
				continue
			}
			x := s.load[b][k] * s.inv[b][k]
			relief := s.penK[b][k] - s.o.outside(k, (s.load[b][k]+d[i][k])*s.inv[b][k]-1)
			if relief <= best {
				continue
			}
			best = relief
			text = fmt.Sprintf("broker %d carries %.2f times its fair share of %s", s.c.Brokers[b].ID, x, model.Resource(k))
		}
	}
	return text
}

// whyNot tells for every broker why it cannot take a slot's replica. Brokers
// that could are absent.
func (s *state) whyNot(r int32) (out []plan.Rejection) {
	p := s.rep[r].part
	for b := range int32(s.B) {
		if b == s.rep[r].at {
			continue
		}
		rej := plan.Rejection{Broker: s.c.Brokers[b].ID, Reason: s.refuse(p, r, b)}
		if rej.Reason == "" {
			continue
		}
		if k, ok := resourceNamed(rej.Reason); ok {
			rej.Need = int64(s.vec(r)[k])
			free := s.limK[b][k] - s.load[b][k]
			if k == model.Disk {
				free = min(free, s.roomiest(b))
			}
			rej.Free = int64(max(0, free))
		}
		out = append(out, rej)
	}
	return out
}

func resourceNamed(name string) (model.Resource, bool) {
	for k, n := range model.ResourceNames {
		if n == name {
			return model.Resource(k), true
		}
	}
	return 0, false
}

// refuse names the first rule that keeps a replica from a broker, "" if none.
func (s *state) refuse(p, r, b int32) string {
	from, to := s.slots(p)
	switch {
	case s.fixed[p]:
		return "partition is left as it is"
	case s.rep[r].held:
		return "replica is left as it is"
	case s.c.Brokers[b].Dead:
		return "dead"
	case s.o.leaves(b):
		return "to be emptied"
	case !s.inGroup(int(s.c.Topic[p]), int(b)):
		return "group"
	case !s.receive[b]:
		return "receives nothing"
	}
	for q := from; q < to; q++ {
		if s.rep[q].at == b {
			return "has a replica already"
		}
	}
	v := s.vec(r)
	for k := range K {
		if v[k] > 0 && s.load[b][k]+v[k] > s.limK[b][k] {
			return model.Resource(k).String()
		}
	}
	if !s.findsVolume(r, b) {
		return model.Disk.String()
	}
	if s.legal(r, b) {
		return ""
	}
	same := 0
	for q := from; q < to; q++ {
		if q != r && s.rack[s.rep[q].at] == s.rack[b] {
			same++
		}
	}
	if same+1 > s.rackLimit(p) {
		return "rack"
	}
	return "holds enough of the topic"
}
