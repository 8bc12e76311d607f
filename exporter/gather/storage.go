package gather

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
)

// LogDirs reads every broker's data directories, one request per broker.
func (r *Reader) LogDirs(ctx context.Context, t *snapshot.Topology) (*snapshot.LogDirs, Failures, error) {
	var failures Failures
	brokers := upBrokers(t)
	dirs, failed := r.beside.LogDirs(ctx, brokers)
	if err := whole(failed, len(brokers)); err != nil {
		return nil, nil, err
	}
	failures.brokers(failed)
	out := &snapshot.LogDirs{ReadAt: r.now()}
	for i := range t.Brokers {
		b := &t.Brokers[i]
		if !b.Up {
			// It holds replicas, so its directories are missing; nobody was asked.
			failures.broker(b.ID, &kafka.BrokerDownError{Broker: b.ID})
		}
		if !b.Up || failed[b.ID] != nil {
			out.Missing = append(out.Missing, b.ID)
		}
	}
	for i := range dirs {
		d := &dirs[i]
		if d.Err != nil {
			failures.item("log dir "+d.Path+" of broker "+strconv.Itoa(int(d.Broker)), d.Broker, d.Err)
		}
		out.Dirs = append(out.Dirs, r.logDir(d, t))
	}
	slices.SortFunc(out.Dirs, func(a, b snapshot.LogDir) int {
		return cmp.Or(cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.Path, b.Path))
	})
	return out, failures, nil
}

// logDir converts one directory. Replicas are summed by topic in one pass over
// a sorted list.
func (r *Reader) logDir(d *kafka.LogDir, t *snapshot.Topology) snapshot.LogDir {
	out := snapshot.LogDir{Broker: d.Broker, Path: d.Path, Online: d.Err == nil, TotalBytes: d.Total, UsableBytes: d.Usable, SizeBytes: snapshot.Unknown, FutureBytes: snapshot.Unknown}
	if d.Err != nil {
		out.Err = d.Err.Error()
		return out
	}
	out.SizeBytes, out.FutureBytes = 0, 0
	slices.SortFunc(d.Replicas, func(a, b kafka.LogDirReplica) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	for i := range d.Replicas {
		p := &d.Replicas[i]
		if p.Future {
			out.FutureBytes += p.Size
			out.FutureReplicas++
		} else {
			out.SizeBytes += p.Size
			out.Replicas++
		}
		if !r.wantsTopic(p.Topic) {
			continue
		}
		if n := len(out.Topics); n == 0 || out.Topics[n-1].Topic != p.Topic {
			name := p.Topic
			if known := t.Topic(name); known != nil {
				name = known.Name
			}
			out.Topics = append(out.Topics, snapshot.LogDirTopic{Topic: name})
		}
		last := &out.Topics[len(out.Topics)-1]
		last.Partitions = append(last.Partitions, snapshot.LogDirPartition{Partition: p.Partition, Future: p.Future, SizeBytes: p.Size, OffsetLag: p.OffsetLag})
	}
	return out
}

// WithRemainingBytes tells for every move what its adding replicas still lack
// against the leader's replica. A replica that has no directory yet lacks all.
// It returns a copy: moves may be published already.
func WithRemainingBytes(moves *snapshot.Reassignments, dirs *snapshot.LogDirs, t *snapshot.Topology) *snapshot.Reassignments {
	if moves == nil || dirs == nil {
		return moves
	}
	moves = &snapshot.Reassignments{ReadAt: moves.ReadAt, Partitions: slices.Clone(moves.Partitions)}
	for i := range moves.Partitions {
		m := &moves.Partitions[i]
		p := t.Topic(m.Topic).Partition(m.Partition)
		if p == nil || p.Leader < 0 {
			continue
		}
		whole := dirs.ReplicaSize(p.Leader, m.Topic, m.Partition)
		if whole == snapshot.Unknown {
			continue
		}
		m.RemainingBytes = 0
		for _, b := range m.Adding {
			m.RemainingBytes += max(0, whole-max(0, dirs.ReplicaSize(b, m.Topic, m.Partition)))
		}
	}
	return moves
}

// topicEntries are the topic configurations that rules and people ask for.
var topicEntries = []string{
	"cleanup.policy", "min.insync.replicas", "retention.ms", "retention.bytes", "segment.bytes", "max.message.bytes",
	"compression.type", "message.timestamp.type", "unclean.leader.election.enable", "remote.storage.enable",
	"leader.replication.throttled.replicas", "follower.replication.throttled.replicas",
}

// brokerEntries are the brokers' replication throttles.
var brokerEntries = []string{
	"leader.replication.throttled.rate", "follower.replication.throttled.rate", "replica.alter.log.dirs.io.max.bytes.per.second",
}

// Configs reads the topics' configurations and every throttle that is set:
// topics/1000 requests and one per broker.
func (r *Reader) Configs(ctx context.Context, t *snapshot.Topology) (*snapshot.Configs, Failures, error) {
	var failures Failures
	names := make([]string, len(t.Topics))
	for i := range t.Topics {
		names[i] = t.Topics[i].Name
	}
	results, err := r.beside.TopicConfigs(ctx, names, topicEntries)
	if err != nil {
		return nil, nil, err
	}
	out := &snapshot.Configs{ReadAt: r.now(), Topics: make(map[string]snapshot.TopicConfig, len(results))}
	for i := range results {
		c := &results[i]
		if c.Err != nil {
			failures.item("topic "+c.Name, -1, c.Err)
			continue
		}
		out.Topics[c.Name] = topicConfig(c.Configs)
		out.Throttles = append(out.Throttles, topicThrottles(c)...)
	}
	brokers, failed := r.beside.BrokerConfigs(ctx, upBrokers(t), brokerEntries)
	failures.brokers(failed)
	for _, id := range slices.Sorted(maps.Keys(brokers)) {
		out.Throttles = append(out.Throttles, brokerThrottles(id, brokers[id].Configs)...)
	}
	slices.SortFunc(out.Throttles, func(a, b snapshot.Throttle) int {
		return cmp.Or(cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Config, b.Config))
	})
	return out, failures, nil
}

func topicConfig(c map[string]kafka.ConfigValue) snapshot.TopicConfig {
	num := func(name string) int64 {
		n, err := strconv.ParseInt(c[name].Value, 10, 64)
		if err != nil {
			return snapshot.Unknown
		}
		return n
	}
	// -1 is Kafka's "unlimited" for these two.
	limited := func(name string) (int64, bool) {
		if c[name].Value == "-1" {
			return snapshot.Unknown, true
		}
		return num(name), false
	}
	tc := snapshot.TopicConfig{
		CleanupPolicy:     c["cleanup.policy"].Value,
		MinInSyncReplicas: num("min.insync.replicas"), SegmentBytes: num("segment.bytes"), MaxMessageBytes: num("max.message.bytes"),
		CompressionType: c["compression.type"].Value, TimestampType: c["message.timestamp.type"].Value,
		UncleanLeaderElection: c["unclean.leader.election.enable"].Value == "true",
		RemoteStorage:         c["remote.storage.enable"].Value == "true",
	}
	tc.RetentionMs, tc.RetentionMsUnlimited = limited("retention.ms")
	tc.RetentionBytes, tc.RetentionBytesUnlimited = limited("retention.bytes")
	return tc
}

func topicThrottles(c *kafka.ConfigResult) []snapshot.Throttle {
	var out []snapshot.Throttle
	for _, name := range []string{"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"} {
		v := strings.TrimSpace(c.Configs[name].Value)
		if v == "" || v == "none" {
			continue
		}
		n := len(strings.Split(v, ","))
		if v == "*" {
			n = -1
		}
		out = append(out, snapshot.Throttle{Broker: -1, Topic: c.Name, Config: name, BytesPerSecond: snapshot.Unknown, Replicas: n})
	}
	return out
}

// unthrottled is what Kafka reports where no rate is set (Long.MAX_VALUE).
const unthrottled = "9223372036854775807"

func brokerThrottles(id int32, c map[string]kafka.ConfigValue) []snapshot.Throttle {
	var out []snapshot.Throttle
	for _, name := range brokerEntries {
		v := c[name]
		rate, err := strconv.ParseInt(v.Value, 10, 64)
		if v.Default || v.Value == unthrottled || err != nil {
			continue
		}
		out = append(out, snapshot.Throttle{Broker: id, Config: name, BytesPerSecond: rate})
	}
	return out
}

// MarkNeeded tells for every throttle whether something that is in flight uses
// it: a broker's replication rate while a move touches the broker, a topic's
// list while one of its partitions moves, a log-dir rate while a future
// replica is on the broker.
func MarkNeeded(c *snapshot.Configs, moves *snapshot.Reassignments, dirs *snapshot.LogDirs, t *snapshot.Topology) {
	if c == nil {
		return
	}
	topics, brokers, future := map[string]bool{}, map[int32]bool{}, map[int32]bool{}
	if moves != nil {
		for i := range moves.Partitions {
			m := &moves.Partitions[i]
			topics[m.Topic] = true
			for _, b := range m.Adding {
				brokers[b] = true
			}
			if p := t.Topic(m.Topic).Partition(m.Partition); p != nil {
				for _, b := range p.Replicas {
					brokers[b] = true
				}
			}
		}
	}
	if dirs != nil {
		for i := range dirs.Dirs {
			if dirs.Dirs[i].FutureReplicas > 0 {
				future[dirs.Dirs[i].Broker] = true
			}
		}
	}
	for i := range c.Throttles {
		th := &c.Throttles[i]
		switch {
		case th.Topic != "":
			th.Needed = topics[th.Topic]
		case strings.HasPrefix(th.Config, "replica.alter.log.dirs"):
			th.Needed = future[th.Broker]
		default:
			th.Needed = brokers[th.Broker]
		}
	}
}
