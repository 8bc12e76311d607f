package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kafka-steward/kafka-steward/planner/check"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// brokers builds a cluster of brokers "id rack" without partitions.
func brokers(t testing.TB, with func(*model.Builder), list ...string) *model.Cluster {
	t.Helper()
	b := model.NewBuilder("test")
	for _, s := range list {
		var br model.Broker
		if _, err := fmt.Sscan(s, &br.ID, &br.Rack); err != nil {
			t.Fatal(err)
		}
		br.Dead = strings.HasSuffix(s, "dead")
		for k := range br.Capacity {
			br.Capacity[k] = model.Unlimited
		}
		b.Broker(br, "")
	}
	if with != nil {
		with(b)
	}
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// counts is how often each broker stands at each position of a topic, existing
// partitions included.
func counts(c *model.Cluster, changes []plan.Change, topic string, rf int) [][]int {
	n := make([][]int, rf)
	for k := range n {
		n[k] = make([]int, len(c.Brokers))
	}
	if t, ok := findTopic(c, topic); ok {
		from, to := partitionsOf(c, t)
		for p := from; p < to; p++ {
			for s := c.Off[p]; s < c.Off[p+1] && int(s-c.Off[p]) < rf; s++ {
				n[s-c.Off[p]][c.Broker[s]]++
			}
		}
	}
	for _, ch := range changes {
		for k, r := range ch.To {
			b, _ := c.BrokerIndex(r.Broker)
			n[k][b]++
		}
	}
	return n
}

// within is the difference between the most and the least of counts on brokers
// that may be used.
func within(n []int, use []bool) int {
	least, most := 1<<30, -1
	for b, v := range n {
		if use[b] {
			least, most = min(least, v), max(most, v)
		}
	}
	return most - least
}

// fairRacks tells whether racks of these sizes can all get their even share.
func fairRacks(sc *scope, rf int) bool {
	lo, hi := sc.rackBounds(rf)
	for r, m := range sc.members {
		if len(m)*rf > hi[r]*len(sc.ring) || len(m)*rf < lo[r]*len(sc.ring) {
			return false
		}
	}
	return true
}

func mustCheck(t interface{ Fatalf(string, ...any) }, c *model.Cluster, p *plan.Plan, r check.Rules) {
	r.Band = figureBand
	if problems := check.Plan(c, p, r); len(problems) > 0 {
		t.Fatalf("the checker found:\n%v\nin %+v", problems, p.Changes)
	}
}

func TestPlaceIsEvenOnRacks(t *testing.T) {
	c := brokers(t, nil, "1 a", "2 a", "3 b", "4 b", "5 c", "6 c")
	for partitions := 1; partitions <= 40; partitions++ {
		for rf := 1; rf <= 6; rf++ {
			p, err := Place(c, Request{Topic: "t", Partitions: partitions, ReplicationFactor: rf})
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Changes) != partitions {
				t.Fatalf("%d partitions × %d: %d changes, refusals %+v", partitions, rf, len(p.Changes), p.Refusals)
			}
			mustCheck(t, c, p, check.Rules{Racks: check.RacksSpread})
			all := []bool{true, true, true, true, true, true}
			for k, n := range counts(c, p.Changes, "t", rf) {
				if within(n, all) > 1 {
					t.Errorf("%d partitions × %d: position %d lies %v", partitions, rf, k, n)
				}
			}
		}
	}
}

// A broker's partitions are followed by many brokers, not always by the same.
func TestPlaceSpreadsFollowers(t *testing.T) {
	var list []string
	for i := range 12 {
		list = append(list, fmt.Sprintf("%d r%d", i, i%3))
	}
	c := brokers(t, nil, list...)
	p, err := Place(c, Request{Topic: "t", Partitions: 96, ReplicationFactor: 3})
	if err != nil {
		t.Fatal(err)
	}
	behind := map[int32]map[int32]bool{}
	for _, ch := range p.Changes {
		if behind[ch.NewLeader] == nil {
			behind[ch.NewLeader] = map[int32]bool{}
		}
		behind[ch.NewLeader][ch.To[1].Broker] = true
	}
	for id, m := range behind {
		if len(m) < 7 {
			t.Errorf("broker %d leads 8 partitions with only %d different first followers", id, len(m))
		}
	}
}

func TestPlaceRemainderGoesToTheColdest(t *testing.T) {
	c := brokers(t, func(b *model.Builder) {
		b.Topic(model.Topic{Name: "old", ReplicationFactor: 1}, "")
		for i, out := range []int64{50, 10, 40, 20, 30} {
			b.Partition("old", model.PartitionSpec{
				ID: int32(i), Leader: int32(i + 1), Out: out,
				Replicas: []model.ReplicaSpec{{Broker: int32(i + 1), Dir: model.None, In: 1, Size: 1}},
			})
		}
	}, "1 a", "2 b", "3 c", "4 a", "5 b")
	p, err := Place(c, Request{Topic: "new", Partitions: 7, ReplicationFactor: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := counts(c, p.Changes, "new", 2)[0], []int{1, 2, 1, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("leaders by broker %v, want %v: two more than a lap go to brokers 2 and 4", got, want)
	}
	if p.Changes[0].NewLeader != 2 {
		t.Errorf("partition 0 starts on broker %d, the coldest is 2", p.Changes[0].NewLeader)
	}
}

// C-29: more replicas than racks.
func TestPlaceMoreReplicasThanRacks(t *testing.T) {
	c := brokers(t, nil, "1 A", "3 A", "5 A", "7 A", "2 B", "4 B", "6 B", "8 B")
	for _, tc := range []struct {
		c       *model.Cluster
		a, b    int
		warning string
	}{
		{c, 2, 2, "losing A takes 2 of 4"},
		{brokers(t, nil, "1 A", "3 A", "5 A", "7 A", "2 B", "4 B dead", "6 B dead", "8 B dead"), 3, 1, "losing A takes 3 of 4"},
	} {
		req := Request{Topic: "t", Partitions: 9, ReplicationFactor: 4}
		p, err := Place(tc.c, req)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Changes) != 9 {
			t.Fatalf("refused: %+v", p.Refusals)
		}
		for _, ch := range p.Changes {
			n := map[string]int{}
			for _, r := range ch.To {
				b, _ := tc.c.BrokerIndex(r.Broker)
				n[tc.c.Brokers[b].Rack]++
			}
			if n["A"] != tc.a || n["B"] != tc.b {
				t.Errorf("partition %d on %v lies %v over racks", ch.Partition, ch.To, n)
			}
		}
		if !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, tc.warning) && strings.Contains(w, "topic t") }) {
			t.Errorf("warnings %q do not say %q", p.Warnings, tc.warning)
		}
		req.Strict = true
		if p, err = Place(tc.c, req); err != nil || len(p.Changes) != 0 || len(p.Refusals) != 9 || p.Refusals[0].Reason != "rack" {
			t.Errorf("strict: %v, %d changes, refusals %+v", err, len(p.Changes), p.Refusals)
		}
	}
}

// C-32: dead and excluded brokers are no candidates and are named.
func TestPlaceRefusesMoreReplicasThanLiveBrokers(t *testing.T) {
	c := brokers(t, nil, "1 a", "2 b", "3 c", "4 d dead")
	p, err := Place(c, Request{Topic: "t", Partitions: 2, ReplicationFactor: 3, Options: Options{Exclude: map[int32]bool{3: true}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []plan.Rejection{{Broker: 3, Reason: "excluded"}, {Broker: 4, Reason: "dead"}}
	if len(p.Changes) != 0 || len(p.Refusals) != 2 || p.Refusals[0].Reason != "brokers" {
		t.Fatalf("%d changes, refusals %+v", len(p.Changes), p.Refusals)
	}
	if d := cmp.Diff(want, p.Refusals[1].Rejected); d != "" {
		t.Error(d)
	}
}

// withDisks gives brokers 1 to n a disk of a capacity each.
func withDisks(t testing.TB, capacity ...int64) *model.Cluster {
	b := model.NewBuilder("test")
	for i, v := range capacity {
		br := model.Broker{ID: int32(i + 1), Rack: fmt.Sprint("r", i)}
		for k := range br.Capacity {
			br.Capacity[k] = model.Unlimited
		}
		br.Capacity[model.Disk] = v
		b.Broker(br, "")
	}
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// C-34: no room is a refusal with need and free, never fewer replicas.
func TestPlaceRefusesWithoutRoom(t *testing.T) {
	c := withDisks(t, 1000, 1000, 60)
	p, err := Place(c, Request{Topic: "t", Partitions: 1, ReplicationFactor: 3, Load: Load{Bytes: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Changes) != 0 || len(p.Refusals) != 1 || p.Refusals[0].Reason != "disk" {
		t.Fatalf("%d changes, refusals %+v", len(p.Changes), p.Refusals)
	}
	if want := []plan.Rejection{{Broker: 3, Reason: "disk", Need: 100, Free: 48}}; cmp.Diff(want, p.Refusals[0].Rejected) != "" {
		t.Error(cmp.Diff(want, p.Refusals[0].Rejected))
	}
	// With two replicas it fits, and the small broker gets none.
	if p, _ = Place(c, Request{Topic: "t", Partitions: 1, ReplicationFactor: 2, Load: Load{Bytes: 100}}); len(p.Changes) != 1 {
		t.Fatalf("refused: %+v", p.Refusals)
	}
}

func TestPlaceChoosesLogDirs(t *testing.T) {
	b := model.NewBuilder("test")
	// d1 and d2 are one file system of 1000 bytes, d3 is another.
	br := model.Broker{ID: 1, Dirs: []model.LogDir{
		{Path: "/d1", Capacity: 1000, Volume: 1}, {Path: "/d2", Capacity: 1000, Volume: 1}, {Path: "/d3", Capacity: 1000, Volume: 2}, {Path: "/d4", Capacity: 1 << 40, Volume: 3, Offline: true},
	}}
	for k := range br.Capacity {
		br.Capacity[k] = model.Unlimited
	}
	b.Broker(br, "")
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	place := func(n int, bytes int64) map[string]int {
		p, err := Place(c, Request{Topic: "t", Partitions: n, ReplicationFactor: 1, Load: Load{Bytes: bytes * int64(n)}})
		if err != nil {
			t.Fatal(err)
		}
		dirs := map[string]int{}
		for _, ch := range p.Changes {
			dirs[ch.To[0].Dir]++
		}
		return dirs
	}
	got := place(8, 200)
	if got["/d3"] != 4 || got["/d1"]+got["/d2"] != 4 {
		t.Errorf("8 × 200 bytes lie %v: each volume has room for 4", got)
	}
	if got = place(9, 200); len(got) != 0 {
		t.Errorf("9 × 200 bytes lie %v: the volume of d1 and d2 was counted twice", got)
	}
	if got = place(60, 0); got["/d3"] < 20 || got["/d4"] > 0 {
		t.Errorf("60 partitions of unknown size lie %v", got)
	}
}

func TestPlaceWeighted(t *testing.T) {
	c := withDisks(t, 1000, 1000, 2000, 2000)
	p, err := Place(c, Request{Topic: "t", Partitions: 60, ReplicationFactor: 2, Options: Options{Weighted: true}})
	if err != nil {
		t.Fatal(err)
	}
	for k, n := range counts(c, p.Changes, "t", 2) {
		if want := []int{10, 10, 20, 20}; !slices.Equal(n, want) {
			t.Errorf("position %d: %v, want %v", k, n, want)
		}
	}
}

func TestBadRequests(t *testing.T) {
	c := brokers(t, func(b *model.Builder) { b.Topic(model.Topic{Name: "old"}, "") }, "1 a")
	for _, r := range []Request{
		{Partitions: 1, ReplicationFactor: 1},
		{Topic: "old", Partitions: 1, ReplicationFactor: 1},
		{Topic: "t", ReplicationFactor: 1},
		{Topic: "t", Partitions: 1},
		{Topic: "t", Partitions: 1, ReplicationFactor: 1, Group: "none"},
	} {
		if p, err := Place(c, r); err == nil {
			t.Errorf("%+v was planned: %+v", r, p)
		}
	}
	for _, topic := range []string{"unknown", "old"} {
		if _, err := AddPartitions(c, topic, 1, Options{}); err == nil {
			t.Errorf("partitions were added to %s, which has none", topic)
		}
	}
}

// scenario is a drawn cluster with a request for it.
func drawRequest(t *rapid.T, c *model.Cluster) Request {
	r := Request{Topic: "new", Partitions: rapid.IntRange(1, 60).Draw(t, "partitions"), ReplicationFactor: rapid.IntRange(1, 5).Draw(t, "rf")}
	if len(c.Groups) > 0 && rapid.Bool().Draw(t, "grouped") {
		r.Group = rapid.SampledFrom(c.Groups).Draw(t, "group")
	}
	if rapid.Bool().Draw(t, "exclude") {
		r.Exclude = map[int32]bool{c.Brokers[rapid.IntRange(0, len(c.Brokers)-1).Draw(t, "excluded")].ID: true}
	}
	return r
}

func TestPlaceProperties(t *testing.T) {
	opts := modeltest.Options{MaxBrokers: 12, Dead: true, Moving: true, Dirs: true, Offline: true, Groups: true}
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(opts).Draw(t, "cluster")
		req := drawRequest(t, c)
		p, err := Place(c, req)
		if err != nil {
			t.Fatal(err)
		}
		if len(req.Exclude) == 0 { // the checker knows no brokers that keep what they have
			mustCheck(t, c, p, check.Rules{Group: req.Group, Racks: check.RacksSpread, RF: map[string]int{"new": req.ReplicationFactor}})
		}
		again, err := Place(modeltest.Shuffled(c, rapid.Uint64().Draw(t, "seed")), req)
		if d := cmp.Diff(p, again); err != nil || d != "" {
			t.Fatalf("another order of the same parts gives another plan: %v %s", err, d)
		}
		group, _ := groupIndex(c, req.Group)
		sc := newScope(c, &req.Options, group)
		if len(p.Refusals) > 0 {
			if len(sc.ring) >= req.ReplicationFactor {
				t.Fatalf("refused although %d brokers are there and nothing bounds: %+v", len(sc.ring), p.Refusals[0])
			}
			return
		}
		checkEven(t, c, sc, p, req)
	})
}

func checkEven(t *rapid.T, c *model.Cluster, sc *scope, p *plan.Plan, req Request) {
	use := make([]bool, len(c.Brokers))
	for _, b := range sc.ring {
		use[b] = true
	}
	if len(p.Changes) != req.Partitions {
		t.Fatalf("%d of %d partitions", len(p.Changes), req.Partitions)
	}
	lo, hi := sc.rackBounds(req.ReplicationFactor)
	for _, ch := range p.Changes {
		n := make([]int, len(hi))
		for _, r := range ch.To {
			b, _ := c.BrokerIndex(r.Broker)
			if !use[b] {
				t.Fatalf("partition %d is on broker %d, which may not be used", ch.Partition, r.Broker)
			}
			n[sc.rack[sc.pos[b]]]++
		}
		for r := range n {
			if n[r] > hi[r] || n[r] < lo[r] {
				t.Fatalf("partition %d on %v: %d copies in rack %s, %d to %d are as wide as racks allow", ch.Partition, ch.To, n[r], sc.names[r], lo[r], hi[r])
			}
		}
	}
	for k, n := range counts(c, p.Changes, "new", req.ReplicationFactor) {
		if k > 0 && !fairRacks(sc, req.ReplicationFactor) {
			break
		}
		if within(n, use) > 1 {
			t.Fatalf("position %d lies %v on %d racks", k, n, len(hi))
		}
	}
}
