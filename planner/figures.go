package planner

import (
	"math"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// figures are those of changes that come from elsewhere than a search, in the
// terms that package check describes.
type figures struct {
	before, after   *model.Cluster
	was, is         []model.Vector
	share           [][model.NumResources]float64
	receive         []bool // neither dead nor to be emptied
	band            float64
	in, out         []int64 // bytes copied to and from brokers
	sum             plan.Summary
	rackLimits      map[[2]int]int
	liveInRack      [][]int // brokers that receive, by resource group + 1, then rack
	liveBrokers     []int   // by resource group + 1
	countsFollowDsk bool
}

func newFigures(before, after *model.Cluster, drain map[int32]bool, band float64, countsFollowDisk bool) *figures {
	f := &figures{
		before: before, after: after, was: before.BrokerLoads(), is: after.BrokerLoads(), band: band,
		in: make([]int64, len(before.Brokers)), out: make([]int64, len(before.Brokers)), rackLimits: map[[2]int]int{}, countsFollowDsk: countsFollowDisk,
	}
	for b := range before.Brokers {
		f.receive = append(f.receive, !before.Brokers[b].Dead && !drain[before.Brokers[b].ID])
	}
	f.liveInRack, f.liveBrokers = make([][]int, len(before.Groups)+1), make([]int, len(before.Groups)+1)
	for g := range f.liveInRack {
		f.liveInRack[g] = make([]int, len(before.Racks))
	}
	for b := range before.Brokers {
		if !f.receive[b] {
			continue
		}
		groups := []int32{0}
		if g := before.Brokers[b].Group; g != model.None {
			groups = append(groups, g+1)
		}
		for _, g := range groups {
			f.liveInRack[g][before.RackOf[b]]++
			f.liveBrokers[g]++
		}
	}
	f.shares()
	return f
}

// shares are the fair shares: of the loads before, or of those after where the
// number of replicas changes.
func (f *figures) shares() {
	c, loads := f.before, f.was
	if f.before.NumReplicas() != f.after.NumReplicas() {
		loads = f.is
	}
	f.share = make([][model.NumResources]float64, len(c.Brokers))
	for g := model.None; g < int32(len(c.Groups)); g++ {
		for k := range model.NumResources {
			var load int64
			sum, weights := 0.0, f.weights(g, k)
			for b := range c.Brokers {
				if c.Brokers[b].Group == g {
					load += loads[b][k]
					sum += weights[b]
				}
			}
			for b, w := range weights {
				if w > 0 {
					f.share[b][k] = float64(load) * w / sum
				}
			}
		}
	}
}

func (f *figures) weights(group int32, k model.Resource) []float64 {
	c := f.before
	known := f.known(group, k)
	if !known && f.countsFollowDsk && (k == model.Replicas || k == model.Leaders) {
		k = model.Disk
		known = f.known(group, k)
	}
	out := make([]float64, len(c.Brokers))
	for b := range c.Brokers {
		switch {
		case c.Brokers[b].Group != group || !f.receive[b]:
		case known:
			out[b] = float64(c.Brokers[b].Capacity[k])
		default:
			out[b] = 1
		}
	}
	return out
}

// known tells whether every broker of a group that takes part has a capacity.
func (f *figures) known(group int32, k model.Resource) bool {
	for i := range f.before.Brokers {
		b := &f.before.Brokers[i]
		if b.Group == group && f.receive[i] && (b.Capacity[k] <= 0 || b.Capacity[k] == model.Unlimited) {
			return false
		}
	}
	return true
}

// count sums moves and bytes, and corrects the changes' bytes: a copy has the
// size that the cluster after the changes says.
func (f *figures) count(changes []plan.Change) {
	for i := range changes {
		ch := &changes[i]
		ch.Bytes, ch.DirBytes = 0, 0
		if len(ch.From) == 0 { // created: nothing is copied
			continue
		}
		if ch.OldLeader != ch.NewLeader {
			f.sum.LeaderChanges++
		}
		p, _ := f.after.PartitionIndex(ch.Topic, ch.Partition)
		from, _ := f.after.Slots(p)
		for j, r := range ch.To {
			slot := from + int32(j)
			size := f.after.Size[slot]
			old, had := replicaOn(ch.From, r.Broker)
			switch {
			case !had:
				f.sum.ReplicaMoves++
				ch.Bytes += size
				f.in[f.after.Broker[slot]] += size
			case old.Dir != r.Dir && r.Dir != "" && old.Dir != "":
				f.sum.DirMoves++
				ch.DirBytes += size
			}
		}
		f.sum.Bytes += ch.Bytes
		f.sum.DirBytes += ch.DirBytes
		if b, ok := f.before.BrokerIndex(ch.OldLeader); ok {
			f.out[b] += ch.Bytes
		}
	}
}

func replicaOn(list []plan.Replica, broker int32) (plan.Replica, bool) {
	for _, r := range list {
		if r.Broker == broker {
			return r, true
		}
	}
	return plan.Replica{}, false
}

func (f *figures) spreads() {
	for k := range model.NumResources {
		f.sum.Resources = append(f.sum.Resources, plan.ResourceFigures{Resource: k.String(), Before: f.spread(f.was, k), After: f.spread(f.is, k)})
	}
}

func (f *figures) spread(loads []model.Vector, k model.Resource) plan.Spread {
	s := plan.Spread{Min: math.Inf(1)}
	n, in, squares := 0, 0, 0.0
	for b := range loads {
		if f.share[b][k] == 0 {
			continue
		}
		x := float64(loads[b][k]) / f.share[b][k]
		s.Max, s.Min = max(s.Max, x), min(s.Min, x)
		squares += (x - 1) * (x - 1)
		if math.Abs(x-1) <= f.band {
			in++
		}
		n++
	}
	if n == 0 {
		return plan.Spread{}
	}
	s.CV, s.InBand = math.Sqrt(squares/float64(n)), float64(in)/float64(n)
	return s
}

func (f *figures) brokers() {
	for b := range f.before.Brokers {
		br := &f.before.Brokers[b]
		x := plan.BrokerFigures{Broker: br.ID, Rack: br.Rack, Dead: br.Dead, Before: f.was[b], After: f.is[b], BytesIn: f.in[b], BytesOut: f.out[b]}
		for k := range model.NumResources {
			x.Share[k] = int64(math.Round(f.share[b][k]))
		}
		for _, d := range br.Dirs {
			x.Dirs = append(x.Dirs, plan.DirFigures{Path: d.Path, Capacity: d.Capacity})
		}
		f.sum.Brokers = append(f.sum.Brokers, x)
	}
	for s, d := range f.before.Dir {
		if d != model.None {
			x := &f.sum.Brokers[f.before.Broker[s]].Dirs[d]
			x.SizeBefore += f.before.Size[s]
			x.InBefore += f.before.InRate[s]
		}
	}
	for s, d := range f.after.Dir {
		if d != model.None {
			x := &f.sum.Brokers[f.after.Broker[s]].Dirs[d]
			x.SizeAfter += f.after.Size[s]
			x.InAfter += f.after.InRate[s]
		}
	}
}

// rackLimit is the least number of copies that a rack may be bounded to so that
// all copies of a partition find a place.
func (f *figures) rackLimit(group int32, copies int) int {
	key := [2]int{int(group), copies}
	if n, ok := f.rackLimits[key]; ok {
		return n
	}
	n := 1
	for ; n < copies; n++ {
		room := 0
		for _, live := range f.liveInRack[group+1] {
			room += min(live, n)
		}
		if room >= copies {
			break
		}
	}
	f.rackLimits[key] = n
	return n
}

func (f *figures) rackViolations(c *model.Cluster) int {
	n := 0
	inRack := make([]int, len(c.Racks))
	for p := range c.Topic {
		slots := c.Broker[c.Off[p]:c.Off[p+1]]
		most := 0
		for _, b := range slots {
			inRack[c.RackOf[b]]++
			most = max(most, inRack[c.RackOf[b]])
		}
		for _, b := range slots {
			inRack[c.RackOf[b]] = 0
		}
		if most > f.rackLimit(c.Topics[c.Topic[p]].Group, len(slots)) {
			n++
		}
	}
	return n
}

// topicExcess sums replicas of a topic above ceil(average)+1 on a broker.
func (f *figures) topicExcess(c *model.Cluster) int {
	n := 0
	count := make([]int, len(c.Brokers))
	for first := 0; first < len(c.Topic); {
		last := first
		for last < len(c.Topic) && c.Topic[last] == c.Topic[first] {
			last++
		}
		slots := c.Broker[c.Off[first]:c.Off[last]]
		brokers := f.liveBrokers[c.Topics[c.Topic[first]].Group+1]
		for _, b := range slots {
			count[b]++
		}
		for _, b := range slots {
			if brokers > 0 {
				n += max(0, count[b]-(len(slots)+brokers-1)/brokers-1)
			}
			count[b] = 0
		}
		first = last
	}
	return n
}
