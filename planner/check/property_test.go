package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"github.com/kafka-steward/kafka-steward/planner/plan"
	"pgregory.net/rapid"
)

// randomPlan changes some partitions to whatever brokers and log dirs, good or
// bad, with counts and figures that fit.
func randomPlan(t *rapid.T, o modeltest.Options) *fixture {
	f := &fixture{c: modeltest.Cluster(o).Draw(t, "cluster"), r: Rules{Band: 0.1, DirShare: 0.9, Drain: map[int32]bool{}}}
	f.r.Objective = func(*model.Cluster) float64 { return 0 }
	f.r.CountsFollowDisk = rapid.Bool().Draw(t, "counts follow disk")
	for k := range f.r.CapacityShare {
		f.r.CapacityShare[k] = rapid.SampledFrom([]float64{0.5, 0.8, 1}).Draw(t, "capacity share")
	}
	if len(f.c.Brokers) > 2 && rapid.IntRange(0, 2).Draw(t, "drains") == 0 {
		f.r.Drain[f.c.Brokers[0].ID] = true
	}
	f.p = &plan.Plan{Operation: plan.Rebalance, Cluster: f.c.Name, SnapshotHash: f.c.Hash()}
	parts := rapid.Permutation(sequence(f.c.NumPartitions())).Draw(t, "partitions")
	for _, p := range parts[:rapid.IntRange(0, min(4, len(parts))).Draw(t, "changes")] {
		var to []plan.Replica
		for _, b := range rapid.Permutation(sequence(len(f.c.Brokers))).Draw(t, "to")[:f.c.RF(p)] {
			x := plan.Replica{Broker: f.c.Brokers[b].ID}
			if n := len(f.c.Brokers[b].Dirs); n > 0 && rapid.Bool().Draw(t, "names the log dir") {
				x.Dir = f.c.Brokers[b].Dirs[rapid.IntRange(0, n-1).Draw(t, "log dir")].Path
			}
			to = append(to, x)
		}
		f.p.Changes = append(f.p.Changes, f.change(p, to))
	}
	f.fill()
	return f
}

func sequence(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// says tells whether a problem has one of the texts.
func says(problems []model.Problem, texts ...string) bool {
	return slices.ContainsFunc(problems, func(p model.Problem) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(p.Reason, t) })
	})
}

// What Plan says of a random plan is what plain rules say, each rule by itself,
// and figures made by plain books are right.
func TestVerdictsAgreeWithPlainRules(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		f := randomPlan(t, modeltest.Hostile)
		problems := Plan(f.c, f.p, f.r)
		for what, want := range map[string]bool{
			"dead broker":                f.some(func(b *model.Broker, _ int32, _ *plan.Change) bool { return b.Dead }),
			"must end empty, among":      f.some(func(b *model.Broker, _ int32, _ *plan.Change) bool { return f.r.Drain[b.ID] && !b.Dead }),
			"not in resource group":      f.some(func(b *model.Broker, g int32, _ *plan.Change) bool { return g != model.None && b.Group != g }),
			"copies in one rack with":    f.worseRacks(),
			"above its limit of":         f.overAnywhere(),
			"a reassignment of it is in": f.movingChanged(),
			"says ":                      false,
			"goes to log dir":            f.offline(),
		} {
			if want {
				seen[what]++
			}
			got := says(problems, what)
			if what == "above its limit of" && got && !want {
				// What does not fit at the moment when it arrives is not in Apply.
				got = says(slices.DeleteFunc(slices.Clone(problems), func(p model.Problem) bool { return strings.Contains(p.Reason, "when it arrives") }), what)
			}
			if got != want {
				t.Fatalf("%q: %t is wanted; problems: %v", what, want, problems)
			}
		}
		if len(problems) == 0 {
			seen["good"]++
		}
	})
	t.Log(seen)
}

func (f *fixture) some(test func(b *model.Broker, group int32, ch *plan.Change) bool) bool {
	for i := range f.p.Changes {
		ch := &f.p.Changes[i]
		for _, x := range ch.To {
			b, _ := f.c.BrokerIndex(x.Broker)
			if test(&f.c.Brokers[b], f.topicGroup(ch.Topic), ch) {
				return true
			}
		}
	}
	return false
}

func (f *fixture) worseRacks() bool {
	for _, ch := range f.p.Changes {
		limit := f.leastFull(f.topicGroup(ch.Topic), len(ch.To))
		if f.fullest(places(ch.To)) > max(limit, f.fullest(places(ch.From))) {
			return true
		}
	}
	return false
}

func (f *fixture) movingChanged() bool {
	for _, ch := range f.p.Changes {
		if p, ok := findPartition(f.c, ch.Topic, ch.Partition); ok && f.c.Moving[p] {
			return true
		}
	}
	return false
}

func (f *fixture) offline() bool {
	for _, ch := range f.p.Changes {
		for _, x := range ch.To {
			b, _ := f.c.BrokerIndex(x.Broker)
			br := &f.c.Brokers[b]
			dir := x.Dir
			if dir == "" && len(br.Dirs) == 1 {
				dir = br.Dirs[0].Path
			}
			i := slices.IndexFunc(br.Dirs, func(d model.LogDir) bool { return d.Path == dir })
			same := slices.ContainsFunc(ch.From, func(y plan.Replica) bool {
				return y.Broker == x.Broker && (x.Dir == "" || y.Dir == "" || y.Dir == x.Dir)
			})
			if i >= 0 && br.Dirs[i].Offline && !same {
				return true
			}
		}
	}
	return false
}

// overAnywhere applies every prefix of the plan and looks at all brokers and
// volumes.
func (f *fixture) overAnywhere() bool {
	before := f.c.BrokerLoads()
	volumesBefore := volumeLoads(f.c)
	for n := range f.p.Changes {
		a, err := Apply(f.c, f.p.Changes[:n+1])
		if err != nil {
			panic(err)
		}
		for b, load := range a.BrokerLoads() {
			for k := range load {
				limit := float64(f.c.Brokers[b].Capacity[k]) * f.r.CapacityShare[k]
				if f.c.Brokers[b].Capacity[k] != model.Unlimited && float64(load[k]) > limit && load[k] > before[b][k] {
					return true
				}
			}
		}
		for key, used := range volumeLoads(a) {
			capacity := int64(model.Unlimited)
			for _, d := range f.c.Brokers[key[0]].Dirs {
				if d.Volume == key[1] {
					capacity = min(capacity, d.Capacity)
				}
			}
			if capacity != model.Unlimited && float64(used) > float64(capacity)*f.r.DirShare && used > volumesBefore[key] {
				return true
			}
		}
	}
	return false
}

// volumeLoads by broker index and volume number.
func volumeLoads(c *model.Cluster) map[[2]int32]int64 {
	out := map[[2]int32]int64{}
	for s, b := range c.Broker {
		if d := c.Dir[s]; d != model.None {
			out[[2]int32{b, c.Brokers[b].Dirs[d].Volume}] += c.Size[s]
		}
	}
	return out
}

func TestApplyKeepsWhatItShould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := randomPlan(t, modeltest.Options{Dead: true, Groups: true, CPU: true})
		hash := f.c.Hash()
		a, err := Apply(f.c, f.p.Changes)
		if err != nil {
			t.Fatal(err)
		}
		if f.c.Hash() != hash {
			t.Fatal("Apply changed its input")
		}
		if p := a.Validate(); len(p) > 0 {
			t.Fatalf("the cluster after is not valid: %v", p)
		}
		if diff := cmp.Diff(sums(f.c), sums(a)); diff != "" {
			t.Fatalf("Apply made or lost load: %s", diff)
		}
		// Partitions come once, so that their order is nothing to Apply.
		shuffled := rapid.Permutation(f.p.Changes).Draw(t, "order")
		b, err := Apply(f.c, shuffled)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b, cmp.AllowUnexported(model.Broker{})); diff != "" {
			t.Fatalf("the order of changes matters: %s", diff)
		}
		back := slices.Clone(f.p.Changes)
		for i := range back {
			ch := &back[i]
			ch.From, ch.To = ch.To, ch.From
			ch.OldLeader, ch.NewLeader = ch.NewLeader, ch.OldLeader
			if ch.NewLeader == model.None { // nobody led before
				return
			}
		}
		b, err = Apply(a, back)
		if err != nil {
			t.Fatal(err)
		}
		if b.Hash() != hash {
			t.Fatal("the way back does not lead back")
		}
	})
}

// sums of what no move changes.
func sums(c *model.Cluster) map[string]int64 {
	out := map[string]int64{"replicas": int64(c.NumReplicas()), "partitions": int64(c.NumPartitions())}
	for s := range c.Broker {
		out["size"] += c.Size[s]
		out["in"] += c.InRate[s]
		out["cpu"] += c.CPU[s]
	}
	for p := range c.Topic {
		out["out"] += c.OutRate[p]
		out["lead cpu"] += c.LeadCPU[p]
	}
	return out
}

// The checker sees the same whatever order a cluster was put together in.
func TestShuffledInputSameVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := randomPlan(t, modeltest.Hostile)
		other := modeltest.Shuffled(f.c, rapid.Uint64().Draw(t, "seed"))
		if diff := cmp.Diff(Plan(f.c, f.p, f.r), Plan(other, f.p, f.r)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestApplyNamesWhatDoesNotFit(t *testing.T) {
	f := newFixture(t)
	f.p.Changes[0].From = at(5, "", 6, "")
	f.p.Changes[1].To[0].Broker = 77
	_, err := Apply(f.c, f.p.Changes)
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range []string{"cluster test", "t-0: has replicas [1 3], the plan expects [5 6]", "t-2: goes to broker 77"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// The pairing rule, by example: see the package comment.
func TestWhichCopyIsWhich(t *testing.T) {
	f := newFixture(t)
	p, _ := findPartition(f.c, "t", 0) // on 1 with 100 bytes, on 3 with 101
	tests := []struct {
		to   []plan.Replica
		want []int64
	}{
		{at(1, "", 3, ""), []int64{100, 101}},
		{at(3, "", 1, ""), []int64{101, 100}},
		{at(6, "", 1, ""), []int64{101, 100}},
		{at(6, "", 3, ""), []int64{100, 101}},
		{at(5, "", 6, ""), []int64{100, 101}},
		{at(6, "", 5, ""), []int64{100, 101}},
		{at(3, "", 1, "", 6, ""), []int64{101, 100, 100}},
		{at(6, "", 5, "", 2, ""), []int64{100, 101, 100}},
		{at(3, ""), []int64{101}},
		{at(6, ""), []int64{100}},
	}
	for _, x := range tests {
		a, err := Apply(f.c, []plan.Change{f.change(p, x.to)})
		if err != nil {
			t.Fatal(err)
		}
		from, to := a.Slots(p)
		if got := a.Size[from:to]; !slices.Equal(got, x.want) {
			t.Errorf("to %v: sizes %v, not %v", places(x.to), got, x.want)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		c := model.Generate(model.GenerateDefaults(1, max(20, n/1000), 4, n))
		f := &fixture{c: c, p: &plan.Plan{Operation: plan.Rebalance, Cluster: c.Name}}
		// Every twentieth partition moves a replica half round the cluster.
		for p := 0; p < c.NumPartitions(); p += 20 {
			ch := plan.Change{Topic: c.Topics[c.Topic[p]].Name, Partition: c.ID[p], OldLeader: leaderID(c, p)}
			for s := c.Off[p]; s < c.Off[p+1]; s++ {
				ch.From = append(ch.From, plan.Replica{Broker: c.Brokers[c.Broker[s]].ID})
			}
			ch.To = slices.Clone(ch.From)
			next := (c.Broker[c.Off[p]] + int32(len(c.Brokers))/2 + 1) % int32(len(c.Brokers))
			if id := c.Brokers[next].ID; !lists(ch.To, id) {
				ch.To[0].Broker, ch.NewLeader = id, id
				f.p.Changes = append(f.p.Changes, ch)
			}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Plan(c, f.p, Rules{Band: .05})
			}
			b.ReportMetric(float64(len(f.p.Changes)), "changes")
		})
	}
}
