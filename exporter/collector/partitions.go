package collector

import (
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

var byPartition = labels("topic", "partition")

func partitionsSubject() Subject {
	return Subject{
		Title: "Partitions",
		Note:  "Families with 0 or 1 count partitions when `partition` is not kept.",
		Families: []family{
			gauge(topology, "kafka_partition_leader_broker",
				"Id of the broker that leads a partition; absent if it has no leader. From Metadata.",
				none, byPartition, partitions(func(t *snapshot.Topic, p *snapshot.Partition) int64 { return int64(p.Leader) })),
			gauge(topology, "kafka_partition_leaderless",
				"1 if a partition has no leader: it can be neither written nor read. From Metadata.",
				sum, byPartition, partitions(func(t *snapshot.Topic, p *snapshot.Partition) int64 { return bit(p.Leader < 0) })),
			gauge(topology, "kafka_partition_leader_preferred",
				"1 if a partition is led by its preferred leader (first replica). From Metadata.",
				sum, byPartition, partitions(func(t *snapshot.Topic, p *snapshot.Partition) int64 {
					return bit(p.Leader >= 0 && p.Leader == p.PreferredLeader())
				})),
			gauge(topology, "kafka_partition_replicas",
				"Replicas assigned to a partition, those being added and removed included. From Metadata.",
				sum, byPartition, partitions(func(t *snapshot.Topic, p *snapshot.Partition) int64 { return int64(len(p.Replicas)) })),
			gauge(topology, "kafka_partition_in_sync_replicas",
				"Replicas of a partition that are in sync with its leader, the leader included. From Metadata.",
				sum, byPartition, partitions(func(t *snapshot.Topic, p *snapshot.Partition) int64 { return int64(len(p.ISR)) })),
			gauge(topology, "kafka_partition_under_replicated",
				"1 if fewer replicas are in sync than a partition is meant to have; replicas that a reassignment is adding do not count as missing (KIP-352). From Metadata.",
				sum, byPartition, partitions(func(t *snapshot.Topic, p *snapshot.Partition) int64 { return bit(p.UnderReplicated()) })),
			sparse("partitions with offline replicas", gauge(topology, "kafka_partition_offline_replicas",
				"Replicas of a partition on dead brokers or in failed log directories. From Metadata.",
				sum, byPartition, partitions(func(t *snapshot.Topic, p *snapshot.Partition) int64 { return positive(len(p.Offline)) }))),
			sparse("partitions below it", gauge(topology, "kafka_partition_under_min_isr",
				"1 if fewer replicas are in sync than min.insync.replicas (or than there are replicas): writes with acks=all fail. Needs the collector configs too. From Metadata and DescribeConfigs.",
				sum, byPartition, minISR(func(isr, need int) bool { return isr < need }))),
			optIn(sparse("partitions at it", gauge(topology, "kafka_partition_at_min_isr",
				"1 if just as many replicas are in sync as min.insync.replicas (or as there are replicas): one more lost and writes with acks=all fail. Needs the collector configs too. From Metadata and DescribeConfigs.",
				sum, byPartition, minISR(func(isr, need int) bool { return isr == need })))),
			optIn(gauge(topology, "kafka_partition_leader_epoch",
				"Leader epoch of a partition: grows whenever its leader or in-sync replicas were elected anew. From Metadata.",
				most, byPartition, partitions(func(t *snapshot.Topic, p *snapshot.Partition) int64 { return int64(p.LeaderEpoch) }))),
			sparse("partitions being reassigned", gauge(reassignments, "kafka_partition_reassigning",
				"1 if a partition's replicas are being reassigned. From ListPartitionReassignments (KIP-455).",
				sum, byPartition, partitions(func(t *snapshot.Topic, p *snapshot.Partition) int64 {
					if !p.Reassigning() {
						return snapshot.Unknown
					}
					return 1
				}))),
			sparse("partitions being reassigned", gauge(reassignments, "kafka_partition_adding_replicas",
				"Replicas that a reassignment adds to a partition. From ListPartitionReassignments (KIP-455).",
				sum, byPartition, moving(func(p *snapshot.Partition) int { return len(p.Adding) }))),
			sparse("partitions being reassigned", gauge(reassignments, "kafka_partition_removing_replicas",
				"Replicas that a reassignment removes from a partition. From ListPartitionReassignments (KIP-455).",
				sum, byPartition, moving(func(p *snapshot.Partition) int { return len(p.Removing) }))),
		},
	}
}

// partitions emits a value per partition; a negative one is not emitted.
func partitions(value func(*snapshot.Topic, *snapshot.Partition) int64) render {
	return func(c *cluster, e *emitter) {
		for t := range topics(c) {
			for i := range t.Partitions {
				p := &t.Partitions[i]
				if v := value(t, p); v >= 0 {
					e.Int(v, t.Name, exposition.Itoa(p.ID))
				}
			}
		}
	}
}

func moving(value func(*snapshot.Partition) int) render {
	return partitions(func(_ *snapshot.Topic, p *snapshot.Partition) int64 {
		if !p.Reassigning() {
			return snapshot.Unknown
		}
		return int64(value(p))
	})
}

// minISR emits 1 where the in-sync replicas compare to those needed. A broker
// never needs more replicas in sync than there are.
func minISR(compare func(isr, need int) bool) render {
	return func(c *cluster, e *emitter) {
		if c.Configs == nil {
			return
		}
		for t := range topics(c) {
			cfg, ok := c.Configs.Topics[t.Name]
			if !ok || cfg.MinInSyncReplicas < 0 {
				continue
			}
			for i := range t.Partitions {
				p := &t.Partitions[i]
				if compare(len(p.ISR), min(int(cfg.MinInSyncReplicas), len(p.Replicas))) {
					e.Int(1, t.Name, exposition.Itoa(p.ID))
				}
			}
		}
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// positive is n, or unknown for 0.
func positive(n int) int64 {
	if n == 0 {
		return snapshot.Unknown
	}
	return int64(n)
}
