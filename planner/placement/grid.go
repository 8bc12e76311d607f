package placement

import (
	"cmp"
	"fmt"
	"math"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// grid is the assignment of partitions × positions to ring positions.
//
// It is made in three stages that each keep what the former reached: leaders by
// quota, which no rack can hinder; sets of followers by quota, as a flow, since
// racks and leaders forbid some places; and the order of followers, for which
// an even one always exists (the edges of a bipartite graph can be coloured so
// that every vertex has all colours equally often).
type grid struct {
	sc    *scope
	P, rf int
	// lo and hi bound the copies of a partition in a rack.
	lo, hi []int
	// oldLead, oldFollow and oldPos count the topic's existing replicas.
	oldLead, oldFollow []int
	oldPos             [][]int
	// quota counts the leaders and followers to get, most bounds all.
	lead, follow, most, mostLead []int
	// cells holds P × rf ring positions.
	cells []int32
	// has lists the partitions that follow on a ring position.
	has [][]int32
}

func newGrid(sc *scope, partitions, rf int) *grid {
	n := len(sc.ring)
	g := &grid{
		sc: sc, P: partitions, rf: rf, oldLead: make([]int, n), oldFollow: make([]int, n), oldPos: make([][]int, rf),
		lead: make([]int, n), follow: make([]int, n), most: make([]int, n), mostLead: make([]int, n),
		cells: make([]int32, partitions*rf), has: make([][]int32, n),
	}
	g.lo, g.hi = sc.rackBounds(rf)
	for k := range g.oldPos {
		g.oldPos[k] = make([]int, n)
	}
	return g
}

func (g *grid) at(p, k int) int { return int(g.cells[p*g.rf+k]) }

func (g *grid) row(p int) []int32 { return g.cells[p*g.rf : (p+1)*g.rf] }

// count takes an existing partition of the topic into account.
func (g *grid) count(c *model.Cluster, p int) {
	from, to := c.Slots(p)
	for s := from; s < to; s++ {
		i, k := g.sc.pos[c.Broker[s]], int(s-from)
		if i < 0 || k >= g.rf {
			continue
		}
		g.oldPos[k][i]++
		if k == 0 {
			g.oldLead[i]++
		} else {
			g.oldFollow[i]++
		}
	}
}

// limit finds how many replicas and leaders each broker has room for.
func (g *grid) limit(rm *room, each Load) {
	for i := range g.sc.ring {
		g.most[i] = min(g.P, rm.replicas(i, each))
		g.mostLead[i] = min(g.most[i], rm.leaders(i, each))
	}
}

// below compares how full two brokers are for their weight.
func (g *grid) below(x, y, countX, countY int) int {
	return cmp.Compare(int64(2*countX+1)*g.sc.weight[y], int64(2*countY+1)*g.sc.weight[x])
}

// leaders sets the quotas of leaders: one after the other to the broker with
// the fewest, so that the remainder goes to the coldest.
func (g *grid) leaders() bool {
	for range g.P {
		best := -1
		for i := range g.sc.ring {
			if g.lead[i] >= g.mostLead[i] {
				continue
			}
			if best < 0 || cmp.Or(g.below(i, best, g.oldLead[i]+g.lead[i], g.oldLead[best]+g.lead[best]),
				cmp.Compare(g.sc.leadCold[i], g.sc.leadCold[best])) < 0 {
				best = i
			}
		}
		if best < 0 {
			return false
		}
		g.lead[best]++
	}
	return true
}

// followers sets the quotas of followers within what racks may hold in all.
func (g *grid) followers() bool {
	need := g.P * (g.rf - 1)
	inRack := make([]int, len(g.lo))
	for i, r := range g.sc.rack {
		inRack[r] += g.lead[i]
	}
	pick := func(in []int) bool {
		best := -1
		for _, i := range in {
			r := g.sc.rack[i]
			if inRack[r] >= g.P*g.hi[r] || g.lead[i]+g.follow[i] >= g.most[i] {
				continue
			}
			if best < 0 || g.lessFollowed(i, best) {
				best = i
			}
		}
		if best < 0 {
			return false
		}
		g.follow[best]++
		inRack[g.sc.rack[best]]++
		need--
		return true
	}
	for r, members := range g.sc.members {
		for inRack[r] < g.P*g.lo[r] {
			if !pick(members) {
				return false
			}
		}
	}
	all := make([]int, len(g.sc.ring))
	for i := range all {
		all[i] = i
	}
	for need > 0 {
		if !pick(all) {
			return false
		}
	}
	return true
}

func (g *grid) lessFollowed(x, y int) bool {
	fx, fy := g.oldFollow[x]+g.follow[x], g.oldFollow[y]+g.follow[y]
	return cmp.Or(g.below(x, y, fx, fy), g.below(x, y, fx+g.oldLead[x]+g.lead[x], fy+g.oldLead[y]+g.lead[y]),
		cmp.Compare(g.sc.cold[x], g.sc.cold[y])) < 0
}

// unevenness warns when racks or disks left the topic less even than a ring is.
func (g *grid) unevenness(topic string) string {
	for k := range g.rf {
		n := make([]int, len(g.sc.ring))
		for p := range g.P {
			n[g.at(p, k)]++
		}
		least, most := math.MaxInt, 0
		for i := range n {
			// A broker's fair number grows with its weight.
			v := int(int64(n[i]+g.oldPos[k][i]) * 1000 / g.sc.weight[i])
			least, most = min(least, v), max(most, v)
		}
		if most-least > 1 && !g.weighted() {
			what := "leaders"
			if k > 0 {
				what = fmt.Sprintf("followers at position %d", k)
			}
			return fmt.Sprintf("topic %s: brokers have between %d and %d %s: racks, existing partitions or lack of room allow no more even spread", topic, least, most, what)
		}
	}
	return ""
}

func (g *grid) weighted() bool {
	for _, w := range g.sc.weight {
		if w != 1000 {
			return true
		}
	}
	return false
}

func (g *grid) why(p int) string {
	i := g.at(p, 0)
	racks := map[int]bool{}
	for _, x := range g.row(p) {
		racks[g.sc.rack[x]] = true
	}
	s := fmt.Sprintf("broker %d leads %d of the new partitions, an even share of %d over %d brokers",
		g.sc.c.Brokers[g.sc.ring[i]].ID, g.lead[i], g.P, len(g.sc.ring))
	if g.sc.racked() {
		s += fmt.Sprintf("; copies in %d racks", len(racks))
	}
	return s
}

// short explains which brokers lack room.
func (g *grid) short(rm *room, each Load) plan.Refusal {
	r := plan.Refusal{Reason: "capacity", Rejected: append([]plan.Rejection{}, g.sc.rejected...)}
	share := ceilDiv(int64(g.P*g.rf), int64(len(g.sc.ring)))
	disk := false
	for i := range g.sc.ring {
		if g.most[i] >= g.P && g.mostLead[i] >= g.P {
			continue
		}
		x := rm.lacks(i, each, share)
		disk = disk || x.Reason == "disk"
		r.Rejected = append(r.Rejected, x)
	}
	if disk {
		r.Reason = "disk"
	}
	r.Detail = fmt.Sprintf("%d partitions with %d replicas of %d bytes, %d bytes/s in and %d bytes/s out each do not fit on the brokers; no partition is placed, rather than some or with fewer replicas",
		g.P, g.rf, each.Bytes, each.In, each.Out)
	return r
}
