package check

import (
	"math"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// hardGoals count what has to be repaired before anything is made even.
type hardGoals struct {
	racks    int     // partitions with more copies in a rack than needed
	stranded int     // replicas on brokers that are dead or to be emptied
	outside  int     // replicas outside the resource group of their topic
	overload float64 // what brokers carry above their limits, in shares of these
}

func (k *checker) hard(c *model.Cluster) hardGoals {
	h := hardGoals{racks: k.racks.violations(c)}
	for p := range c.Topic {
		g := c.Topics[c.Topic[p]].Group
		for s := c.Off[p]; s < c.Off[p+1]; s++ {
			if !k.receive[c.Broker[s]] {
				h.stranded++
			}
			if g != model.None && c.Brokers[c.Broker[s]].Group != g {
				h.outside++
			}
		}
	}
	for b, load := range c.BrokerLoads() {
		for r := range load {
			if limit, ok := limit(c.Brokers[b].Capacity[r], k.r.CapacityShare[r]); ok && limit > 0 {
				h.overload += max(0, float64(load[r])/limit-1)
			}
		}
	}
	return h
}

// tolerance is the difference that floating-point figures may have.
const tolerance = 1e-6

// goals compares the cluster before and after. Hard goals may not get worse.
// The objective may only where a hard goal got better, or where evenness is not
// what was asked for.
func (k *checker) goals() {
	before, after := k.hard(k.c), k.hard(k.after)
	worse := func(what string, x, y float64) {
		if y > x*(1+tolerance)+tolerance {
			k.bad("plan", "makes a hard goal worse: %s %.6g before, %.6g after", what, x, y)
		}
	}
	if !creates(k.p.Operation) && k.p.Operation != plan.ChangeRF {
		worse("partitions with too many copies in a rack", float64(before.racks), float64(after.racks))
		worse("replicas on brokers that are dead or must end empty", float64(before.stranded), float64(after.stranded))
		worse("replicas outside their resource group", float64(before.outside), float64(after.outside))
	}
	switch k.p.Operation {
	case plan.Rebalance, plan.Expand, plan.Decommission, plan.Replace:
	default:
		return
	}
	if after.racks < before.racks || after.stranded < before.stranded || after.outside < before.outside || after.overload < before.overload-tolerance || k.resized() {
		return
	}
	x, y := k.objective(k.c), k.objective(k.after)
	if y > x*(1+tolerance)+1e-9 {
		k.bad("plan", "makes the objective worse: %.9g before, %.9g after", x, y)
	}
}

// resized tells whether the plan changes the number of replicas.
func (k *checker) resized() bool { return k.c.NumReplicas() != k.after.NumReplicas() }

// objective is the sum, over brokers and resources, of the squared distance
// from the band, weighted.
func (k *checker) objective(c *model.Cluster) float64 {
	if k.r.Objective != nil {
		return k.r.Objective(c)
	}
	band := max(0, k.r.Band-k.r.Margin)
	shares := fairShares(k.c, k.c.BrokerLoads(), k.receive, k.r.CountsFollowDisk)
	sum := 0.0
	for b, load := range c.BrokerLoads() {
		for r := range load {
			if shares[b][r] == 0 {
				continue
			}
			w := k.r.Weights[r]
			d := float64(load[r])/shares[b][r] - 1
			if d < 0 {
				w *= k.r.Under[r]
			}
			d = max(0, math.Abs(d)-band)
			sum += w * d * d
		}
	}
	return sum
}
