package placement

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// scope is the set of brokers that new replicas may go to, as a ring that
// alternates racks and starts at the coldest broker.
type scope struct {
	c *model.Cluster
	// ring holds broker indexes; rack the rack of a ring position, dense.
	ring []int32
	rack []int
	// members are the ring positions in each rack; names the racks' names.
	members [][]int
	names   []string
	// pos is a broker's ring position, -1 outside.
	pos []int
	// leadCold and cold rank ring positions by leader traffic and by all
	// traffic: 0 is the coldest.
	leadCold, cold []int
	weight         []int64
	rejected       []plan.Rejection
}

// usable says why a broker may not get replicas, "" if it may.
func usable(c *model.Cluster, o *Options, group int32, b int) string {
	br := &c.Brokers[b]
	switch {
	case br.Dead:
		return "dead"
	case o.Exclude[br.ID]:
		return "excluded"
	case group != model.None && br.Group != group:
		return "group"
	}
	for i := range br.Dirs {
		if !br.Dirs[i].Offline {
			return ""
		}
	}
	if len(br.Dirs) > 0 {
		return "every log dir is offline"
	}
	return ""
}

func newScope(c *model.Cluster, o *Options, group int32) *scope {
	sc := &scope{c: c, pos: make([]int, len(c.Brokers))}
	byRack := map[int32][]int32{}
	var racks []int32
	for b := range c.Brokers {
		sc.pos[b] = -1
		if why := usable(c, o, group, b); why != "" {
			if why != "group" {
				sc.rejected = append(sc.rejected, plan.Rejection{Broker: c.Brokers[b].ID, Reason: why})
			}
			continue
		}
		r := c.RackOf[b]
		if byRack[r] == nil {
			racks = append(racks, r)
		}
		byRack[r] = append(byRack[r], int32(b))
	}
	slices.Sort(racks)
	type seat struct {
		broker  int32
		k, size int
		rack    int
	}
	var seats []seat
	for i, r := range racks {
		sc.names = append(sc.names, c.Racks[r])
		for k, b := range byRack[r] {
			seats = append(seats, seat{b, k, len(byRack[r]), i})
		}
	}
	// Rack r's k-th broker of n sits at (k+1/2)/n: racks of any sizes alternate.
	slices.SortFunc(seats, func(x, y seat) int {
		return cmp.Or(cmp.Compare((2*x.k+1)*y.size, (2*y.k+1)*x.size), cmp.Compare(x.rack, y.rack))
	})
	loads := c.BrokerLoads()
	start := 0
	for i, s := range seats {
		a, b := &loads[s.broker], &loads[seats[start].broker]
		if cmp.Or(cmp.Compare(leaderTraffic(a), leaderTraffic(b)), cmp.Compare(s.broker, seats[start].broker)) < 0 {
			start = i
		}
	}
	sc.members = make([][]int, len(racks))
	for i := range seats {
		s := seats[(start+i)%len(seats)]
		sc.pos[s.broker] = i
		sc.ring, sc.rack = append(sc.ring, s.broker), append(sc.rack, s.rack)
		sc.members[s.rack] = append(sc.members[s.rack], i)
	}
	sc.leadCold = sc.rank(loads, leaderTraffic)
	sc.cold = sc.rank(loads, traffic)
	sc.weight = weights(c, sc.ring, o.Weighted)
	return sc
}

func leaderTraffic(v *model.Vector) int64 { return v[model.LeaderIn] + v[model.Out] }

func traffic(v *model.Vector) int64 { return v[model.In] + v[model.Out] }

// rank orders ring positions by a load, ties by broker id.
func (sc *scope) rank(loads []model.Vector, f func(*model.Vector) int64) []int {
	order := make([]int, len(sc.ring))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		a, b := sc.ring[x], sc.ring[y]
		return cmp.Or(cmp.Compare(f(&loads[a]), f(&loads[b])), cmp.Compare(a, b))
	})
	rank := make([]int, len(order))
	for i, x := range order {
		rank[x] = i
	}
	return rank
}

// weights are capacities in thousandths of the biggest: of the resource that a
// broker has least of, among those that are known everywhere.
func weights(c *model.Cluster, ring []int32, on bool) []int64 {
	w := make([]int64, len(ring))
	for i := range w {
		w[i] = 1000
	}
	if !on {
		return w
	}
	for _, k := range []model.Resource{model.In, model.Out, model.Disk} {
		most, known := int64(0), true
		for _, b := range ring {
			v := c.Brokers[b].Capacity[k]
			known = known && v > 0 && v != model.Unlimited
			most = max(most, v)
		}
		if !known {
			continue
		}
		for i, b := range ring {
			w[i] = min(w[i], max(1, int64(float64(c.Brokers[b].Capacity[k])/float64(most)*1000)))
		}
	}
	return w
}

// rackBounds are the least and the most copies of a partition with rf replicas
// that each rack should have: as even as the racks' sizes allow.
func (sc *scope) rackBounds(rf int) (lo, hi []int) {
	most := 1
	for ; ; most++ {
		sum := 0
		for _, m := range sc.members {
			sum += min(most, len(m))
		}
		if sum >= rf || most > rf {
			break
		}
	}
	for _, m := range sc.members {
		lo, hi = append(lo, min(most-1, len(m))), append(hi, min(most, len(m)))
	}
	return lo, hi
}

// racked tells whether the brokers have racks at all.
func (sc *scope) racked() bool { return len(sc.names) > 1 || len(sc.names) == 1 && sc.names[0] != "" }

// refuse tells why no partition with rf replicas can live here.
func (sc *scope) refuse(rf int, strict bool) (plan.Refusal, bool) {
	if len(sc.ring) < rf {
		return plan.Refusal{
			Reason:   "brokers",
			Detail:   fmt.Sprintf("replication factor %d needs as many live brokers, there are %d that may be used", rf, len(sc.ring)),
			Rejected: slices.Clone(sc.rejected),
		}, true
	}
	if strict && sc.racked() && rf > len(sc.names) {
		return plan.Refusal{
			Reason:   "rack",
			Detail:   fmt.Sprintf("replication factor %d needs as many racks, there are %d with live brokers that may be used (%s)", rf, len(sc.names), sc.rackList()),
			Rejected: slices.Clone(sc.rejected),
		}, true
	}
	return plan.Refusal{}, false
}

// rackWarning says what losing a rack would mean when racks must hold several
// copies, "" when every copy has its own.
func (sc *scope) rackWarning(topic string, rf int) string {
	if !sc.racked() || rf <= len(sc.names) {
		return ""
	}
	lo, hi := sc.rackBounds(rf)
	var parts []string
	for r, name := range sc.names {
		n := fmt.Sprint(hi[r])
		if lo[r] < hi[r] && !forcedFull(lo, hi, rf) {
			n = fmt.Sprintf("up to %d", hi[r])
		}
		parts = append(parts, fmt.Sprintf("losing %s takes %s of %d copies of its partitions", name, n, rf))
	}
	return fmt.Sprintf("topic %s: replication factor %d is more than the %d racks that have live brokers; %s", topic, rf, len(sc.names), strings.Join(parts, ", "))
}

// forcedFull tells whether every rack must hold its most.
func forcedFull(lo, hi []int, rf int) bool {
	sum := 0
	for _, h := range hi {
		sum += h
	}
	return sum == rf
}

func (sc *scope) rackList() string {
	var out []string
	for r, name := range sc.names {
		out = append(out, fmt.Sprintf("%s: %d", name, len(sc.members[r])))
	}
	return strings.Join(out, ", ")
}

func findTopic(c *model.Cluster, name string) (int32, bool) {
	i := sort.Search(len(c.Topics), func(i int) bool { return c.Topics[i].Name >= name })
	return int32(i), i < len(c.Topics) && c.Topics[i].Name == name
}

// partitionsOf is the range of a topic's partitions.
func partitionsOf(c *model.Cluster, t int32) (from, to int) {
	from = sort.Search(len(c.Topic), func(i int) bool { return c.Topic[i] >= t })
	to = sort.Search(len(c.Topic), func(i int) bool { return c.Topic[i] > t })
	return from, to
}

func groupIndex(c *model.Cluster, name string) (int32, error) {
	if name == "" {
		return model.None, nil
	}
	i, ok := slices.BinarySearch(c.Groups, name)
	if !ok {
		return 0, fmt.Errorf("cluster %s has no resource group %q; it has %v", c.Name, name, c.Groups)
	}
	return int32(i), nil
}
