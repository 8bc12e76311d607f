package bounds

import "github.com/kafka-steward/kafka-steward/planner/model"

// Leaders is the most even way to share out leadership without moving replicas.
type Leaders struct {
	// Max is the least that the broker with the most leaders can have, Min the
	// most that the broker with the fewest can. Brokers that may not lead do
	// not count.
	Max, Min int
	// Leader is a choice of leaders that reaches both: the slot by partition,
	// model.None where no replica is on a broker that may lead.
	Leader []int32
	// Moves is how many partitions that choice leads from another broker.
	Moves int
}

// LeaderCounts computes it exactly, by maximal flows between brokers, starting
// from the present leaders. Brokers that are dead or to be emptied may not
// lead, nor those in noLead. O(replicas) for each round of augmenting; rounds
// are few.
func LeaderCounts(c *model.Cluster, o Options, noLead map[int32]bool) Leaders {
	f := newLeaderFlow(c, o, noLead)
	if f.able == 0 {
		return Leaders{Leader: f.lead}
	}
	most := (f.sum + f.able - 1) / f.able
	for {
		n, brokers := f.level(most, false)
		if brokers == 0 {
			break
		}
		// None of these can hand anything to others: they share it among them.
		most = (n + brokers - 1) / brokers
	}
	least := f.sum / f.able
	for b, may := range f.may {
		if may { // nobody can lead more than it has: saves most rounds
			least = min(least, len(f.holds(int32(b))))
		}
	}
	for {
		n, brokers := f.level(least, true)
		if brokers == 0 {
			break
		}
		least = n / brokers
	}
	out := Leaders{Max: most, Min: least, Leader: f.lead}
	for p, s := range f.lead {
		if s != model.None && s != c.Leader[p] {
			out.Moves++
		}
	}
	return out
}

// leaderFlow is a choice of leaders on its way to evenness. Brokers are the
// nodes of a graph; a partition led by a that has a replica on b is an edge
// from a to b.
type leaderFlow struct {
	c         *model.Cluster
	may       []bool
	lead      []int32   // partition → slot
	led       [][]int32 // broker → partitions that it leads, and stale ones
	count     []int
	sum, able int

	// held lists partitions by the broker that has a replica, from heldAt[broker].
	held   []int32
	heldAt []int

	depth []int32
	next  []int // broker → where in led the search goes on
}

func newLeaderFlow(c *model.Cluster, o Options, noLead map[int32]bool) *leaderFlow {
	fr := newFrame(c, o)
	n := len(c.Brokers)
	f := &leaderFlow{c: c, may: make([]bool, n), lead: make([]int32, c.NumPartitions()), led: make([][]int32, n), count: make([]int, n), depth: make([]int32, n), next: make([]int, n)}
	for b := range f.may {
		f.may[b] = fr.receive[b] && !noLead[c.Brokers[b].ID]
		if f.may[b] {
			f.able++
		}
	}
	for p := range f.lead {
		f.lead[p] = c.Leader[p]
		if l := c.Leader[p]; l == model.None || !f.may[c.Broker[l]] {
			f.lead[p] = f.any(p)
		}
		if l := f.lead[p]; l != model.None {
			b := c.Broker[l]
			f.led[b] = append(f.led[b], int32(p))
			f.count[b]++
			f.sum++
		}
	}
	return f
}

// any is the first replica that may lead.
func (f *leaderFlow) any(p int) int32 {
	for s := f.c.Off[p]; s < f.c.Off[p+1]; s++ {
		if f.may[f.c.Broker[s]] {
			return s
		}
	}
	return model.None
}

// level moves leaders until no broker has more than n, or with up set, fewer
// than n. If that cannot be, it returns how many leaders the brokers share that
// stand in the way, and how many these brokers are.
func (f *leaderFlow) level(n int, up bool) (leaders, brokers int) {
	// Sources have leaders to give, sinks take them. To lower the greatest, who
	// has more than n gives to who has fewer; to raise the least likewise.
	give := func(b int32) bool { return f.count[b] > n }
	take := func(b int32) bool { return f.may[b] && f.count[b] < n }
	for {
		found := f.layers(give, take)
		if !found {
			break
		}
		clear(f.next)
		for b := range int32(len(f.count)) {
			for give(b) && f.push(b, take) {
			}
		}
	}
	return f.stuck(n, up)
}

// layers sets every broker's distance from those that give, and tells whether
// one that takes can be reached.
func (f *leaderFlow) layers(give, take func(int32) bool) bool {
	var queue []int32
	for b := range f.depth {
		f.depth[b] = -1
		if give(int32(b)) {
			f.depth[b] = 0
			queue = append(queue, int32(b))
		}
	}
	found := false
	for len(queue) > 0 {
		b := queue[0]
		queue = queue[1:]
		if take(b) {
			found = true
			continue
		}
		f.compact(b)
		for _, p := range f.led[b] {
			for s := f.c.Off[p]; s < f.c.Off[p+1]; s++ {
				if x := f.c.Broker[s]; f.may[x] && f.depth[x] < 0 {
					f.depth[x] = f.depth[b] + 1
					queue = append(queue, x)
				}
			}
		}
	}
	return found
}

// compact drops partitions from led that the broker does not lead any more.
func (f *leaderFlow) compact(b int32) {
	kept := f.led[b][:0]
	for _, p := range f.led[b] {
		if f.c.Broker[f.lead[p]] == b {
			kept = append(kept, p)
		}
	}
	f.led[b] = kept
}

// push hands one leader from b on to a broker that takes it, along brokers of
// growing distance.
func (f *leaderFlow) push(b int32, take func(int32) bool) bool {
	// led grows while partitions are handed on; those that came in this round
	// came from nearer brokers and lead on to others as well as any.
	for ; f.next[b] < len(f.led[b]); f.next[b]++ {
		p := f.led[b][f.next[b]]
		if f.c.Broker[f.lead[p]] != b {
			continue
		}
		for s := f.c.Off[p]; s < f.c.Off[p+1]; s++ {
			x := f.c.Broker[s]
			if !f.may[x] || f.depth[x] != f.depth[b]+1 {
				continue
			}
			if take(x) || f.push(x, take) {
				f.lead[p] = s
				f.led[x] = append(f.led[x], p)
				f.count[x]++
				f.count[b]--
				return true
			}
		}
	}
	return false
}

// stuck returns the brokers that keep the level from being reached, after all
// that can be moved was. With up unset these are the brokers with more than n
// and all that they could hand leaders to; with up set those with fewer and all
// that could hand leaders to them.
func (f *leaderFlow) stuck(n int, up bool) (leaders, brokers int) {
	in := make([]bool, len(f.count))
	var queue []int32
	join := func(b int32) {
		if !in[b] {
			in[b] = true
			queue = append(queue, b)
			leaders += f.count[b]
			brokers++
		}
	}
	for b := range in {
		if f.may[b] && (!up && f.count[b] > n || up && f.count[b] < n) {
			join(int32(b))
		}
	}
	for len(queue) > 0 {
		b := queue[0]
		queue = queue[1:]
		if up {
			for _, p := range f.holds(b) {
				if l := f.lead[p]; l != model.None {
					join(f.c.Broker[l])
				}
			}
			continue
		}
		f.compact(b)
		for _, p := range f.led[b] {
			for s := f.c.Off[p]; s < f.c.Off[p+1]; s++ {
				if x := f.c.Broker[s]; f.may[x] {
					join(x)
				}
			}
		}
	}
	return leaders, brokers
}

// holds lists the partitions that a broker has replicas of.
func (f *leaderFlow) holds(b int32) []int32 {
	if f.held == nil {
		f.heldAt = make([]int, len(f.count)+1)
		for _, x := range f.c.Broker {
			f.heldAt[x+1]++
		}
		for i := range f.count {
			f.heldAt[i+1] += f.heldAt[i]
		}
		f.held = make([]int32, len(f.c.Broker))
		at := append([]int(nil), f.heldAt...)
		for p := range f.lead {
			for s := f.c.Off[p]; s < f.c.Off[p+1]; s++ {
				x := f.c.Broker[s]
				f.held[at[x]] = int32(p)
				at[x]++
			}
		}
	}
	return f.held[f.heldAt[b]:f.heldAt[b+1]]
}
