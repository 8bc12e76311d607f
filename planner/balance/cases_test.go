package balance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

const gib = 1 << 30

func warned(p *plan.Plan, parts ...string) bool {
	return slices.ContainsFunc(p.Warnings, func(w string) bool {
		for _, part := range parts {
			if !strings.Contains(w, part) {
				return false
			}
		}
		return true
	})
}

// A move in flight adds a replica; its partition is known by its target, never
// re-planned, and a fourth replica left behind by a cancelled move is told of
// and left alone.
func TestCaseMovingPartitions(t *testing.T) {
	s := simple{
		brokers: []model.Broker{broker(1, "a"), broker(2, "b"), broker(3, "c"), broker(4, "d")},
		parts:   map[string][][]int32{"t": {{2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}}},
		size:    map[string]int64{"t": gib}, in: map[string]int64{"t": 1000}, out: map[string]int64{"t": 3000},
		rf:   3,
		edit: func(_ string, p *model.PartitionSpec) { p.Moving = p.ID == 0 },
	}
	c := s.build(t)
	o := balance.Defaults()
	p := must(t)(balance.Rebalance(c, o))
	judge(t, c, p, o, asked{})
	if p.Empty() {
		t.Fatal("nothing is planned: the case shows nothing")
	}
	for _, ch := range p.Changes {
		if ch.Partition < 2 {
			t.Errorf("t-%d is changed: %+v", ch.Partition, ch)
		}
		if len(ch.To) != 3 {
			t.Errorf("t-%d gets %d replicas", ch.Partition, len(ch.To))
		}
	}
	if !warned(p, "1 partitions are being reassigned") || !warned(p, "t-1 has 4 replicas, its topic 3") {
		t.Errorf("warnings: %q", p.Warnings)
	}
	d := must(t)(balance.Decommission(c, []int32{4}, o))
	judge(t, c, d, o, asked{drain: []int32{4}})
	if r := refused(d, "t", 0); r == nil || r.Reason != "moving" {
		t.Errorf("the moving partition is not refused as such: %+v", d.Refusals)
	}
}

// More copies than racks: as wide as the racks allow, said so, strict refuses.
func TestCaseMoreCopiesThanRacks(t *testing.T) {
	build := func(alive func(id int32) bool, replicas [][]int32) *model.Cluster {
		s := simple{parts: map[string][][]int32{"orders": replicas, "small": {{1, 3}}}, size: map[string]int64{"orders": gib}, in: map[string]int64{"orders": 1000}}
		for id := range int32(8) {
			b := broker(id+1, []string{"A", "B"}[id%2])
			b.Dead = !alive(id + 1)
			s.brokers = append(s.brokers, b)
		}
		return s.build(t)
	}
	all := build(func(int32) bool { return true }, [][]int32{{1, 3, 5, 7}, {2, 4, 6, 8}, {1, 2, 3, 5}, {8, 6, 7, 4}, {1, 2, 3, 4}, {5, 6, 7, 8}})
	few := build(func(id int32) bool { return id%2 == 1 || id == 2 }, [][]int32{{1, 3, 5, 7}, {3, 5, 7, 1}, {2, 1, 3, 5}, {7, 5, 3, 1}})
	for _, x := range []struct {
		c    *model.Cluster
		most int
	}{{all, 2}, {few, 3}} {
		o := balance.Defaults()
		p := must(t)(balance.Rebalance(x.c, o))
		judge(t, x.c, p, o, asked{})
		after := apply(t, x.c, p.Changes)
		for q := range after.Topic {
			want := x.most
			if after.RF(q) == 2 {
				want = 1
			}
			if n := mostInRack(after, q); n != want {
				t.Errorf("%s has %d copies in one rack, want %d: %v", after.PartitionName(q), n, want, lists(after)[after.PartitionName(q)])
			}
		}
		if !warned(p, "orders", "2 live racks", fmt.Sprintf("losing a rack takes up to %d copies", x.most)) || warned(p, "small") {
			t.Errorf("warnings: %q", p.Warnings)
		}
		if p.Summary.RackViolationsAfter != 0 || p.Summary.RackViolationsBefore == 0 {
			t.Errorf("rack violations %d → %d", p.Summary.RackViolationsBefore, p.Summary.RackViolationsAfter)
		}
		for range 3 {
			sameBytes(t, "planned again", p, must(t)(balance.Rebalance(x.c, o)))
		}
		o.StrictRacks = true
		for name, f := range map[string]func() error{
			"rebalance":    func() error { _, err := balance.Rebalance(x.c, o); return err },
			"decommission": func() error { _, err := balance.Decommission(x.c, []int32{1}, o); return err },
			"expand":       func() error { _, err := balance.Expand(x.c, []int32{1}, o); return err },
		} {
			if err := f(); err == nil || !strings.Contains(err.Error(), "orders") || strings.Contains(err.Error(), "small") {
				t.Errorf("strict %s: %v, want an error that names orders only", name, err)
			}
		}
	}
}

// The same broker must not come twice into a list, at no step and in no
// operation, even if it is the only candidate left.
func TestCaseDuplicateBroker(t *testing.T) {
	s := simple{
		brokers: []model.Broker{broker(11, "a"), broker(13, "a"), broker(17, "b"), broker(19, "b")},
		parts: map[string][][]int32{
			"t":    {{13, 17, 19}, {13, 17, 19}, {13, 17, 19}, {13, 17, 19}, {13, 17, 19}, {13, 17, 19}, {13, 17, 19}},
			"solo": {{13}, {13}, {13}},
		},
		size: map[string]int64{"t": 100, "solo": 100}, in: map[string]int64{"t": 10, "solo": 10},
	}
	c := s.build(t)
	o := balance.Defaults()
	p := must(t)(balance.Decommission(c, []int32{19}, o))
	judge(t, c, p, o, asked{drain: []int32{19}})
	if len(p.Changes) != 7 || len(p.Refusals) != 0 {
		t.Errorf("%d changes, refusals %+v", len(p.Changes), p.Refusals)
	}
	for name, list := range lists(apply(t, c, p.Changes)) {
		slices.Sort(list)
		if strings.HasPrefix(name, "t-") && !slices.Equal(list, []int32{11, 13, 17}) {
			t.Errorf("%s ends on %v", name, list)
		}
	}
	// Two gone: two brokers are left for three copies.
	p = must(t)(balance.Decommission(c, []int32{19, 11}, o))
	judge(t, c, p, o, asked{drain: []int32{19, 11}})
	if len(p.Refusals) != 7 || len(p.Changes) != 0 {
		t.Errorf("%d changes, %d refusals, want none and one for each partition of t", len(p.Changes), len(p.Refusals))
	}
	// A sick broker with topics of one copy: each goes somewhere, once.
	p = must(t)(balance.Decommission(c, []int32{13}, o))
	judge(t, c, p, o, asked{drain: []int32{13}})
}

// A dead broker is never a target, whoever asks; an unknown one is an error.
func TestCaseDeadBroker(t *testing.T) {
	s := simple{
		brokers: []model.Broker{broker(1, "a"), broker(2, "b"), broker(3, "c"), broker(4, "d")},
		parts:   map[string][][]int32{"t": {{3, 4}, {3, 1}, {3, 1}, {3, 1}, {3, 1}, {1, 3}, {1, 3}}},
		size:    map[string]int64{"t": gib}, in: map[string]int64{"t": 1000}, out: map[string]int64{"t": 3000},
	}
	s.brokers[3].Dead = true
	c := s.build(t)
	o := balance.Defaults()
	p := must(t)(balance.Rebalance(c, o))
	judge(t, c, p, o, asked{})
	if p.Empty() || !warned(p, "broker 4 is dead") {
		t.Errorf("%d changes, warnings %q", len(p.Changes), p.Warnings)
	}
	for _, ch := range p.Changes {
		if ch.Partition == 0 {
			t.Errorf("t-0 has a copy on a dead broker that nobody gave up, and changes: %+v", ch)
		}
	}
	for _, f := range []func() error{
		func() error { _, err := balance.Expand(c, []int32{4}, o); return err },
		func() error { _, err := balance.Replace(c, []balance.Pair{{Old: 3, New: 4}}, o); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "4") || !strings.Contains(err.Error(), "dead") {
			t.Errorf("dead broker 4 as a target: %v", err)
		}
	}
	for _, f := range []func() error{
		func() error { _, err := balance.Expand(c, []int32{9}, o); return err },
		func() error { _, err := balance.Decommission(c, []int32{1, 9}, o); return err },
		func() error { _, err := balance.Replace(c, []balance.Pair{{Old: 1, New: 9}}, o); return err },
		func() error {
			o := o
			o.Cordon = map[int32]bool{9: true}
			_, err := balance.Rebalance(c, o)
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "broker 9") {
			t.Errorf("unknown broker 9: %v", err)
		}
	}
	// The dead one given up: its copy goes to a live broker, led by a live one.
	d := must(t)(balance.Decommission(c, []int32{4}, o))
	judge(t, c, d, o, asked{drain: []int32{4}})
	if len(d.Changes) != 1 || d.Changes[0].Partition != 0 || len(d.Refusals) != 0 {
		t.Errorf("changes %+v, refusals %+v", d.Changes, d.Refusals)
	}
	// Another one while 4 is dead: t-0 cannot leave 3, for its list would have
	// the dead broker in it.
	d = must(t)(balance.Decommission(c, []int32{3}, o))
	judge(t, c, d, o, asked{drain: []int32{3}})
	if r := refused(d, "t", 0); r == nil || r.Reason != "brokers" {
		t.Errorf("refusals %+v", d.Refusals)
	}
	d = must(t)(balance.Decommission(c, []int32{3, 4}, o))
	judge(t, c, d, o, asked{drain: []int32{3, 4}})
	if len(d.Refusals) != 0 {
		t.Errorf("both given up: %+v", d.Refusals)
	}
}

// A leader that metadata still puts on a dead broker.
func TestLeaderOnDeadBroker(t *testing.T) {
	s := simple{
		brokers: []model.Broker{broker(1, "a"), broker(2, "b"), broker(3, "c"), broker(4, "a")},
		parts:   map[string][][]int32{"t": {{1, 2}, {1, 3}, {1}, {2, 3}}},
		size:    map[string]int64{"t": 100}, in: map[string]int64{"t": 10}, out: map[string]int64{"t": 20}, rf: 2,
		edit: func(_ string, p *model.PartitionSpec) {},
	}
	s.brokers[0].Dead = true
	c := s.build(t)
	o := balance.Defaults()
	p := must(t)(balance.Rebalance(c, o))
	judge(t, c, p, o, asked{})
	d := must(t)(balance.Decommission(c, []int32{1}, o))
	judge(t, c, d, o, asked{drain: []int32{1}})
	if len(d.Refusals) > 0 || len(d.Changes) != 3 {
		t.Errorf("changes %+v, refusals %+v", d.Changes, d.Refusals)
	}
	for _, ch := range d.Changes {
		if ch.Partition < 2 && ch.NewLeader != ch.From[1].Broker {
			t.Errorf("t-%d is led by %d: a live copy is there to lead, a new one has to be copied from it first", ch.Partition, ch.NewLeader)
		}
	}
}

// No room: the partition is refused with need and free per broker, nothing of
// it moves, the rest is planned.
func TestCaseNoRoom(t *testing.T) {
	const gb = 1_000_000_000
	s := simple{parts: map[string][][]int32{
		"t": {{10, 15, 11}, {10, 15, 11}, {11, 16, 17}, {10, 15, 11}},
	}, size: map[string]int64{"t": gb}, edit: func(_ string, p *model.PartitionSpec) {
		for i := range p.Replicas {
			if p.ID == 3 {
				p.Replicas[i].Size = 100 * gb
			}
		}
	}}
	o := balance.Defaults()
	o.CapacityShare[model.Disk] = 1
	for _, id := range []int32{10, 11, 15} {
		s.brokers = append(s.brokers, model.Broker{ID: id, Rack: "r", Capacity: disk(1000 * gb)})
	}
	// Besides t-2, of 1 GB.
	s.brokers = append(s.brokers, model.Broker{ID: 16, Rack: "r", Capacity: disk(61 * gb)}, model.Broker{ID: 17, Rack: "r", Capacity: disk(501 * gb)})
	c := s.build(t)
	p := must(t)(balance.Decommission(c, []int32{10, 15}, o))
	judge(t, c, p, o, asked{drain: []int32{10, 15}})
	for _, ch := range p.Changes {
		if ch.Partition == 3 {
			t.Errorf("t-3 is planned: %+v", ch)
		}
		if len(ch.To) != 3 {
			t.Errorf("t-%d gets %d replicas", ch.Partition, len(ch.To))
		}
	}
	if len(p.Changes) != 2 {
		t.Errorf("%d changes, want those of t-0 and t-1", len(p.Changes))
	}
	r := refused(p, "t", 3)
	if r == nil || r.Reason != "disk" || len(p.Refusals) != 1 {
		t.Fatalf("refusals %+v", p.Refusals)
	}
	byBroker := map[int32]plan.Rejection{}
	for _, x := range r.Rejected {
		byBroker[x.Broker] = x
	}
	if x := byBroker[16]; x.Reason != "disk" || x.Need != 100*gb || x.Free != 60*gb {
		t.Errorf("broker 16: %+v, want disk, need 100 GB, free 60 GB", x)
	}
	for _, id := range []int32{10, 11, 15, 17} {
		if id != 10 && id != 15 && byBroker[id].Reason == "" {
			t.Errorf("nothing is said about broker %d: %+v", id, r.Rejected)
		}
	}
}

func dirsOf(capacity ...int64) (out []model.LogDir) {
	for i, c := range capacity {
		out = append(out, model.LogDir{Path: fmt.Sprintf("/d%d", i+1), Capacity: c, Volume: int32(i)})
	}
	return out
}

// What fits in sum fits on no single disk.
func TestCaseNoSingleDisk(t *testing.T) {
	build := func(parts int, size int64, shared bool) *model.Cluster {
		to := model.Broker{ID: 2, Rack: "r", Capacity: disk(2 * gib), Dirs: dirsOf(gib, gib)}
		if shared { // one file system of 2 GiB, seen twice
			to.Dirs[1].Volume = 0
			to.Dirs[0].Capacity, to.Dirs[1].Capacity = 2*gib, 2*gib
		}
		s := simple{brokers: []model.Broker{{ID: 1, Rack: "r", Capacity: disk(10 * gib)}, to}, parts: map[string][][]int32{"t": {}}, size: map[string]int64{"t": size}}
		for range parts {
			s.parts["t"] = append(s.parts["t"], []int32{1})
		}
		return s.build(t)
	}
	o := balance.Defaults()
	o.DirShare, o.CapacityShare[model.Disk] = 1, 1
	for _, x := range []struct {
		name   string
		c      *model.Cluster
		placed int
	}{
		{"one of 1.5 GiB on two disks of 1 GiB", build(1, 3*gib/2, false), 0},
		{"six of 0.25 GiB on two disks of 1 GiB", build(6, gib/4, false), 6},
		{"three of 0.6 GiB on two disks of 1 GiB", build(3, 6*gib/10, false), 2},
		{"one of 1.5 GiB on a volume of 2 GiB with two directories", build(1, 3*gib/2, true), 1},
		{"two of 1.5 GiB on a volume of 2 GiB with two directories", build(2, 3*gib/2, true), 1},
		{"eight of 0.25 GiB on it", build(8, gib/4, true), 8},
		{"nine of 0.25 GiB on it", build(9, gib/4, true), 8},
	} {
		p := must(t)(balance.Decommission(x.c, []int32{1}, o))
		judge(t, x.c, p, o, asked{drain: []int32{1}})
		prefixes(t, x.c, p, o, asked{drain: []int32{1}})
		emptied(t, x.c, apply(t, x.c, p.Changes), p, []int32{1})
		if len(p.Changes) != x.placed || len(p.Refusals) != x.c.NumPartitions()-x.placed {
			t.Errorf("%s: %d placed, %d refused, want %d placed: %+v", x.name, len(p.Changes), len(p.Refusals), x.placed, p.Refusals)
		}
		for _, r := range p.Refusals {
			if r.Reason != "disk" || len(r.Rejected) != 1 || r.Rejected[0].Need <= r.Rejected[0].Free || r.Rejected[0].Need != x.c.Size[0] {
				t.Errorf("%s: refusal %+v", x.name, r)
			}
		}
		for _, ch := range p.Changes {
			if ch.To[0].Dir == "" {
				t.Errorf("%s: the broker may choose the directory: %+v", x.name, ch)
			}
		}
	}
}
