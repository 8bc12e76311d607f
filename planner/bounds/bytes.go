package bounds

import (
	"cmp"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// Bytes is the least that any plan has to copy between brokers to get every
// broker's In and Disk to within band of its fair share (0.05 is ±5 %), to
// empty the brokers in Drain, and to leave no rack with more copies of a
// partition than the racks force. The other resources can be made even with
// leaders, which costs nothing. An infinite band asks for no evenness.
// O(replicas · log replicas).
//
// Three things bound it, and the greatest counts: what brokers have to get rid
// of, what they have to get, and what racks have to get rid of. A copied replica
// leaves one broker and comes to one, so that the parts of each may be added.
func Bytes(c *model.Cluster, band float64, o Options) int64 {
	f := newFrame(c, o)
	band = min(band, 1e9) // infinity times a share of nothing would be no number
	need := &bytesNeed{frame: f, band: band, in: f.shares(model.In, false), disk: f.shares(model.Disk, false)}
	need.inLoad, need.diskLoad = f.brokerLoads(model.In), f.brokerLoads(model.Disk)
	need.items = need.cheapest()
	var forced int64
	var free []bool
	if !o.RacksStay {
		forced, free = f.forcedByRacks()
	}
	best := max(need.out(nil), forced, need.into())
	if forced > 0 {
		// Disjoint: copies of partitions that violate racks count on the racks'
		// side only, and relieve their brokers for nothing.
		best = max(best, forced+need.out(free))
	}
	return best
}

type bytesNeed struct {
	*frame
	band             float64
	in, disk         []float64
	inLoad, diskLoad []int64
	items            []priced // what cheapest found
}

// priced is a copy and what it costs to move it, per unit of load.
type priced struct {
	slot  int32
	price float64
}

// cheapest lists the copies that carry In, least bytes per load first.
func (n *bytesNeed) cheapest() []priced {
	c := n.c
	items := make([]priced, 0, len(c.Broker))
	for s := range c.Broker {
		if c.InRate[s] > 0 {
			items = append(items, priced{int32(s), float64(c.Size[s]) / float64(c.InRate[s])})
		}
	}
	slices.SortFunc(items, func(x, y priced) int {
		return cmp.Or(cmp.Compare(x.price, y.price), cmp.Compare(x.slot, y.slot))
	})
	return items
}

// out is what has to leave brokers: everything from those to be emptied; from
// those above the band the copies that carry most for their bytes, the last one
// in part. Copies in free leave for nothing.
func (n *bytesNeed) out(free []bool) int64 {
	c := n.c
	excess, bytes := n.excess(free)
	for _, it := range n.items {
		b := c.Broker[it.slot]
		if excess[b] <= 0 || free != nil && free[it.slot] {
			continue
		}
		take := min(1, excess[b]/float64(c.InRate[it.slot]))
		bytes[b].in += take * float64(c.Size[it.slot])
		excess[b] -= take * float64(c.InRate[it.slot])
	}
	sum := 0.0
	for _, x := range bytes {
		sum += max(x.in, x.disk)
	}
	return floor(sum)
}

type brokerBytes struct{ in, disk float64 }

// excess is the In that every broker has above the band, and the bytes that it
// has to get rid of for its Disk or because it must end empty.
func (n *bytesNeed) excess(free []bool) (in []float64, bytes []brokerBytes) {
	c := n.c
	freeIn, freeDisk := make([]int64, len(c.Brokers)), make([]int64, len(c.Brokers))
	for s, b := range c.Broker {
		if free != nil && free[s] {
			freeIn[b] += c.InRate[s]
			freeDisk[b] += c.Size[s]
		}
	}
	in, bytes = make([]float64, len(c.Brokers)), make([]brokerBytes, len(c.Brokers))
	for b := range c.Brokers {
		if n.drain[b] {
			bytes[b].disk = float64(n.diskLoad[b] - freeDisk[b])
		}
		if !n.receive[b] {
			continue
		}
		if n.in[b] > 0 {
			in[b] = float64(n.inLoad[b]-freeIn[b]) - (1+n.band)*n.in[b]
		}
		if n.disk[b] > 0 {
			bytes[b].disk = max(0, float64(n.diskLoad[b]-freeDisk[b])-(1+n.band)*n.disk[b])
		}
	}
	return in, bytes
}

// into is what brokers below the band have to get: the copies of the whole
// cluster, or of topics that may come to them, that carry most for their bytes.
func (n *bytesNeed) into() int64 {
	sum := 0.0
	for g := model.None; g < int32(len(n.c.Groups)); g++ {
		var lack []int
		for b := range n.c.Brokers {
			if n.receive[b] && n.c.Brokers[b].Group == g && n.lacksIn(b) > 0 {
				lack = append(lack, b)
			}
		}
		got := n.fill(g, lack)
		for b := range n.c.Brokers {
			if n.receive[b] && n.c.Brokers[b].Group == g {
				sum += max(got[b], (1-n.band)*n.disk[b]-float64(n.diskLoad[b]))
			}
		}
	}
	return floor(sum)
}

func (n *bytesNeed) lacksIn(b int) float64 { return (1-n.band)*n.in[b] - float64(n.inLoad[b]) }

// fill is what it takes to bring brokers what they lack of In. Each is served
// from all copies: that it has some of them itself only makes the truth dearer.
func (n *bytesNeed) fill(group int32, lack []int) []float64 {
	got := make([]float64, len(n.c.Brokers))
	slices.SortFunc(lack, func(x, y int) int {
		return cmp.Or(cmp.Compare(n.lacksIn(x), n.lacksIn(y)), cmp.Compare(x, y))
	})
	var load int64
	bytes := 0.0
	for i := 0; i < len(n.items) && len(lack) > 0; i++ {
		s := n.items[i].slot
		if g := n.c.Topics[n.topicOf(s)].Group; g != model.None && g != group {
			continue
		}
		for len(lack) > 0 && n.lacksIn(lack[0]) <= float64(load+n.c.InRate[s]) {
			part := (n.lacksIn(lack[0]) - float64(load)) / float64(n.c.InRate[s])
			got[lack[0]] = bytes + part*float64(n.c.Size[s])
			lack = lack[1:]
		}
		load += n.c.InRate[s]
		bytes += float64(n.c.Size[s])
	}
	for _, b := range lack {
		got[b] = bytes
	}
	return got
}

// topicOf is the topic of a slot. O(log partitions).
func (n *bytesNeed) topicOf(s int32) int32 {
	p, found := slices.BinarySearch(n.c.Off, s)
	if !found {
		p--
	}
	return n.c.Topic[p]
}

// forcedByRacks is what has to leave racks that hold more copies than needed:
// from each the smallest. free marks the copies of those partitions, nil if
// there are none.
func (f *frame) forcedByRacks() (bytes int64, free []bool) {
	c := f.c
	limit := make([]limits, len(c.Groups)+1)
	for g := range limit {
		limit[g].brokers = f.rackBrokers(int32(g) - 1)
	}
	var sizes []int64
	for p := range c.Topic {
		from, to := c.Slots(p)
		most := limit[c.Topics[c.Topic[p]].Group+1].of(c.RF(p))
		for s := from; s < to; s++ {
			rack := c.RackOf[c.Broker[s]]
			sizes = sizes[:0]
			first := true
			for q := from; q < to; q++ {
				if c.RackOf[c.Broker[q]] == rack {
					sizes = append(sizes, c.Size[q])
					first = first && q >= s
				}
			}
			if !first || len(sizes) <= most {
				continue
			}
			slices.Sort(sizes)
			for _, size := range sizes[:len(sizes)-most] {
				bytes += size
			}
			if free == nil {
				free = make([]bool, len(c.Broker))
			}
			for q := from; q < to; q++ {
				free[q] = true
			}
		}
	}
	return bytes, free
}
