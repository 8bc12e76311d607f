package check

import "github.com/kafka-steward/kafka-steward/planner/model"

// rackLimits tells how many copies of a partition a rack has to hold: the least
// number L such that racks which take at most L copies each, and not more than
// they have brokers that may receive, hold all of them.
type rackLimits struct {
	c *model.Cluster
	// brokers[group+1][rack] counts brokers that may receive; index 0 is for
	// topics without a resource group.
	brokers [][]int
	known   map[rackKey]int
}

type rackKey struct {
	group  int32
	copies int
}

func newRackLimits(c *model.Cluster, receive []bool) *rackLimits {
	l := &rackLimits{c: c, known: map[rackKey]int{}, brokers: make([][]int, len(c.Groups)+1)}
	for g := range l.brokers {
		l.brokers[g] = make([]int, len(c.Racks))
	}
	for b := range c.Brokers {
		if !receive[b] {
			continue
		}
		l.brokers[0][c.RackOf[b]]++
		if g := c.Brokers[b].Group; g != model.None {
			l.brokers[g+1][c.RackOf[b]]++
		}
	}
	return l
}

// limit for a partition of a topic in a group. A partition with more copies
// than there are brokers has no limit.
func (l *rackLimits) limit(group int32, copies int) int {
	key := rackKey{group, copies}
	if n, ok := l.known[key]; ok {
		return n
	}
	n := 1
	for ; n < copies; n++ {
		room := 0
		for _, brokers := range l.brokers[group+1] {
			room += min(brokers, n)
		}
		if room >= copies {
			break
		}
	}
	l.known[key] = n
	return n
}

// most is the greatest number of brokers of a list in one rack. A broker that
// is listed twice, a mistake of its own, counts once.
func (l *rackLimits) most(n int, broker func(int) int32) int {
	most := 0
	for i := range n {
		same := 0
		for j := range n {
			if l.c.RackOf[broker(i)] == l.c.RackOf[broker(j)] && (i == j || broker(i) != broker(j)) {
				same++
			}
		}
		most = max(most, same)
	}
	return most
}

// violations counts partitions with more copies in a rack than needed.
func (l *rackLimits) violations(c *model.Cluster) int {
	n := 0
	for p := range c.Topic {
		from := c.Off[p]
		if l.most(c.RF(p), func(i int) int32 { return c.Broker[from+int32(i)] }) > l.limit(c.Topics[c.Topic[p]].Group, c.RF(p)) {
			n++
		}
	}
	return n
}

// rackSpread judges a change's spread over racks.
func (k *checker) rackSpread(r *resolved) {
	after := k.racks.most(len(r.to), func(i int) int32 { return r.to[i].broker })
	before := 0
	if r.part != model.None {
		from := k.c.Off[r.part]
		before = k.racks.most(k.c.RF(int(r.part)), func(i int) int32 { return k.c.Broker[from+int32(i)] })
	}
	limit := k.racks.limit(r.group, len(r.to))
	switch {
	case k.r.Racks == RacksDistinct && after > 1:
		k.bad(r.name(), "has %d copies in one rack with replicas on %v, distinct racks are asked for", after, places(r.To))
	case k.r.Racks == RacksSpread && after > limit:
		k.bad(r.name(), "has %d copies in one rack with replicas on %v, the racks allow to have %d at most", after, places(r.To), limit)
	case after > max(before, limit):
		k.bad(r.name(), "has %d copies in one rack with replicas on %v, before it had %d at most and the racks allow to have %d", after, places(r.To), before, limit)
	}
}
