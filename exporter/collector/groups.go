package collector

import (
	"slices"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

var byGroup = labels("group")

func groupsSubject() Subject {
	return Subject{
		Title: "Groups",
		Note: "Groups of every kind stay visible while Kafka knows them, without members too. " +
			"What could not be described (members, commits) gives no series; the group keeps its info and state.",
		Families: []family{
			gauge(groups, "kafka_groups",
				"Groups by type: classic, consumer (KIP-848), share (KIP-932), streams (KIP-1071). From ListGroups.",
				sum, labels("group_type"), renderGroupCounts),
			gauge(groups, "kafka_group_info",
				"Always 1; says a group's type, protocol type, partition assignor and coordinating broker. From ListGroups and DescribeGroups or its counterpart for the type.",
				most, labels("group", "group_type", "protocol_type", "assignor", "coordinator"), func(c *cluster, e *emitter) {
					for _, g := range eachGroup(c) {
						e.Int(1, g.Name, g.Type, g.ProtocolType, g.Assignor, id(g.Coordinator))
					}
				}),
			gauge(groups, "kafka_group_state",
				"1 for the state that a group is in, 0 for the other states of its type. From ListGroups and DescribeGroups or its counterpart for the type.",
				sum, labels("group", "state"), renderGroupStates),
			gauge(groups, "kafka_group_members",
				"Members of a group. From DescribeGroups or its counterpart for the group's type.",
				sum, byGroup, func(c *cluster, e *emitter) {
					for _, g := range eachGroup(c) {
						if g.MembersKnown {
							e.Int(int64(len(g.Members)), g.Name)
						}
					}
				}),
			requires("KIP-848, KIP-932 or KIP-1071", sparse("groups that have one", gauge(groups, "kafka_group_epoch",
				"Epoch of a group: grows with every change of members or subscription that calls for a new assignment. From ConsumerGroupDescribe and its like.",
				most, byGroup, func(c *cluster, e *emitter) {
					for _, g := range eachGroup(c) {
						if g.Epoch >= 0 {
							e.Int(int64(g.Epoch), g.Name)
						}
					}
				}))),
			gauge(groups, "kafka_group_committed_offset",
				"Offset that a group has committed in a partition: the next record it reads after a restart. Absent without a commit. Commits to topics that no longer exist are shown as long as Kafka keeps them. From OffsetFetch.",
				sum, byGroupPartition, renderCommits),
		},
	}
}

var groupTypes = []string{
	snapshot.GroupClassic, snapshot.GroupConsumer, snapshot.GroupShare, snapshot.GroupStreams, snapshot.GroupUnknown,
}

func renderGroupCounts(c *cluster, e *emitter) {
	if c.Groups == nil {
		return
	}
	counts := make([]int64, len(groupTypes))
	for _, g := range eachGroup(c) {
		i := slices.Index(groupTypes, g.Type)
		if i < 0 {
			i = len(groupTypes) - 1
		}
		counts[i]++
	}
	for i, n := range counts {
		e.Int(n, groupTypes[i])
	}
}

// groupStates are the states of each type of group as Kafka spells them.
var groupStates = map[string][]string{
	snapshot.GroupClassic:  {"Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Dead"},
	snapshot.GroupConsumer: {"Stable", "Empty", "Assigning", "Reconciling", "Dead"},
	snapshot.GroupShare:    {"Stable", "Empty", "Dead"},
	snapshot.GroupStreams:  {"Stable", "Empty", "NotReady", "Assigning", "Reconciling", "Dead"},
}

func renderGroupStates(c *cluster, e *emitter) {
	for _, g := range eachGroup(c) {
		states := groupStates[g.Type]
		for _, s := range states {
			e.Bool(s == g.State, g.Name, s)
		}
		// A state that is new to us, or of a type that is, must still show.
		if g.State != "" && !slices.Contains(states, g.State) {
			e.Int(1, g.Name, g.State)
		}
	}
}

var byGroupPartition = labels("group", "topic", "partition")

func renderCommits(c *cluster, e *emitter) {
	for _, g := range eachGroup(c) {
		if !g.CommitsKnown {
			continue
		}
		for i := range g.Commits {
			t := &g.Commits[i]
			for _, p := range t.Partitions {
				if p.Offset >= 0 {
					e.Int(p.Offset, g.Name, t.Topic, exposition.Itoa(p.Partition))
				}
			}
		}
	}
}

func membersSubject() Subject {
	return Subject{
		Title: "Group members",
		Note:  "To put a member's client id or address on lag, join with `group_left`; lag itself is not renamed by a rebalance.",
		Families: []family{
			gauge(groups, "kafka_group_member_info",
				"Always 1; says a group member's client id, address as the broker saw it, and static group.instance.id. From DescribeGroups or its counterpart for the group's type.",
				most, labels("group", "client_id", "client_ip", "member", "instance_id"), members(func(g *snapshot.Group, m *snapshot.Member, e *emitter) {
					e.Int(1, g.Name, m.ClientID, m.ClientIP, m.ID, m.InstanceID)
				})),
			optIn(gauge(groups, "kafka_group_member_assigned_partitions",
				"Partitions of a topic that are assigned to a group member. From DescribeGroups or its counterpart for the group's type.",
				sum, labels("group", "member", "topic"), members(func(g *snapshot.Group, m *snapshot.Member, e *emitter) {
					for i := range m.Assigned {
						e.Int(int64(len(m.Assigned[i].Partitions)), g.Name, m.ID, m.Assigned[i].Topic)
					}
				}))),
		},
	}
}

func members(emit func(*snapshot.Group, *snapshot.Member, *emitter)) render {
	return func(c *cluster, e *emitter) {
		for _, g := range eachGroup(c) {
			if !g.MembersKnown {
				continue
			}
			for i := range g.Members {
				emit(g, &g.Members[i], e)
			}
		}
	}
}
