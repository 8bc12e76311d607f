package collector

import (
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

func reassignmentsSubject() Subject {
	return Subject{
		Title: "Reassignments",
		Note:  "Which partitions are being moved, and the replicas added and removed, is among the partitions above.",
		Families: []family{
			requires("Kafka ≥ 2.4 (KIP-455)", gauge(reassignments, "kafka_reassignment_partitions",
				"Partitions whose replicas are being reassigned. From ListPartitionReassignments.",
				none, nil, func(c *cluster, e *emitter) {
					if c.Reassignments != nil {
						e.Int(int64(len(c.Reassignments.Partitions)))
					}
				})),
			sparse("partitions being reassigned", gauge(reassignments, "kafka_reassignment_remaining_bytes",
				"Bytes that the replicas being added still lack against the leader's size. Needs the collector logdirs too. From ListPartitionReassignments and DescribeLogDirs.",
				sum, byPartition, func(c *cluster, e *emitter) {
					if c.Reassignments == nil {
						return
					}
					for i := range c.Reassignments.Partitions {
						r := &c.Reassignments.Partitions[i]
						if r.RemainingBytes >= 0 {
							e.Int(r.RemainingBytes, r.Topic, exposition.Itoa(r.Partition))
						}
					}
				})),
		},
	}
}

func throttlesSubject() Subject {
	s := Subject{
		Title: "Replication throttles",
		Note:  "Only throttles that are set have series. `broker` is empty for a topic's replica list and for a default of all brokers.",
		Families: []family{
			sparse("rates that are set", gauge(configs, "kafka_throttle_bytes_per_second",
				"Replication throttle of a broker, by configuration name. It only slows the replicas that a topic's list names; the throttle of moves between log directories slows all of them. From DescribeConfigs.",
				none, labels("broker", "config"), throttles(func(t *snapshot.Throttle, e *emitter) {
					if t.Topic == "" && t.BytesPerSecond >= 0 {
						e.Int(t.BytesPerSecond, id(t.Broker), t.Config)
					}
				}))),
			sparse("lists that are set", gauge(configs, "kafka_throttle_replicas",
				"Replicas that a topic's replication throttle lists, by configuration name. From DescribeConfigs.",
				sum, labels("topic", "config"), throttles(func(t *snapshot.Throttle, e *emitter) {
					if t.Topic != "" && t.Replicas >= 0 {
						e.Int(int64(t.Replicas), t.Topic, t.Config)
					}
				}))),
			sparse("topics throttled as a whole", gauge(configs, "kafka_throttle_all_replicas",
				"Always 1; the topic's replication throttle is the wildcard *, which holds for all its replicas. From DescribeConfigs.",
				most, labels("topic", "config"), throttles(func(t *snapshot.Throttle, e *emitter) {
					if t.Topic != "" && t.Replicas < 0 {
						e.Int(1, t.Topic, t.Config)
					}
				}))),
			sparse("throttles that are set", gauge(configs, "kafka_throttle_unneeded",
				"1 if no reassignment and no move between log directories in flight uses the throttle: it was left behind and slows ordinary replication. From DescribeConfigs, ListPartitionReassignments and DescribeLogDirs.",
				sum, labels("broker", "topic", "config"), throttles(func(t *snapshot.Throttle, e *emitter) {
					e.Bool(!t.Needed, id(t.Broker), t.Topic, t.Config)
				}))),
		},
	}
	for i := range s.Families {
		// Throttles are sorted by what they are for, not by these labels.
		s.Families[i].Grouped = 0
	}
	return s
}

func throttles(emit func(*snapshot.Throttle, *emitter)) render {
	return func(c *cluster, e *emitter) {
		if c.Configs == nil {
			return
		}
		for i := range c.Configs.Throttles {
			emit(&c.Configs.Throttles[i], e)
		}
	}
}
