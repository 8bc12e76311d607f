package snapshot

import (
	"sort"
	"time"
)

// LogDirs are the brokers' data directories, from DescribeLogDirs.
type LogDirs struct {
	ReadAt time.Time
	// Dirs is sorted by broker, then path.
	Dirs []LogDir
	// Missing lists brokers that did not answer: sums over the cluster lack them.
	Missing []int32
}

// LogDir is one data directory of one broker.
type LogDir struct {
	Broker int32
	Path   string
	// Online is false for a failed directory; its sizes are Unknown then.
	Online bool
	// Err is Kafka's error name, "" if none.
	Err string
	// TotalBytes and UsableBytes describe the volume (KIP-827, Kafka ≥ 3.3),
	// Unknown on older brokers.
	TotalBytes, UsableBytes int64
	// SizeBytes is the sum of the replicas in it, FutureBytes that of the
	// replicas that are being moved into it from another directory.
	SizeBytes, FutureBytes int64
	Replicas               int
	FutureReplicas         int
	// Topics is sorted by name (filtered topics are absent, but counted above).
	Topics []LogDirTopic
}

// LogDirTopic is a topic's share of a directory.
type LogDirTopic struct {
	Topic string
	// Partitions is sorted by partition; an ordinary and a future replica of
	// the same partition never share a directory.
	Partitions []LogDirPartition
}

// LogDirPartition is one replica on disk.
type LogDirPartition struct {
	Partition int32
	Future    bool
	SizeBytes int64
	// OffsetLag is how many records the replica is behind the leader's high
	// watermark (or a future replica behind the current one).
	OffsetLag int64
}

// Configs are the topics' and brokers' configurations that matter to rules.
type Configs struct {
	ReadAt time.Time
	Topics map[string]TopicConfig
	// Throttles that are set, sorted by scope then name.
	Throttles []Throttle
}

// TopicConfig is what a topic's effective configuration says. Numbers are
// Unknown where the broker did not tell; RetentionMs/RetentionBytes of -1
// mean unlimited in Kafka and are kept in their own flags.
type TopicConfig struct {
	CleanupPolicy     string
	MinInSyncReplicas int64
	RetentionMs       int64
	RetentionBytes    int64
	SegmentBytes      int64
	MaxMessageBytes   int64
	CompressionType   string
	TimestampType     string
	RetentionMsUnlimited, RetentionBytesUnlimited,
	UncleanLeaderElection, RemoteStorage bool
}

// Throttle is a replication throttle that is set on a broker or a topic.
type Throttle struct {
	// Broker is the broker of a rate, -1 for a topic's replica list.
	Broker int32
	// Topic is the topic of a replica list, "" for a broker's rate.
	Topic string
	// Config is Kafka's name, for example leader.replication.throttled.rate.
	Config string
	// BytesPerSecond is the rate, Unknown for replica lists.
	BytesPerSecond int64
	// Replicas counts the entries of a replica list (-1: the wildcard).
	Replicas int
	// Needed tells whether a reassignment or log-dir move in flight uses it.
	Needed bool
}

// Reassignments are the partition reassignments in flight (KIP-455).
type Reassignments struct {
	ReadAt time.Time
	// Partitions is sorted by topic, then partition.
	Partitions []Reassignment
}

// Reassignment is one partition being moved.
type Reassignment struct {
	Topic            string
	Partition        int32
	Adding, Removing []int32
	// RemainingBytes is what the adding replicas still lack against the
	// leader's size, Unknown without log dirs.
	RemainingBytes int64
}

// ReplicaSize returns the size of a broker's replica, Unknown if it has none
// or did not tell. O(directories × log topics).
func (l *LogDirs) ReplicaSize(broker int32, topic string, partition int32) int64 {
	for i := range l.Dirs {
		d := &l.Dirs[i]
		if d.Broker != broker {
			continue
		}
		j := sort.Search(len(d.Topics), func(j int) bool { return d.Topics[j].Topic >= topic })
		if j == len(d.Topics) || d.Topics[j].Topic != topic {
			continue
		}
		for _, p := range d.Topics[j].Partitions {
			if p.Partition == partition && !p.Future {
				return p.SizeBytes
			}
		}
	}
	return Unknown
}
