package check

import (
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

func TestAGoodPlanPasses(t *testing.T) {
	f := newFixture(t)
	for _, p := range Plan(f.c, f.p, f.r) {
		t.Error(p)
	}
	if x := f.p.Summary.Resources[model.Replicas]; x.Before.Max != 1.5 || x.After.Max != 1 || x.After.InBand != 1 {
		t.Errorf("the plan does not do what the test wants: %+v", x)
	}
}

// judge compares what Plan says with the wanted parts of messages: each has to
// occur, and nothing else may.
func judge(t *testing.T, f *fixture, want ...string) {
	t.Helper()
	problems := Plan(f.c, f.p, f.r)
	for _, w := range want {
		found := false
		for _, p := range problems {
			found = found || strings.Contains(p.Error(), w)
		}
		if !found {
			t.Errorf("nothing says %q; there is: %v", w, problems)
		}
	}
	for _, p := range problems {
		wanted := false
		for _, w := range want {
			wanted = wanted || strings.Contains(p.Error(), w)
		}
		if !wanted {
			t.Errorf("not wanted: %v", p)
		}
	}
}

// mutation breaks one rule of an otherwise good plan.
type mutation struct {
	name   string
	mutate func(f *fixture)
	// asIs leaves the figures as the good plan has them; else they are made to
	// fit what was changed.
	asIs bool
	want []string
}

func run(t *testing.T, list []mutation) {
	for _, m := range list {
		t.Run(m.name, func(t *testing.T) {
			f := newFixture(t)
			m.mutate(f)
			if !m.asIs {
				f.fill()
			}
			f.p.SnapshotHash = strings.Replace(f.p.SnapshotHash, newFixture(t).p.SnapshotHash, f.c.Hash(), 1)
			judge(t, f, m.want...)
		})
	}
}

func TestFit(t *testing.T) {
	run(t, []mutation{
		{"another cluster", func(f *fixture) { f.p.Cluster = "prod" }, false, []string{`plan: was made for cluster "prod", not for "test"`}},
		{"another snapshot", func(f *fixture) { f.p.SnapshotHash = "0815" }, false, []string{"plan: was made on snapshot 0815, the cluster is at "}},
		{"no such topic", func(f *fixture) { f.p.Changes[0].Topic = "x" }, true, []string{"x-0: does not exist in the cluster"}},
		{"no such partition", func(f *fixture) { f.p.Changes[0].Partition = 9 }, true, []string{"t-9: does not exist in the cluster"}},
		{"twice", func(f *fixture) { f.p.Changes = append(f.p.Changes, f.p.Changes[0]) }, true, []string{"t-0: is changed twice"}},
		{"other replicas", func(f *fixture) { f.p.Changes[0].From = at(2, "", 3, "") }, true, []string{"t-0: has replicas [1 3], the plan expects [2 3]: the cluster has changed"}},
		{"other order", func(f *fixture) { f.p.Changes[0].From = at(3, "", 1, "") }, true, []string{"t-0: has replicas [1 3], the plan expects [3 1]"}},
		{"fewer replicas", func(f *fixture) { f.p.Changes[0].From = at(1, "") }, true, []string{"t-0: has replicas [1 3], the plan expects [1]"}},
		{"other log dir", func(f *fixture) { f.p.Changes[0].From[0].Dir = "/b" }, true, []string{"t-0: lies in log dir /a of broker 1, the plan expects /b"}},
		{"other leader", func(f *fixture) { f.p.Changes[0].OldLeader = 3 }, true, []string{"t-0: is led by broker 1, the plan expects 3"}},
		{"no such broker", func(f *fixture) { f.p.Changes[0].To[1].Broker = 9 }, true, []string{"t-0: goes to broker 9, which does not exist"}},
		{"no such log dir", func(f *fixture) { f.p.Changes[0].To[0].Dir = "/c" }, true, []string{"t-0: goes to log dir /c of broker 6, which has no such log dir"}},
		{"no replicas", func(f *fixture) { f.p.Changes[0].To = nil }, true, []string{"t-0: ends without replicas"}},
		{"led by a stranger", func(f *fixture) { f.p.Changes[0].NewLeader = 4 }, true, []string{"t-0: is to be led by broker 4, which is not among its replicas [6 1]"}},
		{"created", func(f *fixture) { f.p.Changes[0].From = nil }, true, []string{"t-0: is to be created but exists"}},
		{"refuses a stranger", func(f *fixture) { f.p.Refusals = []plan.Refusal{{Topic: "t", Partition: 44, Reason: "disk"}} }, false, []string{"t-44: is refused (disk) but does not exist"}},
	})
}

func TestRulesAboutChanges(t *testing.T) {
	run(t, []mutation{
		{"excluded topic", func(f *fixture) { f.r.Exclude = map[string]bool{"t": true} }, false, []string{
			"t-0: is changed although topic t is excluded", "t-1: is changed although topic t is excluded", "t-2: is changed although topic t is excluded",
		}},
		{"do-not-move list", func(f *fixture) { f.r.Keep = map[TopicPartition]bool{{"t", 2}: true} }, false, []string{"t-2: is changed although it is on the do-not-move list"}},
		{"pinned", func(f *fixture) { f.r.Pin = map[TopicPartition]bool{{"t", 2}: true} }, false, []string{"t-2: moves from [3 1] to [3 6] although its replicas have to stay"}},
		{"pinned log dir", func(f *fixture) { f.r.Pin = map[TopicPartition]bool{{"t", 1}: true} }, false, []string{"t-1: moves from [2 4] to [2 4] although"}},
		{"pinned but led by another", func(f *fixture) {
			f.r.Pin = map[TopicPartition]bool{{"t", 4}: true}
			f.r.Objective = func(*model.Cluster) float64 { return 0 }
			f.p.Changes = append(f.p.Changes, f.change(4, at(5, "/b", 1, "/a")))
		}, false, nil},
		{"moving", func(f *fixture) { f.c.Moving[0] = true }, false, []string{"t-0: is changed although a reassignment of it is in flight"}},
		{"nothing changes", func(f *fixture) { f.p.Changes = append(f.p.Changes, f.change(3, at(4, "/a", 2, "/b"))) }, false, []string{"t-3: is listed as a change but nothing of it changes"}},
		{"same broker twice", func(f *fixture) { f.p.Changes[0].To = at(6, "/a", 6, "/b") }, false, []string{"t-0: has broker 6 twice in [6 6]"}},
		{"dead broker", func(f *fixture) { f.c.Brokers[5].Dead = true }, false, []string{
			"t-0: has dead broker 6 among its replicas [6 1]", "t-2: has dead broker 6", "plan: makes a hard goal worse: replicas on brokers that are dead or must end empty 0 before, 2 after",
		}},
		{"cordoned broker", func(f *fixture) { f.r.Cordon = map[int32]bool{6: true} }, false, []string{
			"t-0: goes to broker 6, which may not receive replicas", "t-2: goes to broker 6, which may not",
		}},
		{"offline log dir", func(f *fixture) { f.c.Brokers[5].Dirs[1].Offline = true }, false, []string{"t-2: goes to log dir /b of broker 6, which is offline"}},
		{"offline log dir on the same broker", func(f *fixture) { f.c.Brokers[1].Dirs[1].Offline = true }, false, []string{"t-1: goes to log dir /b of broker 2, which is offline"}},
		{"leader is not first", func(f *fixture) { f.p.Changes[0].NewLeader = 1 }, false, []string{"t-0: is to be led by broker 1, its first replica is on 6"}},
		{"may not lead", func(f *fixture) { f.r.NoLead = map[int32]bool{6: true} }, false, []string{"t-0: is to be led by broker 6, which may not lead"}},
		{"fewer replicas", func(f *fixture) { f.p.Changes[0].To = f.p.Changes[0].To[:1] }, false, []string{"t-0: ends with 1 replicas [6], wanted are 2"}},
		{"more replicas", func(f *fixture) { f.p.Changes[0].To = at(6, "/a", 1, "/a", 3, "/b") }, false, []string{"t-0: ends with 3 replicas [6 1 3], wanted are 2"}},
		{"fewer than asked", func(f *fixture) { f.p.Operation, f.r.RF = plan.ChangeRF, map[string]int{"t": 3} }, false, []string{
			"t-0: ends with 2 replicas [6 1], wanted are 3", "t-1: ends with 2", "t-2: ends with 2",
		}},
		{"as many as asked", func(f *fixture) {
			f.p.Operation, f.r.RF = plan.ChangeRF, map[string]int{"t": 3}
			f.p.Changes = []plan.Change{f.change(0, at(1, "/a", 3, "/b", 6, "/a"))}
		}, false, nil},
		{"wrong bytes", func(f *fixture) { f.p.Changes[0].Bytes++ }, true, []string{"t-0: says that it copies 102 bytes between brokers, it copies 101"}},
		{"wrong log dir bytes", func(f *fixture) { f.p.Changes[2].DirBytes-- }, true, []string{"t-1: says that it copies 100 bytes between log dirs, it copies 101"}},
		{"budget of bytes", func(f *fixture) { f.r.MaxBytes = 200 }, false, []string{"plan: copies 204 bytes, more than the 200 allowed"}},
		{"budget of moves", func(f *fixture) { f.r.MaxMoves = 1 }, false, []string{"plan: moves 2 replicas, more than the 1 allowed"}},
	})
}

func TestRacks(t *testing.T) {
	into := func(to []plan.Replica) func(f *fixture) {
		return func(f *fixture) {
			f.p.Changes = []plan.Change{f.change(0, to)}
			f.r.Objective = func(*model.Cluster) float64 { return 0 }
		}
	}
	one := func(f *fixture) { // all in one rack already
		f.c.RackOf[2] = 0
		f.c.Brokers[2].Rack = "a"
		into(at(1, "/a", 2, "/a"))(f)
	}
	strict := func(r RackRule, then func(f *fixture)) func(f *fixture) {
		return func(f *fixture) { then(f); f.r.Racks = r }
	}
	two := func(f *fixture) { // only racks a and b live, three copies wanted
		f.p.Operation, f.r.RF = plan.ChangeRF, map[string]int{"t": 3}
		f.c.Brokers[4].Dead, f.c.Brokers[5].Dead = true, true
		f.p.Changes = []plan.Change{f.change(1, at(2, "/a", 4, "/b", 3, "/b"))}
	}
	run(t, []mutation{
		{"worse", into(at(1, "/a", 2, "/a")), false, []string{
			"t-0: has 2 copies in one rack with replicas on [1 2], before it had 1 at most and the racks allow to have 1",
			"plan: makes a hard goal worse: partitions with too many copies in a rack 0 before, 1 after",
		}},
		{"no worse", one, false, nil},
		{"no better", strict(RacksSpread, one), false, []string{"t-0: has 2 copies in one rack with replicas on [1 2], the racks allow to have 1 at most"}},
		{"two racks for three", two, false, nil},
		{"two racks for three, spread", strict(RacksSpread, two), false, nil},
		{"two racks for three, strict", strict(RacksDistinct, two), false, []string{"t-1: has 2 copies in one rack with replicas on [2 4 3], distinct racks are asked for"}},
	})
}

func TestCapacity(t *testing.T) {
	still := func(*model.Cluster) float64 { return 0 }
	run(t, []mutation{
		{"broker", func(f *fixture) { f.c.Brokers[5].Capacity[model.Disk] = 200; f.r.Objective = still }, false, []string{
			"broker 6: carries 204 of disk after the plan, above its limit of 160 and the 0 before",
		}},
		{"broker that leads", func(f *fixture) { f.c.Brokers[5].Capacity[model.Out] = 20; f.r.Objective = still }, false, []string{
			"broker 6: carries 20 of out after the plan, above its limit of 16 and the 0 before",
		}},
		{"above before and not more", func(f *fixture) { f.c.Brokers[0].Capacity[model.Disk] = 150; f.r.Objective = still }, false, nil},
		{"volume", func(f *fixture) { f.c.Brokers[5].Dirs[1].Capacity = 110 }, false, []string{
			"broker 6, volume of /b,: carries 103 of disk after the plan, above its limit of 99",
		}},
		{"two dirs on one volume", func(f *fixture) {
			f.c.Brokers[5].Dirs[1].Volume = 0
			f.c.Brokers[5].Dirs[0].Capacity, f.c.Brokers[5].Dirs[1].Capacity = 200, 200
		}, false, []string{"broker 6, volume of /a,: carries 204 of disk after the plan, above its limit of 180"}},
		{"two dirs on two volumes", func(f *fixture) {
			f.c.Brokers[5].Dirs[0].Capacity, f.c.Brokers[5].Dirs[1].Capacity = 200, 200
		}, false, nil},
		{"within a volume, both copies", func(f *fixture) {
			f.c.Brokers[1].Dirs[1].Volume = 0
			f.c.Brokers[1].Dirs[0].Capacity, f.c.Brokers[1].Dirs[1].Capacity = 300, 300
		}, false, []string{"t-1: does not fit when it arrives: the volume of /a on broker 2, with both copies, would carry 306, above its limit of 300"}},
		{"on no single log dir", func(f *fixture) {
			f.c.Brokers[5].Dirs[0].Capacity, f.c.Brokers[5].Dirs[1].Capacity = 100, 110
			f.p.Changes[1].To[1].Dir, f.p.Changes[0].To[0].Dir = "", ""
		}, false, []string{
			"t-0: does not fit when it arrives: even the emptiest log dir of broker 6 would carry 101, above its limit of 99",
			"t-2: does not fit when it arrives: even the emptiest log dir of broker 6 would carry 103, above its limit of 99",
		}},
		{"log dir by choice of the broker", func(f *fixture) { f.p.Changes[1].To[1].Dir = "" }, false, nil},
		{"order", func(f *fixture) {
			// Broker 1 may hold what it holds now; it gets a copy of t-5 before it
			// gives those of t-0 and t-2 away.
			f.c.Brokers[0].Capacity[model.Replicas] = 3
			f.r.CapacityShare[model.Replicas] = 1
			f.r.Objective = still
			f.p.Changes = []plan.Change{f.change(5, at(5, "/a", 1, "/b")), f.change(2, at(3, "/a", 6, "/b"))}
		}, false, []string{"t-5: is change 1: after it broker 1 carries 4 of replicas, above its limit of 3 and the 3 before: the order is wrong"}},
		{"order the other way round", func(f *fixture) {
			f.c.Brokers[0].Capacity[model.Replicas] = 3
			f.r.CapacityShare[model.Replicas] = 1
			f.r.Objective = still
			f.p.Changes = []plan.Change{f.change(2, at(3, "/a", 6, "/b")), f.change(5, at(5, "/a", 1, "/b"))}
		}, false, nil},
	})
}

func TestOperations(t *testing.T) {
	drain := func(f *fixture) { f.r.Drain, f.p.Operation = map[int32]bool{6: true}, plan.Decommission }
	drain5 := func(f *fixture) {
		f.r.Drain, f.p.Operation = map[int32]bool{5: true}, plan.Decommission
		f.p.Changes = []plan.Change{f.change(4, at(1, "/a", 6, "/a")), f.change(5, at(6, "/a", 3, "/b"))}
	}
	run(t, []mutation{
		{"onto a broker to be emptied", drain, false, []string{
			"t-0: has broker 6, which must end empty, among its replicas [6 1]", "t-2: has broker 6, which must", "t-0: is to be led by broker 6, which must end empty",
			"t-0: stays on broker 6, which must end empty, and the plan does not say why", "t-2: stays on broker 6", "hard goal worse: replicas on brokers",
		}},
		{"emptied", drain5, false, nil},
		{"not emptied", func(f *fixture) { drain5(f); f.p.Changes = f.p.Changes[1:] }, false, []string{"t-4: stays on broker 5, which must end empty, and the plan does not say why"}},
		{"not emptied, with a reason", func(f *fixture) {
			drain5(f)
			f.p.Changes = f.p.Changes[1:]
			f.p.Refusals = []plan.Refusal{{Topic: "t", Partition: 4, Reason: "moving"}}
		}, false, nil},
		{"refused and led by another", func(f *fixture) {
			drain5(f)
			f.p.Changes = []plan.Change{f.change(4, at(1, "/a", 6, "/a")), f.change(5, at(3, "/b", 5, "/a"))}
			f.p.Refusals = []plan.Refusal{{Topic: "t", Partition: 5, Reason: "disk"}}
		}, false, nil},
		{"expansion", func(f *fixture) { f.p.Operation, f.r.New = plan.Expand, map[int32]bool{6: true} }, false, nil},
		{"expansion among old brokers", func(f *fixture) {
			f.p.Operation, f.r.New = plan.Expand, map[int32]bool{6: true}
			f.p.Changes = append(f.p.Changes, f.change(5, at(5, "/a", 2, "/a")))
			f.r.Objective = func(*model.Cluster) float64 { return 0 }
		}, false, []string{"t-5: moves to broker 2, which is not new: an expansion moves nothing between old brokers"}},
		{"objective", func(f *fixture) { f.p.Changes = append(f.p.Changes[:0], f.change(3, at(4, "/a", 1, "/b"))) }, false, []string{"plan: makes the objective worse: "}},
		{"objective of the caller's", func(f *fixture) { f.r.Objective = func(c *model.Cluster) float64 { return float64(c.Broker[0]) } }, false, []string{"plan: makes the objective worse: 0 before, 5 after"}},
		{"new topic", place("n", plan.Place, at(1, "/a", 3, "/a"), at(3, "/a", 6, "/a")), false, nil},
		{"new topic exists", place("t", plan.Place, at(1, "/a", 3, "/a")), false, []string{"t-6: is created by a plan to place, its topic exists: true"}},
		{"new topic with a gap", func(f *fixture) {
			place("n", plan.Place, at(1, "/a", 3, "/a"), at(3, "/a", 6, "/a"))(f)
			f.p.Changes[1].Partition = 4
		}, false, []string{"n-4: follows partition 0: partitions are missing before it"}},
		{"new topic from 1", func(f *fixture) {
			place("n", plan.Place, at(1, "/a", 3, "/a"))(f)
			f.p.Changes[0].Partition = 1
		}, false, []string{"n-1: is the first of its topic: partitions are missing before it"}},
		{"new topic with two factors", place("n", plan.Place, at(1, "/a", 3, "/a"), at(3, "/a")), false, []string{"n-1: has 1 replicas, the one before it 2"}},
		{"new topic in one rack", place("n", plan.Place, at(1, "/a", 2, "/a")), false, []string{"n-0: has 2 copies in one rack with replicas on [1 2], before it had 0 at most and the racks allow to have 1"}},
		{"new topic in no group", func(f *fixture) { place("n", plan.Place, at(1, "/a", 3, "/a"))(f); f.r.Group = "gone" }, true, []string{"n-0: is to be created in resource group gone, which has no brokers"}},
		{"new topic led before", func(f *fixture) { place("n", plan.Place, at(1, "/a", 3, "/a"))(f); f.p.Changes[0].OldLeader = 1 }, true, []string{"n-0: is to be created but has leader 1 before"}},
		{"created by a rebalance", place("n", plan.Rebalance, at(1, "/a", 3, "/a")), false, []string{"n-0: is created by a plan to rebalance"}},
		{"more partitions", place("t", plan.AddParts, at(6, "/a", 1, "/a"), at(6, "/a", 3, "/a")), false, nil},
		{"more partitions of another factor", place("t", plan.AddParts, at(6, "/a")), false, []string{"t-6: ends with 1 replicas [6], wanted are 2"}},
		{"more partitions and moves", func(f *fixture) {
			moves := f.p.Changes[:1]
			place("t", plan.AddParts, at(6, "/a", 1, "/a"))(f)
			f.p.Changes = append(f.p.Changes, moves...)
		}, false, []string{"t-0: exists and is changed by a plan to add-partitions"}},
	})
}

// place makes the plan one that creates partitions of a topic.
func place(topic string, op plan.Operation, lists ...[]plan.Replica) func(f *fixture) {
	return func(f *fixture) {
		f.p.Operation, f.p.Changes = op, nil
		first := int32(0)
		if topic == "t" {
			first = 6
		}
		for i, l := range lists {
			f.p.Changes = append(f.p.Changes, plan.Change{Topic: topic, Partition: first + int32(i), To: l, OldLeader: model.None, NewLeader: l[0].Broker})
		}
	}
}

func TestGroups(t *testing.T) {
	run(t, []mutation{{"another group", func(f *fixture) {
		f.c.Groups = []string{"g", "h"}
		for b := range f.c.Brokers {
			f.c.Brokers[b].Group = 0
		}
		f.c.Brokers[5].Group, f.c.Topics[0].Group = 1, 0
		f.r.Objective = func(*model.Cluster) float64 { return 0 }
	}, false, []string{
		"t-0: goes to broker 6, which is not in resource group g of its topic", "t-2: goes to broker 6, which is not",
		"plan: makes a hard goal worse: replicas outside their resource group 0 before, 2 after",
	}}})
}
