package bounds

import (
	"fmt"
	"math"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"pgregory.net/rapid"
)

// drawn is a cluster small enough to try everything.
type drawn struct {
	c *model.Cluster
	o Options
}

// tiny draws clusters of which at most work placements (with leaders: times
// choices of leaders) have to be tried.
func tiny(t *rapid.T, work int, leaders bool) drawn {
	d := drawn{o: Options{Drain: map[int32]bool{}, CountsFollowDisk: rapid.Bool().Draw(t, "counts follow disk"), RacksStay: rapid.Bool().Draw(t, "racks stay")}}
	b := model.NewBuilder("tiny")
	n := rapid.IntRange(2, 4).Draw(t, "brokers")
	racks := rapid.IntRange(1, 3).Draw(t, "racks")
	groups := rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "groups")
	alive := 0
	group := func(i int) string {
		if groups == 0 {
			return ""
		}
		return fmt.Sprint("g", i%groups)
	}
	for i := range n {
		br := model.Broker{ID: int32(i), Rack: fmt.Sprint(rapid.IntRange(1, racks).Draw(t, "rack"))}
		size := rapid.SampledFrom([]int64{1, 1, 1, 2, 4}).Draw(t, "hardware")
		for k := range br.Capacity {
			br.Capacity[k] = size * 1000
		}
		br.Capacity[model.Replicas], br.Capacity[model.Leaders] = model.Unlimited, model.Unlimited
		if alive > 0 || i < n-1 {
			switch rapid.IntRange(0, 9).Draw(t, "state") {
			case 0:
				br.Dead = true
			case 1:
				d.o.Drain[br.ID] = true
			case 2:
				br.Dead, d.o.Drain[br.ID] = true, true
			}
		}
		if !br.Dead && !d.o.Drain[br.ID] {
			alive++
		}
		b.Broker(br, group(i))
	}
	topics := rapid.IntRange(1, 2).Draw(t, "topics")
	left, id := work, int32(0)
	for i := range topics {
		g := ""
		if groups > 0 && rapid.Bool().Draw(t, "topic in group") {
			g = group(rapid.IntRange(0, 1).Draw(t, "topic group"))
		}
		b.Topic(model.Topic{Name: fmt.Sprint("t", i)}, g)
	}
	for p := range rapid.IntRange(1, 5).Draw(t, "partitions") {
		rf := rapid.IntRange(1, min(3, n)).Draw(t, "rf")
		cost := 1
		for i := range rf {
			cost *= n - i
		}
		if leaders {
			cost *= rf + 1
		}
		if left /= cost; left == 0 && p > 0 {
			break
		}
		at := rapid.Permutation(ids(n)).Draw(t, "replicas")[:rf]
		spec := model.PartitionSpec{ID: id, Leader: at[0], Out: load(t, "out"), LeadCPU: load(t, "lead cpu")}
		if rapid.IntRange(0, 9).Draw(t, "leaderless") == 0 {
			spec.Leader = model.None
		}
		same := rapid.Bool().Draw(t, "copies alike")
		in, size, cpu := load(t, "in"), load(t, "size"), load(t, "cpu")
		for _, x := range at {
			if !same {
				in, size, cpu = load(t, "in"), load(t, "size"), load(t, "cpu")
			}
			spec.Replicas = append(spec.Replicas, model.ReplicaSpec{Broker: x, Dir: model.None, In: in, Size: size, CPU: cpu})
		}
		b.Partition(fmt.Sprint("t", p%topics), spec)
		id++
	}
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatalf("drew a bad cluster: %v", problems)
	}
	d.c = c
	return d
}

func ids(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func load(t *rapid.T, what string) int64 {
	return rapid.SampledFrom([]int64{0, 1, 5, 10, 10, 10, 12, 20, 35, 100}).Draw(t, what)
}

// enumerate calls visit with every placement of every copy that the package
// comment allows and, with leaders, every choice of leaders.
func (d drawn) enumerate(leaders bool, visit func(at []int32, lead []int32)) {
	c := d.c
	at, lead := make([]int32, len(c.Broker)), make([]int32, len(c.Topic))
	member := func(b int32) bool { return !c.Brokers[b].Dead && !d.o.Drain[c.Brokers[b].ID] }
	var partition func(p int)
	var slot func(p int, s int32)
	partition = func(p int) {
		if p == len(c.Topic) {
			visit(at, lead)
			return
		}
		slot(p, c.Off[p])
	}
	slot = func(p int, s int32) {
		if s == c.Off[p+1] {
			if !d.o.RacksStay && !d.racksFit(p, at) {
				return
			}
			if !leaders {
				partition(p + 1)
				return
			}
			l := c.Leader[p]
			if l == model.None || c.Brokers[c.Broker[l]].Dead && !d.o.Drain[c.Brokers[c.Broker[l]].ID] {
				lead[p] = model.None
				partition(p + 1)
			}
			for q := c.Off[p]; q < c.Off[p+1]; q++ {
				if member(at[q]) {
					lead[p] = q
					partition(p + 1)
				}
			}
			return
		}
		g := c.Topics[c.Topic[p]].Group
	next:
		for b := range int32(len(c.Brokers)) {
			stays := b == c.Broker[s] && c.Brokers[b].Dead && !d.o.Drain[c.Brokers[b].ID]
			if !stays && (!member(b) || g != model.None && c.Brokers[b].Group != g) {
				continue
			}
			for q := c.Off[p]; q < s; q++ {
				if at[q] == b {
					continue next
				}
			}
			at[s] = b
			slot(p, s+1)
		}
	}
	partition(0)
}

// racksFit tells whether no rack has more copies than needed: than in the
// placement of as many copies on live brokers of the group whose fullest rack is
// least full, found by trying all.
func (d drawn) racksFit(p int, at []int32) bool {
	c := d.c
	count := map[int32]int{}
	most := 0
	for s := c.Off[p]; s < c.Off[p+1]; s++ {
		r := c.RackOf[at[s]]
		count[r]++
		most = max(most, count[r])
	}
	return most <= d.leastFull(p)
}

func (d drawn) leastFull(p int) int {
	c, g := d.c, d.c.Topics[d.c.Topic[p]].Group
	best := c.RF(p)
	for set := range 1 << len(c.Brokers) {
		count, n, most := map[int32]int{}, 0, 0
		for b := range c.Brokers {
			if set>>b&1 == 0 {
				continue
			}
			if c.Brokers[b].Dead || d.o.Drain[c.Brokers[b].ID] || g != model.None && c.Brokers[b].Group != g {
				n = -100
			}
			n++
			count[c.RackOf[b]]++
			most = max(most, count[c.RackOf[b]])
		}
		if n == c.RF(p) {
			best = min(best, most)
		}
	}
	return best
}

// loads of every broker in one resource.
func (d drawn) loads(k model.Resource, at, lead []int32) []int64 {
	c := d.c
	out := make([]int64, len(c.Brokers))
	for p := range c.Topic {
		for s := c.Off[p]; s < c.Off[p+1]; s++ {
			v := c.Load(p, s, lead != nil && lead[p] == s)
			out[at[s]] += v[k]
		}
	}
	return out
}

func TestBytesBoundHoldsForEveryPlacement(t *testing.T) {
	compared, tight, forced := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		d := tiny(t, 20_000, false)
		band := rapid.SampledFrom([]float64{0, .05, .2, .5, 1, 1, math.Inf(1)}).Draw(t, "band")
		f := newFrame(d.c, d.o)
		in, disk := f.shares(model.In, false), f.shares(model.Disk, false)
		best := int64(math.MaxInt64)
		d.enumerate(false, func(at, _ []int32) {
			bytes := int64(0)
			for s, b := range at {
				if b != d.c.Broker[s] {
					bytes += d.c.Size[s]
				}
			}
			if bytes < best && inBand(d.loads(model.In, at, nil), in, band) && inBand(d.loads(model.Disk, at, nil), disk, band) {
				best = bytes
			}
		})
		bound := Bytes(d.c, band, d.o)
		if bound < 0 {
			t.Fatalf("the bound is negative: %d", bound)
		}
		if best == math.MaxInt64 {
			return // no placement gets there: anything is a bound
		}
		compared++
		if bound > best {
			t.Fatalf("bound %d, but a plan copies %d", bound, best)
		}
		if best > 0 && bound == best {
			tight++
		}
		if r, _ := f.forcedByRacks(); r > 0 && !d.o.RacksStay {
			forced++
		}
	})
	t.Logf("%d compared with the best of all placements, %d of them tight, %d with racks to repair", compared, tight, forced)
	if compared == 0 || compared > 500 && tight == 0 {
		t.Fatal("nothing was compared: the test shows nothing")
	}
}

func inBand(loads []int64, shares []float64, band float64) bool {
	if math.IsInf(band, 1) {
		return true
	}
	for b, s := range shares {
		if s > 0 && math.Abs(float64(loads[b])-s) > band*s+1e-9*s {
			return false
		}
	}
	return true
}

func TestMaxLoadHoldsForEveryPlacement(t *testing.T) {
	for k := range model.NumResources {
		leaders := k == model.Out || k == model.CPU || k == model.Leaders || k == model.LeaderIn
		t.Run(k.String(), func(t *testing.T) {
			compared, tight := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				d := tiny(t, 5_000, leaders)
				shares := newFrame(d.c, d.o).shares(k, d.o.CountsFollowDisk)
				best := math.Inf(1)
				d.enumerate(leaders, func(at, lead []int32) {
					if !leaders {
						lead = nil
					}
					worst := 0.0
					for b, l := range d.loads(k, at, lead) {
						if shares[b] > 0 {
							worst = max(worst, float64(l)/shares[b])
						}
					}
					best = min(best, worst)
				})
				got := Worst(d.c, k, d.o)
				if math.IsInf(best, 1) {
					return
				}
				compared++
				if got.Share > best*(1+1e-9)+1e-12 {
					t.Fatalf("bound %.12g (%s %s), but there is a placement with %.12g; shares %v", got.Share, got.Binds, got.Item, best, shares)
				}
				if best > 0 && math.Abs(got.Share-best) < 1e-9 {
					tight++
				}
			})
			t.Logf("%d compared with the best of all placements, %d of them tight", compared, tight)
			if compared == 0 || compared > 500 && tight == 0 {
				t.Fatal("nothing was compared: the test shows nothing")
			}
		})
	}
}

func TestLeaderCountsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := tiny(t, 1<<30, false)
		noLead := map[int32]bool{}
		if rapid.Bool().Draw(t, "a broker may not lead") {
			noLead[0] = true
		}
		got := LeaderCounts(d.c, d.o, noLead)
		may := func(b int32) bool {
			return !d.c.Brokers[b].Dead && !d.o.Drain[d.c.Brokers[b].ID] && !noLead[d.c.Brokers[b].ID]
		}
		least, most := allLeaders(d.c, may)
		if got.Max != least || got.Min != most {
			t.Fatalf("got max %d min %d, all choices give %d and %d", got.Max, got.Min, least, most)
		}
		count := map[int32]int{}
		moves := 0
		for p, s := range got.Leader {
			if s == model.None {
				continue
			}
			if s < d.c.Off[p] || s >= d.c.Off[p+1] || !may(d.c.Broker[s]) {
				t.Fatalf("partition %d is led by slot %d", p, s)
			}
			count[d.c.Broker[s]]++
			if s != d.c.Leader[p] {
				moves++
			}
		}
		for b := range int32(len(d.c.Brokers)) {
			if may(b) && (count[b] > got.Max || count[b] < got.Min) {
				t.Fatalf("broker %d leads %d, not %d to %d", b, count[b], got.Min, got.Max)
			}
		}
		if moves != got.Moves {
			t.Fatalf("says %d moves, there are %d", got.Moves, moves)
		}
	})
}

// allLeaders tries every choice of leaders.
func allLeaders(c *model.Cluster, may func(int32) bool) (leastMax, mostMin int) {
	count := make([]int, len(c.Brokers))
	leastMax, mostMin = math.MaxInt, -1
	var partition func(p int)
	partition = func(p int) {
		if p == len(c.Topic) {
			hi, lo := 0, math.MaxInt
			for b, n := range count {
				if may(int32(b)) {
					hi, lo = max(hi, n), min(lo, n)
				}
			}
			leastMax = min(leastMax, hi)
			if lo < math.MaxInt {
				mostMin = max(mostMin, lo)
			}
			return
		}
		any := false
		for s := c.Off[p]; s < c.Off[p+1]; s++ {
			if b := c.Broker[s]; may(b) {
				any = true
				count[b]++
				partition(p + 1)
				count[b]--
			}
		}
		if !any {
			partition(p + 1)
		}
	}
	partition(0)
	return leastMax, max(0, mostMin)
}
