package migration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// cluster builds brokers with log directories "id rack dir=capacity …", all on
// volumes of their own.
func cluster(t testing.TB, fill func(*model.Builder), list ...string) *model.Cluster {
	t.Helper()
	b := model.NewBuilder("test")
	for _, s := range list {
		f := strings.Fields(s)
		br := model.Broker{Rack: f[1]}
		fmt.Sscan(f[0], &br.ID)
		for k := range br.Capacity {
			br.Capacity[k] = model.Unlimited
		}
		for i, d := range f[2:] {
			path, size, _ := strings.Cut(d, "=")
			dir := model.LogDir{Path: path, Volume: int32(i)}
			fmt.Sscan(size, &dir.Capacity)
			br.Dirs = append(br.Dirs, dir)
		}
		b.Broker(br, "")
	}
	fill(b)
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// add adds a topic of one partition, replicas as broker, dir pairs.
func add(b *model.Builder, topic string, size, in int64, at ...int32) {
	b.Topic(model.Topic{Name: topic, ReplicationFactor: int32(len(at) / 2)}, "")
	p := model.PartitionSpec{Leader: at[0]}
	for i := 0; i < len(at); i += 2 {
		p.Replicas = append(p.Replicas, model.ReplicaSpec{Broker: at[i], Dir: at[i+1], Size: size, In: in})
	}
	b.Partition(topic, p)
}

// moveTo makes the change of a topic's partition 0.
func moveTo(c *model.Cluster, topic string, to ...plan.Replica) plan.Change {
	p, _ := c.PartitionIndex(topic, 0)
	ch := plan.Change{Topic: topic, To: to, NewLeader: to[0].Broker, OldLeader: model.None}
	for s := c.Off[p]; s < c.Off[p+1]; s++ {
		b := &c.Brokers[c.Broker[s]]
		x := plan.Replica{Broker: b.ID}
		if c.Dir[s] != model.None {
			x.Dir = b.Dirs[c.Dir[s]].Path
		}
		if s == c.Leader[p] {
			ch.OldLeader = b.ID
		}
		ch.From = append(ch.From, x)
	}
	return ch
}

func rep(broker int32, dir string) plan.Replica { return plan.Replica{Broker: broker, Dir: dir} }

// must makes a schedule and replays it in all ways.
func must(t *testing.T, c *model.Cluster, o Options, changes ...plan.Change) *Schedule {
	t.Helper()
	s, err := Make(c, changes, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []func(*replay){func(r *replay) { r.byBatch(rand.New(rand.NewPCG(1, 2))) }, (*replay).byTime, func(r *replay) { r.asStream(rand.New(rand.NewPCG(1, 2))) }} {
		r := newReplay(c, s, o)
		f(r)
		if r.finished(changes); r.fault != nil {
			t.Fatal(r.fault)
		}
	}
	return s
}

// brief is a schedule in a few words per step.
func brief(s *Schedule) (out []string) {
	for _, x := range s.Steps {
		out = append(out, fmt.Sprint(x.Topic, " ", x.Kind, " ", x.To))
	}
	return out
}

// The case of two kinds of move on one partition that hung for ever.
func TestBrokerAndDirMovesAreKeptApart(t *testing.T) {
	c := cluster(t, func(b *model.Builder) { add(b, "t", 100, 0, 3, 0, 1, 0) }, "1 a /d1=10000 /d2=10000", "2 b /d1=10000 /d2=10000", "3 c /d1=10000 /d2=10000")
	ch := moveTo(c, "t", rep(3, "/d2"), rep(2, "/d2"))
	s := must(t, c, Options{}, ch)
	if d := cmp.Diff([]string{"t move [{3 /d1} {2 /d2}]", "t dir [{3 /d2} {2 /d2}]"}, brief(s)); d != "" {
		t.Error(d)
	}
	if len(s.Batches) != 2 || s.Steps[1].Start < s.Steps[0].End {
		t.Errorf("%d batches, the second step starts at %d, the first ends at %d", len(s.Batches), s.Steps[1].Start, s.Steps[0].End)
	}
	doc := plan.ToKafka(s.Changes(0))
	if got := doc.Partitions[0]; !slices.Equal(got.Replicas, []int32{3, 2}) || !slices.Equal(got.LogDirs, []string{"any", "/d2"}) {
		t.Errorf("the first batch for Kafka: %+v", got)
	}
	doc = plan.ToKafka(s.Changes(1))
	if got := doc.Partitions[0]; !slices.Equal(got.Replicas, []int32{3, 2}) || !slices.Equal(got.LogDirs, []string{"/d2", "any"}) {
		t.Errorf("the second batch for Kafka: %+v", got)
	}
	if s = must(t, c, Options{JoinDirMoves: true}, ch); len(s.Steps) != 1 {
		t.Errorf("joined: %v", brief(s))
	}
}

func TestOneReplicaAtATime(t *testing.T) {
	c := cluster(t, func(b *model.Builder) {
		add(b, "t", 100, 0, 1, 0, 2, 0, 3, 0)
		add(b, "u", 100, 0, 1, 0)
		add(b, "v", 100, 0, 1, 0, 2, 0, 3, 0)
		add(b, "w", 100, 0, 1, 0, 2, 0)
	}, "1 a /d=100000", "2 b /d=100000", "3 c /d=100000", "4 b /d=100000", "5 a /d=100000")
	s := must(t, c, Options{}, moveTo(c, "t", rep(4, ""), rep(5, ""), rep(3, "")), moveTo(c, "u", rep(1, ""), rep(4, ""), rep(3, "")),
		moveTo(c, "v", rep(2, "")), moveTo(c, "w", rep(2, ""), rep(1, "")))
	var got []string
	for _, topic := range []string{"t", "u", "v", "w"} {
		for _, x := range s.Steps {
			if x.Topic == topic {
				got = append(got, fmt.Sprint(topic, " ", x.Kind, " ", ids(x.To)))
			}
		}
	}
	// t: 4 takes the place of 2, which is in its rack, before 5 that of leader 1.
	want := []string{"t move [1 4 3]", "t move [4 5 3]", "u move [1 4]", "u move [1 4 3]", "v drop [2]", "w order [2 1]", "w elect [2 1]"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// C-35 a: 1.5 GiB fit on no disk with 1 GiB free, whatever the sum.
func TestNoDiskHasRoom(t *testing.T) {
	const mib = 1 << 20
	disks := "1 a /d1=1024 /d2=1024 /d3=4096"
	scale := func(c *model.Cluster) *model.Cluster {
		for i := range c.Brokers[0].Dirs {
			c.Brokers[0].Dirs[i].Capacity *= mib
		}
		return c
	}
	c := scale(cluster(t, func(b *model.Builder) { add(b, "big", 1536*mib, 0, 1, 2) }, disks))
	s := must(t, c, Options{DiskReserve: -1}, moveTo(c, "big", rep(1, "/d1")))
	if len(s.Steps) != 0 || len(s.Refusals) != 1 || s.Refusals[0].Reason != "disk" {
		t.Fatalf("steps %v, refusals %+v", brief(s), s.Refusals)
	}
	want := []plan.Rejection{{Broker: 1, Reason: "disk /d1", Need: 1536 * mib, Free: 1024 * mib}}
	if d := cmp.Diff(want, s.Refusals[0].Rejected); d != "" {
		t.Error(d)
	}
	// The same bytes in small partitions go, and the reserve holds all the time.
	var changes []plan.Change
	c = scale(cluster(t, func(b *model.Builder) {
		for i := range 12 {
			add(b, fmt.Sprint("small", i), 128*mib, 0, 1, 2)
		}
	}, disks))
	for i := range 12 {
		changes = append(changes, moveTo(c, fmt.Sprint("small", i), rep(1, fmt.Sprint("/d", 1+i%2))))
	}
	if s = must(t, c, Options{DiskReserve: .2}, changes...); len(s.Refusals) != 0 || len(s.Steps) != 12 {
		t.Errorf("%d steps, refusals %+v", len(s.Steps), s.Refusals)
	}
}

// Two full brokers swap: only a third makes it possible.
func TestCycleIsBroken(t *testing.T) {
	fill := func(b *model.Builder) {
		add(b, "x", 900, 0, 1, 0)
		add(b, "y", 900, 0, 2, 0)
	}
	c := cluster(t, fill, "1 a /d=1000", "2 b /d=1000", "3 c /d=1000")
	changes := []plan.Change{moveTo(c, "x", rep(2, "/d")), moveTo(c, "y", rep(1, "/d"))}
	s := must(t, c, Options{}, changes...)
	if d := cmp.Diff([]string{"x move [{3 /d}]", "y move [{1 /d}]", "x move [{2 /d}]"}, brief(s)); d != "" {
		t.Error(d)
	}
	if !s.Steps[0].Temporary || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "900 bytes more") {
		t.Errorf("temporary %t, warnings %v", s.Steps[0].Temporary, s.Warnings)
	}
	for _, o := range []Options{{NoTemporary: true}, {Exclude: map[int32]bool{3: true}}} {
		s = must(t, c, o, changes...)
		if len(s.Steps) != 0 || len(s.Refusals) != 2 || !strings.Contains(s.Refusals[0].Detail, "y-0") {
			t.Errorf("%+v: %v %+v", o, brief(s), s.Refusals)
		}
	}
	// Two directories of one broker, with a third.
	c = cluster(t, func(b *model.Builder) {
		add(b, "x", 900, 0, 1, 0)
		add(b, "y", 900, 0, 1, 1)
	}, "1 a /d1=1000 /d2=1000 /d3=1000")
	s = must(t, c, Options{}, moveTo(c, "x", rep(1, "/d2")), moveTo(c, "y", rep(1, "/d1")))
	if d := cmp.Diff([]string{"x dir [{1 /d3}]", "y dir [{1 /d1}]", "x dir [{1 /d2}]"}, brief(s)); d != "" {
		t.Error(d)
	}
}

// Parking can change who leads on the way; the end is as asked.
func TestParkingKeepsTheWantedLeader(t *testing.T) {
	c := cluster(t, func(b *model.Builder) {
		b.Topic(model.Topic{Name: "x", ReplicationFactor: 2}, "")
		b.Partition("x", model.PartitionSpec{Leader: 1, Replicas: []model.ReplicaSpec{{Broker: 2, Size: 900}, {Broker: 1, Size: 900}}})
		add(b, "y", 900, 0, 3, 0)
	}, "1 a /d=1000", "2 b /d=1000", "3 c /d=1000", "5 d /d=1000")
	s := must(t, c, Options{}, moveTo(c, "x", rep(3, "/d"), rep(2, "/d")), moveTo(c, "y", rep(1, "/d")))
	want := []string{"x move [{2 /d} {5 /d}]", "y move [{1 /d}]", "x move [{3 /d} {2 /d}]", "x elect [{3 /d} {2 /d}]"}
	if d := cmp.Diff(want, brief(s)); d != "" {
		t.Error(d)
	}
}

// C-31, C-32 and stale changes: nothing is scheduled, and each is named.
func TestBadChanges(t *testing.T) {
	c := cluster(t, func(b *model.Builder) {
		add(b, "t", 1, 0, 1, 0, 2, 0)
		add(b, "u", 1, 0, 1, 0)
	}, "1 a /d=1000", "2 b /d=1000", "3 c /d=1000")
	good := moveTo(c, "u", rep(3, ""))
	stale := moveTo(c, "t", rep(3, ""))
	stale.From = stale.From[:1]
	for _, tc := range []struct {
		ch   plan.Change
		want string
	}{
		{moveTo(c, "t", rep(3, ""), rep(3, "")), "t-0: has broker 3 twice"},
		{moveTo(c, "t", rep(3, ""), rep(9, "")), "t-0: goes to broker 9, which does not exist"},
		{moveTo(c, "t", rep(3, "/x")), "no such log dir"},
		{stale, "plan anew"},
		{plan.Change{Topic: "z", From: []plan.Replica{{Broker: 1}}, To: []plan.Replica{{Broker: 2}}}, "z-0: does not exist"},
		{plan.Change{Topic: "z", To: []plan.Replica{{Broker: 2}}}, "z-0: is to be created"},
		{moveTo(c, "u", rep(2, "")), "u-0: is changed twice"},
		{plan.Change{Topic: "t", From: moveTo(c, "t", rep(1, "")).From}, "ends without replicas"},
	} {
		s, err := Make(c, []plan.Change{good, tc.ch}, Options{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q; schedule %+v", err, tc.want, s)
		}
	}
	c.Brokers[2].Dead = true
	if s, err := Make(c, []plan.Change{good}, Options{}); err != nil || len(s.Steps) != 0 || len(s.Refusals) != 1 || !strings.Contains(s.Refusals[0].Detail, "broker 3 is dead") {
		t.Errorf("%v %+v", err, s)
	}
}

func TestSmallMovesDoNotWaitForBigOnes(t *testing.T) {
	c := cluster(t, func(b *model.Builder) {
		add(b, "big", 1_000_000_000_000, 0, 1, 0)
		for i := range 20 {
			add(b, fmt.Sprintf("small%02d", i), 1_000_000, 0, 3, 0)
		}
	}, "1 a /d=10000000000000", "2 b /d=10000000000000", "3 c /d=10000000000000", "4 d /d=10000000000000")
	changes := []plan.Change{moveTo(c, "big", rep(2, ""))}
	for i := range 20 {
		changes = append(changes, moveTo(c, fmt.Sprintf("small%02d", i), rep(4, "")))
	}
	s := must(t, c, Options{}, changes...)
	if s.Steps[0].Topic != "big" || s.Batches[0].Count != 1 {
		t.Errorf("the best change is not the first batch: %v", brief(s)[0])
	}
	for _, x := range s.Steps[1:] {
		if x.End > s.Steps[0].End/100 {
			t.Errorf("%s ends at %d ms, the big one at %d", x.Topic, x.End, s.Steps[0].End)
		}
	}
	if s = must(t, c, Options{SmallFirst: true}, changes...); s.Steps[20].Topic != "big" {
		t.Errorf("small first: the last is %s", s.Steps[20].Topic)
	}
}

func TestEstimate(t *testing.T) {
	c := cluster(t, func(b *model.Builder) {
		add(b, "t", 100_000_000, 0, 1, 0)
		add(b, "u", 100_000_000, 5_000_000, 1, 0)
	}, "1 a /d=10000000000", "2 b /d=10000000000")
	o := Options{Bandwidth: 100_000_000, DiskBandwidth: 1_000_000_000}
	one := moveTo(c, "t", rep(2, ""))
	s := must(t, c, o, one)
	// Broker 1 takes in 5 MB/s, nothing goes to or from 2: 100 MB at 100 MB/s.
	if s.Unthrottled.Millis != 1000 || s.Steps[0].End != 1000 || s.Batches[0].Millis != 1000 {
		t.Errorf("%+v, step ends at %d", s.Unthrottled, s.Steps[0].End)
	}
	o.Throttle = 10_000_000
	if s = must(t, c, o, one); s.Throttled.Millis != 10_000 || s.Steps[0].End != 10_000 || s.Unthrottled.Millis != 1000 {
		t.Errorf("throttled %+v, without %+v", s.Throttled, s.Unthrottled)
	}
	// 100 MB, 5 MB/s more all the time, at 10 MB/s: 20 s.
	busy := moveTo(c, "u", rep(2, ""))
	if s = must(t, c, o, busy); s.Throttled.Millis != 20_000 || s.Throttled.BatchedMillis != 20_000 || s.Throttled.Endless != 0 {
		t.Errorf("%+v", s.Throttled)
	}
	if s.Throttle.Least != 6_000_000 || s.Throttle.BytesPerSecond < s.Throttle.Least || s.Throttle.BytesPerSecond > 100_000_000 || !s.Throttle.Enough {
		t.Errorf("%+v", s.Throttle)
	}
	// Below what is written it never ends, and that is said.
	o.Throttle = 4_000_000
	if s = must(t, c, o, busy); s.Throttled.Endless != 1 || !slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, "u-0") && strings.Contains(w, "6.0 MB/s") }) {
		t.Errorf("%+v %v", s.Throttled, s.Warnings)
	}
	// A budget is split, but not below what copies need.
	o.Throttle, o.Budget = 0, 20_000_000
	if s = must(t, c, o, one, busy); s.Throttle.BytesPerSecond != 20_000_000 || s.Throttle.Movers != 2 {
		t.Errorf("%+v", s.Throttle)
	}
	o.Budget = 1_000_000
	if s = must(t, c, o, one, busy); s.Throttle.BytesPerSecond != 6_000_000 || s.Throttle.Note == "" {
		t.Errorf("%+v", s.Throttle)
	}
	o.Budget, o.Bandwidth = 0, 5_100_000
	if s = must(t, c, o, busy); s.Throttle.Enough || s.Throttle.BytesPerSecond > 5_100_000 || s.Throttle.Note == "" {
		t.Errorf("%+v", s.Throttle)
	}
}
