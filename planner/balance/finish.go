package balance

import (
	"fmt"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// finish turns what was arranged into a plan with reasons, figures, refusals.
func finish(p *plan.Plan, t task, a *arranged, found *outcome) *plan.Plan {
	before := a.before
	for _, ch := range a.done {
		p.Changes = append(p.Changes, before.planChange(ch, a.d))
	}
	p.Refusals = append(p.Refusals, before.refusals(found.stuck)...)
	p.Refusals = append(p.Refusals, a.s.leftOut(&a.ordered, a.d)...)
	p.Limits = before.limits()
	p.Warnings = before.warnings(t, found)
	summarise(p, before, a.s, a.done, a.d)
	p.Summary.Steps = found.steps
	return p
}

// leftOut explains changes that could not be made at any moment, and forced
// ones that the budget left no room for. s is as it is at the end.
func (s *state) leftOut(o *ordered, d *dirs) (out []plan.Refusal) {
	refuse := func(ch *change, reason, detail string, rejected []plan.Rejection) {
		out = append(out, plan.Refusal{Topic: s.c.Topics[s.c.Topic[ch.part]].Name, Partition: s.c.ID[ch.part], Reason: reason, Detail: detail, Rejected: rejected})
	}
	for _, ch := range o.blocked {
		rejected := s.overfull(ch, d)
		reason := "capacity"
		if len(rejected) > 0 && rejected[0].Reason == model.Disk.String() {
			reason = "disk"
		}
		refuse(ch, reason, "no order of changes keeps every broker and every volume within its capacity at each step", rejected)
	}
	for _, ch := range o.cut {
		if ch.forced {
			refuse(ch, "budget", "the plan may not copy more; plan again when it is carried out", nil)
		}
	}
	return out
}

// overfull tells which brokers a change would lift above their capacity.
func (s *state) overfull(ch *change, d *dirs) (out []plan.Rejection) {
	brokers, delta := s.deltas(ch)
	for i, b := range brokers {
		for k := range K {
			if s.exceeds(b, k, delta[i][k]) {
				out = append(out, plan.Rejection{
					Broker: s.c.Brokers[b].ID, Reason: model.Resource(k).String(),
					Need: int64(delta[i][k]), Free: int64(max(0, s.limK[b][k]-s.load[b][k])),
				})
			}
		}
	}
	for i, r := range ch.slots {
		if b := ch.brokers[i]; (s.c.Broker[r] != b || d.at[r] != s.c.Dir[r]) && !s.roomOnVolume(r, b, d) {
			out = append(out, plan.Rejection{Broker: s.c.Brokers[b].ID, Reason: model.Disk.String(), Need: s.c.Size[r], Free: int64(max(0, s.roomiest(b)))})
		}
	}
	return out
}

// warnings tells what a reader of the plan should know.
func (s *state) warnings(t task, found *outcome) (out []string) {
	dead, moving := 0, 0
	for b := range s.B {
		if s.c.Brokers[b].Dead && !s.o.leaves(int32(b)) {
			dead++
			out = append(out, fmt.Sprintf("broker %d is dead: what it holds is left as it is; decommission or replace it", s.c.Brokers[b].ID))
		}
	}
	for p := range s.P {
		if s.c.Moving[p] {
			moving++
		}
	}
	if moving > 0 {
		out = append(out, fmt.Sprintf("%d partitions are being reassigned and are left as they are", moving))
	}
	if found.idle > 0 {
		out = append(out, fmt.Sprintf("%d topics without traffic are left as they are", found.idle))
	}
	if found.even > 0 {
		out = append(out, fmt.Sprintf("%d topics that lie evenly are left as they are", found.even))
	}
	out = append(out, s.rackWarnings()...)
	return append(out, s.rfWarnings()...)
}

// rfWarnings tells of partitions with another number of replicas than their topic.
func (s *state) rfWarnings() (out []string) {
	const shown = 5
	n := 0
	for p := range s.P {
		want, have := int(s.c.Topics[s.c.Topic[p]].ReplicationFactor), s.c.RF(p)
		if want > 0 && have != want {
			if n++; n <= shown {
				out = append(out, fmt.Sprintf("%s has %d replicas, its topic %d: left as it is, change-rf repairs it", s.c.PartitionName(p), have, want))
			}
		}
	}
	if n > shown {
		out = append(out, fmt.Sprintf("%d more partitions have another number of replicas than their topic", n-shown))
	}
	return out
}

// limits lists items that are more than a fair share by themselves: no plan
// brings their broker into the band. O(replicas + groups × brokers).
func (s *state) limits() (out []plan.Limit) {
	const shown = 20
	for _, k := range []model.Resource{model.In, model.Out, model.Disk} {
		largest := s.largestShares(int(k))
		n := 0
		for p := 0; p < s.P && n < shown; p++ {
			from, to := s.slots(int32(p))
			load := 0.0
			for r := from; r < to; r++ {
				load = max(load, s.vec(r)[k])
			}
			if k == model.Out {
				load = s.out[p]
			}
			if x := load / largest[s.c.Topics[s.c.Topic[p]].Group+1]; x > 1+s.o.Band {
				out = append(out, plan.Limit{
					Resource: k.String(), Item: s.c.PartitionName(p), Share: round3(x),
					Advice: "one partition is more than a broker's fair share: more partitions for its topic, or a larger broker",
				})
				n++
			}
		}
	}
	return out
}

// largestShares are the greatest fair shares of a broker that a group's topics
// may use, at group+1; +Inf where there is none.
func (s *state) largestShares(k int) []float64 {
	out := make([]float64, len(s.c.Groups)+1)
	for b := range s.B {
		if s.inv[b][k] == 0 {
			continue
		}
		share := 1 / s.inv[b][k]
		out[0] = max(out[0], share)
		if g := s.c.Brokers[b].Group; g != model.None {
			out[g+1] = max(out[g+1], share)
		}
	}
	for i := range out {
		if out[i] == 0 {
			out[i] = inf
		}
	}
	return out
}

// refusals explain replicas that had to move and found no place.
func (s *state) refusals(list []stuck) (out []plan.Refusal) {
	for _, x := range list {
		p := s.rep[x.slot].part
		r := plan.Refusal{Topic: s.c.Topics[s.c.Topic[p]].Name, Partition: s.c.ID[p], Reason: x.reason}
		from := s.c.Brokers[s.c.Broker[x.slot]].ID
		switch x.reason {
		case "moving":
			r.Detail = fmt.Sprintf("a reassignment is in flight; plan again when it has ended to take it off broker %d", from)
		case "brokers":
			r.Detail = fmt.Sprintf("another replica of it lies on a dead broker; decommission that one together with broker %d", from)
		case "excluded":
			r.Detail = fmt.Sprintf("its topic is excluded, but it lies on broker %d, which is to be emptied", from)
		default:
			r.Rejected = x.rejected
			r.Reason = mainReason(r.Rejected)
			r.Detail = fmt.Sprintf("no broker can take the replica on broker %d; the partition stays as it is", from)
		}
		out = append(out, r)
	}
	return out
}

func mainReason(list []plan.Rejection) string {
	for _, want := range []string{"disk", "in", "out", "cpu", "rack", "group"} {
		for _, r := range list {
			if r.Reason == want {
				return want
			}
		}
	}
	return "brokers"
}
