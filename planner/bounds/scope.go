// Package bounds computes what no plan can beat: the least that the worst
// broker has to carry, the least that has to be copied to get every broker into
// the band, the most even number of leaders, the least time that copying takes.
// They tell how far a plan is from the best one, and what to do when nothing
// can be done. It shares no code with the search.
//
// The bounds hold for plans that keep every partition's number of replicas, put
// nothing on brokers that are dead or to be emptied, keep topics in their
// resource groups, and (unless RacksStay) leave no rack with more copies of a
// partition than the racks force. A copy keeps its size and load wherever it goes. Copies on dead
// brokers that need not be emptied may stay there: they bind nothing.
package bounds

import (
	"math"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// Options say what plans are asked for.
type Options struct {
	// Drain lists brokers that must end empty.
	Drain map[int32]bool
	// RacksStay allows plans that leave copies in racks that hold too many, as
	// those that only move what must leave a broker.
	RacksStay bool
	// CountsFollowDisk gives bigger brokers more replicas and leaders.
	CountsFollowDisk bool
}

// frame is a cluster with what the bounds have in common.
type frame struct {
	c       *model.Cluster
	receive []bool
	// stays tells that copies on a broker need not leave it and cannot be
	// counted on to: it is dead and not to be emptied.
	stays []bool
	drain []bool
}

func newFrame(c *model.Cluster, o Options) *frame {
	f := &frame{c: c}
	for i := range c.Brokers {
		b := &c.Brokers[i]
		f.drain = append(f.drain, o.Drain[b.ID])
		f.receive = append(f.receive, !b.Dead && !o.Drain[b.ID])
		f.stays = append(f.stays, b.Dead && !o.Drain[b.ID])
	}
	return f
}

// shares are the brokers' fair shares of a resource, 0 for those that take no
// part: their group's load divided by capacity, or evenly where the capacity of
// one of the group's brokers is not known.
func (f *frame) shares(k model.Resource, countsFollowDisk bool) []float64 {
	c := f.c
	load := f.brokerLoads(k)
	total, capacity := make([]float64, len(c.Groups)+1), make([]float64, len(c.Groups)+1)
	by := f.basis(k, countsFollowDisk)
	for b := range c.Brokers {
		g := c.Brokers[b].Group + 1
		total[g] += float64(load[b])
		if f.receive[b] {
			capacity[g] += f.weight(b, by[g])
		}
	}
	out := make([]float64, len(c.Brokers))
	for b := range c.Brokers {
		if g := c.Brokers[b].Group + 1; f.receive[b] {
			out[b] = total[g] * f.weight(b, by[g]) / capacity[g]
		}
	}
	return out
}

// even is the basis of shares where capacities are not known.
const even = model.Resource(-1)

// basis is the capacity by which each group's shares are divided.
func (f *frame) basis(k model.Resource, countsFollowDisk bool) []model.Resource {
	choose := []model.Resource{k}
	if countsFollowDisk && (k == model.Replicas || k == model.Leaders) {
		choose = append(choose, model.Disk)
	}
	out := make([]model.Resource, len(f.c.Groups)+1)
	for g := range out {
		out[g] = even
		for i := len(choose) - 1; i >= 0; i-- {
			if f.known(g, choose[i]) {
				out[g] = choose[i]
			}
		}
	}
	return out
}

func (f *frame) known(g int, k model.Resource) bool {
	for b := range f.c.Brokers {
		br := &f.c.Brokers[b]
		if v := br.Capacity[k]; f.receive[b] && int(br.Group)+1 == g && (v <= 0 || v == model.Unlimited) {
			return false
		}
	}
	return true
}

func (f *frame) weight(b int, by model.Resource) float64 {
	if by == even {
		return 1
	}
	return float64(f.c.Brokers[b].Capacity[by])
}

func (f *frame) brokerLoads(k model.Resource) []int64 {
	c := f.c
	load := make([]int64, len(c.Brokers))
	for p := range c.Topic {
		for s := c.Off[p]; s < c.Off[p+1]; s++ {
			v := f.follow(k, s)
			if c.Leader[p] == s {
				v += f.lead(k, p, s)
			}
			load[c.Broker[s]] += v
		}
	}
	return load
}

// follow is what a copy costs wherever it is, lead what leading adds.
func (f *frame) follow(k model.Resource, slot int32) int64 {
	switch k {
	case model.In:
		return f.c.InRate[slot]
	case model.Disk:
		return f.c.Size[slot]
	case model.CPU:
		return f.c.CPU[slot]
	case model.Replicas:
		return 1
	}
	return 0
}

func (f *frame) lead(k model.Resource, p int, slot int32) int64 {
	switch k {
	case model.Out:
		return f.c.OutRate[p]
	case model.CPU:
		return f.c.LeadCPU[p]
	case model.Leaders:
		return 1
	case model.LeaderIn:
		return f.c.InRate[slot]
	}
	return 0
}

// may tells whether a topic's replicas may go to a broker.
func (f *frame) may(group int32, b int) bool {
	return f.receive[b] && (group == model.None || f.c.Brokers[b].Group == group)
}

// rackLimit is how many copies the racks force into one: the least L such that
// racks which hold at most L copies, and not more than they have brokers, hold
// them all; copies if they cannot.
func rackLimit(brokers []int, copies int) int {
	for l := 1; l < copies; l++ {
		room := 0
		for _, n := range brokers {
			room += min(n, l)
		}
		if room >= copies {
			return l
		}
	}
	return copies
}

// rackBrokers counts the brokers of each rack that a group's topics may go to.
func (f *frame) rackBrokers(group int32) []int {
	n := make([]int, len(f.c.Racks))
	for b := range f.c.Brokers {
		if f.may(group, b) {
			n[f.c.RackOf[b]]++
		}
	}
	return n
}

// limits caches rackLimit for a group's topics, by number of copies.
type limits struct {
	brokers []int
	by      []int
}

func (l *limits) of(copies int) int {
	for len(l.by) <= copies {
		l.by = append(l.by, rackLimit(l.brokers, len(l.by)))
	}
	return l.by[copies]
}

// floor rounds a sum of floating-point bytes down far enough that rounding
// errors cannot put it above the true bound.
func floor(x float64) int64 { return int64(math.Floor(x*(1-1e-13) + 1e-6)) }
