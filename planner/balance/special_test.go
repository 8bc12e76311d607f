package balance_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// generated are clusters of ordinary size and every kind of trouble.
func generated(t *testing.T, seed uint64, edit func(*model.GenerateOptions)) *model.Cluster {
	t.Helper()
	g := model.GenerateDefaults(seed, 24, 3, replicasOf())
	if edit != nil {
		edit(&g)
	}
	t.Logf("seed %d", seed)
	return model.Generate(g)
}

func seeds() []uint64 {
	if testing.Short() {
		return []uint64{1}
	}
	return []uint64{1, 2, 3}
}

func TestGeneratedClusters(t *testing.T) {
	kinds := map[string]func(*model.GenerateOptions){
		"ordinary": nil,
		"mixed":    func(g *model.GenerateOptions) { g.Mixed = true },
		"groups":   func(g *model.GenerateOptions) { g.Groups = 3 },
		"jbod":     func(g *model.GenerateOptions) { g.DirsPerBroker, g.SharedVolumes = 6, 0.3 },
		"trouble":  func(g *model.GenerateOptions) { g.Dead, g.Moving, g.RackBlind, g.DirsPerBroker = 1, 40, 0.4, 3 },
		"one rack": func(g *model.GenerateOptions) { g.Racks = 1 },
		"hot":      func(g *model.GenerateOptions) { g.HotCap, g.Tail, g.InUse = 0, 1.05, 0.2 },
		"full":     func(g *model.GenerateOptions) { g.DiskUse, g.InUse = 0.72, 0.6 },
	}
	names := []string{}
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			for _, seed := range seeds()[:min(2, len(seeds()))] {
				c := generated(t, seed, kinds[name])
				o := balance.Defaults()
				p := must(t)(balance.Rebalance(c, o))
				judge(t, c, p, o, asked{})
				after := apply(t, c, p.Changes)
				racksNoWorse(t, c, after, nil)
				if x, y := objective(c, c, o, nil), objective(c, after, o, nil); y > 0.5*x {
					t.Errorf("objective %.4f → %.4f: hardly better", x, y)
				} else {
					t.Logf("objective %.4f → %.4f, %d moves, in %.3f disk %.3f out %.3f, racks %d → %d", x, y, p.Summary.ReplicaMoves,
						p.Summary.Resources[model.In].After.Max, p.Summary.Resources[model.Disk].After.Max, p.Summary.Resources[model.Out].After.Max, p.Summary.RackViolationsBefore, p.Summary.RackViolationsAfter)
				}
				if again := must(t)(balance.Rebalance(after, o)); !again.Empty() {
					t.Errorf("the plan of the result has %d changes", len(again.Changes))
				}
				sameBytes(t, "shuffled", p, must(t)(balance.Rebalance(c, o)))
				ids := []int32{c.Brokers[3].ID, c.Brokers[10].ID}
				d := must(t)(balance.Decommission(c, ids, o))
				judge(t, c, d, o, asked{drain: ids})
				emptied(t, c, apply(t, c, d.Changes), d, ids)
				if name != "trouble" && name != "full" && name != "groups" && len(d.Refusals) > 0 {
					t.Errorf("decommission refuses %d, first %+v", len(d.Refusals), d.Refusals[0])
				}
			}
		})
	}
}

// TestBestFirst: half of the copied bytes buy well more than half of the gain.
func TestBestFirst(t *testing.T) {
	for _, seed := range seeds() {
		c := generated(t, seed, func(g *model.GenerateOptions) { g.RackBlind = 0 })
		o := balance.Defaults()
		p := must(t)(balance.Rebalance(c, o))
		half, n := int64(0), 0
		for half < p.Summary.Bytes/2 {
			half += p.Changes[n].Bytes
			n++
		}
		start := objective(c, c, o, nil)
		middle := objective(c, apply(t, c, p.Changes[:n]), o, nil)
		end := objective(c, apply(t, c, p.Changes), o, nil)
		share := (start - middle) / (start - end)
		t.Logf("half of the bytes: %.0f %% of the gain", 100*share)
		if share < 0.6 {
			t.Errorf("half of the bytes bring only %.0f %% of the gain", 100*share)
		}
		// A budget is spent as well: the plan for half of the bytes is not much
		// worse than the first half of the whole plan.
		o.MaxBytes = p.Summary.Bytes / 2
		b := must(t)(balance.Rebalance(c, o))
		judge(t, c, b, o, asked{})
		if got := objective(c, apply(t, c, b.Changes), o, nil); got > 1.5*middle+0.01 {
			t.Errorf("within the budget the objective gets to %.4f, the first half of the whole plan to %.4f", got, middle)
		}
		o.MaxBytes, o.MaxMoves = 0, 50
		b = must(t)(balance.Rebalance(c, o))
		judge(t, c, b, o, asked{})
		if b.Summary.ReplicaMoves == 0 || b.Summary.ReplicaMoves > 50 {
			t.Errorf("%d moves, allowed are 50", b.Summary.ReplicaMoves)
		}
	}
}

// ring is a cluster that is perfectly even, with parts partitions.
func ring(t *testing.T, brokers, parts int32, size func(i int32) int64) *model.Cluster {
	t.Helper()
	s := simple{parts: map[string][][]int32{}, size: map[string]int64{}, in: map[string]int64{}, out: map[string]int64{}}
	for i := range brokers {
		s.brokers = append(s.brokers, broker(i+1, string('a'+i%3)))
	}
	s.in["t"], s.out["t"] = 100, 300
	for i := range parts {
		s.parts["t"] = append(s.parts["t"], []int32{i%brokers + 1, (i+1)%brokers + 1, (i+2)%brokers + 1})
	}
	s.edit = func(_ string, p *model.PartitionSpec) {
		for i := range p.Replicas {
			p.Replicas[i].Size = size(p.ID)
			p.Replicas[i].In = size(p.ID) / 10
		}
		p.Out = 3 * size(p.ID) / 10
	}
	return s.build(t)
}

func TestEmptyInsideBand(t *testing.T) {
	for _, x := range []struct {
		name string
		c    *model.Cluster
	}{
		{"even", ring(t, 6, 36, func(int32) int64 { return 1000 })},
		{"within 4 %", ring(t, 6, 36, func(i int32) int64 { return 1000 + int64(i%6)*6 })},
		{"no loads", ring(t, 6, 36, func(int32) int64 { return 0 })},
		{"big", ring(t, 6, 36, func(i int32) int64 { return 100_000_000_000_000 + int64(i) })},
	} {
		for _, o := range []balance.Options{balance.Defaults(), func() balance.Options {
			o := balance.Defaults()
			o.LeaveEven, o.LeaveIdle = false, false
			return o
		}()} {
			p := must(t)(balance.Rebalance(x.c, o))
			judge(t, x.c, p, o, asked{})
			if !p.Empty() {
				t.Errorf("%s: %d changes, first %+v", x.name, len(p.Changes), p.Changes[0])
			}
		}
	}
}

func TestSmallestClusters(t *testing.T) {
	o := balance.Defaults()
	one := simple{brokers: []model.Broker{broker(1, "")}, parts: map[string][][]int32{"t": {{1}, {1}}}, size: map[string]int64{"t": 5}, in: map[string]int64{"t": 5}}.build(t)
	if p := must(t)(balance.Rebalance(one, o)); !p.Empty() {
		t.Errorf("one broker: %+v", p.Changes)
	}
	if _, err := balance.Decommission(one, []int32{1}, o); err == nil {
		t.Error("emptying the only broker is no error")
	}
	// RF 1, one rack, everything on one of two.
	two := simple{brokers: []model.Broker{broker(1, "r"), broker(2, "r")}, parts: map[string][][]int32{"t": {{1}, {1}, {1}, {1}}}, size: map[string]int64{"t": 5000}, in: map[string]int64{"t": 5}}.build(t)
	p := must(t)(balance.Rebalance(two, o))
	judge(t, two, p, o, asked{})
	if p.Summary.ReplicaMoves != 2 || p.Summary.Bytes != 10000 {
		t.Errorf("%d moves of %d bytes, want 2 of 10000", p.Summary.ReplicaMoves, p.Summary.Bytes)
	}
	empty, problems := func() (*model.Cluster, []model.Problem) {
		b := model.NewBuilder("empty")
		b.Broker(broker(1, "r"), "")
		return b.Build()
	}()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if p := must(t)(balance.Rebalance(empty, o)); !p.Empty() {
		t.Errorf("no topics: %+v", p.Changes)
	}
	dead := simple{brokers: []model.Broker{{ID: 1, Dead: true, Capacity: unlimited()}}, parts: map[string][][]int32{"t": {{1}}}}.build(t)
	if _, err := balance.Rebalance(dead, o); err == nil || !strings.Contains(err.Error(), "no live broker") {
		t.Errorf("no live broker: %v", err)
	}
	for _, band := range []float64{0, -1, 1, 2, math.NaN()} {
		o := balance.Defaults()
		o.Band = band
		if _, err := balance.Rebalance(two, o); err == nil {
			t.Errorf("a band of %g is no error", band)
		}
	}
}

// A partition hotter than a broker's fair share is listed; the rest is planned.
func TestHotterThanAShare(t *testing.T) {
	s := simple{parts: map[string][][]int32{"hot": {{1, 2}}}, size: map[string]int64{"hot": 1000}, in: map[string]int64{"hot": 1000}, out: map[string]int64{"hot": 30_000}}
	for i := range int32(6) {
		s.brokers = append(s.brokers, broker(i+1, string('a'+i%3)))
	}
	for n := range 8 {
		name := fmt.Sprintf("t%d", n)
		s.size[name], s.in[name], s.out[name] = 10_000, 100, 100
		for range 6 {
			s.parts[name] = append(s.parts[name], []int32{1, 2})
		}
	}
	c := s.build(t)
	o := balance.Defaults()
	p := must(t)(balance.Rebalance(c, o))
	judge(t, c, p, o, asked{})
	i := slices.IndexFunc(p.Limits, func(l plan.Limit) bool { return l.Resource == "out" && l.Item == "hot-0" })
	if i < 0 || len(p.Limits) != 1 {
		t.Fatalf("limits: %+v, want hot-0's out alone", p.Limits)
	}
	// 30 000 of 34 800 on six brokers of 5800 each.
	if l := p.Limits[i]; math.Abs(l.Share-30_000/5800.0) > 0.001 || l.Advice == "" {
		t.Errorf("limit %+v", l)
	}
	if x, y := p.Summary.Resources[model.Disk].Before.Max, p.Summary.Resources[model.Disk].After.Max; x < 2.9 || y > 1.2 {
		t.Errorf("worst broker's disk %.2f → %.2f", x, y)
	}
}

// Loads are proportional to capacity.
func TestMixedHardware(t *testing.T) {
	s := simple{parts: map[string][][]int32{}, size: map[string]int64{"t": 1000}, in: map[string]int64{"t": 100}, out: map[string]int64{"t": 200}}
	weights := []int64{1, 1, 2, 4}
	for i, w := range weights {
		v := unlimited()
		v[model.In], v[model.Out], v[model.Disk], v[model.LeaderIn] = w*50_000, w*100_000, w*1_000_000, w*50_000
		s.brokers = append(s.brokers, model.Broker{ID: int32(i + 1), Rack: "r", Capacity: v})
	}
	for i := range int32(160) {
		s.parts["t"] = append(s.parts["t"], []int32{i%4 + 1})
	}
	c := s.build(t)
	o := balance.Defaults()
	o.CountsFollowDisk = true
	p := must(t)(balance.Rebalance(c, o))
	judge(t, c, p, o, asked{})
	for b, load := range apply(t, c, p.Changes).BrokerLoads() {
		want := 160 * float64(weights[b]) / 8
		if n := float64(load[model.Replicas]); math.Abs(n/want-1) > o.Band {
			t.Errorf("broker %d of weight %d has %.0f replicas, its share is %.0f", b+1, weights[b], n, want)
		}
	}
	// One capacity unknown: nobody can be compared, equal parts.
	s.brokers[0].Capacity = unlimited()
	c = s.build(t)
	p = must(t)(balance.Rebalance(c, balance.Defaults()))
	judge(t, c, p, balance.Defaults(), asked{})
	if !p.Empty() {
		t.Errorf("%d changes although capacities cannot be compared and all have the same", len(p.Changes))
	}
}

// Groups are never crossed.
func TestResourceGroups(t *testing.T) {
	for _, seed := range seeds() {
		c := generated(t, seed, func(g *model.GenerateOptions) { g.Groups = 3 })
		o := balance.Defaults()
		ids := []int32{c.Brokers[0].ID}
		for name, p := range map[string]*plan.Plan{
			"rebalance":    must(t)(balance.Rebalance(c, o)),
			"decommission": must(t)(balance.Decommission(c, ids, o)),
			"expand":       must(t)(balance.Expand(c, ids, o)),
		} {
			for _, ch := range p.Changes {
				q := partitionOf(t, c, &ch)
				want := c.Topics[c.Topic[q]].Group
				for _, r := range ch.To {
					b, _ := c.BrokerIndex(r.Broker)
					if want != model.None && c.Brokers[b].Group != want {
						t.Errorf("%s puts %s-%d of group %d on broker %d of group %d", name, ch.Topic, ch.Partition, want, r.Broker, c.Brokers[b].Group)
					}
				}
			}
		}
	}
}

// Light plans take nothing from brokers inside the band.
func TestLight(t *testing.T) {
	for _, seed := range seeds() {
		c := generated(t, seed, func(g *model.GenerateOptions) { g.RackBlind, g.Replicas = 0, 2500 })
		o := balance.Defaults()
		full := must(t)(balance.Rebalance(c, o))
		o.Light, o.Band = true, 0.4
		p := must(t)(balance.Rebalance(c, o))
		judge(t, c, p, o, asked{})
		if p.Empty() || p.Summary.ReplicaMoves >= full.Summary.ReplicaMoves {
			t.Errorf("%d moves, without light and with the usual band %d", p.Summary.ReplicaMoves, full.Summary.ReplicaMoves)
		}
		share, load := fair(c, o, nil), c.BrokerLoads()
		inside := func(id int32) bool {
			b, _ := c.BrokerIndex(id)
			for k := range load[b] {
				if s := share[b][k]; s > 0 && o.Weights[k] > 0 && math.Abs(float64(load[b][k])/s-1) > o.Band-0.001 {
					return false
				}
			}
			return true
		}
		n := 0
		for b := range c.Brokers {
			if inside(c.Brokers[b].ID) {
				n++
			}
		}
		if n == 0 {
			t.Error("no broker is inside the band: the test shows nothing")
		}
		for _, ch := range p.Changes {
			for _, r := range ch.From {
				gone := !slices.ContainsFunc(ch.To, func(x plan.Replica) bool { return x.Broker == r.Broker })
				if inside(r.Broker) && (gone || ch.OldLeader == r.Broker && ch.NewLeader != r.Broker) {
					t.Errorf("broker %d is inside the band and loses something: %+v", r.Broker, ch)
				}
			}
		}
	}
}

func TestLeaveIdleAndEven(t *testing.T) {
	s := simple{parts: map[string][][]int32{}, size: map[string]int64{"idle": 1000, "even": 1000, "skew": 1000}, in: map[string]int64{"even": 100, "skew": 100}, out: map[string]int64{"even": 100, "skew": 100}}
	for i := range int32(6) {
		s.brokers = append(s.brokers, broker(i+1, string('a'+i%3)))
		for range 2 {
			s.parts["even"] = append(s.parts["even"], []int32{i + 1, (i+1)%6 + 1})
			s.parts["skew"] = append(s.parts["skew"], []int32{1, 2})
			s.parts["idle"] = append(s.parts["idle"], []int32{1, 2})
		}
	}
	c := s.build(t)
	touched := func(o balance.Options) map[string]bool {
		p := must(t)(balance.Rebalance(c, o))
		judge(t, c, p, o, asked{})
		if o.LeaveIdle != warned(p, "1 topics without traffic") || o.LeaveEven != warned(p, "1 topics that lie evenly") {
			t.Errorf("idle %t, even %t: warnings %q", o.LeaveIdle, o.LeaveEven, p.Warnings)
		}
		m := map[string]bool{}
		for _, ch := range p.Changes {
			m[ch.Topic] = true
		}
		return m
	}
	o := balance.Defaults()
	if m := touched(o); m["idle"] || m["even"] || !m["skew"] {
		t.Errorf("changes %v", m)
	}
	o.LeaveIdle, o.LeaveEven = false, false
	if m := touched(o); !m["idle"] || !m["skew"] {
		t.Errorf("changes %v", m)
	}
	// Even topics move where that helps and is allowed.
	o.Exclude = map[string]bool{"skew": true, "idle": true}
	if m := touched(o); m["idle"] || m["skew"] || !m["even"] {
		t.Errorf("changes %v", m)
	}
}

// Sums of big numbers stay exact.
func TestHugeNumbers(t *testing.T) {
	const tb = 1_000_000_000_000
	s := simple{parts: map[string][][]int32{}, size: map[string]int64{}, in: map[string]int64{}, out: map[string]int64{}}
	for i := range int32(1000) {
		s.brokers = append(s.brokers, broker(i+1, fmt.Sprint(i%4)))
	}
	for i := range int32(4000) {
		s.parts["t"] = append(s.parts["t"], []int32{i%600 + 1, (i+1)%600 + 1, (i+2)%600 + 1})
	}
	s.edit = func(_ string, p *model.PartitionSpec) {
		for i := range p.Replicas {
			p.Replicas[i].Size = 100*tb - int64(p.ID) - int64(i) // 2 PB on a broker, 1.2 EB in all
			p.Replicas[i].In = 10*tb + int64(p.ID)
		}
		p.Out = 100*tb + 1
	}
	c := s.build(t)
	o := balance.Defaults()
	p := must(t)(balance.Rebalance(c, o))
	judge(t, c, p, o, asked{}) // compares every figure with whole-number sums
	var before, after model.Vector
	for _, b := range p.Summary.Brokers {
		before.Add(&b.Before)
		after.Add(&b.After)
	}
	if before != after {
		t.Errorf("loads before %v, after %v: something got lost", before, after)
	}
	if x := p.Summary.Resources[model.Disk].After.Max; x > 1.3 {
		t.Errorf("worst broker's disk is %.3f", x)
	}
}

// replicasOf is the size of generated clusters.
func replicasOf() int {
	if testing.Short() {
		return 700
	}
	return 2500
}
