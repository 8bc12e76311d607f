package placement

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kafka-steward/kafka-steward/planner/check"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// grown is a cluster after a plan, for planning on.
func grown(t interface{ Fatal(...any) }, c *model.Cluster, p *plan.Plan) *model.Cluster {
	after, err := check.Apply(c, p.Changes)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

// A topic that grows step by step is as even as one made at once, and what it
// had stays.
func TestAddPartitionsKeepsTheTopicEven(t *testing.T) {
	positions, uneven := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		opts := modeltest.Options{MaxBrokers: 12, Dead: true, Dirs: true, SameRF: true}
		c := modeltest.Cluster(opts).Draw(t, "cluster")
		req := Request{Topic: "new", Partitions: rapid.IntRange(1, 20).Draw(t, "partitions"), ReplicationFactor: rapid.IntRange(1, 4).Draw(t, "rf")}
		sc := newScope(c, &Options{}, model.None)
		if len(sc.ring) < req.ReplicationFactor {
			t.Skip("too few brokers")
		}
		use := make([]bool, len(c.Brokers))
		for _, b := range sc.ring {
			use[b] = true
		}
		p, err := Place(c, req)
		if err != nil {
			t.Fatal(err)
		}
		for step := range 3 {
			c = grown(t, c, p)
			n := rapid.IntRange(1, 20).Draw(t, fmt.Sprint("add", step))
			if p, err = AddPartitions(c, "new", n, Options{}); err != nil {
				t.Fatal(err)
			}
			if len(p.Changes) != n || len(p.Refusals) > 0 {
				t.Fatalf("%d changes for %d partitions, refusals %+v", len(p.Changes), n, p.Refusals)
			}
			mustCheck(t, c, p, check.Rules{Racks: check.RacksSpread})
			for k, at := range counts(c, p.Changes, "new", req.ReplicationFactor) {
				most := 1
				if k > 0 {
					if !fairRacks(sc, req.ReplicationFactor) {
						break
					}
					// Followers continue within what the existing ones leave open.
					most = 2
				}
				positions++
				if within(at, use) > 1 {
					uneven++
				}
				if within(at, use) > most {
					t.Fatalf("step %d: position %d lies %v", step, k, at)
				}
			}
			again, err := AddPartitions(modeltest.Shuffled(c, rapid.Uint64().Draw(t, "seed")), "new", n, Options{})
			if d := cmp.Diff(p, again); err != nil || d != "" {
				t.Fatalf("another order of the same parts gives another plan: %v %s", err, d)
			}
		}
	})
	t.Logf("%d of %d positions differ by 2 between brokers, the others by 1 at most", uneven, positions)
	if uneven*20 > positions {
		t.Errorf("%d of %d positions differ by 2: too many", uneven, positions)
	}
}

// All topics of a drawn cluster get another factor.
func TestChangeRFProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := modeltest.Options{MaxBrokers: 8, Dead: true, Moving: true, Dirs: true, Groups: true, Tight: rapid.Bool().Draw(t, "tight")}
		c := modeltest.Cluster(opts).Draw(t, "cluster")
		rf := rapid.IntRange(1, 5).Draw(t, "rf")
		var names []string
		want := map[string]int{}
		for _, x := range c.Topics {
			names = append(names, x.Name)
			want[x.Name] = rf
		}
		p, err := ChangeRF(c, names, rf, Options{})
		if err != nil {
			t.Fatal(err)
		}
		again, _ := ChangeRF(modeltest.Shuffled(c, rapid.Uint64().Draw(t, "seed")), names, rf, Options{})
		if d := cmp.Diff(p, again); d != "" {
			t.Fatal("another order of the same parts gives another plan: ", d)
		}
		if !opts.Tight {
			unbound(c)
			p, _ = ChangeRF(c, names, rf, Options{})
			mustCheck(t, c, p, check.Rules{RF: want})
		}
		refused := map[string]bool{}
		for _, r := range p.Refusals {
			refused[fmt.Sprint(r.Topic, r.Partition)] = true
		}
		changed := map[string]plan.Change{}
		for _, ch := range p.Changes {
			changed[fmt.Sprint(ch.Topic, ch.Partition)] = ch
			checkRF(t, c, ch, rf)
		}
		for q := range c.Topic {
			name := fmt.Sprint(c.Topics[c.Topic[q]].Name, c.ID[q])
			_, done := changed[name]
			if wanted := c.RF(q) != rf; wanted != (done || refused[name]) || done && refused[name] {
				t.Fatalf("%s with %d replicas, wanted %d: changed %t, refused %t", name, c.RF(q), rf, done, refused[name])
			}
		}
	})
}

// unbound takes the limits away that who leads can breach: which replica comes
// first is not for these plans to choose.
func unbound(c *model.Cluster) {
	for b := range c.Brokers {
		for k := range c.Brokers[b].Capacity {
			c.Brokers[b].Capacity[k] = model.Unlimited
		}
	}
}

func checkRF(t *rapid.T, c *model.Cluster, ch plan.Change, rf int) {
	q, _ := c.PartitionIndex(ch.Topic, ch.Partition)
	if len(ch.To) != rf {
		t.Fatalf("%s: %v is not %d replicas", c.PartitionName(q), ch.To, rf)
	}
	at := func(id int32) int {
		return slices.IndexFunc(ch.To, func(r plan.Replica) bool { return r.Broker == id })
	}
	last := -1
	for _, f := range ch.From {
		i := at(f.Broker)
		if i < 0 {
			continue
		}
		if i < last {
			t.Fatalf("%s: %v → %v changes the order of what stays", c.PartitionName(q), ch.From, ch.To)
		}
		if ch.To[i].Dir != f.Dir {
			t.Fatalf("%s: %v → %v changes a log dir", c.PartitionName(q), ch.From, ch.To)
		}
		last = i
	}
	if l := ch.OldLeader; l != model.None && at(l) < 0 {
		b, _ := c.BrokerIndex(l)
		g := c.Topics[c.Topic[q]].Group
		if !c.Brokers[b].Dead && (g == model.None || c.Brokers[b].Group == g) {
			t.Fatalf("%s: %v → %v takes the leader %d away without need", c.PartitionName(q), ch.From, ch.To, l)
		}
	}
}

func one(b *model.Builder, topic string, leader int32, size int64, on ...int32) {
	b.Topic(model.Topic{Name: topic, ReplicationFactor: int32(len(on))}, "")
	p := model.PartitionSpec{Leader: leader, Out: size}
	for _, id := range on {
		p.Replicas = append(p.Replicas, model.ReplicaSpec{Broker: id, Dir: model.None, Size: size, In: size})
	}
	b.Partition(topic, p)
}

func ids(list []plan.Replica) (out []int32) {
	for _, r := range list {
		out = append(out, r.Broker)
	}
	return out
}

func TestChangeRFPrefersRacksThenLoad(t *testing.T) {
	fill := func(b *model.Builder) {
		one(b, "big", 3, 1000, 3)
		one(b, "mid", 5, 300, 5)
		one(b, "t", 2, 100, 1, 2, 3, 5)
		one(b, "u", 1, 100, 1, 2)
	}
	c := brokers(t, fill, "1 a", "2 a", "3 b", "4 b", "5 c", "6 c")
	for _, tc := range []struct {
		topic string
		rf    int
		want  []int32
	}{
		// Rack a has two: 1 goes, for 2 leads. Then the most loaded: 3.
		{"t", 3, []int32{2, 3, 5}},
		{"t", 2, []int32{2, 5}},
		{"t", 1, []int32{2}},
		// Racks b and c have none; their empty brokers come first.
		{"u", 3, []int32{1, 2, 4}},
		{"u", 4, []int32{1, 2, 4, 6}},
		// Above the racks: two in each.
		{"u", 6, []int32{1, 2, 4, 6, 5, 3}},
	} {
		p, err := ChangeRF(c, []string{tc.topic}, tc.rf, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Changes) != 1 || !slices.Equal(ids(p.Changes[0].To), tc.want) {
			t.Errorf("%s to %d replicas: %+v %+v, want %v", tc.topic, tc.rf, p.Changes, p.Refusals, tc.want)
		}
	}
	if p, _ := ChangeRF(c, []string{"t"}, 4, Options{}); !p.Empty() || len(p.Refusals) > 0 {
		t.Errorf("a topic that has the factor is changed: %+v", p)
	}
	if p, _ := ChangeRF(c, []string{"u"}, 4, Options{Strict: true}); !p.Empty() || len(p.Refusals) != 1 || p.Refusals[0].Reason != "rack" {
		t.Errorf("strict: %+v", p)
	}
	if _, err := ChangeRF(c, []string{"unknown"}, 2, Options{}); err == nil {
		t.Error("an unknown topic is no error")
	}
}

// C-28: what is moving is refused, never planned from its mid-move replicas.
func TestChangeRFRefusesMoving(t *testing.T) {
	c := brokers(t, func(b *model.Builder) {
		b.Topic(model.Topic{Name: "t", ReplicationFactor: 3}, "")
		r := func(id int32) model.ReplicaSpec { return model.ReplicaSpec{Broker: id, Dir: model.None} }
		b.Partition("t", model.PartitionSpec{ID: 0, Leader: 2, Moving: true, Replicas: []model.ReplicaSpec{r(2), r(3), r(4), r(1)}})
		b.Partition("t", model.PartitionSpec{ID: 1, Leader: 1, Replicas: []model.ReplicaSpec{r(1), r(2), r(3), r(4)}})
	}, "1 a", "2 b", "3 c", "4 d")
	p, err := ChangeRF(c, []string{"t"}, 3, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Refusals) != 1 || p.Refusals[0].Partition != 0 || p.Refusals[0].Reason != "moving" {
		t.Errorf("refusals %+v", p.Refusals)
	}
	if len(p.Changes) != 1 || p.Changes[0].Partition != 1 || len(p.Changes[0].To) != 3 {
		t.Errorf("the left-over fourth replica is not taken away: %+v", p.Changes)
	}
}

// C-34 when the factor is raised.
func TestChangeRFRefusesWithoutRoom(t *testing.T) {
	b := model.NewBuilder("test")
	for i, v := range []int64{1000, 200, 1000} {
		br := model.Broker{ID: int32(i + 1), Dead: i == 2}
		for k := range br.Capacity {
			br.Capacity[k] = model.Unlimited
		}
		br.Capacity[model.Disk] = v
		b.Broker(br, "")
	}
	one(b, "big", 1, 500, 1)
	one(b, "small", 1, 100, 1)
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, err := ChangeRF(c, []string{"big", "small"}, 2, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Changes) != 1 || p.Changes[0].Topic != "small" || p.Changes[0].Bytes != 100 {
		t.Errorf("changes %+v", p.Changes)
	}
	want := []plan.Rejection{{Broker: 3, Reason: "dead"}, {Broker: 2, Reason: "disk", Need: 500, Free: 160}}
	if len(p.Refusals) != 1 || p.Refusals[0].Reason != "disk" || cmp.Diff(want, p.Refusals[0].Rejected) != "" {
		t.Errorf("refusals %+v", p.Refusals)
	}
}

func TestElect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dead := rapid.Bool().Draw(t, "dead")
		c := modeltest.Cluster(modeltest.Options{Dead: dead, Moving: true, Dirs: true, Offline: true}).Draw(t, "cluster")
		per := rapid.IntRange(1, 4).Draw(t, "per")
		e, err := Elect(c, ElectOptions{PerBroker: per})
		if err != nil {
			t.Fatal(err)
		}
		if !dead { // an election leaves a follower on a dead broker where it is
			unbound(c)
			e, _ = Elect(c, ElectOptions{PerBroker: per})
			mustCheck(t, c, e.Plan, check.Rules{})
		}
		from := 0
		for _, to := range e.Steps {
			gain := map[int32]int{}
			for _, ch := range e.Plan.Changes[from:to] {
				gain[ch.NewLeader]++
			}
			if to <= from {
				t.Fatalf("steps %v: an empty one", e.Steps)
			}
			for id, n := range gain {
				if n > per {
					t.Fatalf("broker %d gains %d leaderships in a step, %d are allowed", id, n, per)
				}
			}
			from = to
		}
		wanted := 0
		for p := range c.Topic {
			if c.Leader[p] != c.Off[p] {
				wanted++
			}
		}
		if from != len(e.Plan.Changes) || wanted != len(e.Plan.Changes)+len(e.Plan.Refusals) {
			t.Fatalf("%d partitions are not led by their first replica; %d changes in steps to %d, %d refusals", wanted, len(e.Plan.Changes), from, len(e.Plan.Refusals))
		}
	})
}

func BenchmarkPlace(b *testing.B) {
	c := model.Generate(model.GenerateDefaults(1, 300, 3, 30_000))
	for b.Loop() {
		p, err := Place(c, Request{Topic: "a new one", Partitions: 3001, ReplicationFactor: 3})
		if err != nil || len(p.Changes) != 3001 {
			b.Fatal(err, p.Refusals)
		}
	}
}
