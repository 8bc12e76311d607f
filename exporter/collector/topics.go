package collector

import (
	"math"
	"slices"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

func topicsSubject() Subject {
	return Subject{Title: "Topics", Families: []family{
		gauge(topology, "kafka_topic_info",
			"Always 1; says whether a topic is Kafka's own, and from its configuration the cleanup policy (lag on compacted topics is an upper bound), compression type and message timestamp type. The last three are empty while the configuration is not known. From Metadata and DescribeConfigs.",
			most, labels("topic", "internal", "cleanup_policy", "compression_type", "message_timestamp_type"), renderTopicInfo),
		gauge(topology, "kafka_topic_partitions",
			"Partitions of a topic. From Metadata.",
			sum, labels("topic"), func(c *cluster, e *emitter) {
				for t := range topics(c) {
					if len(t.Partitions) > 0 {
						e.Int(int64(len(t.Partitions)), t.Name)
					}
				}
			}),
		gauge(topology, "kafka_topic_replication_factor_min",
			"Smallest replication factor among a topic's partitions; that of the target while a partition is being reassigned. From Metadata.",
			min1, labels("topic"), replicationFactor(func(a, b int) int { return min(a, b) })),
		gauge(topology, "kafka_topic_replication_factor_max",
			"Largest replication factor among a topic's partitions; that of the target while a partition is being reassigned. From Metadata.",
			most, labels("topic"), replicationFactor(func(a, b int) int { return max(a, b) })),
		sparse("topics with an error", gauge(topology, "kafka_topic_error",
			"Always 1; a topic about which the cluster answered with this error of Kafka, or which the configuration names and the ACLs refuse. From Metadata.",
			most, labels("topic", "error"), renderTopicErrors)),
	}}
}

func renderTopicInfo(c *cluster, e *emitter) {
	for t := range topics(c) {
		var cfg snapshot.TopicConfig
		if c.Configs != nil {
			cfg = c.Configs.Topics[t.Name]
		}
		e.Int(1, t.Name, truth(t.Internal), cfg.CleanupPolicy, cfg.CompressionType, cfg.TimestampType)
	}
}

func replicationFactor(pick func(a, b int) int) render {
	return func(c *cluster, e *emitter) {
		for t := range topics(c) {
			if len(t.Partitions) == 0 {
				continue
			}
			rf := t.Partitions[0].ReplicationFactor()
			for i := range t.Partitions {
				rf = pick(rf, t.Partitions[i].ReplicationFactor())
			}
			e.Int(int64(rf), t.Name)
		}
	}
}

// accessDenied is Kafka's name of the error for a topic that ACLs hide.
const accessDenied = "TOPIC_AUTHORIZATION_FAILED"

func renderTopicErrors(c *cluster, e *emitter) {
	if c.Topology == nil {
		return
	}
	for t := range topics(c) {
		if t.Err != "" {
			e.Int(1, t.Name, t.Err)
		}
	}
	for _, name := range slices.Sorted(slices.Values(c.Topology.DeniedTopics)) {
		if t := c.Topology.Topic(name); t == nil || t.Err == "" {
			e.Int(1, name, accessDenied)
		}
	}
}

func topicConfigsSubject() Subject {
	const origin = " From DescribeConfigs: the effective value, defaults included."
	return Subject{
		Title: "Topic configuration",
		Note:  "A setting that the broker does not tell gives no series. Unlimited retention is `+Inf`.",
		Families: []family{
			gauge(configs, "kafka_topic_config_min_insync_replicas",
				"min.insync.replicas of a topic."+origin, min1, labels("topic"),
				topicConfig(func(t *snapshot.TopicConfig) number { return whole(t.MinInSyncReplicas) })),
			gauge(configs, "kafka_topic_config_retention_seconds",
				"retention.ms of a topic in seconds, +Inf if unlimited."+origin, most, labels("topic"),
				topicConfig(func(t *snapshot.TopicConfig) number {
					return number{millis: true, unlimited: t.RetentionMsUnlimited, value: t.RetentionMs}
				})),
			gauge(configs, "kafka_topic_config_retention_bytes",
				"retention.bytes of each partition of a topic, +Inf if unlimited."+origin, most, labels("topic"),
				topicConfig(func(t *snapshot.TopicConfig) number {
					return number{unlimited: t.RetentionBytesUnlimited, value: t.RetentionBytes}
				})),
			gauge(configs, "kafka_topic_config_max_message_bytes",
				"max.message.bytes of a topic."+origin, most, labels("topic"),
				topicConfig(func(t *snapshot.TopicConfig) number { return whole(t.MaxMessageBytes) })),
			gauge(configs, "kafka_topic_config_segment_bytes",
				"segment.bytes of a topic."+origin, most, labels("topic"),
				topicConfig(func(t *snapshot.TopicConfig) number { return whole(t.SegmentBytes) })),
			gauge(configs, "kafka_topic_config_unclean_leader_election_enabled",
				"1 if a replica that is not in sync may lead the topic's partitions, losing records."+origin, sum, labels("topic"),
				topicConfig(func(t *snapshot.TopicConfig) number { return toggle(t.UncleanLeaderElection) })),
			requires("Kafka ≥ 3.6 (KIP-405) to be other than 0", gauge(configs, "kafka_topic_config_remote_storage_enabled",
				"1 if the topic's old segments are kept in remote storage."+origin, sum, labels("topic"),
				topicConfig(func(t *snapshot.TopicConfig) number { return toggle(t.RemoteStorage) }))),
		},
	}
}

// number is a setting; a negative value is unknown.
type number struct {
	value             int64
	millis, unlimited bool
}

func whole(n int64) number { return number{value: n} }

func toggle(b bool) number {
	if b {
		return number{value: 1}
	}
	return number{}
}

func topicConfig(pick func(*snapshot.TopicConfig) number) render {
	return func(c *cluster, e *emitter) {
		if c.Configs == nil {
			return
		}
		for name, cfg := range namesOf(c, c.Configs.Topics) {
			switch n := pick(&cfg); {
			case n.unlimited:
				e.Add(math.Inf(1), name)
			case n.value < 0:
			case n.millis:
				e.Millis(n.value, name)
			default:
				e.Int(n.value, name)
			}
		}
	}
}
