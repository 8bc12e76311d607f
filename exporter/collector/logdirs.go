package collector

import (
	"slices"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

func logDirsSubject() Subject {
	byDir := labels("broker", "log_dir")
	byReplica := labels("broker", "log_dir", "topic", "partition")
	return Subject{
		Title: "Log directories",
		Note: "A failed directory keeps `kafka_log_dir_online` 0 and has no sizes. While a broker does not answer or a directory has failed, " +
			"sums over the cluster lack its replicas: `kafka_log_dirs_missing_brokers` and `kafka_topic_size_partial` say so.",
		Families: []family{
			gauge(logDirs, "kafka_log_dir_online",
				"1 if a data directory of a broker is usable, 0 if it has failed. From DescribeLogDirs.",
				min1, byDir, dirs(func(d *snapshot.LogDir) int64 { return bit(d.Online) })),
			sparse("directories with an error", gauge(logDirs, "kafka_log_dir_error",
				"Always 1; the error of Kafka for a data directory. From DescribeLogDirs.",
				most, labels("broker", "log_dir", "error"), func(c *cluster, e *emitter) {
					for d := range eachDir(c) {
						if d.Err != "" {
							e.Int(1, exposition.Itoa(d.Broker), d.Path, d.Err)
						}
					}
				})),
			gauge(logDirs, "kafka_log_dir_size_bytes",
				"Bytes of the replicas in a data directory, replicas being moved into it apart. From DescribeLogDirs.",
				sum, byDir, dirs(online(func(d *snapshot.LogDir) int64 { return d.SizeBytes }))),
			requires("Kafka ≥ 3.3 (KIP-827)", gauge(logDirs, "kafka_log_dir_total_bytes",
				"Capacity of the volume that a data directory is on; directories on one volume each show all of it. From DescribeLogDirs (KIP-827).",
				sum, byDir, dirs(online(func(d *snapshot.LogDir) int64 { return d.TotalBytes })))),
			requires("Kafka ≥ 3.3 (KIP-827)", gauge(logDirs, "kafka_log_dir_usable_bytes",
				"Bytes that can still be written to the volume that a data directory is on; directories on one volume each show all of it. From DescribeLogDirs (KIP-827).",
				sum, byDir, dirs(online(func(d *snapshot.LogDir) int64 { return d.UsableBytes })))),
			gauge(logDirs, "kafka_log_dir_future_bytes",
				"Bytes of the future replicas in a data directory: copies being moved into it from another directory of the broker. From DescribeLogDirs.",
				sum, byDir, dirs(online(func(d *snapshot.LogDir) int64 { return d.FutureBytes }))),
			gauge(logDirs, "kafka_log_dir_replicas",
				"Replicas in a data directory, replicas being moved into it apart. From DescribeLogDirs.",
				sum, byDir, dirs(online(func(d *snapshot.LogDir) int64 { return int64(d.Replicas) }))),
			gauge(logDirs, "kafka_log_dir_future_replicas",
				"Future replicas in a data directory: copies being moved into it from another directory of the broker. From DescribeLogDirs.",
				sum, byDir, dirs(online(func(d *snapshot.LogDir) int64 { return int64(d.FutureReplicas) }))),
			gauge(logDirs, "kafka_log_dirs_missing_brokers",
				"Brokers that did not tell about their data directories: sums over the cluster lack them. From DescribeLogDirs.",
				none, nil, func(c *cluster, e *emitter) {
					if c.LogDirs != nil {
						e.Int(int64(len(c.LogDirs.Missing)))
					}
				}),
			topicSize(),
			sparse("topics whose size is partial", gauge(logDirs, "kafka_topic_size_partial",
				"1 if a replica of the topic is on a broker that did not answer or that has a failed data directory: kafka_topic_size_bytes may lack it. From DescribeLogDirs and Metadata.",
				most, labels("topic"), renderSizePartial)),
			gauge(logDirs, dirTopicSize,
				"Bytes of a topic's replicas in a data directory, replicas being moved into it apart. From DescribeLogDirs.",
				sum, labels("broker", "log_dir", "topic"), renderDirTopics),
			optIn(gauge(logDirs, "kafka_partition_replica_size_bytes",
				"Bytes of a replica. From DescribeLogDirs.",
				sum, byReplica, replicas(false, func(p *snapshot.LogDirPartition) int64 { return p.SizeBytes }))),
			optIn(gauge(logDirs, "kafka_partition_replica_offset_lag",
				"Records that a replica is behind the high watermark of its leader. From DescribeLogDirs.",
				sum, byReplica, replicas(false, func(p *snapshot.LogDirPartition) int64 { return p.OffsetLag }))),
			sparse("replicas being moved", gauge(logDirs, "kafka_partition_future_replica_size_bytes",
				"Bytes of a future replica: a copy being moved into the data directory. From DescribeLogDirs.",
				sum, byReplica, replicas(true, func(p *snapshot.LogDirPartition) int64 { return p.SizeBytes }))),
			sparse("replicas being moved", gauge(logDirs, "kafka_partition_future_replica_offset_lag",
				"Records that a future replica is behind the replica it is to replace. From DescribeLogDirs.",
				sum, byReplica, replicas(true, func(p *snapshot.LogDirPartition) int64 { return p.OffsetLag }))),
		},
	}
}

// eachDir walks the data directories.
func eachDir(c *cluster) func(yield func(*snapshot.LogDir) bool) {
	return func(yield func(*snapshot.LogDir) bool) {
		if c.LogDirs == nil {
			return
		}
		for i := range c.LogDirs.Dirs {
			if !yield(&c.LogDirs.Dirs[i]) {
				return
			}
		}
	}
}

// dirs emits a value per directory; a negative one is not emitted.
func dirs(value func(*snapshot.LogDir) int64) render {
	return func(c *cluster, e *emitter) {
		for d := range eachDir(c) {
			if v := value(d); v >= 0 {
				e.Int(v, exposition.Itoa(d.Broker), d.Path)
			}
		}
	}
}

// online leaves out failed directories, whatever numbers they carry.
func online(value func(*snapshot.LogDir) int64) func(*snapshot.LogDir) int64 {
	return func(d *snapshot.LogDir) int64 {
		if !d.Online {
			return snapshot.Unknown
		}
		return value(d)
	}
}

// topicSize adds the directories up, in which a topic occurs again and again.
func topicSize() family {
	f := gauge(logDirs, "kafka_topic_size_bytes",
		"Bytes of all replicas of a topic on all brokers, replicas being moved between directories counted once. From DescribeLogDirs.",
		sum, labels("topic"), func(c *cluster, e *emitter) {
			for _, t := range dirTopics(c) {
				if size, ok := topicBytes(t); ok {
					e.Int(size, t.Topic)
				}
			}
		})
	f.Merge = true
	return f
}

func renderDirTopics(c *cluster, e *emitter) {
	for d, t := range dirTopics(c) {
		if size, ok := topicBytes(t); ok {
			e.Int(size, exposition.Itoa(d.Broker), d.Path, t.Topic)
		}
	}
}

func dirTopics(c *cluster) func(yield func(*snapshot.LogDir, *snapshot.LogDirTopic) bool) {
	return func(yield func(*snapshot.LogDir, *snapshot.LogDirTopic) bool) {
		for d := range eachDir(c) {
			for i := range d.Topics {
				if !yield(d, &d.Topics[i]) {
					return
				}
			}
		}
	}
}

// topicBytes is the size of the topic's ordinary replicas, if there are any.
func topicBytes(t *snapshot.LogDirTopic) (size int64, ok bool) {
	for i := range t.Partitions {
		if p := &t.Partitions[i]; !p.Future && p.SizeBytes >= 0 {
			size += p.SizeBytes
			ok = true
		}
	}
	return size, ok
}

// replicas emits a value per replica, future ones or the others.
func replicas(future bool, value func(*snapshot.LogDirPartition) int64) render {
	return func(c *cluster, e *emitter) {
		for d, t := range dirTopics(c) {
			for i := range t.Partitions {
				p := &t.Partitions[i]
				if v := value(p); p.Future == future && v >= 0 {
					e.Int(v, exposition.Itoa(d.Broker), d.Path, t.Topic, exposition.Itoa(p.Partition))
				}
			}
		}
	}
}

func renderSizePartial(c *cluster, e *emitter) {
	if c.LogDirs == nil {
		return
	}
	lacking := slices.Clone(c.LogDirs.Missing)
	for d := range eachDir(c) {
		if !d.Online {
			lacking = append(lacking, d.Broker)
		}
	}
	if len(lacking) == 0 {
		return
	}
	for t := range topics(c) {
		if slices.ContainsFunc(t.Partitions, func(p snapshot.Partition) bool {
			return slices.ContainsFunc(p.Replicas, func(r int32) bool { return slices.Contains(lacking, r) })
		}) {
			e.Int(1, t.Name)
		}
	}
}

// dirTopicSize is the family that granularity log_dir switches off.
const dirTopicSize = "kafka_log_dir_topic_size_bytes"
