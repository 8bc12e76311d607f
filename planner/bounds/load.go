package bounds

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// Bound is the least that the worst broker has to carry.
type Bound struct {
	// Share is in fair shares of a broker: 1 if nothing but the sum binds.
	Share float64
	// Binds tells what binds: total, item or rack.
	Binds Kind
	// Item names it: a topic-partition, a rack, a resource group; "" for the
	// cluster's total.
	Item string
}

// Kind is what a bound comes from.
type Kind string

// Kinds of bounds.
const (
	Total Kind = "total" // everything has to be somewhere
	Item  Kind = "item"  // one replica or leader is too big for any fair share
	Rack  Kind = "rack"  // a rack has to take copies of too many partitions
)

func (b *Bound) raise(share float64, kind Kind, item func() string) {
	if share > b.Share*(1+1e-12) {
		*b = Bound{share, kind, item()}
	}
}

// MaxLoad is the least that the worst broker's load of a resource can be, in
// fair shares. 0 if there is no load at all. O(replicas).
func MaxLoad(c *model.Cluster, k model.Resource, o Options) float64 {
	return Worst(c, k, o).Share
}

// Worst is MaxLoad with what binds.
func Worst(c *model.Cluster, k model.Resource, o Options) Bound {
	f := newFrame(c, o)
	shares := f.shares(k, o.CountsFollowDisk)
	var best Bound
	for g := model.None; g < int32(len(c.Groups)); g++ {
		w := &worst{frame: f, k: k, group: g, shares: shares, noRacks: o.RacksStay}
		w.run(&best)
	}
	return best
}

// worst looks at one resource group, or for model.None at the whole cluster.
// What belongs to a group can only go to the group's brokers.
type worst struct {
	*frame
	k      model.Resource
	group  int32
	shares []float64
	// noRacks leaves the racks out.
	noRacks bool

	sorted [][]float64 // topic group+1 → shares that its topics may use, greatest first
	limit  []limits    // topic group+1
	total  int64       // what the brokers that receive have to carry
	// upTo[l] is the most that a rack can carry that takes at most l copies of
	// a partition.
	upTo []int64
	own  []int64

	// item is the partition that binds most, of those seen so far.
	item  int
	share float64
}

func (w *worst) run(best *Bound) {
	w.prepare()
	w.item = -1
	for p := range w.c.Topic {
		if g := w.c.Topics[w.c.Topic[p]].Group; w.group == model.None || g == w.group {
			w.partition(p, g+1)
		}
	}
	inScope := func(b int) bool { return w.may(w.group, b) }
	capacity := 0.0
	racks := make([]float64, len(w.c.Racks))
	for b, s := range w.shares {
		if inScope(b) {
			capacity += s
			racks[w.c.RackOf[b]] += s
		}
	}
	if capacity == 0 {
		return
	}
	best.raise(float64(w.total)/capacity, Total, func() string {
		if w.group == model.None {
			return ""
		}
		return "resource group " + w.c.Groups[w.group]
	})
	if w.item >= 0 {
		best.raise(w.share, Item, func() string { return w.c.PartitionName(w.item) })
	}
	if len(w.upTo) > 1 && !w.noRacks {
		share, rack := w.rackBound(racks)
		best.raise(share, Rack, func() string { return fmt.Sprintf("rack %s", w.c.Racks[rack]) })
	}
}

func (w *worst) prepare() {
	w.sorted, w.limit = make([][]float64, len(w.c.Groups)+1), make([]limits, len(w.c.Groups)+1)
	for g := range w.sorted {
		for b, s := range w.shares {
			if w.may(int32(g)-1, b) {
				w.sorted[g] = append(w.sorted[g], s)
			}
		}
		slices.SortFunc(w.sorted[g], func(x, y float64) int { return cmp.Compare(y, x) })
		w.limit[g].brokers = w.rackBrokers(int32(g) - 1)
	}
	w.upTo = []int64{0}
}

// partition adds a partition to the totals and looks how far its copies alone
// go: the j greatest lie on j brokers, one of which has at most the j-th
// greatest share.
func (w *worst) partition(p int, g int32) {
	c, k := w.c, w.k
	w.own = w.own[:0]
	least := int64(-1) // what leading adds at least
	lightest := int64(-1)
	for s := c.Off[p]; s < c.Off[p+1]; s++ {
		follow, lead := w.follow(k, s), w.lead(k, p, s)
		if !w.stays[c.Broker[s]] {
			w.own = append(w.own, follow)
		}
		if least < 0 || lead < least {
			least = lead
		}
		if lightest < 0 || follow+lead < lightest {
			lightest = follow + lead
		}
	}
	// Where a group has no load at all its brokers have no share to exceed: what
	// may go there goes unmeasured.
	if n := len(w.sorted[g]); len(w.own) == 0 || n == 0 || w.sorted[g][n-1] == 0 {
		return
	}
	slices.SortFunc(w.own, func(x, y int64) int { return cmp.Compare(y, x) })
	for j, v := range w.own[:min(len(w.own), len(w.sorted[g]))] {
		w.total += v
		w.weigh(p, v, w.sorted[g][j])
	}
	// A leader that sits on a dead broker's copy is no load of ours.
	if l := c.Leader[p]; l != model.None && !w.stays[c.Broker[l]] {
		w.total += least
		w.weigh(p, lightest, w.sorted[g][0])
	}
	w.rackLoad(w.limit[g].of(c.RF(p)))
}

func (w *worst) weigh(p int, load int64, share float64) {
	if share > 0 && float64(load) > w.share*share {
		w.item, w.share = p, float64(load)/share
	}
}

// rackLoad adds a partition of which a rack may hold limit copies to what racks
// can carry.
func (w *worst) rackLoad(limit int) {
	switch w.k {
	case model.In, model.Disk, model.Replicas:
	default:
		return
	}
	for len(w.upTo) <= limit {
		w.upTo = append(w.upTo, w.upTo[len(w.upTo)-1])
	}
	sum := int64(0)
	for l := 1; l < len(w.upTo); l++ {
		if l <= limit && l <= len(w.own) {
			sum += w.own[l-1]
		}
		w.upTo[l] += sum
	}
}

// rackBound is the least z at which the racks hold everything when each carries
// at most z of its shares, and at most its copies. A rack that is full of copies
// leaves its part to others: the tightest of those binds. Exact, without
// bisection, by filling racks up in the order in which they get full.
func (w *worst) rackBound(shares []float64) (float64, int) {
	type rack struct {
		index       int
		most, share float64
	}
	brokers := w.rackBrokers(w.group)
	var racks []rack
	for i, s := range shares {
		if s > 0 {
			racks = append(racks, rack{i, float64(w.upTo[min(brokers[i], len(w.upTo)-1)]), s})
		}
	}
	slices.SortFunc(racks, func(x, y rack) int {
		return cmp.Or(cmp.Compare(x.most*y.share, y.most*x.share), cmp.Compare(x.index, y.index))
	})
	// Suffix sums, not differences: those would lose digits.
	capacity := make([]float64, len(racks)+1)
	for i := len(racks) - 1; i >= 0; i-- {
		capacity[i] = capacity[i+1] + racks[i].share
	}
	full := 0.0
	for i, r := range racks {
		// Racks before this one are full, the others carry the same multiple.
		z := (float64(w.total) - full) / capacity[i]
		if z*r.share <= r.most*(1+1e-9) {
			return z, r.index
		}
		full += r.most
	}
	return 0, 0 // the racks cannot hold it: nothing is a plan
}
