package collector

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// drawCluster draws a cluster of topics, log directories and groups in which
// much is unknown.
func drawCluster(t *rapid.T) *snapshot.Cluster {
	c := &snapshot.Cluster{
		Name: "prod", Topology: &snapshot.Topology{}, LogDirs: &snapshot.LogDirs{}, Groups: &snapshot.Groups{}, Lag: &snapshot.Lag{},
		Offsets: &snapshot.Offsets{Topics: map[string]*snapshot.TopicOffsets{}},
	}
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "a.b", "other", "topic-4", "topic-5"}), 0, 5, rapid.ID).Draw(t, "topics")
	slices.Sort(names)
	for _, name := range names {
		topic := snapshot.Topic{Name: name}
		for id := range rapid.Int32Range(0, 4).Draw(t, "partitions") {
			topic.Partitions = append(topic.Partitions, drawPartition(t, id))
		}
		c.Topology.Topics = append(c.Topology.Topics, topic)
		if rapid.Bool().Draw(t, "offsets") {
			c.Offsets.Topics[name] = &snapshot.TopicOffsets{End: drawOffsets(t, len(topic.Partitions)), Stable: drawOffsets(t, 1)}
		}
	}
	for broker := range rapid.Int32Range(0, 3).Draw(t, "brokers") {
		for _, path := range []string{"/a", "/b"} {
			c.LogDirs.Dirs = append(c.LogDirs.Dirs, drawDir(t, broker, path, names))
		}
	}
	ids := rapid.SliceOfNDistinct(rapid.OneOf(rapid.SampledFrom(hostileIDs), rapid.String()), 0, 5, rapid.ID).Draw(t, "groups")
	slices.Sort(ids)
	for _, id := range ids {
		drawGroup(t, c, id, names)
	}
	return c
}

var drawIDs = rapid.SliceOfNDistinct(rapid.Int32Range(0, 5), 0, 4, rapid.ID)

func drawPartition(t *rapid.T, id int32) snapshot.Partition {
	p := snapshot.Partition{ID: id, Leader: rapid.Int32Range(-1, 5).Draw(t, "leader"), Replicas: drawIDs.Draw(t, "replicas")}
	pick := func(what string) (some []int32) {
		for _, r := range p.Replicas {
			if rapid.Bool().Draw(t, what) {
				some = append(some, r)
			}
		}
		return some
	}
	p.ISR, p.Adding, p.Removing, p.Offline = pick("isr"), pick("adding"), pick("removing"), pick("offline")
	return p
}

func drawOffsets(t *rapid.T, n int) []int64 {
	return rapid.SliceOfN(rapid.Int64Range(-1, 1000), n, n).Draw(t, "offsets")
}

func drawDir(t *rapid.T, broker int32, path string, topics []string) snapshot.LogDir {
	d := snapshot.LogDir{Broker: broker, Path: path, Online: rapid.Bool().Draw(t, "online"), SizeBytes: snapshot.Unknown}
	if !d.Online {
		return d
	}
	for _, topic := range topics {
		var ps []snapshot.LogDirPartition
		for id := range rapid.Int32Range(0, 3).Draw(t, "replicas") {
			ps = append(ps, snapshot.LogDirPartition{Partition: id, Future: rapid.Bool().Draw(t, "future"), SizeBytes: rapid.Int64Range(-1, 99).Draw(t, "size")})
		}
		d.Topics = append(d.Topics, snapshot.LogDirTopic{Topic: topic, Partitions: ps})
	}
	return d
}

func drawGroup(t *rapid.T, c *snapshot.Cluster, id string, topics []string) {
	g := snapshot.Group{
		ID: id, Type: rapid.SampledFrom(append([]string{""}, groupTypes...)).Draw(t, "type"), State: rapid.SampledFrom([]string{"Stable", "Empty", "Novel", ""}).Draw(t, "state"),
		CommitsKnown: rapid.Bool().Draw(t, "commitsKnown"), MembersKnown: rapid.Bool().Draw(t, "membersKnown"), Epoch: -1,
	}
	g.Name, _ = exposition.Label(id)
	l := snapshot.GroupLag{Orphaned: rapid.IntRange(0, 3).Draw(t, "orphaned")}
	for _, topic := range topics {
		tl := snapshot.TopicLag{Topic: topic, Uncommitted: rapid.IntRange(0, 3).Draw(t, "uncommitted"), LastCommit: snapshot.Unknown, UncommittedRecords: snapshot.Unknown}
		for p := range rapid.Int32Range(0, 3).Draw(t, "committed") {
			tl.Partitions = append(tl.Partitions, snapshot.PartitionLag{
				Partition: p, Lag: rapid.Int64Range(-1, 50).Draw(t, "lag"), StableLag: rapid.Int64Range(-1, 50).Draw(t, "stable"),
				Seconds: rapid.Float64Range(-1, 1e6).Draw(t, "seconds"), Verdict: snapshot.Verdict(rapid.IntRange(0, 5).Draw(t, "verdict")),
			})
		}
		l.Topics = append(l.Topics, tl)
	}
	for _, topic := range topics {
		g.Commits = append(g.Commits, commits(topic, 0, rapid.Int64Range(-1, 9).Draw(t, "commit")))
	}
	c.Groups.Groups, c.Lag.Groups = append(c.Groups.Groups, g), append(c.Lag.Groups, l)
}

// expected counts series anew, straight from the snapshot and by other code
// than the families': sets as maps, no shared helpers.
type expected map[string]map[string]float64

func (x expected) put(family string, v float64, pairs ...string) {
	var set []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			set = append(set, fmt.Sprintf("%s=%q", pairs[i], pairs[i+1]))
		}
	}
	set = append(set, `kafka_cluster="prod"`)
	slices.Sort(set)
	if x[family] == nil {
		x[family] = map[string]float64{}
	}
	x[family]["{"+strings.Join(set, ",")+"}"] += v
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func recount(c *snapshot.Cluster) expected {
	x := expected{}
	for _, t := range c.Topology.Topics {
		for _, p := range t.Partitions {
			at := []string{"topic", t.Name, "partition", fmt.Sprint(p.ID)}
			adding := map[int32]bool{}
			for _, a := range p.Adding {
				adding[a] = true
			}
			want, have := 0, 0
			for _, r := range p.Replicas {
				if !adding[r] {
					want++
					have += int(one(slices.Contains(p.ISR, r)))
				}
			}
			x.put("kafka_partition_under_replicated", one(have < want), at...)
			x.put("kafka_partition_leaderless", one(p.Leader == -1), at...)
			if p.Leader != -1 {
				x.put("kafka_partition_leader_broker", float64(p.Leader), at...)
			}
			x.put("kafka_partition_leader_preferred", one(len(p.Replicas) > 0 && p.Replicas[0] == p.Leader), at...)
			if len(p.Adding)+len(p.Removing) > 0 {
				x.put("kafka_partition_reassigning", 1, at...)
			}
			if o := c.Offsets.Topics[t.Name]; o != nil && o.End[p.ID] != -1 {
				x.put("kafka_partition_end_offset", float64(o.End[p.ID]), at...)
			}
		}
	}
	for _, d := range c.LogDirs.Dirs {
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				if p.SizeBytes == -1 {
					continue
				}
				if p.Future {
					x.put("kafka_partition_future_replica_size_bytes", float64(p.SizeBytes), "topic", t.Topic, "partition", fmt.Sprint(p.Partition), "broker", fmt.Sprint(d.Broker), "log_dir", d.Path)
					continue
				}
				x.put("kafka_topic_size_bytes", float64(p.SizeBytes), "topic", t.Topic)
				x.put("kafka_log_dir_topic_size_bytes", float64(p.SizeBytes), "topic", t.Topic, "broker", fmt.Sprint(d.Broker), "log_dir", d.Path)
			}
		}
	}
	recountGroups(c, x)
	return x
}

func recountGroups(c *snapshot.Cluster, x expected) {
	types := map[string]string{"": "unknown"}
	for _, name := range []string{"classic", "consumer", "share", "streams", "unknown"} {
		types[name] = name
		x.put("kafka_groups", 0, "group_type", name)
	}
	for i, g := range c.Groups.Groups {
		x.put("kafka_groups", 1, "group_type", types[g.Type])
		for _, t := range g.Commits {
			if p := t.Partitions[0]; g.CommitsKnown && p.Offset != -1 {
				x.put("kafka_group_committed_offset", float64(p.Offset), "group", g.Name, "topic", t.Topic, "partition", "0")
			}
		}
		for _, t := range c.Lag.Groups[i].Topics {
			if g.CommitsKnown {
				x.put("kafka_group_uncommitted_partitions", float64(t.Uncommitted), "group", g.Name, "topic", t.Topic)
			}
			for _, p := range t.Partitions {
				at := []string{"group", g.Name, "topic", t.Topic, "partition", fmt.Sprint(p.Partition)}
				if p.Lag != -1 {
					x.put("kafka_group_lag_records", float64(p.Lag), at...)
				}
				if p.StableLag != -1 && p.StableLag != p.Lag {
					x.put("kafka_group_stable_lag_records", float64(p.StableLag), at...)
				}
				if v := p.Verdict.String(); v != "ok" && v != "unknown" {
					x.put("kafka_group_partition_verdict", 1, append(at, "verdict", v)...)
				}
			}
		}
	}
}

// recounted are the families that recount knows.
var recounted = []string{
	"kafka_partition_under_replicated", "kafka_partition_leaderless", "kafka_partition_leader_broker", "kafka_partition_leader_preferred",
	"kafka_partition_reassigning", "kafka_partition_end_offset", "kafka_partition_future_replica_size_bytes", "kafka_topic_size_bytes",
	"kafka_log_dir_topic_size_bytes", "kafka_groups", "kafka_group_committed_offset", "kafka_group_uncommitted_partitions", "kafka_group_lag_records",
	"kafka_group_stable_lag_records", "kafka_group_partition_verdict",
}

// TestRecount compares families with a count made by other code, and checks
// that nothing is negative or comes twice.
func TestRecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		want := recount(c)
		got, _ := parse(t, renderAll(t, everything(), c))
		for _, family := range recounted {
			if diff := cmp.Diff(want[family], got[family]); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", family, diff)
			}
		}
		for family, set := range got {
			for k, v := range set {
				if v < 0 {
					t.Fatalf("%s%s = %v", family, k, v)
				}
			}
		}
	})
}

// TestGranularityKeepsSums: lag by topic and by group is the sum of lag by
// partition; of the stable lag that of all partitions.
func TestGranularityKeepsSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		for _, g := range []string{"topic", "group"} {
			want := expected{}
			for i, group := range c.Groups.Groups {
				for _, topic := range c.Lag.Groups[i].Topics {
					at := []string{"group", group.Name}
					if g == "topic" {
						at = append(at, "topic", topic.Topic)
					}
					for _, p := range topic.Partitions {
						if p.Lag != -1 {
							want.put("kafka_group_lag_records", float64(p.Lag), at...)
						}
						if p.StableLag != -1 {
							want.put("kafka_group_stable_lag_records", float64(p.StableLag), at...)
						}
					}
				}
			}
			got, _ := parse(t, renderAll(t, Limits(granularity(map[string]string{"groups": g})), c))
			for _, family := range []string{"kafka_group_lag_records", "kafka_group_stable_lag_records"} {
				if diff := cmp.Diff(want[family], got[family]); diff != "" {
					t.Fatalf("%s by %s (-want +got):\n%s", family, g, diff)
				}
			}
		}
	})
}
