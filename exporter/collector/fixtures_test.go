package collector

import (
	"math"
	"strings"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// at is the time of the fixtures, now in Unix milliseconds.
var at = time.Date(2026, 11, 30, 12, 0, 0, 250e6, time.UTC)

func ms(ago time.Duration) int64 { return at.Add(-ago).UnixMilli() }

// hostileIDs are group ids as clients have been seen to choose them (C-11).
var hostileIDs = []string{"", "a\"b", "c\\d", "e\nf", "g\xfe", "g\xff", "nul\x00", strings.Repeat("long", 75)}

func part(id, leader int32, replicas, isr []int32) snapshot.Partition {
	return snapshot.Partition{ID: id, Leader: leader, LeaderEpoch: 7, Replicas: replicas, ISR: isr}
}

// kraftCluster has everything that a cluster can have, much of it broken.
func kraftCluster() *snapshot.Cluster {
	c := &snapshot.Cluster{
		Name: "prod",
		Topology: &snapshot.Topology{
			ReadAt: at, ClusterID: "abc-DEF_123", Mode: "kraft", ControllerID: -1,
			Brokers: []snapshot.Broker{
				{ID: 1, Host: "b1.example", Port: 9092, IP: "192.0.2.1", Rack: "r1", ResourceGroup: "fast", Up: true, Reachable: true, Leaders: 4, PreferredLeaders: 4, Replicas: 9},
				{ID: 2, Host: "b2.example", Port: 9092, Rack: "r2", Up: true, Leaders: 3, PreferredLeaders: 4, Replicas: 8},
				{ID: 3, Replicas: 3},
			},
			Topics: []snapshot.Topic{
				{Name: "__consumer_offsets", Internal: true, Partitions: []snapshot.Partition{part(0, 1, []int32{1, 2}, []int32{1, 2})}},
				{Name: "broken", Err: "UNKNOWN_SERVER_ERROR"},
				// Broker 3 is dead: one partition lives on, one has no leader.
				{Name: "leaderless", Partitions: []snapshot.Partition{
					part(0, 2, []int32{2}, []int32{2}),
					{ID: 1, Leader: -1, LeaderEpoch: 9, Replicas: []int32{3}, ISR: []int32{3}, Offline: []int32{3}},
				}},
				{Name: "mixed", Partitions: []snapshot.Partition{part(0, 1, []int32{1, 2, 3}, []int32{1, 2}), part(1, 2, []int32{1}, []int32{1})}},
				// C-10 (a), and the same with a replica fallen out.
				{Name: "moving", Partitions: []snapshot.Partition{
					{ID: 0, Leader: 1, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2}, Adding: []int32{3}, Removing: []int32{1}},
					{ID: 1, Leader: 1, Replicas: []int32{1, 2, 3}, ISR: []int32{1}, Adding: []int32{3}, Removing: []int32{1}},
				}},
				{Name: "new", Partitions: []snapshot.Partition{part(0, 1, []int32{1}, []int32{1})}},
				{Name: "old", Partitions: []snapshot.Partition{part(0, 1, []int32{1}, []int32{1})}},
				{Name: "orders", Partitions: []snapshot.Partition{
					part(0, 1, []int32{1, 2}, []int32{1, 2}), part(1, 2, []int32{2, 1}, []int32{2, 1}), part(2, 2, []int32{1, 2}, []int32{2}),
				}},
				// C-10 (b): one replica each, on different brokers.
				{Name: "spread", Partitions: []snapshot.Partition{
					part(0, 1, []int32{1}, []int32{1}), part(1, 2, []int32{2}, []int32{2}), part(2, 1, []int32{1}, []int32{1}),
				}},
			},
			DeniedTopics: []string{"secret", "broken"},
		},
		Quorum: &snapshot.Quorum{
			ReadAt: at, LeaderID: 101, LeaderEpoch: 5, HighWatermark: 990, LeaderChanges: 2,
			Voters: []snapshot.QuorumReplica{
				{ID: 101, LogEndOffset: 1000, LastFetch: snapshot.Unknown, LastCaughtUp: ms(0)},
				{ID: 102, LogEndOffset: 990, LastFetch: ms(time.Second), LastCaughtUp: ms(2 * time.Second)},
				{ID: 103, LogEndOffset: snapshot.Unknown, LastFetch: snapshot.Unknown, LastCaughtUp: snapshot.Unknown},
			},
			Observers: []snapshot.QuorumReplica{{ID: 1, LogEndOffset: 1001, LastFetch: ms(0), LastCaughtUp: ms(0)}},
		},
		Offsets: &snapshot.Offsets{Topics: map[string]*snapshot.TopicOffsets{
			"orders": {
				End: []int64{30, 0, 40}, Start: []int64{5, 0, 0}, Stable: []int64{25, 0},
				LastRecord: []int64{ms(time.Minute), snapshot.Unknown, ms(0)},
			},
			"leaderless": {End: []int64{12, snapshot.Unknown}, Start: []int64{0, snapshot.Unknown}},
			"old":        {End: []int64{1500}, Start: []int64{1200}},
			"vanished":   {End: []int64{3}},
		}},
		LogDirs: &snapshot.LogDirs{ReadAt: at, Missing: []int32{3}, Dirs: []snapshot.LogDir{
			{Broker: 1, Path: "/d1", Online: true, TotalBytes: 1e12, UsableBytes: 4e11, SizeBytes: 800, FutureBytes: 0, Replicas: 2, Topics: []snapshot.LogDirTopic{
				{Topic: "mixed", Partitions: []snapshot.LogDirPartition{{Partition: 0, SizeBytes: 300}}},
				{Topic: "orders", Partitions: []snapshot.LogDirPartition{{Partition: 0, SizeBytes: 500}}},
			}},
			// C-08: a failed directory, with the numbers Kafka gives for it.
			{Broker: 1, Path: "/d2", Err: "KAFKA_STORAGE_ERROR", TotalBytes: -1, UsableBytes: -1, SizeBytes: -1, FutureBytes: -1},
			{Broker: 2, Path: "/d1", Online: true, TotalBytes: snapshot.Unknown, UsableBytes: snapshot.Unknown, SizeBytes: 650, Replicas: 2, Topics: []snapshot.LogDirTopic{
				{Topic: "orders", Partitions: []snapshot.LogDirPartition{{Partition: 0, SizeBytes: 500, OffsetLag: 3}, {Partition: 1, SizeBytes: 150, OffsetLag: snapshot.Unknown}}},
			}},
			{Broker: 2, Path: "/d2", Online: true, TotalBytes: snapshot.Unknown, UsableBytes: snapshot.Unknown, FutureBytes: 70, FutureReplicas: 1, Topics: []snapshot.LogDirTopic{
				{Topic: "orders", Partitions: []snapshot.LogDirPartition{{Partition: 1, Future: true, SizeBytes: 70, OffsetLag: 80}}},
			}},
		}},
		Configs: &snapshot.Configs{ReadAt: at, Topics: map[string]snapshot.TopicConfig{
			"orders": {
				CleanupPolicy: "delete", MinInSyncReplicas: 2, RetentionMs: 604800000, RetentionBytesUnlimited: true, RetentionBytes: -1,
				SegmentBytes: 1 << 30, MaxMessageBytes: 1048588, CompressionType: "producer", TimestampType: "CreateTime", RemoteStorage: true,
			},
			"old": {
				CleanupPolicy: "compact", MinInSyncReplicas: 2, RetentionMsUnlimited: true, RetentionMs: -1, RetentionBytes: snapshot.Unknown,
				SegmentBytes: snapshot.Unknown, MaxMessageBytes: snapshot.Unknown, UncleanLeaderElection: true,
			},
		}, Throttles: []snapshot.Throttle{
			{Broker: -1, Config: "leader.replication.throttled.rate", BytesPerSecond: 5e6},
			{Broker: 1, Config: "leader.replication.throttled.rate", BytesPerSecond: 1e7, Needed: true},
			{Broker: -1, Topic: "moving", Config: "leader.replication.throttled.replicas", BytesPerSecond: snapshot.Unknown, Replicas: 2, Needed: true},
			{Broker: -1, Topic: "old", Config: "follower.replication.throttled.replicas", BytesPerSecond: snapshot.Unknown, Replicas: -1},
		}},
		Reassignments: &snapshot.Reassignments{ReadAt: at, Partitions: []snapshot.Reassignment{
			{Topic: "moving", Partition: 0, Adding: []int32{3}, Removing: []int32{1}, RemainingBytes: 4096},
			{Topic: "moving", Partition: 1, Adding: []int32{3}, Removing: []int32{1}, RemainingBytes: snapshot.Unknown},
		}},
		Quotas: &snapshot.Quotas{ReadAt: at, Quotas: quotaFixtures()},
		Transactions: &snapshot.Transactions{ReadAt: at, ByState: map[string]int{"Ongoing": 2, "CompleteCommit": 5, "Novel": 1}, Partitions: []snapshot.OpenTransaction{
			{Topic: "orders", Partition: 0, Producers: 2, Hanging: 1, OldestTimestamp: ms(time.Hour)},
			{Topic: "orders", Partition: 2, Producers: 1, OldestTimestamp: snapshot.Unknown},
		}},
		ACLs: &snapshot.ACLs{ReadAt: at, Counts: map[snapshot.ACLKey]int{
			{ResourceType: "TOPIC", PatternType: "LITERAL", Permission: "ALLOW"}:  12,
			{ResourceType: "TOPIC", PatternType: "LITERAL", Permission: "DENY"}:   1,
			{ResourceType: "GROUP", PatternType: "PREFIXED", Permission: "ALLOW"}: 3,
		}},
		Collectors:    collectorFixtures(),
		RPCs:          []snapshot.RPCCount{{API: "ListOffsets", Count: 100, Seconds: 1.5}, {API: "ListOffsets", Class: "timeout", Count: 3, Seconds: 30}, {API: "Metadata", Count: 10, Seconds: 0.25}},
		RenamedLabels: map[string]int{"group": 2, "client_id": 1},
	}
	addGroups(c)
	return c
}

func quotaFixtures() []snapshot.Quota {
	def, named := snapshot.QuotaPart{Set: true, Default: true}, func(n string) snapshot.QuotaPart { return snapshot.QuotaPart{Set: true, Name: n} }
	return []snapshot.Quota{
		// C-43: the default user, and one who is called so.
		{User: def, Key: "producer_byte_rate", Value: 1000},
		{User: def, ClientID: def, Key: "producer_byte_rate", Value: 2000},
		{User: named("<default>"), Key: "producer_byte_rate", Value: 3000},
		{User: named("alice"), ClientID: named("app"), Key: "request_percentage", Value: 70},
		{User: named("alice"), ClientID: named("app"), Key: "consumer_byte_rate", Value: math.MaxInt64},
		{User: named("alice"), Key: "controller_mutation_rate", Value: 0.5},
		{IP: named("192.0.2.9"), Key: "connection_creation_rate", Value: 10},
		{IP: def, Key: "a_quota_of_the_future", Value: 10},
	}
}

func collectorFixtures() []snapshot.CollectorStatus {
	errors := func(timeouts uint64) map[string]uint64 {
		return map[string]uint64{"auth": 0, "tls": 0, "acl": 0, "timeout": timeouts, "network": 0, "unsupported": 0, "other": 0}
	}
	return []snapshot.CollectorStatus{
		{
			Name: "groups", Success: true, Partial: true, Duration: 1500 * time.Millisecond, LastRun: at, LastSuccess: at, Interval: 15 * time.Second, Errors: errors(2),
			Missing: []snapshot.Missing{{What: "broker 3", Broker: 3, Class: "timeout", Err: "no answer"}, {What: "group x", Broker: -1, Class: "other"}, {What: "broker 3", Broker: 3}},
		},
		{Name: "last_record", Unsupported: true, Interval: time.Minute, LastRun: at, Errors: map[string]uint64{"unsupported": 4, "novel": 1}},
		{Name: "topology", Denied: true, Interval: 15 * time.Second, Errors: errors(0)},
	}
}

// lagOf is a partition's lag with nothing special about it.
func lagOf(partition int32, committed, lag int64, seconds float64, v snapshot.Verdict) snapshot.PartitionLag {
	return snapshot.PartitionLag{Partition: partition, Committed: committed, Lag: lag, StableLag: lag, Seconds: seconds, Verdict: v}
}

func commits(topic string, pairs ...int64) snapshot.TopicCommits {
	t := snapshot.TopicCommits{Topic: topic}
	for i := 0; i < len(pairs); i += 2 {
		t.Partitions = append(t.Partitions, snapshot.Commit{Partition: int32(pairs[i]), Offset: pairs[i+1]})
	}
	return t
}

// addGroups adds groups in the order of their ids, with their lag.
func addGroups(c *snapshot.Cluster) {
	gs, lag := &snapshot.Groups{ReadAt: at}, &snapshot.Lag{ComputedAt: at}
	add := func(g snapshot.Group, l snapshot.GroupLag) {
		g.Name, _ = exposition.Label(g.ID)
		if g.Type == "" {
			g.Type = snapshot.GroupClassic
		}
		for i := range l.Topics {
			if t := &l.Topics[i]; t.Uncommitted == 0 {
				t.UncommittedRecords = snapshot.Unknown
			}
		}
		gs.Groups, lag.Groups = append(gs.Groups, g), append(lag.Groups, l)
	}
	add(snapshot.Group{ID: "", State: "Empty", Epoch: -1, Coordinator: -1, MembersKnown: true, CommitsKnown: true}, snapshot.GroupLag{})
	for _, id := range hostileIDs[1:6] {
		add(snapshot.Group{
			ID: id, State: "Empty", ProtocolType: "consumer", Epoch: -1, Coordinator: 1, MembersKnown: true, CommitsKnown: true,
			Commits: []snapshot.TopicCommits{commits("new", 0, 1)},
		},
			snapshot.GroupLag{Topics: []snapshot.TopicLag{{Topic: "new", LastCommit: snapshot.Unknown, Partitions: []snapshot.PartitionLag{lagOf(0, 1, 2, 3, snapshot.VerdictOK)}}}})
	}
	addGroupCases(add)
	for _, id := range hostileIDs[6:] {
		add(snapshot.Group{ID: id, State: "Dead", Epoch: -1, Coordinator: 2}, snapshot.GroupLag{})
	}
	swapLast(gs, lag) // "nul\x00" sorts after "long…"
	c.Groups, c.Lag = gs, lag
}

func swapLast(gs *snapshot.Groups, lag *snapshot.Lag) {
	n := len(gs.Groups)
	gs.Groups[n-1], gs.Groups[n-2] = gs.Groups[n-2], gs.Groups[n-1]
	lag.Groups[n-1], lag.Groups[n-2] = lag.Groups[n-2], lag.Groups[n-1]
}

func addGroupCases(add func(snapshot.Group, snapshot.GroupLag)) {
	// C-01: a commit on one of three partitions.
	add(snapshot.Group{
		ID: "g-c01", State: "Empty", ProtocolType: "consumer", Epoch: -1, Coordinator: 2, MembersKnown: true, CommitsKnown: true,
		Commits: []snapshot.TopicCommits{commits("orders", 2, 40)},
	},
		snapshot.GroupLag{Verdict: snapshot.VerdictOK, Topics: []snapshot.TopicLag{{
			Topic: "orders", Uncommitted: 2, UncommittedRecords: 25, LastCommit: ms(time.Minute), Verdict: snapshot.VerdictOK,
			Partitions: []snapshot.PartitionLag{lagOf(2, 40, 0, 0, snapshot.VerdictOK)},
		}}})
	// C-05: the new consumer protocol.
	members := []snapshot.Member{}
	for i, client := range []string{"app-0", "app-1", "app\x00\xff"} {
		members = append(members, snapshot.Member{
			ID: "m" + exposition.Itoa(int32(i)), ClientID: client, ClientIP: "192.0.2.10", InstanceID: map[int]string{0: "static-0"}[i],
			Assigned: []snapshot.TopicPartitions{{Topic: "orders", Partitions: []int32{int32(i)}}},
		})
	}
	add(snapshot.Group{
		ID: "g-c05", Type: snapshot.GroupConsumer, State: "Stable", ProtocolType: "consumer", Assignor: "uniform", Coordinator: 1, Epoch: 12,
		Members: members, MembersKnown: true, CommitsKnown: true, Commits: []snapshot.TopicCommits{commits("orders", 0, 22, 1, 0, 2, 36)},
	},
		snapshot.GroupLag{Verdict: snapshot.VerdictStalled, Topics: []snapshot.TopicLag{{
			Topic: "orders", Assigned: true, AssignedPartitions: 3, LastCommit: ms(0), Verdict: snapshot.VerdictStalled,
			Partitions: []snapshot.PartitionLag{
				{Partition: 0, Committed: 22, Lag: 8, StableLag: 3, Seconds: 12.3456, Verdict: snapshot.VerdictStalled, Truncated: true},
				lagOf(1, 0, 0, 0, snapshot.VerdictOK),
				{Partition: 2, Committed: 36, Lag: 4, StableLag: snapshot.Unknown, Seconds: -1, Verdict: snapshot.VerdictWarning},
			},
		}}})
	// C-07: commits to a topic and a partition that are gone.
	add(snapshot.Group{
		ID: "g-c07", State: "Empty", Epoch: -1, Coordinator: 1, MembersKnown: true, CommitsKnown: true,
		Commits: []snapshot.TopicCommits{commits("gone", 0, 5), commits("old", 0, 1000), commits("shrunk", 5, 9)},
	},
		snapshot.GroupLag{Orphaned: 2, Verdict: snapshot.VerdictStopped, Topics: []snapshot.TopicLag{{
			Topic: "old", Lost: 200, LastCommit: snapshot.Unknown, Verdict: snapshot.VerdictStopped,
			Partitions: []snapshot.PartitionLag{lagOf(0, 1000, 500, 3600, snapshot.VerdictStopped)},
		}}})
	// C-26: assigned only to new, an old commit on old.
	add(snapshot.Group{
		ID: "g-c26", State: "Stable", ProtocolType: "consumer", Assignor: "range", Epoch: -1, Coordinator: 1, MembersKnown: true, CommitsKnown: true,
		Members: []snapshot.Member{{ID: "m", ClientID: "app", ClientIP: "192.0.2.11", Assigned: []snapshot.TopicPartitions{{Topic: "new", Partitions: []int32{0}}}}},
		Commits: []snapshot.TopicCommits{commits("new", 0, 9), commits("old", 0, 1600)},
	},
		snapshot.GroupLag{Verdict: snapshot.VerdictOK, Topics: []snapshot.TopicLag{
			{Topic: "new", Assigned: true, AssignedPartitions: 1, UnknownEnd: 1, LastCommit: snapshot.Unknown, Partitions: []snapshot.PartitionLag{
				{Partition: 0, Committed: 9, Lag: snapshot.Unknown, StableLag: snapshot.Unknown, Seconds: -1},
			}},
			{Topic: "old", LastCommit: snapshot.Unknown, Verdict: snapshot.VerdictOK, Partitions: []snapshot.PartitionLag{
				{Partition: 0, Committed: 1600, Lag: 0, StableLag: 0, Verdict: snapshot.VerdictRewound, Clamped: true},
			}},
		}})
	add(snapshot.Group{
		ID: "g-share", Type: snapshot.GroupShare, State: "Stable", Assignor: "simple", Coordinator: 2, Epoch: 3, MembersKnown: true,
		Members: []snapshot.Member{{ID: "s", ClientID: "sharer", ClientIP: "192.0.2.12"}},
	}, snapshot.GroupLag{})
	add(snapshot.Group{ID: "g-unknown", Type: "of-the-future", State: "Novel", Coordinator: 2, Epoch: -1}, snapshot.GroupLag{})
}

// zookeeperCluster is small, old and in order; parts of it were never read.
func zookeeperCluster() *snapshot.Cluster {
	return &snapshot.Cluster{
		Name: "legacy",
		Topology: &snapshot.Topology{
			ReadAt: at, ClusterID: "zk", Mode: "zookeeper", ControllerID: 0, ControllerChanges: 1,
			Brokers: []snapshot.Broker{{ID: 0, Host: "zk0", IP: "2001:db8::1", Up: true, Reachable: true, Leaders: 1, PreferredLeaders: 1, Replicas: 1}},
			Topics:  []snapshot.Topic{{Name: "orders", Partitions: []snapshot.Partition{part(0, 0, []int32{0}, []int32{0})}}},
		},
		Offsets:    &snapshot.Offsets{Topics: map[string]*snapshot.TopicOffsets{"orders": {End: []int64{1e15}}}},
		ACLs:       &snapshot.ACLs{ReadAt: at, AuthorizerOff: true},
		Collectors: collectorFixtures()[2:],
	}
}
