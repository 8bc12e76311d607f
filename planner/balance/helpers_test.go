package balance_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/check"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
	"pgregory.net/rapid"
)

// asked is what a plan was asked for besides its options.
type asked struct {
	drain, fresh []int32
}

func set(ids []int32) map[int32]bool {
	m := map[int32]bool{}
	for _, id := range ids {
		m[id] = true
	}
	return m
}

// judge lets the independent checker look at a plan, and then this package's
// own reading of the rules.
func judge(t rapid.TB, c *model.Cluster, p *plan.Plan, o balance.Options, a asked) {
	t.Helper()
	rules := check.Rules{
		Band: o.Band, Weights: o.Weights, Under: o.Under, CapacityShare: o.CapacityShare, DirShare: o.DirShare,
		CountsFollowDisk: o.CountsFollowDisk, Exclude: o.Exclude, Cordon: o.Cordon, MaxBytes: o.MaxBytes, MaxMoves: o.MaxMoves,
		Drain: set(a.drain), New: set(a.fresh), Objective: func(c2 *model.Cluster) float64 { return objective(c, c2, o, a.drain) },
	}
	if ps := check.Plan(c, p, rules); len(ps) > 0 {
		t.Fatalf("the checker finds %d faults, first %v\nrefusals %+v\nchanges %+v", len(ps), ps[:min(4, len(ps))], p.Refusals, p.Changes[:min(12, len(p.Changes))])
	}
	for i := range p.Changes {
		sound(t, c, &p.Changes[i], o, a)
	}
}

// sound is what holds for every change of every plan here.
func sound(t rapid.TB, c *model.Cluster, ch *plan.Change, o balance.Options, a asked) {
	t.Helper()
	drain := set(a.drain)
	had, seen := map[int32]bool{}, map[int32]bool{}
	for _, r := range ch.From {
		had[r.Broker] = true
	}
	for _, r := range ch.To {
		b, ok := c.BrokerIndex(r.Broker)
		switch {
		case !ok:
			t.Fatalf("%s-%d goes to broker %d, which does not exist", ch.Topic, ch.Partition, r.Broker)
		case seen[r.Broker]:
			t.Fatalf("%s-%d has broker %d twice: %+v", ch.Topic, ch.Partition, r.Broker, ch.To)
		case c.Brokers[b].Dead:
			t.Fatalf("%s-%d has dead broker %d as a target: %+v", ch.Topic, ch.Partition, r.Broker, ch.To)
		case !had[r.Broker] && (drain[r.Broker] || o.Cordon[r.Broker]):
			t.Fatalf("%s-%d goes to broker %d, which receives nothing: %+v", ch.Topic, ch.Partition, r.Broker, ch.To)
		}
		seen[r.Broker] = true
	}
	if len(ch.To) != len(ch.From) {
		t.Fatalf("%s-%d changes its replication factor: %+v → %+v", ch.Topic, ch.Partition, ch.From, ch.To)
	}
	if o.Exclude[ch.Topic] {
		t.Fatalf("%s-%d is changed although its topic is excluded", ch.Topic, ch.Partition)
	}
	if p := partitionOf(t, c, ch); c.Moving[p] {
		t.Fatalf("%s-%d is changed although it is moving", ch.Topic, ch.Partition)
	}
	if ch.Why == "" {
		t.Fatalf("%s-%d gives no reason", ch.Topic, ch.Partition)
	}
}

func partitionOf(t rapid.TB, c *model.Cluster, ch *plan.Change) int {
	t.Helper()
	for p := range c.Topic {
		if c.ID[p] == ch.Partition && c.Topics[c.Topic[p]].Name == ch.Topic {
			return p
		}
	}
	t.Fatalf("%s-%d is not in the cluster", ch.Topic, ch.Partition)
	return -1
}

// fair is the definition of a fair share: the group's load, live and dead,
// divided over its live brokers that stay, by capacity where all are known.
func fair(c *model.Cluster, o balance.Options, drain []int32) [][model.NumResources]float64 {
	leaves, load := set(drain), c.BrokerLoads()
	out := make([][model.NumResources]float64, len(c.Brokers))
	for b := range c.Brokers {
		for k := range model.NumResources {
			total, sum, mine := 0.0, 0.0, 0.0
			basis := k
			for try := 0; ; try++ {
				known := true
				total, sum, mine = 0, 0, 0
				for x := range c.Brokers {
					if c.Brokers[x].Group != c.Brokers[b].Group {
						continue
					}
					total += float64(load[x][k])
					if c.Brokers[x].Dead || leaves[c.Brokers[x].ID] {
						continue
					}
					v := c.Brokers[x].Capacity[basis]
					if try == 2 {
						v = 1
					}
					known = known && v > 0 && v != model.Unlimited
					sum += float64(v)
					if x == b {
						mine = float64(v)
					}
				}
				if known {
					break
				}
				if try == 0 && o.CountsFollowDisk && (k == model.Replicas || k == model.Leaders) {
					basis = model.Disk
				} else {
					try = 1
				}
			}
			if mine > 0 {
				out[b][k] = total * mine / sum
			}
		}
	}
	return out
}

// objective is what a plan lowers: the weighted squares of what lies outside
// the band, by the fair shares of the cluster before.
func objective(before, now *model.Cluster, o balance.Options, drain []int32) float64 {
	share := fair(before, o, drain)
	sum := 0.0
	for b, load := range now.BrokerLoads() {
		for k := range load {
			if share[b][k] == 0 {
				continue
			}
			d := float64(load[k])/share[b][k] - 1
			w := o.Weights[k]
			if d < 0 {
				w *= o.Under[k]
			}
			if d = math.Abs(d) - o.Band; d > 0 {
				sum += w * d * d
			}
		}
	}
	return sum
}

func apply(t rapid.TB, c *model.Cluster, changes []plan.Change) *model.Cluster {
	t.Helper()
	out, err := check.Apply(c, changes)
	if err != nil {
		t.Fatalf("the plan does not apply: %v", err)
	}
	return out
}

func document(t rapid.TB, p *plan.Plan) []byte {
	t.Helper()
	b, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatalf("the plan is no document: %v", err)
	}
	return b
}

func sameBytes(t rapid.TB, what string, a, b *plan.Plan) {
	t.Helper()
	x, y := document(t, a), document(t, b)
	if bytes.Equal(x, y) {
		return
	}
	i := 0
	for i < min(len(x), len(y)) && x[i] == y[i] {
		i++
	}
	cut := func(s []byte) []byte { return s[max(0, i-200):min(len(s), i+200)] }
	t.Fatalf("%s: another plan:\n%s\n---\n%s", what, cut(x), cut(y))
}

func must(t rapid.TB) func(*plan.Plan, error) *plan.Plan {
	return func(p *plan.Plan, err error) *plan.Plan {
		t.Helper()
		if err != nil {
			t.Fatalf("no plan: %v", err)
		}
		return p
	}
}

// mostInRack is the greatest number of a partition's copies in one rack.
func mostInRack(c *model.Cluster, p int) int {
	n := map[int32]int{}
	most := 0
	for s := c.Off[p]; s < c.Off[p+1]; s++ {
		n[c.RackOf[c.Broker[s]]]++
		most = max(most, n[c.RackOf[c.Broker[s]]])
	}
	return most
}

// forcedInRack is how many copies some rack must hold: racks fill up evenly,
// each up to its brokers.
func forcedInRack(c *model.Cluster, group int32, copies int, drain []int32) int {
	leaves, room := set(drain), map[int32]int{}
	for b := range c.Brokers {
		if !c.Brokers[b].Dead && !leaves[c.Brokers[b].ID] && (group == model.None || c.Brokers[b].Group == group) {
			room[c.RackOf[b]]++
		}
	}
	for level := 1; ; level++ {
		sum := 0
		for _, n := range room {
			sum += min(n, level)
		}
		if sum >= copies || level > copies {
			return min(level, copies)
		}
	}
}

func racksNoWorse(t rapid.TB, before, after *model.Cluster, drain []int32) {
	t.Helper()
	for p := range before.Topic {
		was, is := mostInRack(before, p), mostInRack(after, p)
		if least := forcedInRack(before, before.Topics[before.Topic[p]].Group, before.RF(p), drain); is > max(was, least) {
			t.Fatalf("%s had %d copies in one rack and has %d, the racks force %d", before.PartitionName(p), was, is, least)
		}
	}
}

// simple is a cluster from short lists: brokers by rack, topics by partitions.
type simple struct {
	brokers []model.Broker
	parts   map[string][][]int32 // topic → partition → brokers; the first leads
	size    map[string]int64
	in, out map[string]int64
	edit    func(topic string, p *model.PartitionSpec)
	rf      int32 // of topics; 0: that of the first partition
}

func (s simple) build(t testing.TB) *model.Cluster {
	t.Helper()
	b := model.NewBuilder("simple")
	for _, br := range s.brokers {
		b.Broker(br, "")
	}
	names := make([]string, 0, len(s.parts))
	for name := range s.parts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		rf := s.rf
		if rf == 0 {
			rf = int32(len(s.parts[name][0]))
		}
		b.Topic(model.Topic{Name: name, ReplicationFactor: rf}, "")
		for i, list := range s.parts[name] {
			p := model.PartitionSpec{ID: int32(i), Leader: list[0], Out: s.out[name]}
			for _, id := range list {
				p.Replicas = append(p.Replicas, model.ReplicaSpec{Broker: id, Dir: model.None, Size: s.size[name], In: s.in[name]})
			}
			if s.edit != nil {
				s.edit(name, &p)
			}
			b.Partition(name, p)
		}
	}
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatalf("the test's cluster is not valid: %v", problems)
	}
	return c
}

// unlimited capacities.
func unlimited() (v model.Vector) {
	for k := range v {
		v[k] = model.Unlimited
	}
	return v
}

func disk(bytes int64) model.Vector {
	v := unlimited()
	v[model.Disk] = bytes
	return v
}

func broker(id int32, rack string) model.Broker {
	return model.Broker{ID: id, Rack: rack, Capacity: unlimited()}
}

func lists(c *model.Cluster) map[string][]int32 {
	m := map[string][]int32{}
	for p := range c.Topic {
		var ids []int32
		for s := c.Off[p]; s < c.Off[p+1]; s++ {
			ids = append(ids, c.Brokers[c.Broker[s]].ID)
		}
		m[c.PartitionName(p)] = ids
	}
	return m
}
