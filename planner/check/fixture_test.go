package check

import (
	"math"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// fixture is a cluster, a plan for it and the rules the plan keeps.
type fixture struct {
	c *model.Cluster
	p *plan.Plan
	r Rules
}

// newFixture makes six brokers in three racks, two log dirs each, of which
// broker 6 is empty, and a plan that makes them perfectly even: broker 6 takes a
// replica of t-0 and of t-2 and leads t-0; t-1 changes log dir on broker 2.
func newFixture(t testing.TB) *fixture {
	b := model.NewBuilder("test")
	for i, rack := range "aabbcc" {
		b.Broker(testBroker(int32(i+1), string(rack)), "")
	}
	b.Topic(model.Topic{Name: "t", ReplicationFactor: 2}, "")
	for i, l := range [][]int32{{1, 3}, {2, 4}, {3, 1}, {4, 2}, {1, 5}, {5, 3}} {
		s := model.PartitionSpec{ID: int32(i), Leader: l[0], Out: 20, LeadCPU: 5}
		for j, x := range l {
			s.Replicas = append(s.Replicas, model.ReplicaSpec{Broker: x, Dir: int32(j), Size: 100 + int64(i+j), In: 10, CPU: 3})
		}
		b.Partition("t", s)
	}
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	f := &fixture{c: c, r: Rules{Band: 0.1, DirShare: 0.9}}
	for k := range f.r.CapacityShare {
		f.r.CapacityShare[k] = 0.8
	}
	f.p = &plan.Plan{Operation: plan.Rebalance, Cluster: "test", SnapshotHash: c.Hash(), Changes: []plan.Change{
		f.change(0, at(6, "/a", 1, "/a")),
		f.change(2, at(3, "/a", 6, "/b")),
		f.change(1, at(2, "/b", 4, "/b")),
	}}
	f.fill()
	return f
}

func testBroker(id int32, rack string) model.Broker {
	br := model.Broker{ID: id, Rack: rack, Dirs: []model.LogDir{{Path: "/a", Capacity: 500}, {Path: "/b", Capacity: 500, Volume: 1}}}
	for k := range br.Capacity {
		br.Capacity[k] = 1000
	}
	br.Capacity[model.Replicas], br.Capacity[model.Leaders] = model.Unlimited, model.Unlimited
	return br
}

// at lists places: broker, log dir, broker, log dir …
func at(list ...any) []plan.Replica {
	var out []plan.Replica
	for i := 0; i < len(list); i += 2 {
		out = append(out, plan.Replica{Broker: int32(list[i].(int)), Dir: list[i+1].(string)})
	}
	return out
}

// change of partition p to new places, led by the first.
func (f *fixture) change(p int, to []plan.Replica) plan.Change {
	ch := plan.Change{Topic: f.c.Topics[f.c.Topic[p]].Name, Partition: f.c.ID[p], OldLeader: leaderID(f.c, p), NewLeader: to[0].Broker, To: to, Why: "test"}
	for s := f.c.Off[p]; s < f.c.Off[p+1]; s++ {
		b := &f.c.Brokers[f.c.Broker[s]]
		r := plan.Replica{Broker: b.ID}
		if d := f.c.Dir[s]; d != model.None {
			r.Dir = b.Dirs[d].Path
		}
		ch.From = append(ch.From, r)
	}
	return ch
}

// copyOf is a replica in the plain books that fill keeps.
type copyOf struct {
	broker        int32
	dir           string
	size, in, cpu int64
	leads         bool
}

type books map[TopicPartition][]copyOf

// fill enters counts and figures into the plan as the rules of the package
// comment have them. It is written apart from the checker, over maps, and slow.
func (f *fixture) fill() {
	old, out := books{}, map[TopicPartition][2]int64{}
	for p := range f.c.Topic {
		tp := TopicPartition{f.c.Topics[f.c.Topic[p]].Name, f.c.ID[p]}
		out[tp] = [2]int64{f.c.OutRate[p], f.c.LeadCPU[p]}
		for s := f.c.Off[p]; s < f.c.Off[p+1]; s++ {
			b := &f.c.Brokers[f.c.Broker[s]]
			x := copyOf{broker: b.ID, size: f.c.Size[s], in: f.c.InRate[s], cpu: f.c.CPU[s], leads: f.c.Leader[p] == s}
			if f.c.Dir[s] != model.None {
				x.dir = b.Dirs[f.c.Dir[s]].Path
			}
			old[tp] = append(old[tp], x)
		}
	}
	now := books{}
	for tp, l := range old {
		now[tp] = l
	}
	sum := &f.p.Summary
	*sum = plan.Summary{}
	in, from := map[int32]int64{}, map[int32]int64{}
	for i := range f.p.Changes {
		f.carryOut(&f.p.Changes[i], old, now, in, from)
	}
	f.figures(old, now, out, in, from)
}

func (f *fixture) carryOut(ch *plan.Change, old, now books, in, from map[int32]int64) {
	tp := TopicPartition{ch.Topic, ch.Partition}
	sum := &f.p.Summary
	ch.Bytes, ch.DirBytes = 0, 0
	var gone, list []copyOf
	for _, x := range old[tp] {
		if !lists(ch.To, x.broker) {
			gone = append(gone, x)
		}
	}
	spare := copyOf{}
	for i, x := range old[tp] {
		if i == 0 || x.leads {
			spare = x
		}
	}
	seen, led := map[int32]bool{}, false
	for _, to := range ch.To {
		var x copyOf
		kept := false
		for _, o := range old[tp] {
			if o.broker == to.Broker && !seen[to.Broker] {
				x, kept = o, true
			}
		}
		seen[to.Broker] = true
		switch {
		case kept && to.Dir != "" && x.dir != "" && to.Dir != x.dir:
			ch.DirBytes += x.size
			sum.DirMoves++
			x.dir = to.Dir
		case kept:
			if to.Dir != "" {
				x.dir = to.Dir
			}
		default:
			x = spare
			if len(gone) > 0 {
				x, gone = gone[0], gone[1:]
			}
			x.dir = to.Dir
			if b, ok := f.c.BrokerIndex(to.Broker); ok && x.dir == "" && len(f.c.Brokers[b].Dirs) == 1 {
				x.dir = f.c.Brokers[b].Dirs[0].Path
			}
			ch.Bytes += x.size
			in[to.Broker] += x.size
			from[ch.OldLeader] += x.size
			if len(old[tp]) > 0 {
				sum.ReplicaMoves++
			}
		}
		x.broker, x.leads = to.Broker, to.Broker == ch.NewLeader && !led
		led = led || x.leads
		list = append(list, x)
	}
	sum.Bytes += ch.Bytes
	sum.DirBytes += ch.DirBytes
	if ch.OldLeader != ch.NewLeader && len(ch.From) > 0 {
		sum.LeaderChanges++
	}
	now[tp] = list
}

func lists(rs []plan.Replica, broker int32) bool {
	for _, r := range rs {
		if r.Broker == broker {
			return true
		}
	}
	return false
}

func (f *fixture) loads(bs books, out map[TopicPartition][2]int64) map[int32]*model.Vector {
	loads := map[int32]*model.Vector{}
	for i := range f.c.Brokers {
		loads[f.c.Brokers[i].ID] = &model.Vector{}
	}
	for tp, l := range bs {
		for _, x := range l {
			v := loads[x.broker]
			v[model.In] += x.in
			v[model.Disk] += x.size
			v[model.CPU] += x.cpu
			v[model.Replicas]++
			if x.leads {
				v[model.Leaders]++
				v[model.LeaderIn] += x.in
				v[model.Out] += out[tp][0]
				v[model.CPU] += out[tp][1]
			}
		}
	}
	return loads
}

func (f *fixture) takesPart(b *model.Broker) bool { return !b.Dead && !f.r.Drain[b.ID] }

func (f *fixture) figures(old, now books, out map[TopicPartition][2]int64, in, from map[int32]int64) {
	sum := &f.p.Summary
	before, after := f.loads(old, out), f.loads(now, out)
	base := before
	replicas := func(bs books) (n int) {
		for _, l := range bs {
			n += len(l)
		}
		return n
	}
	if replicas(old) != replicas(now) {
		base = after
	}
	shares := f.shares(base)
	for k := range model.NumResources {
		sum.Resources = append(sum.Resources, plan.ResourceFigures{Resource: k.String(), Before: f.spread(k, before, shares), After: f.spread(k, after, shares)})
	}
	for i := range f.c.Brokers {
		b := &f.c.Brokers[i]
		fig := plan.BrokerFigures{Broker: b.ID, Rack: b.Rack, Dead: b.Dead, Before: *before[b.ID], After: *after[b.ID], BytesIn: in[b.ID], BytesOut: from[b.ID]}
		for k := range fig.Share {
			fig.Share[k] = int64(math.Round(shares[b.ID][k]))
		}
		for _, d := range b.Dirs {
			x := plan.DirFigures{Path: d.Path, Capacity: d.Capacity}
			x.SizeBefore, x.InBefore = inDir(old, b.ID, d.Path)
			x.SizeAfter, x.InAfter = inDir(now, b.ID, d.Path)
			fig.Dirs = append(fig.Dirs, x)
		}
		sum.Brokers = append(sum.Brokers, fig)
	}
	sum.RackViolationsBefore, sum.RackViolationsAfter = f.rackViolations(old), f.rackViolations(now)
	sum.TopicExcessBefore, sum.TopicExcessAfter = f.excess(old), f.excess(now)
}

func inDir(bs books, broker int32, dir string) (size, in int64) {
	for _, l := range bs {
		for _, x := range l {
			if x.broker == broker && x.dir == dir {
				size += x.size
				in += x.in
			}
		}
	}
	return size, in
}

// shares by capacity where a group's brokers all have one, else alike.
func (f *fixture) shares(loads map[int32]*model.Vector) map[int32][]float64 {
	shares := map[int32][]float64{}
	for i := range f.c.Brokers {
		shares[f.c.Brokers[i].ID] = make([]float64, model.NumResources)
	}
	for k := range model.NumResources {
		for g := int32(-1); g < int32(len(f.c.Groups)); g++ {
			load, capacity, n, known := int64(0), 0.0, 0.0, true
			by := f.basis(k, g)
			for i := range f.c.Brokers {
				b := &f.c.Brokers[i]
				if b.Group != g {
					continue
				}
				load += loads[b.ID][k]
				if f.takesPart(b) {
					capacity += float64(b.Capacity[by])
					n++
					known = known && b.Capacity[by] > 0 && b.Capacity[by] != model.Unlimited
				}
			}
			for i := range f.c.Brokers {
				b := &f.c.Brokers[i]
				if b.Group != g || !f.takesPart(b) {
					continue
				}
				if known {
					shares[b.ID][k] = float64(load) * float64(b.Capacity[by]) / capacity
				} else {
					shares[b.ID][k] = float64(load) / n
				}
			}
		}
	}
	return shares
}

// basis is the capacity that shares of a resource follow in a group.
func (f *fixture) basis(k model.Resource, group int32) model.Resource {
	if !f.r.CountsFollowDisk || k != model.Replicas && k != model.Leaders {
		return k
	}
	for i := range f.c.Brokers {
		if b := &f.c.Brokers[i]; b.Group == group && f.takesPart(b) && (b.Capacity[k] <= 0 || b.Capacity[k] == model.Unlimited) {
			return model.Disk
		}
	}
	return k
}

func (f *fixture) spread(k model.Resource, loads map[int32]*model.Vector, shares map[int32][]float64) plan.Spread {
	var xs []float64
	for i := range f.c.Brokers {
		if s := shares[f.c.Brokers[i].ID][k]; s > 0 {
			xs = append(xs, float64(loads[f.c.Brokers[i].ID][k])/s)
		}
	}
	if len(xs) == 0 {
		return plan.Spread{}
	}
	out := plan.Spread{Min: xs[0]}
	for _, x := range xs {
		out.Max, out.Min = max(out.Max, x), min(out.Min, x)
		out.CV += (x - 1) * (x - 1) / float64(len(xs))
		if x >= 1-f.r.Band-1e-9 && x <= 1+f.r.Band+1e-9 {
			out.InBand++
		}
	}
	out.CV, out.InBand = math.Sqrt(out.CV), out.InBand/float64(len(xs))
	return out
}
