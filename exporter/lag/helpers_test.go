package lag

import (
	"testing"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// scene plays rounds of one cluster with topics of one's choice.
type scene struct {
	t       testing.TB
	tracker *Tracker
	now     time.Time
	topo    snapshot.Topology
	offsets snapshot.Offsets
	groups  snapshot.Groups
}

func newScene(t testing.TB, opts Options) *scene {
	if opts.Window == 0 {
		opts.Window = 10 * time.Minute
	}
	if opts.HistoryPoints == 0 {
		opts.HistoryPoints = 64
	}
	return &scene{t: t, tracker: New(opts), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), offsets: snapshot.Offsets{Topics: map[string]*snapshot.TopicOffsets{}}}
}

// topic adds a topic, or replaces it by one with another id. Topics are added
// in order of their names.
func (s *scene) topic(name string, id byte, partitions int) *snapshot.TopicOffsets {
	topic := snapshot.Topic{Name: name, ID: snapshot.TopicID{id}}
	for p := range partitions {
		topic.Partitions = append(topic.Partitions, snapshot.Partition{ID: int32(p), Leader: 1})
	}
	o := &snapshot.TopicOffsets{ID: topic.ID, End: make([]int64, partitions), Start: make([]int64, partitions)}
	s.offsets.Topics[name] = o
	if old := s.topo.Topic(name); old != nil {
		*old = topic
	} else {
		s.topo.Topics = append(s.topo.Topics, topic)
	}
	return o
}

// group adds a group without members and with one commit, or none for offset < 0.
func (s *scene) group(id, topic string, partition int32, offset int64) *snapshot.Group {
	g := snapshot.Group{ID: id, Name: id, State: "Empty", CommitsKnown: true, MembersKnown: true}
	if offset >= 0 {
		g.Commits = commits(topic, map[int32]int64{partition: offset})
	}
	s.groups.Groups = append(s.groups.Groups, g)
	return &s.groups.Groups[len(s.groups.Groups)-1]
}

func commits(topic string, offsets map[int32]int64) []snapshot.TopicCommits {
	tc := snapshot.TopicCommits{Topic: topic}
	for p := range int32(1000) {
		if o, ok := offsets[p]; ok {
			tc.Partitions = append(tc.Partitions, snapshot.Commit{Partition: p, Offset: o})
		}
	}
	return []snapshot.TopicCommits{tc}
}

// join gives the group a member with partitions of a topic.
func join(g *snapshot.Group, topic string, partitions ...int32) {
	g.State = "Stable"
	g.Members = append(g.Members, snapshot.Member{ID: "m", Assigned: []snapshot.TopicPartitions{{Topic: topic, Partitions: partitions}}})
}

// round plays one round after a pause.
func (s *scene) round(after time.Duration) *snapshot.Lag {
	s.now = s.now.Add(after)
	return s.tracker.Compute(s.now, &s.topo, &s.offsets, &s.groups)
}

// only is the lag of the only partition of the only topic of the first group.
func only(t testing.TB, l *snapshot.Lag) snapshot.PartitionLag {
	t.Helper()
	if len(l.Groups) == 0 || len(l.Groups[0].Topics) != 1 || len(l.Groups[0].Topics[0].Partitions) != 1 {
		t.Fatalf("want one partition, have %+v", l)
	}
	return l.Groups[0].Topics[0].Partitions[0]
}

// of finds a group's topic, nil if it has no lag there.
func of(l *snapshot.Lag, group int, topic string) *snapshot.TopicLag {
	for i := range l.Groups[group].Topics {
		if l.Groups[group].Topics[i].Topic == topic {
			return &l.Groups[group].Topics[i]
		}
	}
	return nil
}
