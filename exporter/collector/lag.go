package collector

import (
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

var byGroupTopic = labels("group", "topic")

func lagSubject() Subject {
	return Subject{
		Title: "Consumer lag",
		Note: "Commits are read before end offsets, so lag is never negative. Partitions without a commit have no lag, they are counted. " +
			"With `granularity: topic` or `group` lag is summed and lag in seconds is the largest; `kafka_group_lag_partial` says that a sum lacks partitions.",
		Families: []family{
			gauge(groups, "kafka_group_lag_records",
				"Records between a group's committed offset and the end of the partition. An upper bound on compacted topics, and with transactions, whose markers count. From OffsetFetch and ListOffsets.",
				sum, byGroupPartition, partitionLags(func(p *snapshot.PartitionLag, _ bool) int64 { return p.Lag })),
			sparse("partitions where it differs from kafka_group_lag_records; all, once labels are dropped", gauge(groups, "kafka_group_stable_lag_records",
				"Records between a group's committed offset and the last stable offset: what a consumer that reads committed records can still read. Needs the collector stable_offsets too. From OffsetFetch and ListOffsets.",
				sum, byGroupPartition, partitionLags(func(p *snapshot.PartitionLag, merging bool) int64 {
					if p.StableLag == p.Lag && !merging {
						return snapshot.Unknown
					}
					return p.StableLag
				}))),
			gauge(groups, "kafka_group_lag_seconds",
				"Age of the first record that a group has not read in a partition, 0 if it has read all; from the growth of the end offset over time, or for groups of lag.exact_groups from the record itself. From OffsetFetch and ListOffsets.",
				most, byGroupPartition, renderLagSeconds),
			sparse("partitions where it is", gauge(groups, "kafka_group_lag_seconds_truncated",
				"1 if kafka_group_lag_seconds is a lower bound: the committed offset is older than the exporter's history of the partition.",
				sum, byGroupPartition, partitionLags(func(p *snapshot.PartitionLag, _ bool) int64 { return only(p.Truncated) }))),
			gauge(groups, "kafka_group_lag_partial",
				"1 if lag summed over the topic lacks partitions whose end offset is not known.",
				most, byGroupTopic, topicLag(func(t *snapshot.TopicLag) int64 { return bit(t.UnknownEnd > 0) })),
			gauge(groups, "kafka_group_lag_clamped_partitions",
				"Partitions whose committed offset is beyond their end, so that lag is shown as 0: the topic was recreated or truncated, or a commit was set by hand.",
				sum, byGroup, renderClamped),
			gauge(groups, "kafka_group_uncommitted_partitions",
				"Partitions of a topic in which a group has committed nothing, though it has in others or is assigned the topic. From OffsetFetch.",
				sum, byGroupTopic, topicLag(func(t *snapshot.TopicLag) int64 { return int64(t.Uncommitted) })),
			sparse("with lag.uncommitted: full", gauge(groups, "kafka_group_uncommitted_records",
				"Records from the log start to the end of the partitions of a topic in which a group has committed nothing. From OffsetFetch and ListOffsets.",
				sum, byGroupTopic, topicLag(func(t *snapshot.TopicLag) int64 { return t.UncommittedRecords }))),
			gauge(groups, "kafka_group_assigned_partitions",
				"Partitions of a topic that are assigned to members of a group. From DescribeGroups or its counterpart for the group's type.",
				sum, byGroupTopic, assigned(func(t *snapshot.TopicLag) int64 { return int64(t.AssignedPartitions) })),
			gauge(groups, "kafka_group_topic_assigned",
				"1 if some member of a group has a partition of the topic assigned; 0 if only old commits are left, whose lag grows for ever. From DescribeGroups or its counterpart for the group's type.",
				most, byGroupTopic, assigned(func(t *snapshot.TopicLag) int64 { return bit(t.Assigned) })),
			gauge(groups, "kafka_group_orphaned_commits",
				"Committed offsets of a group for topics or partitions that do not exist (any more). From OffsetFetch and Metadata.",
				sum, byGroup, func(c *cluster, e *emitter) {
					for g, l := range lags(c) {
						if g.CommitsKnown {
							e.Int(int64(l.Orphaned), g.Name)
						}
					}
				}),
			counter(groups, "kafka_group_records_lost_total",
				"Records that retention removed before the group read them (the log start passed its committed offset), since the exporter started and what was missing then. From OffsetFetch and ListOffsets.",
				byGroupTopic, topicLag(func(t *snapshot.TopicLag) int64 { return int64(t.Lost) })),
			gauge(groups, "kafka_group_last_commit_timestamp_seconds",
				"Unix time at which a committed offset of a group in a topic was last seen to change. Absent until it has been.",
				most, byGroupTopic, renderLastCommit),
		},
	}
}

// partitionLags emits a value per partition that a group has committed; a
// negative one is not emitted.
func partitionLags(value func(p *snapshot.PartitionLag, merging bool) int64) render {
	return func(c *cluster, e *emitter) {
		merging := e.Merging()
		for g, t := range topicLags(c) {
			for i := range t.Partitions {
				p := &t.Partitions[i]
				if v := value(p, merging); v >= 0 {
					e.Int(v, g.Name, t.Topic, exposition.Itoa(p.Partition))
				}
			}
		}
	}
}

func renderLagSeconds(c *cluster, e *emitter) {
	for g, t := range topicLags(c) {
		for i := range t.Partitions {
			if p := &t.Partitions[i]; p.Seconds >= 0 {
				e.Seconds(p.Seconds, g.Name, t.Topic, exposition.Itoa(p.Partition))
			}
		}
	}
}

func renderClamped(c *cluster, e *emitter) {
	for g, l := range lags(c) {
		if !g.CommitsKnown {
			continue
		}
		n := int64(0)
		for i := range l.Topics {
			for j := range l.Topics[i].Partitions {
				n += bit(l.Topics[i].Partitions[j].Clamped)
			}
		}
		e.Int(n, g.Name)
	}
}

// topicLag emits a value per topic of a group whose commits are known; a
// negative one is not emitted.
func topicLag(value func(*snapshot.TopicLag) int64) render {
	return func(c *cluster, e *emitter) {
		for g, t := range topicLags(c) {
			if v := value(t); g.CommitsKnown && v >= 0 {
				e.Int(v, g.Name, t.Topic)
			}
		}
	}
}

// assigned emits a value per topic of a group whose members are known.
func assigned(value func(*snapshot.TopicLag) int64) render {
	return func(c *cluster, e *emitter) {
		for g, t := range topicLags(c) {
			if g.MembersKnown {
				e.Int(value(t), g.Name, t.Topic)
			}
		}
	}
}

func renderLastCommit(c *cluster, e *emitter) {
	for g, t := range topicLags(c) {
		if t.LastCommit >= 0 {
			e.Millis(t.LastCommit, g.Name, t.Topic)
		}
	}
}

// only is 1, or unknown if it is not so.
func only(b bool) int64 {
	if !b {
		return snapshot.Unknown
	}
	return 1
}
