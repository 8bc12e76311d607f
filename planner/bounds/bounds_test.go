package bounds

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// cluster makes brokers 1 to n in racks a, b, … and one topic t of which each
// list of brokers is a partition, led by its first; every copy writes in, sends
// out and holds size.
func cluster(t testing.TB, racks string, in, out, size int64, lists ...[]int32) *model.Cluster {
	t.Helper()
	b := model.NewBuilder("test")
	for i, r := range racks {
		br := model.Broker{ID: int32(i + 1), Rack: string(r), Dirs: []model.LogDir{{Path: "/a", Capacity: model.Unlimited}, {Path: "/b", Volume: 1, Capacity: model.Unlimited}}}
		for k := range br.Capacity {
			br.Capacity[k] = model.Unlimited
		}
		b.Broker(br, "")
	}
	b.Topic(model.Topic{Name: "t", ReplicationFactor: int32(len(lists[0]))}, "")
	for i, l := range lists {
		p := model.PartitionSpec{ID: int32(i), Leader: l[0], Out: out}
		for _, x := range l {
			p.Replicas = append(p.Replicas, model.ReplicaSpec{Broker: x, Dir: 0, In: in, Size: size})
		}
		b.Partition("t", p)
	}
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

func TestWorstNamesWhatBinds(t *testing.T) {
	even := cluster(t, "ab", 10, 10, 10, []int32{1, 2}, []int32{2, 1})
	hot := cluster(t, "abcd", 10, 10, 10, []int32{1}, []int32{2}, []int32{3}, []int32{4})
	hot.InRate[2], hot.OutRate[2] = 90, 90
	// Racks a, a, b: every partition has a copy on broker 3, which should have a
	// third of the replicas and cannot have less than half.
	racks := cluster(t, "aab", 10, 10, 10, []int32{1, 3}, []int32{2, 3}, []int32{3, 2}, []int32{3, 1})
	tests := []struct {
		name string
		c    *model.Cluster
		k    model.Resource
		o    Options
		want Bound
	}{
		{"total", even, model.In, Options{}, Bound{1, Total, ""}},
		{"no load", even, model.CPU, Options{}, Bound{}},
		{"hot replica", hot, model.In, Options{}, Bound{3, Item, "t-2"}},
		{"hot leader", hot, model.Out, Options{}, Bound{3, Item, "t-2"}},
		{"rack of one broker", racks, model.Disk, Options{}, Bound{1.5, Rack, "rack b"}},
		{"rack of one broker, replicas", racks, model.Replicas, Options{}, Bound{1.5, Rack, "rack b"}},
		{"racks may stay", racks, model.Disk, Options{RacksStay: true}, Bound{1, Total, ""}},
		{"leaders know no racks", racks, model.Leaders, Options{}, Bound{1, Total, ""}},
		{"one broker left", hot, model.In, Options{Drain: map[int32]bool{1: true, 2: true, 3: true}}, Bound{1, Total, ""}},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			got := Worst(x.c, x.k, x.o)
			got.Share = math.Round(got.Share*1e9) / 1e9
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Error(diff)
			}
			if m := MaxLoad(x.c, x.k, x.o); math.Abs(m-x.want.Share) > 1e-9 {
				t.Errorf("MaxLoad is %g", m)
			}
		})
	}
}

func TestBytesCountsEachReason(t *testing.T) {
	drain := Options{Drain: map[int32]bool{1: true}}
	skew := cluster(t, "ab", 10, 10, 100, []int32{1}, []int32{1}, []int32{1}, []int32{1})
	if got := Bytes(skew, 0.5, Options{}); got != 100 {
		t.Errorf("broker 1 has twice its share and may have 1.5: the bound is %d, not 100", got)
	}
	if got := Bytes(skew, 1, Options{}); got != 0 {
		t.Errorf("inside the band the bound is %d", got)
	}
	if got := Bytes(skew, 1, drain); got != 400 {
		t.Errorf("to empty broker 1 takes 400 bytes, the bound is %d", got)
	}
	// The same traffic lies in fewer bytes: those are what has to move.
	skew.Size[0] = 1
	if got := Bytes(skew, 0.5, Options{}); got < 1 || got > 101 {
		t.Errorf("with a small busy copy the bound is %d", got)
	}
	racks := cluster(t, "aabb", 10, 10, 100, []int32{1, 2}, []int32{3, 4}, []int32{1, 3})
	if got := Bytes(racks, 10, Options{}); got != 200 {
		t.Errorf("two partitions have to leave a rack with a copy each: the bound is %d, not 200", got)
	}
	if got := Bytes(racks, 10, Options{RacksStay: true}); got != 0 {
		t.Errorf("racks may stay as they are, the bound is %d", got)
	}
	if got := Bytes(skew, math.Inf(1), Options{Drain: map[int32]bool{2: true}}); got != 0 {
		t.Errorf("no evenness is asked for and broker 2 is empty, the bound is %d", got)
	}
	racks.Size[1] = 7
	if got := Bytes(racks, 10, Options{}); got != 107 {
		t.Errorf("the smaller copy can go: the bound is %d, not 107", got)
	}
}

// Brokers of a group that lack load can get it from topics that may lie anywhere.
func TestBytesLooksAtTopicsWithoutAGroup(t *testing.T) {
	b := model.NewBuilder("test")
	for i := range int32(3) {
		br := model.Broker{ID: i, Rack: "a"}
		for k := range br.Capacity {
			br.Capacity[k] = model.Unlimited
		}
		b.Broker(br, "g")
	}
	// Broker 2 has nothing; it can have a busy copy of one byte from broker 0.
	for topic, group := range map[string]string{"free": "", "bound": "g"} {
		b.Topic(model.Topic{Name: topic, ReplicationFactor: 1}, group)
	}
	add := func(topic string, id, broker int32, in, size int64) {
		b.Partition(topic, model.PartitionSpec{ID: id, Leader: broker, Replicas: []model.ReplicaSpec{{Broker: broker, Dir: model.None, In: in, Size: size}}})
	}
	add("free", 0, 0, 100, 1)
	add("bound", 0, 0, 100, 600)
	add("bound", 1, 1, 100, 600)
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	// Looked at by itself: In, of which broker 2 needs its share less 5 %.
	f := newFrame(c, Options{})
	need := &bytesNeed{frame: f, band: 0.05, in: f.shares(model.In, false), disk: make([]float64, 3), inLoad: f.brokerLoads(model.In), diskLoad: make([]int64, 3)}
	need.items = need.cheapest()
	if got := need.into(); got != 0 {
		t.Errorf("95 bytes/s can come with less than a byte, the bound is %d", got)
	}
}

func TestLeaderCountsOfALopsidedCluster(t *testing.T) {
	// Brokers 1 and 2 share six partitions, broker 3 has one of its own.
	c := cluster(t, "abc", 1, 1, 1, []int32{1, 2}, []int32{1, 2}, []int32{1, 2}, []int32{1, 2}, []int32{1, 2}, []int32{1, 2}, []int32{3, 1})
	got := LeaderCounts(c, Options{}, nil)
	if got.Max != 3 || got.Min != 1 || got.Moves != 3 {
		t.Errorf("got %+v", got)
	}
	got = LeaderCounts(c, Options{}, map[int32]bool{2: true})
	if got.Max != 6 || got.Min != 1 || got.Moves != 0 {
		t.Errorf("without broker 2: got %+v", got)
	}
	got = LeaderCounts(c, Options{Drain: map[int32]bool{1: true, 2: true, 3: true}}, nil)
	if got.Max != 0 || got.Leader[0] != model.None {
		t.Errorf("without brokers: got %+v", got)
	}
}

func TestTimeIsThatOfTheBusiest(t *testing.T) {
	c := cluster(t, "abcd", 1, 1, 100, []int32{1, 2}, []int32{2, 1}, []int32{1, 3})
	c.Size[0] = 60
	on := func(dir string, brokers ...int32) []plan.Replica {
		var out []plan.Replica
		for _, b := range brokers {
			out = append(out, plan.Replica{Broker: b, Dir: dir})
		}
		return out
	}
	changes := []plan.Change{
		{Topic: "t", Partition: 0, From: on("/a", 1, 2), To: on("/b", 4, 2)},    // 60 bytes from 1 to 4, 100 within 2
		{Topic: "t", Partition: 1, From: on("/a", 2, 1), To: on("/a", 2, 4)},    // 100 from 2 to 4
		{Topic: "t", Partition: 2, From: on("/a", 1, 3), To: on("/a", 1, 3, 2)}, // 100 from 1 to 2
	}
	tests := []struct {
		budget Budget
		want   Duration
	}{
		{Budget{}, Duration{}},
		{Budget{Receive: 10}, Duration{16, "broker 4 receives", 160}},
		{Budget{Send: 10}, Duration{16, "broker 1 sends", 160}},
		{Budget{WriteDir: 10}, Duration{10, "broker 2 writes to /a", 100}},
		{Budget{Receive: 10, Send: 1}, Duration{160, "broker 1 sends", 160}},
	}
	for _, x := range tests {
		got, err := Time(c, changes, func(int32) Budget { return x.budget })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(x.want, got); diff != "" {
			t.Errorf("%+v: %s", x.budget, diff)
		}
	}
	for _, bad := range []plan.Change{
		{Topic: "t", Partition: 9, From: on("", 1), To: on("", 2)},
		{Topic: "u", Partition: 0, From: on("", 1), To: on("", 2)},
		{Topic: "t", Partition: 0, From: on("", 1, 2), To: on("", 1, 9)},
	} {
		if _, err := Time(c, []plan.Change{bad}, func(int32) Budget { return Budget{} }); err == nil {
			t.Errorf("%s-%d to %v is no error", bad.Topic, bad.Partition, bad.To)
		}
	}
}

func BenchmarkBounds(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		c := model.Generate(model.GenerateDefaults(1, max(10, n/1000), 4, n))
		b.Run(fmt.Sprint("bytes/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Bytes(c, 0.05, Options{})
			}
		})
		b.Run(fmt.Sprint("maxload/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for k := range model.NumResources {
					MaxLoad(c, k, Options{})
				}
			}
		})
		b.Run(fmt.Sprint("leaders/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				LeaderCounts(c, Options{}, nil)
			}
		})
	}
}
