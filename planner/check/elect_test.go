package check

import (
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// An election copies nothing: a follower on a dead broker does not stand in its
// way. To elect the dead broker itself does.
func TestElectWithADeadFollower(t *testing.T) {
	b := model.NewBuilder("c")
	for id := int32(1); id <= 3; id++ {
		b.Broker(model.Broker{ID: id, Rack: "a", Dead: id == 3, Capacity: model.Vector{
			model.Unlimited, model.Unlimited, model.Unlimited, model.Unlimited, model.Unlimited, model.Unlimited, model.Unlimited,
		}}, "")
	}
	b.Topic(model.Topic{Name: "t", ReplicationFactor: 3}, "")
	replica := func(id int32) model.ReplicaSpec { return model.ReplicaSpec{Broker: id, Dir: model.None} }
	b.Partition("t", model.PartitionSpec{Leader: 2, Replicas: []model.ReplicaSpec{replica(1), replica(2), replica(3)}})
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	places := []plan.Replica{{Broker: 1}, {Broker: 2}, {Broker: 3}}
	p := &plan.Plan{Operation: plan.Elect, Cluster: "c", Changes: []plan.Change{{Topic: "t", From: places, To: places, OldLeader: 2, NewLeader: 1}}}
	p.Summary.LeaderChanges = 1
	for _, x := range Plan(c, p, Rules{}) {
		if x.Where == "t-0" {
			t.Errorf("%s", x)
		}
	}
	dead := []plan.Replica{{Broker: 3}, {Broker: 1}, {Broker: 2}}
	p.Changes[0] = plan.Change{Topic: "t", From: places, To: dead, OldLeader: 2, NewLeader: 3}
	found := false
	for _, x := range Plan(c, p, Rules{}) {
		found = found || x.Where == "t-0"
	}
	if !found {
		t.Error("electing a dead broker passes")
	}
}
