// Package plan is what planning produces: changes of partitions in the order
// in which they do most, with the reason of each, what could not be done and
// why, and the figures before and after. It holds data only.
package plan

import "github.com/kafka-steward/kafka-steward/planner/model"

// Operation is the kind of a plan.
type Operation string

// Operations.
const (
	Rebalance    Operation = "rebalance"
	Decommission Operation = "decommission"
	Replace      Operation = "replace"
	Expand       Operation = "expand"
	Place        Operation = "place"
	AddParts     Operation = "add-partitions"
	ChangeRF     Operation = "change-rf"
	Elect        Operation = "elect"
)

// Plan is a set of changes to a cluster.
type Plan struct {
	Operation Operation `json:"operation"`
	// Cluster is the name of the cluster planned for; SnapshotHash identifies
	// the state that the plan was made on.
	Cluster      string `json:"cluster"`
	SnapshotHash string `json:"snapshot_hash"`
	// Changes are best first: any prefix is sensible.
	Changes []Change `json:"changes"`
	// Refusals list what was asked and is not in the plan.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Limits lists what no plan can mend, with the item that binds.
	Limits   []Limit  `json:"limits,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Summary  Summary  `json:"summary"`
}

// Change is the new place of one partition's replicas.
type Change struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// From and To list the replicas in order of preference; the first is the
	// preferred leader. From is empty for a partition to be created.
	From []Replica `json:"from"`
	To   []Replica `json:"to"`
	// OldLeader and NewLeader are broker ids, model.None for none. NewLeader is
	// To's first.
	OldLeader int32 `json:"old_leader"`
	NewLeader int32 `json:"new_leader"`
	// Bytes are what has to be copied between brokers; DirBytes between log
	// directories of a broker.
	Bytes    int64 `json:"bytes"`
	DirBytes int64 `json:"dir_bytes,omitempty"`
	// Why names the reason, for people: "broker 3 sends 40 % above its share".
	Why string `json:"why"`
}

// Replica is a place for a replica.
type Replica struct {
	Broker int32 `json:"broker"`
	// Dir is the log directory's path, "" when the broker may choose.
	Dir string `json:"dir,omitempty"`
}

// Refusal says why a partition is not changed although it was asked for.
type Refusal struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// Reason is a word for programs: disk, rack, capacity, brokers, group,
	// moving, excluded.
	Reason string `json:"reason"`
	Detail string `json:"detail"`
	// Rejected lists the brokers considered with what they lacked.
	Rejected []Rejection `json:"rejected,omitempty"`
}

// Rejection is a broker that could not take a replica.
type Rejection struct {
	Broker int32  `json:"broker"`
	Reason string `json:"reason"`
	// Need and Free are in the resource's unit, 0 where they do not apply.
	Need int64 `json:"need,omitempty"`
	Free int64 `json:"free,omitempty"`
}

// Limit is something that no plan can mend: an item too big for a fair share.
type Limit struct {
	Resource string `json:"resource"`
	// Item names what binds: a topic-partition, a rack, a broker.
	Item string `json:"item"`
	// Share is the load of the item in shares of a broker's fair load.
	Share  float64 `json:"share"`
	Advice string  `json:"advice"`
}

// Summary is a plan in figures.
type Summary struct {
	ReplicaMoves  int   `json:"replica_moves"`
	LeaderChanges int   `json:"leader_changes"`
	DirMoves      int   `json:"dir_moves"`
	Bytes         int64 `json:"bytes"`
	DirBytes      int64 `json:"dir_bytes"`
	// BytesBound is the least that any plan with the same band has to copy.
	BytesBound int64 `json:"bytes_bound"`
	// Resources are the figures by resource, in the order of model.Resource.
	Resources []ResourceFigures `json:"resources"`
	// RackViolations counts partitions with more copies in a rack than needed.
	RackViolationsBefore int `json:"rack_violations_before"`
	RackViolationsAfter  int `json:"rack_violations_after"`
	// TopicExcess sums replicas of topics above ceil(average)+1 on a broker.
	TopicExcessBefore int `json:"topic_excess_before"`
	TopicExcessAfter  int `json:"topic_excess_after"`
	// Brokers are the loads of every broker, in order of id.
	Brokers []BrokerFigures `json:"brokers"`
	// Steps is how many changes the search weighed.
	Steps int64 `json:"steps"`
}

// ResourceFigures tells how evenly a resource lies.
type ResourceFigures struct {
	Resource string `json:"resource"`
	Before   Spread `json:"before"`
	After    Spread `json:"after"`
	// Bound is the least that the worst broker can have, in fair shares.
	Bound float64 `json:"bound"`
}

// Spread is the distribution of load/fair share over brokers.
type Spread struct {
	Max    float64 `json:"max"`
	Min    float64 `json:"min"`
	CV     float64 `json:"cv"`
	InBand float64 `json:"in_band"`
}

// BrokerFigures are one broker's loads.
type BrokerFigures struct {
	Broker int32        `json:"broker"`
	Rack   string       `json:"rack"`
	Dead   bool         `json:"dead,omitempty"`
	Before model.Vector `json:"before"`
	After  model.Vector `json:"after"`
	// Share is the fair share, 0 for a broker that takes no part.
	Share model.Vector `json:"share"`
	// BytesIn and BytesOut are what the plan copies to and from the broker.
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	// Dirs are the log directories, where they are known.
	Dirs []DirFigures `json:"dirs,omitempty"`
}

// DirFigures are one log directory's sizes in bytes and traffic in bytes/s.
type DirFigures struct {
	Path       string `json:"path"`
	Capacity   int64  `json:"capacity"`
	SizeBefore int64  `json:"size_before"`
	SizeAfter  int64  `json:"size_after"`
	InBefore   int64  `json:"in_before"`
	InAfter    int64  `json:"in_after"`
}

// Empty tells whether the plan changes nothing.
func (p *Plan) Empty() bool { return len(p.Changes) == 0 }
