package model_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"pgregory.net/rapid"
)

func TestBrokerLoads(t *testing.T) {
	b := model.NewBuilder("x")
	b.Broker(model.Broker{ID: 4}, "")
	b.Broker(model.Broker{ID: 2}, "")
	b.Topic(model.Topic{Name: "t", ReplicationFactor: 2}, "")
	b.Partition("t", model.PartitionSpec{ID: 0, Leader: 4, Out: 30, LeadCPU: 7, Replicas: []model.ReplicaSpec{
		{Broker: 2, Dir: model.None, Size: 100, In: 10, CPU: 1}, {Broker: 4, Dir: model.None, Size: 101, In: 10, CPU: 2},
	}})
	b.Partition("t", model.PartitionSpec{ID: 1, Leader: model.None, Out: 99, Replicas: []model.ReplicaSpec{{Broker: 4, Dir: model.None, Size: 5}}})
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := []model.Vector{
		{model.In: 10, model.Disk: 100, model.CPU: 1, model.Replicas: 1},
		// Nobody sends what a partition without a leader would.
		{model.In: 10, model.Out: 30, model.Disk: 106, model.CPU: 9, model.Replicas: 2, model.Leaders: 1, model.LeaderIn: 10},
	}
	if d := cmp.Diff(want, c.BrokerLoads()); d != "" {
		t.Error(d)
	}
}

// TestBrokerLoadsAddUp compares sums over brokers with sums over partitions.
func TestBrokerLoadsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Hostile).Draw(t, "cluster")
		var got, want model.Vector
		for _, v := range c.BrokerLoads() {
			got.Add(&v)
		}
		for p := range c.NumPartitions() {
			spec := modeltest.Spec(c, p)
			for _, r := range spec.Replicas {
				v := model.Vector{model.In: r.In, model.Disk: r.Size, model.CPU: r.CPU, model.Replicas: 1}
				if r.Broker == spec.Leader {
					v[model.Out], v[model.Leaders], v[model.LeaderIn] = spec.Out, 1, r.In
					v[model.CPU] += spec.LeadCPU
				}
				want.Add(&v)
			}
		}
		if got != want {
			t.Fatalf("%v, want %v", got, want)
		}
		want.Sub(&got)
		if want != (model.Vector{}) {
			t.Fatal("subtracting what was added leaves something")
		}
	})
}

func TestBrokerIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Options{}).Draw(t, "cluster")
		ids := map[int32]int{}
		for i := range c.Brokers {
			ids[c.Brokers[i].ID] = i
		}
		for id := int32(-1); id < 25; id++ {
			want, there := ids[id]
			if got, ok := c.BrokerIndex(id); ok != there || ok && int(got) != want || !ok && got != model.None {
				t.Fatalf("broker %d: %d, %v", id, got, ok)
			}
		}
	})
}

func TestBuildNamesEveryProblem(t *testing.T) {
	b := model.NewBuilder("prod")
	b.Broker(model.Broker{ID: 1, Capacity: model.Vector{model.Out: -5}, Dirs: []model.LogDir{{Path: "/a", Capacity: -1}}}, "")
	b.Topic(model.Topic{Name: "t"}, "")
	b.Topic(model.Topic{Name: "t"}, "")
	b.Partition("u", model.PartitionSpec{ID: 3})
	one := []model.ReplicaSpec{{Broker: 1, Dir: model.None}}
	b.Partition("t", model.PartitionSpec{ID: 0, Leader: 1, Out: -1, Replicas: one})
	b.Partition("t", model.PartitionSpec{ID: 1, Leader: 1, LeadCPU: -1, Replicas: one})
	b.Partition("t", model.PartitionSpec{ID: 2, Leader: 7, Replicas: []model.ReplicaSpec{{Broker: 1, Dir: model.None, CPU: -1}, {Broker: 7}}})
	_, problems := b.Build()
	var got []string
	for _, p := range problems {
		got = append(got, p.Error())
	}
	want := []string{
		"topic t: is listed twice",
		"u-3: its topic is not listed",
		"t-2: has a replica on broker 7, which is not listed",
		"t-2: is led by broker 7, which has no replica of it",
		"broker 1: has a negative capacity of out: -5",
		"broker 1: has a negative capacity of log dir /a: -1",
		"t-0: has a negative load",
		"t-1: has a negative load",
		"t-2: has a negative load on broker 1",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err := model.JoinProblems(problems); err == nil || !strings.Contains(err.Error(), "u-3: its topic is not listed") {
		t.Error(err)
	}
	if _, problems := model.NewBuilder("prod").Build(); len(problems) != 1 || problems[0].Error() != "cluster prod: has no brokers" {
		t.Error(problems)
	}
	if err := model.JoinProblems(nil); err != nil {
		t.Error(err)
	}
}

func TestReadCCSplitsCPU(t *testing.T) {
	const doc = `{"format":"cc-model/1","brokers":[{"id":0,"rack":"a","in":1,"out":2,"disk":3,"cpu":100},{"id":1,"rack":"b","in":1,"out":2,"disk":3,"cpu":100}],
	"topics":["t"],"partitions":[{"t":0,"p":0,"l":1,"r":[0,1],"in":[10,10],"out":[0,20],"disk":[4,5],"cpu":[0.3,2]}]}`
	c, err := model.ReadCC(strings.NewReader(doc), "x")
	if err != nil {
		t.Fatal(err)
	}
	// The leader's 2 % are 0.7 in + 0.15 out = 10 parts, of which following would
	// be 0.15 in = 1.5 parts: 0.3 %, as the follower's.
	if c.CPU[0] != 300_000 || c.CPU[1] != 300_000 || c.LeadCPU[0] != 1_700_000 {
		t.Errorf("following %v, leading %v", c.CPU, c.LeadCPU)
	}
	if c.Topics[0].ReplicationFactor != 2 || c.Brokers[1].Capacity != (model.Vector{
		model.In: 1000, model.Out: 2000, model.Disk: 3_000_000, model.CPU: 100_000_000,
		model.Replicas: model.Unlimited, model.Leaders: model.Unlimited, model.LeaderIn: 1000,
	}) {
		t.Errorf("%+v %+v", c.Topics, c.Brokers)
	}
	for _, x := range []struct{ old, new, want string }{
		{`cc-model/1`, `cc-model/2`, `the document's format is "cc-model/2"`},
		{`"t":0`, `"t":1`, "names topic 1 of 1"},
		{`"t":0`, `"t":-1`, "names topic -1 of 1"},
		{`"cpu":[0.3,2]`, `"cpu":[2]`, "t-0: its load lists are not as long as its replica list"},
		{`"r":[0,1]`, `"r":[0,0]`, "t-0: has two replicas on broker 0"},
		{`"r":[0,1]`, `"r":[0,5]`, "t-0: has a replica on broker 5"},
		{`]}]}`, ``, "unexpected EOF"},
	} {
		if _, err := model.ReadCC(strings.NewReader(strings.Replace(doc, x.old, x.new, 1)), "x"); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.new, err, x.want)
		}
	}
}

func TestNames(t *testing.T) {
	if model.In.String() != "in" || model.LeaderIn.String() != "leader-in" {
		t.Error(model.In, model.LeaderIn)
	}
}
