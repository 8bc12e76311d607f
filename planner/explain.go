package planner

import (
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// Explanation tells about one partition why it moves, or why not, and where its
// replicas could go as the cluster is.
type Explanation struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// Leader is a broker's id, model.None for none.
	Leader int32 `json:"leader"`
	// Change is what the plan does, Refusal why it does not; nil for neither.
	Change  *plan.Change  `json:"change,omitempty"`
	Refusal *plan.Refusal `json:"refusal,omitempty"`
	// Loads are those of the replicas, in the order of Replicas.
	Loads    []model.Vector           `json:"loads"`
	Replicas []balance.ReplicaReasons `json:"replicas"`
}

// Explain tells about a partition; p is a plan of the same cluster, or nil.
func Explain(c *model.Cluster, o Options, p *plan.Plan, topic string, partition int32) (*Explanation, error) {
	reasons, err := balance.Explain(c, o.Balance(), topic, partition)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Topic: topic, Partition: partition, Leader: model.None, Replicas: reasons}
	i, _ := c.PartitionIndex(topic, partition)
	from, to := c.Slots(i)
	for s := from; s < to; s++ {
		e.Loads = append(e.Loads, c.Load(i, s, c.Leader[i] == s))
	}
	if l := c.Leader[i]; l != model.None {
		e.Leader = c.Brokers[c.Broker[l]].ID
	}
	if p == nil {
		return e, nil
	}
	if i := slices.IndexFunc(p.Changes, func(ch plan.Change) bool { return ch.Topic == topic && ch.Partition == partition }); i >= 0 {
		e.Change = &p.Changes[i]
	}
	if i := slices.IndexFunc(p.Refusals, func(r plan.Refusal) bool { return r.Topic == topic && r.Partition == partition }); i >= 0 {
		e.Refusal = &p.Refusals[i]
	}
	return e, nil
}
