package placement

import (
	"math"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// figureBand is the band that the figures of these plans count brokers in.
const figureBand = 0.05

// summarise fills in a plan's figures, computed from its changes alone. For a
// plan that creates partitions, the loads after it are with what each of them
// is expected to carry, and there are no figures of evenness by resource.
func summarise(c *model.Cluster, p *plan.Plan, group int32, each Load) {
	f := figures{c: c, old: before(c)}
	f.now = f.old.with(c, p.Changes, group, each)
	creates := p.Operation == plan.Place || p.Operation == plan.AddParts
	s := &p.Summary
	*s = plan.Summary{}
	in, out := make([]int64, len(c.Brokers)), make([]int64, len(c.Brokers))
	for i := range p.Changes {
		f.count(&p.Changes[i], s, in, out)
	}
	was, is := f.old.loads(len(c.Brokers)), f.now.loads(len(c.Brokers))
	base := was
	if p.Operation != plan.Elect && f.resized() {
		base = is
	}
	shares := f.shares(base)
	for k := range model.NumResources {
		if creates {
			break
		}
		s.Resources = append(s.Resources, plan.ResourceFigures{Resource: k.String(), Before: spread(k, was, shares), After: spread(k, is, shares)})
	}
	s.RackViolationsBefore, s.RackViolationsAfter = f.rackViolations(f.old), f.rackViolations(f.now)
	s.TopicExcessBefore, s.TopicExcessAfter = f.topicExcess(f.old), f.topicExcess(f.now)
	for b := range c.Brokers {
		br := &c.Brokers[b]
		bf := plan.BrokerFigures{Broker: br.ID, Rack: br.Rack, Dead: br.Dead, Before: was[b], After: is[b], BytesIn: in[b], BytesOut: out[b]}
		for k := range model.NumResources {
			bf.Share[k] = int64(math.Round(shares[b][k]))
		}
		for i := range br.Dirs {
			bf.Dirs = append(bf.Dirs, plan.DirFigures{Path: br.Dirs[i].Path, Capacity: br.Dirs[i].Capacity})
		}
		s.Brokers = append(s.Brokers, bf)
	}
	f.dirFigures(s.Brokers)
}

type figures struct {
	c        *model.Cluster
	old, now *table
}

// count adds a change's moves and bytes to the sums.
func (f *figures) count(ch *plan.Change, s *plan.Summary, in, out []int64) {
	s.Bytes += ch.Bytes
	if len(ch.From) == 0 {
		return
	}
	if ch.OldLeader != ch.NewLeader {
		s.LeaderChanges++
	}
	p, _ := f.c.PartitionIndex(ch.Topic, ch.Partition)
	had := f.old.rows[p].copies
	for _, x := range f.now.rows[p].copies {
		if !slices.ContainsFunc(had, func(y copyAt) bool { return y.broker == x.broker }) {
			s.ReplicaMoves++
			in[x.broker] += x.size
		}
	}
	if b, ok := f.c.BrokerIndex(ch.OldLeader); ok {
		out[b] += ch.Bytes
	}
}

// resized tells whether the number of replicas changes.
func (f *figures) resized() bool {
	n := 0
	for i := range f.now.rows {
		n += len(f.now.rows[i].copies)
	}
	return n != f.c.NumReplicas()
}

func (f *figures) receives(b int) bool {
	return !f.c.Brokers[b].Dead
}

// shares are what each broker would carry if its resource group's loads lay in
// proportion to capacity, or evenly where one capacity is not known.
func (f *figures) shares(loads []model.Vector) [][model.NumResources]float64 {
	shares := make([][model.NumResources]float64, len(f.c.Brokers))
	for g := model.None; g < int32(len(f.c.Groups)); g++ {
		for k := range model.NumResources {
			var load int64
			sum, n, known := 0.0, 0, true
			for b := range f.c.Brokers {
				if f.c.Brokers[b].Group != g {
					continue
				}
				load += loads[b][k]
				if f.receives(b) {
					v := f.c.Brokers[b].Capacity[k]
					known = known && v > 0 && v != model.Unlimited
					sum += float64(v)
					n++
				}
			}
			for b := range f.c.Brokers {
				switch {
				case f.c.Brokers[b].Group != g || !f.receives(b):
				case known:
					shares[b][k] = float64(load) * float64(f.c.Brokers[b].Capacity[k]) / sum
				default:
					shares[b][k] = float64(load) / float64(n)
				}
			}
		}
	}
	return shares
}

func spread(k model.Resource, loads []model.Vector, shares [][model.NumResources]float64) plan.Spread {
	s := plan.Spread{Min: math.Inf(1)}
	n, squares, inside := 0, 0.0, 0
	for b := range loads {
		if shares[b][k] == 0 {
			continue
		}
		x := float64(loads[b][k]) / shares[b][k]
		n++
		s.Max, s.Min = max(s.Max, x), min(s.Min, x)
		squares += (x - 1) * (x - 1)
		if math.Abs(x-1) <= figureBand {
			inside++
		}
	}
	if n == 0 {
		return plan.Spread{}
	}
	s.CV, s.InBand = math.Sqrt(squares/float64(n)), float64(inside)/float64(n)
	return s
}

// rackViolations counts partitions with more copies in a rack than the racks of
// the topic's brokers force.
func (f *figures) rackViolations(t *table) int {
	n := 0
	sizes := map[int32][]int{}
	for i := range t.rows {
		r := &t.rows[i]
		g := t.groups[r.topic]
		if sizes[g] == nil {
			sizes[g] = f.rackSizes(g)
		}
		if mostInRack(f.c, r.copies) > forcedInRack(sizes[g], len(r.copies)) {
			n++
		}
	}
	return n
}

// rackSizes are the numbers of brokers per rack that may take a group's replicas.
func (f *figures) rackSizes(group int32) []int {
	sizes := make([]int, len(f.c.Racks))
	for b := range f.c.Brokers {
		if f.receives(b) && (group == model.None || f.c.Brokers[b].Group == group) {
			sizes[f.c.RackOf[b]]++
		}
	}
	return sizes
}

// forcedInRack is the least that the fullest rack must hold of n copies.
func forcedInRack(sizes []int, n int) int {
	for most := 1; most < n; most++ {
		room := 0
		for _, s := range sizes {
			room += min(s, most)
		}
		if room >= n {
			return most
		}
	}
	return max(1, n)
}

func mostInRack(c *model.Cluster, copies []copyAt) int {
	most := 0
	for _, x := range copies {
		same := 0
		for _, y := range copies {
			if c.RackOf[x.broker] == c.RackOf[y.broker] {
				same++
			}
		}
		most = max(most, same)
	}
	return most
}

// topicExcess sums replicas of topics above ceil(average)+1 on a broker.
func (f *figures) topicExcess(t *table) int {
	brokers := make([]int, len(f.c.Groups)+1)
	for b := range f.c.Brokers {
		if f.receives(b) {
			brokers[0]++
			if g := f.c.Brokers[b].Group; g != model.None {
				brokers[g+1]++
			}
		}
	}
	total := make([]int, len(t.groups))
	count := make(map[[2]int32]int)
	for i := range t.rows {
		for _, x := range t.rows[i].copies {
			total[t.rows[i].topic]++
			count[[2]int32{t.rows[i].topic, x.broker}]++
		}
	}
	excess := 0
	for at, n := range count { // a sum: order cannot show
		if k := brokers[t.groups[at[0]]+1]; k > 0 {
			excess += max(0, n-ceil(total[at[0]], k)-1)
		}
	}
	return excess
}

func (f *figures) dirFigures(out []plan.BrokerFigures) {
	for i := range f.old.rows {
		for _, x := range f.old.rows[i].copies {
			if x.dir != model.None {
				d := &out[x.broker].Dirs[x.dir]
				d.SizeBefore += x.size
				d.InBefore += x.in
			}
		}
	}
	for i := range f.now.rows {
		for _, x := range f.now.rows[i].copies {
			if x.dir != model.None {
				d := &out[x.broker].Dirs[x.dir]
				d.SizeAfter += x.size
				d.InAfter += x.in
			}
		}
	}
}

// current lists a partition's replicas as they are.
func current(c *model.Cluster, p int) []plan.Replica {
	from, to := c.Slots(p)
	out := make([]plan.Replica, 0, to-from)
	for s := from; s < to; s++ {
		out = append(out, replica(c, s))
	}
	return out
}

func replica(c *model.Cluster, s int32) plan.Replica {
	b := &c.Brokers[c.Broker[s]]
	r := plan.Replica{Broker: b.ID}
	if d := c.Dir[s]; d != model.None {
		r.Dir = b.Dirs[d].Path
	}
	return r
}

// leaderID is the id of the leading broker, model.None without one.
func leaderID(c *model.Cluster, p int) int32 {
	if c.Leader[p] == model.None {
		return model.None
	}
	return c.Brokers[c.Broker[c.Leader[p]]].ID
}
