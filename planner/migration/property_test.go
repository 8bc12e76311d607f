package migration

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// scenario draws a cluster and valid reassignments, with disks that have room
// for both ends and a little more, sometimes hardly anything.
func scenario(t *rapid.T) (*model.Cluster, []plan.Change, Options) {
	c := modeltest.Cluster(modeltest.Options{MaxBrokers: 6, MaxTopics: 3, MaxPartitions: 8, Dirs: true, Dead: rapid.Bool().Draw(t, "dead")}).Draw(t, "cluster")
	for p := range c.Topic { // sizes that differ, for classes and tight disks
		size := rapid.SampledFrom([]int64{0, 1, 100, 300, 300, 500, 500, 1000}).Draw(t, "size")
		in := rapid.Int64Range(0, 100).Draw(t, "in")
		for s := c.Off[p]; s < c.Off[p+1]; s++ {
			c.Size[s], c.InRate[s] = max(0, size-rapid.SampledFrom([]int64{0, 0, 0, 10}).Draw(t, "less")), in
		}
	}
	var changes []plan.Change
	for p := range c.Topic {
		if ch, ok := drawChange(t, c, p); ok {
			changes = append(changes, ch)
		}
	}
	o := Options{
		DiskReserve: -1, BrokerIn: rapid.IntRange(1, 3).Draw(t, "in"), BrokerOut: rapid.IntRange(1, 3).Draw(t, "out"), PerDisk: rapid.IntRange(1, 3).Draw(t, "perDisk"),
		Elections: rapid.IntRange(1, 3).Draw(t, "elections"), BatchSteps: rapid.IntRange(0, 5).Draw(t, "steps"), SmallFirst: rapid.Bool().Draw(t, "small"),
		JoinDirMoves: rapid.Bool().Draw(t, "join"), NoTemporary: rapid.Bool().Draw(t, "noTemp"), Bandwidth: 10_000, DiskBandwidth: 20_000,
		Throttle: rapid.Int64Range(0, 2000).Draw(t, "throttle"), DirThrottle: rapid.Int64Range(0, 2000).Draw(t, "dirThrottle"),
	}
	squeeze(t, c, changes)
	return c, changes, o
}

func drawChange(t *rapid.T, c *model.Cluster, p int) (plan.Change, bool) {
	var live []int
	for b := range c.Brokers {
		if !c.Brokers[b].Dead {
			live = append(live, b)
		}
	}
	from, to := c.Slots(p)
	n := max(1, min(len(live), c.RF(p)+rapid.SampledFrom([]int{0, 0, 0, 1, -1}).Draw(t, "rf")))
	if rapid.IntRange(0, 4).Draw(t, "move") == 0 || len(live) == 0 {
		return plan.Change{}, false
	}
	ch := plan.Change{Topic: c.Topics[c.Topic[p]].Name, Partition: c.ID[p], OldLeader: model.None}
	for s := from; s < to; s++ {
		x := plan.Replica{Broker: c.Brokers[c.Broker[s]].ID}
		if c.Dir[s] != model.None {
			x.Dir = c.Brokers[c.Broker[s]].Dirs[c.Dir[s]].Path
		}
		if s == c.Leader[p] {
			ch.OldLeader = x.Broker
		}
		ch.From = append(ch.From, x)
	}
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	for _, k := range rnd.Perm(len(live))[:n] {
		b := &c.Brokers[live[k]]
		x := plan.Replica{Broker: b.ID}
		if len(b.Dirs) > 0 && rnd.IntN(5) > 0 {
			x.Dir = b.Dirs[rnd.IntN(len(b.Dirs))].Path
		}
		ch.To = append(ch.To, x)
	}
	ch.NewLeader = ch.To[0].Broker
	return ch, true
}

// squeeze sets the capacity of every disk to what it holds at the worse of both
// ends, and a little more.
func squeeze(t *rapid.T, c *model.Cluster, changes []plan.Change) {
	slack := rapid.SampledFrom([]int64{0, 0, 100, 500, 100_000}).Draw(t, "slack")
	before, after := newReplay(c, &Schedule{}, Options{}), newReplay(c, &Schedule{}, Options{})
	for i := range changes {
		ch := &changes[i]
		name := fmt.Sprintf("%s-%d", ch.Topic, ch.Partition)
		size := int64(0)
		for _, x := range after.list[name] {
			n := after.size[after.key(name, x.Broker)]
			after.put(x, -n)
			size = max(size, n)
		}
		for _, x := range ch.To {
			after.put(x, size)
		}
	}
	roomy := rapid.IntRange(-3, len(c.Brokers)-1).Draw(t, "roomy")
	for b := range c.Brokers {
		br := &c.Brokers[b]
		slack := slack
		if b == roomy { // a place to park on
			slack += 5000
		}
		all := before.disksOf(plan.Replica{Broker: br.ID})
		br.Capacity[model.Disk] = slack + max(before.used[all[0]], after.used[all[0]])
		for d := range br.Dirs {
			disk := before.disksOf(plan.Replica{Broker: br.ID, Dir: br.Dirs[d].Path})[0]
			br.Dirs[d].Capacity = slack + max(before.used[disk], after.used[disk])
		}
	}
}

func TestScheduleProperties(t *testing.T) {
	refused, steps := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c, changes, o := scenario(t)
		s, err := Make(c, changes, o)
		if err != nil {
			t.Fatal(err)
		}
		checkLists(t, c, s, changes)
		seed := rapid.Uint64().Draw(t, "replay")
		for name, f := range map[string]func(*replay){
			"by batch":  func(r *replay) { r.byBatch(rand.New(rand.NewPCG(seed, 2))) },
			"by time":   func(r *replay) { r.byTime() },
			"as stream": func(r *replay) { r.asStream(rand.New(rand.NewPCG(seed, 3))) },
		} {
			r := newReplay(c, s, o)
			f(r)
			r.finished(changes)
			if r.fault != nil {
				t.Fatalf("%s: %v", name, r.fault)
			}
		}
		for _, x := range s.Refusals {
			if x.Reason == "" || x.Detail == "" {
				t.Fatalf("a refusal without a reason: %+v", x)
			}
		}
		again, err := Make(modeltest.Shuffled(c, seed), changes, o)
		if d := cmp.Diff(s, again); err != nil || d != "" {
			t.Fatalf("another order of the same parts gives another schedule: %v %s", err, d)
		}
		steps += len(s.Steps)
		refused += len(s.Refusals)
	})
	t.Logf("%d steps, %d changes refused", steps, refused)
	if !t.Failed() && refused == 0 {
		t.Error("the cases never refuse: they prove less than they should")
	}
}

// checkLists holds lists between against both ends: never shorter, and never two
// copies in a rack if neither end has them.
func checkLists(t *rapid.T, c *model.Cluster, s *Schedule, changes []plan.Change) {
	racks := func(list []plan.Replica) int {
		n, most := map[string]int{}, 0
		for _, x := range list {
			i, _ := c.BrokerIndex(x.Broker)
			n[c.Brokers[i].Rack]++
			most = max(most, n[c.Brokers[i].Rack])
		}
		return most
	}
	for _, x := range s.Steps {
		ch := &changes[x.Change]
		if len(x.To) < min(len(ch.From), len(ch.To)) {
			t.Fatalf("%s-%d has %v on its way from %v to %v", x.Topic, x.Partition, x.To, ch.From, ch.To)
		}
		if racks(ch.From) == 1 && racks(ch.To) == 1 && racks(x.To) > 1 {
			t.Fatalf("%s-%d has two copies in a rack with %v on its way from %v to %v", x.Topic, x.Partition, x.To, ch.From, ch.To)
		}
	}
}

// Full disks that all wait for one another are emptied by way of a spare one.
func TestCyclesAreBroken(t *testing.T) {
	parked, joined := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n, each := rapid.IntRange(2, 6).Draw(t, "brokers"), rapid.IntRange(1, 4).Draw(t, "each")
		dirs := rapid.Bool().Draw(t, "dirs")
		b := model.NewBuilder("cycle")
		sizes := make([]int64, each)
		var full int64
		for k := range sizes {
			sizes[k] = rapid.Int64Range(1, 1000).Draw(t, "size")
			full += sizes[k]
		}
		place := func(i int) plan.Replica { return plan.Replica{Broker: int32(i)} }
		if dirs { // one broker with a directory for each, otherwise brokers
			br := model.Broker{ID: 0}
			for i := range n + 1 {
				br.Dirs = append(br.Dirs, model.LogDir{Path: fmt.Sprint("/d", i), Volume: int32(i), Capacity: full})
			}
			b.Broker(br, "")
			place = func(i int) plan.Replica { return plan.Replica{Broker: 0, Dir: fmt.Sprint("/d", i)} }
			joined++
		} else {
			for i := range n + 1 {
				b.Broker(model.Broker{ID: int32(i), Capacity: model.Vector{model.Disk: full}}, "")
			}
		}
		var changes []plan.Change
		for i := range n {
			for k, size := range sizes {
				topic := fmt.Sprint("t", i, k)
				b.Topic(model.Topic{Name: topic, ReplicationFactor: 1}, "")
				from, to := place(i), place((i+1)%n)
				r := model.ReplicaSpec{Broker: from.Broker, Dir: model.None, Size: size}
				if dirs {
					r.Dir = int32(i)
				}
				b.Partition(topic, model.PartitionSpec{Leader: from.Broker, Replicas: []model.ReplicaSpec{r}})
				changes = append(changes, plan.Change{Topic: topic, From: []plan.Replica{from}, To: []plan.Replica{to}, OldLeader: from.Broker, NewLeader: to.Broker})
			}
		}
		c, problems := b.Build()
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		o := Options{DiskReserve: -1}
		s, err := Make(c, changes, o)
		if err != nil || len(s.Refusals) > 0 {
			t.Fatalf("%v %+v", err, s.Refusals)
		}
		for _, f := range []func(*replay){func(r *replay) { r.byBatch(rand.New(rand.NewPCG(1, 2))) }, (*replay).byTime, func(r *replay) { r.asStream(rand.New(rand.NewPCG(1, 2))) }} {
			r := newReplay(c, s, o)
			f(r)
			if r.finished(changes); r.fault != nil {
				t.Fatal(r.fault)
			}
		}
		for _, x := range s.Steps {
			if x.Temporary {
				parked++
			}
		}
	})
	t.Logf("%d replicas parked, %d cases within a broker", parked, joined)
}

// No meter ever carries more than its rate, and all are free at the end.
func TestStreamKeepsRates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, changes, o := scenario(t)
		if err := o.defaults(); err != nil {
			t.Fatal(err)
		}
		parts, _ := compile(c, changes, &o, &Schedule{})
		r := newRun(c, &o, parts)
		for r.batches() {
			r = newRun(c, &o, r.alive())
		}
		(&Schedule{}).write(c, changes, r)
		s := r.newStream(o.Throttle, o.DirThrottle)
		for k := range int32(len(r.records)) {
			s.attempt(k)
		}
		for len(s.running) > 0 {
			for i := range s.m.list {
				if m := &s.m.list[i]; m.taken > m.rate || m.taken < 0 {
					t.Fatalf("at %d ms meter %d carries %d of %d bytes/s", s.now, i, m.taken, m.rate)
				}
			}
			s.next()
		}
		for i := range s.m.list {
			if m := &s.m.list[i]; m.taken != 0 || m.active != 0 || m.waiting != 0 {
				t.Fatalf("meter %d is not free at the end: %+v", i, *m)
			}
		}
	})
}
