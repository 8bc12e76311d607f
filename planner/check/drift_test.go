package check

import (
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// A broker above its limit may not carry more after a plan, but for what sizes
// changed since the plan was made.
func TestDrift(t *testing.T) {
	b := model.NewBuilder("c")
	none := model.Unlimited
	for id := int32(1); id <= 3; id++ {
		disk := int64(1000)
		if id == 3 {
			disk = none
		}
		b.Broker(model.Broker{ID: id, Rack: "a", Capacity: model.Vector{none, none, disk, none, none, none, none}}, "")
	}
	b.Topic(model.Topic{Name: "t", ReplicationFactor: 1}, "")
	for i, size := range []int64{600, 603} {
		id := int32(i + 1)
		b.Partition("t", model.PartitionSpec{ID: int32(i), Leader: id, Replicas: []model.ReplicaSpec{{Broker: id, Dir: model.None, Size: size}}})
	}
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	move := func(p, from, to int32, bytes int64) plan.Change {
		return plan.Change{Topic: "t", Partition: p, From: []plan.Replica{{Broker: from}}, To: []plan.Replica{{Broker: to}}, OldLeader: from, NewLeader: to, Bytes: bytes}
	}
	p := &plan.Plan{Operation: plan.Rebalance, Cluster: "c", Changes: []plan.Change{move(0, 1, 3, 600), move(1, 2, 1, 603)}}
	for _, x := range []struct {
		drift float64
		want  bool
	}{{0, true}, {0.004, true}, {0.01, false}} {
		rules := Rules{Drift: x.drift}
		rules.CapacityShare[model.Disk] = 0.5
		found := false
		for _, problem := range Plan(c, p, rules) {
			found = found || strings.Contains(problem.Reason, "above its limit")
		}
		if found != x.want {
			t.Errorf("drift %g: told as above its limit: %v, want %v", x.drift, found, x.want)
		}
	}
}
