package balance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"github.com/kafka-steward/kafka-steward/planner/plan"
	"pgregory.net/rapid"
)

func refused(p *plan.Plan, topic string, id int32) *plan.Refusal {
	for i := range p.Refusals {
		if p.Refusals[i].Topic == topic && p.Refusals[i].Partition == id {
			return &p.Refusals[i]
		}
	}
	return nil
}

// emptied checks that nothing but what is refused, with reasons, stays on
// brokers to be emptied, and that nothing else changes.
func emptied(t rapid.TB, c, after *model.Cluster, p *plan.Plan, drain []int32) {
	t.Helper()
	leaves := set(drain)
	for q := range after.Topic {
		name, id := after.Topics[after.Topic[q]].Name, after.ID[q]
		for s := after.Off[q]; s < after.Off[q+1]; s++ {
			if !leaves[after.Brokers[after.Broker[s]].ID] {
				continue
			}
			r := refused(p, name, id)
			if r == nil || r.Reason == "" || r.Detail == "" {
				t.Fatalf("%s stays on broker %d without a reason: %+v", after.PartitionName(q), after.Brokers[after.Broker[s]].ID, p.Refusals)
			}
			switch r.Reason {
			case "moving", "excluded", "budget", "brokers":
				continue
			case "capacity":
			}
			for _, x := range r.Rejected {
				if (x.Reason == "disk" || x.Reason == "in" || x.Reason == "out" || x.Reason == "cpu") && x.Need <= x.Free {
					t.Fatalf("%s: broker %d is rejected for %s although it needs %d and has %d free", after.PartitionName(q), x.Broker, x.Reason, x.Need, x.Free)
				}
			}
		}
	}
	for i := range p.Changes {
		ch := &p.Changes[i]
		if !slices.ContainsFunc(ch.From, func(r plan.Replica) bool { return leaves[r.Broker] }) {
			t.Fatalf("%s-%d has nothing on the brokers %v and changes: %+v", ch.Topic, ch.Partition, drain, ch)
		}
		for _, r := range ch.From {
			if !leaves[r.Broker] && !slices.ContainsFunc(ch.To, func(x plan.Replica) bool { return x == r }) {
				t.Fatalf("%s-%d leaves broker %d, which is not to be emptied: %+v", ch.Topic, ch.Partition, r.Broker, ch)
			}
		}
		if ch.NewLeader != model.None && leaves[ch.NewLeader] {
			t.Fatalf("%s-%d is led by broker %d, which is to be emptied", ch.Topic, ch.Partition, ch.NewLeader)
		}
	}
}

func drawBrokers(t *rapid.T, c *model.Cluster, name string, most int) []int32 {
	var ids []int32
	for b := range c.Brokers {
		ids = append(ids, c.Brokers[b].ID)
	}
	ids = rapid.Permutation(ids).Draw(t, name)
	return ids[:rapid.IntRange(1, min(most, len(ids))).Draw(t, name+" count")]
}

func TestDecommissionProperties(t *testing.T) {
	changes, refusals := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Hostile).Draw(t, "cluster")
		o := drawOptions(t, c)
		drain := drawBrokers(t, c, "drain", 3)
		if live(c, nil) == 0 {
			return
		}
		if live(c, drain) == 0 {
			if _, err := balance.Decommission(c, drain, o); err == nil {
				t.Fatalf("emptying every live broker is no error")
			}
			return
		}
		p := must(t)(balance.Decommission(c, drain, o))
		judge(t, c, p, o, asked{drain: drain})
		after := apply(t, c, p.Changes)
		emptied(t, c, after, p, drain)
		racksNoWorse(t, c, after, drain)
		if again := must(t)(balance.Decommission(after, drain, o)); len(p.Refusals) == 0 && again.Summary.ReplicaMoves > 0 {
			t.Fatalf("the brokers are empty, and %d replicas move when they are emptied again", again.Summary.ReplicaMoves)
		}
		prefixes(t, c, p, o, asked{drain: drain})
		sameBytes(t, "planned twice", p, must(t)(balance.Decommission(c, drain, o)))
		slices.Reverse(drain)
		sameBytes(t, "shuffled input", p, must(t)(balance.Decommission(modeltest.Shuffled(c, 3), drain, o)))
		changes += len(p.Changes)
		refusals += len(p.Refusals)
	})
	t.Logf("%d changes, %d refusals", changes, refusals)
	if !testing.Short() && (changes == 0 || refusals == 0) {
		t.Error("the property saw no change or no refusal")
	}
}

// TestDecommissionMoves checks on easy clusters that everything is emptied: a
// planner that refuses everything passes the property above.
func TestDecommissionMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Options{MaxBrokers: 8, Dirs: true, CPU: true}).Draw(t, "cluster")
		o := balance.Defaults()
		for k := range o.CapacityShare {
			o.CapacityShare[k] = 1e12 // capacity never binds
		}
		o.DirShare = 1e12
		drain := drawBrokers(t, c, "drain", 2)
		most := 0
		for p := range c.Topic {
			most = max(most, c.RF(p))
		}
		if live(c, drain) < most {
			return
		}
		p := must(t)(balance.Decommission(c, drain, o))
		judge(t, c, p, o, asked{drain: drain})
		if len(p.Refusals) > 0 {
			t.Fatalf("refuses although there is room: %+v", p.Refusals)
		}
		after := apply(t, c, p.Changes)
		emptied(t, c, after, p, drain)
	})
}

func TestDecommissionBudget(t *testing.T) {
	cut := 0
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Options{MaxBrokers: 6, MaxPartitions: 12}).Draw(t, "cluster")
		o := balance.Defaults()
		drain := drawBrokers(t, c, "drain", 1)
		full := must(t)(balance.Decommission(c, drain, o))
		if full.Summary.ReplicaMoves < 2 {
			return
		}
		o.MaxMoves = rapid.IntRange(1, full.Summary.ReplicaMoves-1).Draw(t, "max moves")
		p := must(t)(balance.Decommission(c, drain, o))
		judge(t, c, p, o, asked{drain: drain})
		emptied(t, c, apply(t, c, p.Changes), p, drain)
		for _, r := range p.Refusals {
			if r.Reason == "budget" {
				cut++
			}
		}
	})
	if !testing.Short() && cut == 0 {
		t.Error("no budget was binding")
	}
}

func TestDecommissionErrors(t *testing.T) {
	c := simple{brokers: []model.Broker{broker(1, "a"), broker(2, "b")}, parts: map[string][][]int32{"t": {{1, 2}}}}.build(t)
	for _, x := range []struct {
		ids  []int32
		want string
	}{{[]int32{9}, "broker 9 is not in the cluster"}, {nil, "no broker is named"}, {[]int32{2, 1}, "emptying 1, 2"}} {
		if _, err := balance.Decommission(c, x.ids, balance.Defaults()); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("decommission of %v: %v, want an error with %q", x.ids, err, x.want)
		}
	}
}
