package main

import (
	"math"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// small has three brokers in two racks; broker 3 has half the capacity.
func small(t *testing.T) *model.Cluster {
	t.Helper()
	b := model.NewBuilder("small")
	for id, c := range map[int32]int64{1: 200, 2: 200, 3: 100} {
		v := model.Vector{model.In: c, model.Out: c, model.Disk: c, model.CPU: c, model.LeaderIn: c, model.Replicas: model.Unlimited, model.Leaders: model.Unlimited}
		b.Broker(model.Broker{ID: id, Rack: map[bool]string{true: "b", false: "a"}[id == 3], Capacity: v}, "")
	}
	b.Topic(model.Topic{Name: "t", ReplicationFactor: 2}, "")
	for p := range int32(2) {
		b.Partition("t", model.PartitionSpec{ID: p, Leader: 1, Out: 30, LeadCPU: 4, Replicas: []model.ReplicaSpec{
			{Broker: 1, Dir: model.None, Size: 100, In: 10, CPU: 1}, {Broker: 2, Dir: model.None, Size: 90, In: 10, CPU: 1},
		}})
	}
	c, problems := b.Build()
	if err := model.JoinProblems(problems); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestScore compares with figures worked out by hand.
func TestScore(t *testing.T) {
	s := newScorer(small(t))
	before, err := s.score(nil)
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %g, not %g", what, got, want)
		}
	}
	// 40 in over 5 parts: fair are 16, 16, 8; there are 20, 20, 0.
	near("in max", before.max[model.In], 1.25)
	near("in min", before.min[model.In], 0)
	near("in cv", before.cv[model.In], math.Sqrt((.0625+.0625+1)/3))
	near("out max", before.max[model.Out], 60.0/24)
	near("leaders max", before.max[model.Leaders], 3) // counts do not follow capacity
	if before.rackViolations != 2 || before.bytes != 0 || before.topicOver != 0 {
		t.Errorf("%+v", before)
	}

	// t-0: the copy of broker 1 goes to broker 3, broker 2 leads.
	after, err := s.score([]move{{"t", 0, []int32{2, 3}}})
	if err != nil {
		t.Fatal(err)
	}
	near("disk max", after.max[model.Disk], max(180.0/152, 100.0/76))
	near("in in ±10 %", after.in10[model.In], 0) // 10/16, 20/16, 10/8
	near("out max", after.max[model.Out], 30.0/24)
	if after.rackViolations != 1 || after.bytes != 100 || after.replicas != 1 || after.leads != 1 || after.maxIn != 100 || after.maxOut != 100 {
		t.Errorf("%+v", after)
	}
	for _, bad := range []move{{"t", 7, []int32{1, 2}}, {"x", 0, []int32{1, 2}}, {"t", 0, []int32{1}}, {"t", 0, []int32{1, 9}}} {
		if _, err := s.score([]move{bad}); err == nil {
			t.Errorf("%v is scored", bad)
		}
	}
}

func TestVerdicts(t *testing.T) {
	good, bad := &scores{bytes: 80}, &scores{bytes: 100}
	for k := range model.NumResources {
		good.max[k], bad.max[k] = 1.05, 1.04
	}
	var v verdicts
	versus(&v, "x", good, bad, 70)
	if v.judged != int(model.NumResources)+1 || v.missed != int(model.NumResources) || v.unreachable != 0 {
		t.Errorf("%+v", v)
	}
	v = verdicts{}
	versus(&v, "x", &scores{bytes: 90}, bad, 85)
	if v.unreachable != 1 || v.missed != 0 {
		t.Errorf("%+v", v)
	}
	v = verdicts{}
	v.cost(1000, 1_000_000, &outcome{CPU: 13, RSS: 1})
	if v.judged != 2 || v.missed != 1 {
		t.Errorf("%+v", v)
	}
}
