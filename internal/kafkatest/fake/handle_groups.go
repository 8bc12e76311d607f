package fake

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func listGroups(s *State, broker int32, req *kmsg.ListGroupsRequest, resp *kmsg.ListGroupsResponse) {
	for _, id := range s.index.groups {
		g := s.Groups[id]
		if g.Coordinator != broker || g.Err == errGroupAuthorization ||
			!matchesFold(req.StatesFilter, g.State) || !matchesFold(req.TypesFilter, string(g.Type)) {
			continue
		}
		lg := kmsg.NewListGroupsResponseGroup()
		lg.Group, lg.ProtocolType, lg.GroupState, lg.GroupType = id, g.ProtocolType, g.State, string(g.Type)
		resp.Groups = append(resp.Groups, lg)
	}
}

// matchesFold is whether an empty filter or one of its values matches.
func matchesFold(filter []string, value string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, value) })
}

// groupAt finds a group of a type at a broker; the code is 0, or why not.
func (s *State) groupAt(broker int32, id string, typ GroupType) (*Group, int16) {
	g := s.Groups[id]
	switch {
	case g == nil && s.coordinatorFor(id) != broker, g != nil && g.Coordinator != broker:
		return nil, errNotCoordinator
	case g == nil:
		return nil, errGroupIDNotFound
	case g.Err != 0:
		return nil, g.Err
	case g.Type != typ:
		return nil, errGroupIDNotFound
	}
	return g, 0
}

func notFoundMessage(code int16, id string) *string {
	if code != errGroupIDNotFound {
		return nil
	}
	return kmsg.StringPtr("Group " + id + " not found.")
}

func describeGroups(s *State, broker int32, req *kmsg.DescribeGroupsRequest, resp *kmsg.DescribeGroupsResponse) {
	for _, id := range req.Groups {
		dg := kmsg.NewDescribeGroupsResponseGroup()
		dg.Group, dg.AuthorizedOperations = id, noOperations
		g, code := s.groupAt(broker, id, Classic)
		switch {
		case g != nil:
			dg.State, dg.ProtocolType, dg.Protocol = g.State, g.ProtocolType, g.Protocol
			dg.Members = classicMembers(g)
		case code == errGroupIDNotFound && req.Version <= 5:
			// Before v6 brokers call what they do not know "dead", and that
			// includes the groups of other types.
			dg.State = "Dead"
		default:
			dg.ErrorCode, dg.ErrorMessage = code, notFoundMessage(code, id)
			if code == errGroupIDNotFound {
				dg.State = "Dead"
			}
		}
		resp.Groups = append(resp.Groups, dg)
	}
}

func classicMembers(g *Group) []kmsg.DescribeGroupsResponseGroupMember {
	out := make([]kmsg.DescribeGroupsResponseGroupMember, len(g.Members))
	for i := range g.Members {
		m, o := &g.Members[i], &out[i]
		o.Default()
		o.MemberID, o.InstanceID, o.ClientID, o.ClientHost = m.ID, m.InstanceID, m.ClientID, m.ClientHost
		if g.State == "Stable" {
			o.ProtocolMetadata, o.MemberAssignment = m.subscription(), m.assignment()
		}
	}
	return out
}

func consumerGroupDescribe(s *State, broker int32, req *kmsg.ConsumerGroupDescribeRequest, resp *kmsg.ConsumerGroupDescribeResponse) {
	for _, id := range req.Groups {
		dg := kmsg.NewConsumerGroupDescribeResponseGroup()
		dg.Group, dg.AuthorizedOperations = id, noOperations
		g, code := s.groupAt(broker, id, Consumer)
		dg.ErrorCode, dg.ErrorMessage = code, notFoundMessage(code, id)
		if g != nil {
			dg.State, dg.Epoch, dg.AssignmentEpoch, dg.AssignorName = g.State, g.Epoch, g.Epoch, g.Protocol
			for i := range g.Members {
				m := &g.Members[i]
				cm := kmsg.NewConsumerGroupDescribeResponseGroupMember()
				cm.MemberID, cm.InstanceID, cm.RackID, cm.MemberEpoch = m.ID, m.InstanceID, m.Rack, g.Epoch
				cm.ClientID, cm.ClientHost, cm.SubscribedTopics = m.ClientID, m.ClientHost, m.Topics
				cm.Assignment.TopicPartitions = s.assignmentOf(m)
				cm.TargetAssignment, cm.MemberType = cm.Assignment, 1
				dg.Members = append(dg.Members, cm)
			}
		}
		resp.Groups = append(resp.Groups, dg)
	}
}

func (s *State) assignmentOf(m *Member) []kmsg.AssignmentTopicPartition {
	var out []kmsg.AssignmentTopicPartition
	for _, tp := range m.Assigned {
		a := kmsg.NewAssignmentTopicPartition()
		a.Topic, a.TopicID, a.Partitions = tp.Topic, s.topicID(tp.Topic), tp.Partitions
		out = append(out, a)
	}
	return out
}

func (s *State) topicID(name string) [16]byte {
	if t := s.Topics[name]; t != nil {
		return t.ID
	}
	return [16]byte{}
}

func shareGroupDescribe(s *State, broker int32, req *kmsg.ShareGroupDescribeRequest, resp *kmsg.ShareGroupDescribeResponse) {
	for _, id := range req.GroupIDs {
		dg := kmsg.NewShareGroupDescribeResponseGroup()
		dg.GroupID, dg.AuthorizedOperations = id, noOperations
		g, code := s.groupAt(broker, id, Share)
		dg.ErrorCode, dg.ErrorMessage = code, notFoundMessage(code, id)
		if g != nil {
			dg.GroupState, dg.GroupEpoch, dg.AssignmentEpoch, dg.Assignor = g.State, g.Epoch, g.Epoch, g.Protocol
			for i := range g.Members {
				m := &g.Members[i]
				sm := kmsg.NewShareGroupDescribeResponseGroupMember()
				sm.MemberID, sm.RackID, sm.MemberEpoch = m.ID, m.Rack, g.Epoch
				sm.ClientID, sm.ClientHost, sm.SubscribedTopicNames = m.ClientID, m.ClientHost, m.Topics
				for _, tp := range m.Assigned {
					a := kmsg.NewShareGroupDescribeResponseGroupMemberAssignmentTopicPartition()
					a.Topic, a.TopicID, a.Partitions = tp.Topic, s.topicID(tp.Topic), tp.Partitions
					sm.Assignment.TopicPartitions = append(sm.Assignment.TopicPartitions, a)
				}
				dg.Members = append(dg.Members, sm)
			}
		}
		resp.Groups = append(resp.Groups, dg)
	}
}

// streamsGroupDescribe shows state and members; tasks and topology are not
// modelled.
func streamsGroupDescribe(s *State, broker int32, req *kmsg.StreamsGroupDescribeRequest, resp *kmsg.StreamsGroupDescribeResponse) {
	for _, id := range req.Groups {
		dg := kmsg.NewStreamsGroupDescribeResponseGroup()
		dg.Group, dg.AuthorizedOperations = id, noOperations
		g, code := s.groupAt(broker, id, Streams)
		dg.ErrorCode, dg.ErrorMessage = code, notFoundMessage(code, id)
		if g != nil {
			dg.State, dg.Epoch, dg.AssignmentEpoch = g.State, g.Epoch, g.Epoch
			for i := range g.Members {
				m := &g.Members[i]
				sm := kmsg.NewStreamsGroupDescribeResponseGroupMember()
				sm.MemberID, sm.InstanceID, sm.RackID, sm.MemberEpoch = m.ID, m.InstanceID, m.Rack, g.Epoch
				sm.ClientID, sm.ClientHost = m.ClientID, m.ClientHost
				dg.Members = append(dg.Members, sm)
			}
		}
		resp.Groups = append(resp.Groups, dg)
	}
}

func describeShareGroupOffsets(s *State, broker int32, req *kmsg.DescribeShareGroupOffsetsRequest, resp *kmsg.DescribeShareGroupOffsetsResponse) {
	for _, rg := range req.Groups {
		og := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
		og.GroupID = rg.GroupID
		g, code := s.groupAt(broker, rg.GroupID, Share)
		og.ErrorCode, og.ErrorMessage = code, notFoundMessage(code, rg.GroupID)
		switch {
		case g == nil:
		case rg.Topics == nil:
			for _, tc := range g.Commits {
				og.Topics = append(og.Topics, s.shareOffsets(g, tc.Topic, partitionsOf(tc)))
			}
		default:
			for _, rt := range rg.Topics {
				og.Topics = append(og.Topics, s.shareOffsets(g, rt.Topic, rt.Partitions))
			}
		}
		resp.Groups = append(resp.Groups, og)
	}
}

func partitionsOf(tc TopicCommits) []int32 {
	out := make([]int32, len(tc.Partitions))
	for i := range tc.Partitions {
		out[i] = tc.Partitions[i].Partition
	}
	return out
}

func (s *State) shareOffsets(g *Group, topic string, partitions []int32) kmsg.DescribeShareGroupOffsetsResponseGroupTopic {
	ot := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopic()
	ot.Topic, ot.TopicID = topic, s.topicID(topic)
	for _, n := range partitions {
		op := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopicPartition()
		op.Partition, op.StartOffset, op.Lag = n, -1, -1
		c, p := g.Commit(topic, n), s.Partition(topic, n)
		switch {
		case p == nil:
			op.ErrorCode = errUnknownTopicOrPartition
		case c != nil:
			op.StartOffset, op.LeaderEpoch, op.ErrorCode = c.Offset, max(c.LeaderEpoch, 0), c.Err
			op.Lag = max(p.End-c.Offset, 0)
		}
		ot.Partitions = append(ot.Partitions, op)
	}
	return ot
}
