package fake

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// GroupType is a group's type as ListGroups v5 spells it.
type GroupType string

// The group types of Kafka 4.x.
const (
	Classic  GroupType = "classic"
	Consumer GroupType = "consumer" // KIP-848
	Share    GroupType = "share"    // KIP-932
	Streams  GroupType = "streams"  // KIP-1071
)

// Group is a group at its coordinator.
type Group struct {
	ID           string
	Type         GroupType
	State        string // "Stable", "Empty", "PreparingRebalance", "Dead" …
	ProtocolType string
	Protocol     string // assignor
	Coordinator  int32  // broker id, -1 = none (FindCoordinator answers error 15)
	Epoch        int32
	Members      []Member

	// Commits are the committed offsets; of a share group, its start
	// offsets. SetCommit keeps both levels sorted.
	Commits []TopicCommits

	// Err is answered for the group by every group API of its coordinator.
	// Code 30 (GROUP_AUTHORIZATION_FAILED) is answered by FindCoordinator
	// too and hides the group from ListGroups.
	Err int16
}

// Member is a group member.
type Member struct {
	ID         string
	InstanceID *string
	ClientID   string
	ClientHost string // as brokers spell it: "/127.0.0.1"
	Rack       *string
	Topics     []string // subscription
	Assigned   []TopicPartitions

	// Assignment are the raw assignment bytes of a classic member;
	// nil = encoded from Assigned.
	Assignment []byte
}

// TopicCommits are the committed offsets of one topic.
type TopicCommits struct {
	Topic      string
	Partitions []Commit
}

// Commit is one committed offset.
type Commit struct {
	Partition   int32
	Err         int16
	LeaderEpoch int32 // -1 = unknown
	Offset      int64
	Metadata    string
}

// AddGroup adds a group: Stable but memberless until changed, coordinated by
// one of the live brokers. It replaces a group of that id.
func (s *State) AddGroup(id string, typ GroupType) *Group {
	g := &Group{ID: id, Type: typ, State: "Stable", Coordinator: s.coordinatorFor(id), Epoch: 1}
	switch typ {
	case Classic, Consumer:
		g.ProtocolType, g.Protocol = "consumer", "range"
	case Share:
		g.ProtocolType, g.Protocol = "share", "simple"
	case Streams:
		g.ProtocolType, g.Protocol = "streams", "sticky"
	}
	s.Groups[id] = g
	return g
}

// AddMember appends a member that is assigned the given partitions (and
// subscribed to their topics).
func (g *Group) AddMember(id, clientID, clientHost string, assigned ...TopicPartitions) *Member {
	m := Member{ID: id, ClientID: clientID, ClientHost: clientHost, Assigned: assigned}
	for _, a := range assigned {
		m.Topics = append(m.Topics, a.Topic)
	}
	g.Members = append(g.Members, m)
	return &g.Members[len(g.Members)-1]
}

// SetCommit sets a committed offset, without leader epoch and metadata, and
// returns it for further changes (valid until the next SetCommit).
func (g *Group) SetCommit(topic string, partition int32, offset int64) *Commit {
	i, ok := slices.BinarySearchFunc(g.Commits, topic, func(t TopicCommits, n string) int { return cmp.Compare(t.Topic, n) })
	if !ok {
		g.Commits = slices.Insert(g.Commits, i, TopicCommits{Topic: topic})
	}
	t := &g.Commits[i]
	j, ok := slices.BinarySearchFunc(t.Partitions, partition, func(c Commit, p int32) int { return cmp.Compare(c.Partition, p) })
	if !ok {
		t.Partitions = slices.Insert(t.Partitions, j, Commit{})
	}
	t.Partitions[j] = Commit{Partition: partition, Offset: offset, LeaderEpoch: -1}
	return &t.Partitions[j]
}

// Commit returns a committed offset, or nil.
func (g *Group) Commit(topic string, partition int32) *Commit {
	i, ok := slices.BinarySearchFunc(g.Commits, topic, func(t TopicCommits, n string) int { return cmp.Compare(t.Topic, n) })
	if !ok {
		return nil
	}
	t := &g.Commits[i]
	j, ok := slices.BinarySearchFunc(t.Partitions, partition, func(c Commit, p int32) int { return cmp.Compare(c.Partition, p) })
	if !ok {
		return nil
	}
	return &t.Partitions[j]
}

// assignment returns the bytes that DescribeGroups shows for a classic member.
func (m *Member) assignment() []byte {
	if m.Assignment != nil {
		return m.Assignment
	}
	var a kmsg.ConsumerMemberAssignment
	for _, tp := range m.Assigned {
		a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: tp.Topic, Partitions: tp.Partitions})
	}
	return a.AppendTo(nil)
}

// subscription returns the metadata bytes that DescribeGroups shows for a
// classic member.
func (m *Member) subscription() []byte {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Topics = m.Topics
	return meta.AppendTo(nil)
}
