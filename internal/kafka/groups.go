package kafka

import (
	"cmp"
	"context"
	"slices"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListedGroup is a group as its coordinator lists it.
type ListedGroup struct {
	ID string
	// Type is classic, consumer, share or streams; "" from brokers before 3.8.
	Type string
	// State is "" from brokers before 2.6.
	State        string
	ProtocolType string
	Coordinator  int32
}

// ListGroups asks every broker for the groups it coordinates, in parallel. A
// group that moves between coordinators meanwhile is returned once. One
// request per broker.
func (c *Client) ListGroups(ctx context.Context, brokers []int32) ([]ListedGroup, map[int32]error) {
	lists := make(chan []ListedGroup, len(brokers))
	failed := each(brokers, func(id int32) error {
		res, err := on(ctx, c, id, apiListGroups, func(b *sarama.Broker) (*sarama.ListGroupsResponse, error) {
			res, err := b.ListGroups(&sarama.ListGroupsRequest{Version: apiListGroups.max})
			if err == nil && res.Err != sarama.ErrNoError {
				err = res.Err
			}
			return res, err
		})
		if err != nil {
			return err
		}
		gs := make([]ListedGroup, 0, len(res.Groups))
		for g, protocolType := range res.Groups {
			d := res.GroupsData[g]
			gs = append(gs, ListedGroup{ID: g, Type: d.GroupType, State: d.GroupState, ProtocolType: protocolType, Coordinator: id})
		}
		lists <- gs
		return nil
	})
	close(lists)
	var all []ListedGroup
	for gs := range lists {
		all = append(all, gs...)
	}
	// During a move of a coordinator two brokers list the group; the one that
	// says more wins, then the lower id, so that the result is the same each time.
	slices.SortFunc(all, func(a, b ListedGroup) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), -cmp.Compare(len(a.State), len(b.State)), cmp.Compare(a.Coordinator, b.Coordinator))
	})
	return slices.CompactFunc(all, func(a, b ListedGroup) bool { return a.ID == b.ID }), failed
}

// DescribedGroup is a group with its members, of any type.
type DescribedGroup struct {
	ID                            string
	State, ProtocolType, Assignor string
	// Epoch is the group epoch of KIP-848 and share groups, -1 for others.
	Epoch   int32
	Members []Member
	Err     error
}

// Member is a member of a group.
type Member struct {
	ID, InstanceID, ClientID, ClientHost, Rack string
	Assigned                                   map[string][]int32
}

// DescribeGroups describes groups of one type, each at its coordinator: in
// parallel over coordinators, in chunks at each. What some coordinators
// answered is returned although others failed. Requests grow with
// coordinators + groups/chunk.
func (c *Client) DescribeGroups(ctx context.Context, groupType string, byCoordinator map[int32][]string) ([]DescribedGroup, map[int32]error) {
	describe := c.describeClassic
	switch groupType {
	case "consumer":
		describe = c.describeConsumer
	case "share":
		describe = c.describeShare
	}
	return perCoordinator(byCoordinator, c.chunk, func(id int32, groups []string) ([]DescribedGroup, error) {
		return describe(ctx, id, groups)
	})
}

// perCoordinator runs f over chunks of every coordinator's groups, coordinators
// in parallel, and keeps what was answered before a failure.
func perCoordinator[T any](byCoordinator map[int32][]string, chunk int, f func(id int32, groups []string) ([]T, error)) ([]T, map[int32]error) {
	ids := make([]int32, 0, len(byCoordinator))
	for id := range byCoordinator {
		ids = append(ids, id)
	}
	out := make(chan []T, len(ids))
	failed := each(ids, func(id int32) error {
		var got []T
		defer func() { out <- got }()
		for part := range slices.Chunk(byCoordinator[id], chunk) {
			ts, err := f(id, part)
			got = append(got, ts...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	close(out)
	var all []T
	for ts := range out {
		all = append(all, ts...)
	}
	return all, failed
}

func (c *Client) describeClassic(ctx context.Context, broker int32, groups []string) ([]DescribedGroup, error) {
	res, err := on(ctx, c, broker, apiDescribeGroups, func(b *sarama.Broker) (*sarama.DescribeGroupsResponse, error) {
		return b.DescribeGroups(&sarama.DescribeGroupsRequest{Version: apiDescribeGroups.max, Groups: groups})
	})
	if err != nil {
		return nil, err
	}
	out := make([]DescribedGroup, 0, len(res.Groups))
	for _, g := range res.Groups {
		d := DescribedGroup{ID: g.GroupId, State: g.State, ProtocolType: g.ProtocolType, Assignor: g.Protocol, Epoch: -1}
		if g.Err != sarama.ErrNoError {
			d.Err = g.Err
		}
		for id, m := range g.Members {
			member := Member{ID: id, ClientID: m.ClientId, ClientHost: m.ClientHost}
			if m.GroupInstanceId != nil {
				member.InstanceID = *m.GroupInstanceId
			}
			// Only consumers put topics and partitions here; Connect and others
			// have formats of their own and no assignment we could show.
			if g.ProtocolType == "consumer" {
				if a, err := m.GetMemberAssignment(); err == nil && a != nil {
					member.Assigned = a.Topics
				}
			}
			d.Members = append(d.Members, member)
		}
		out = append(out, d)
	}
	return out, nil
}

func (c *Client) describeConsumer(ctx context.Context, broker int32, groups []string) ([]DescribedGroup, error) {
	res, err := on(ctx, c, broker, apiConsumerGroupDescribe, func(b *sarama.Broker) (*sarama.ConsumerGroupDescribeResponse, error) {
		return b.ConsumerGroupDescribe(&sarama.ConsumerGroupDescribeRequest{Version: apiConsumerGroupDescribe.max, GroupIDs: groups})
	})
	if err != nil {
		return nil, err
	}
	out := make([]DescribedGroup, 0, len(res.Groups))
	for _, g := range res.Groups {
		d := DescribedGroup{ID: g.GroupID, State: g.GroupState, ProtocolType: "consumer", Assignor: g.AssignorName, Epoch: g.GroupEpoch}
		if g.ErrorCode != sarama.ErrNoError {
			d.Err = g.ErrorCode
		}
		for _, m := range g.Members {
			member := Member{ID: m.MemberID, InstanceID: deref(m.InstanceID), ClientID: m.ClientID, ClientHost: m.ClientHost, Rack: deref(m.RackID), Assigned: map[string][]int32{}}
			for _, tp := range m.Assignment.TopicPartitions {
				member.Assigned[tp.TopicName] = append(member.Assigned[tp.TopicName], tp.Partitions...)
			}
			d.Members = append(d.Members, member)
		}
		out = append(out, d)
	}
	return out, nil
}

// describeShare goes through franz-go: sarama has no share groups (KIP-932).
func (c *Client) describeShare(ctx context.Context, broker int32, groups []string) ([]DescribedGroup, error) {
	req := kmsg.NewPtrShareGroupDescribeRequest()
	req.GroupIDs = groups
	res, err := raw[*kmsg.ShareGroupDescribeResponse](ctx, c, broker, req)
	if err != nil {
		return nil, err
	}
	out := make([]DescribedGroup, 0, len(res.Groups))
	for _, g := range res.Groups {
		d := DescribedGroup{ID: g.GroupID, State: g.GroupState, ProtocolType: "share", Assignor: g.Assignor, Epoch: g.GroupEpoch, Err: kerr.ErrorForCode(g.ErrorCode)}
		for _, m := range g.Members {
			member := Member{ID: m.MemberID, ClientID: m.ClientID, ClientHost: m.ClientHost, Rack: deref(m.RackID), Assigned: map[string][]int32{}}
			for _, tp := range m.Assignment.TopicPartitions {
				member.Assigned[tp.Topic] = append(member.Assigned[tp.Topic], tp.Partitions...)
			}
			d.Members = append(d.Members, member)
		}
		out = append(out, d)
	}
	return out, nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// GroupCommits are a group's committed offsets. Partitions without a commit
// are absent.
type GroupCommits struct {
	ID     string
	Topics []TopicCommits
	Err    error
}

// TopicCommits are the committed offsets of one topic, in no order.
type TopicCommits struct {
	Topic      string
	Partitions []Commit
}

// Commit is one committed offset.
type Commit struct {
	Offset    int64
	Partition int32
}

// CommittedOffsets reads everything that groups committed, each at its
// coordinator: many groups to a request (KIP-709, Kafka ≥ 3.0), else one
// request for each group. Requests grow with coordinators + groups/chunk, on
// older brokers with groups.
func (c *Client) CommittedOffsets(ctx context.Context, byCoordinator map[int32][]string) ([]GroupCommits, map[int32]error) {
	return perCoordinator(byCoordinator, c.chunk, func(id int32, groups []string) ([]GroupCommits, error) {
		return c.committedAt(ctx, id, groups)
	})
}

func (c *Client) committedAt(ctx context.Context, broker int32, groups []string) ([]GroupCommits, error) {
	if !c.batchesGroups(broker) {
		return c.committedOneByOne(ctx, broker, groups)
	}
	res, err := on(ctx, c, broker, apiOffsetFetch, func(b *sarama.Broker) (*sarama.OffsetFetchResponse, error) {
		req := &sarama.OffsetFetchRequest{Version: apiOffsetFetch.max}
		for _, g := range groups {
			req.Groups = append(req.Groups, sarama.OffsetFetchRequestGroup{GroupId: g})
		}
		return b.FetchOffset(req)
	})
	if err != nil {
		return nil, err
	}
	out := make([]GroupCommits, 0, len(res.Groups))
	for _, g := range res.Groups {
		out = append(out, convertCommits(g.GroupId, g.Err, g.Blocks))
	}
	return out, nil
}

func (c *Client) committedOneByOne(ctx context.Context, broker int32, groups []string) ([]GroupCommits, error) {
	out := make([]GroupCommits, 0, len(groups))
	for _, g := range groups {
		res, err := on(ctx, c, broker, apiOffsetFetch, func(b *sarama.Broker) (*sarama.OffsetFetchResponse, error) {
			return b.FetchOffset(sarama.NewOffsetFetchRequest(sarama.V2_8_0_0, g, nil))
		})
		if err != nil {
			return out, err
		}
		out = append(out, convertCommits(g, res.Err, res.Blocks))
	}
	return out, nil
}

// batchesGroups tells whether a broker takes several groups in one OffsetFetch
// (version 8). Unknown before the first request: connections are opened by
// ListGroups, which always comes first.
func (c *Client) batchesGroups(broker int32) bool {
	b := c.broker(broker)
	if b == nil {
		return true
	}
	r, ok := b.lastVersions()[apiOffsetFetch.key]
	return !ok || r.max >= 8
}

func convertCommits(id string, kerror sarama.KError, blocks map[string]map[int32]*sarama.OffsetFetchResponseBlock) GroupCommits {
	g := GroupCommits{ID: id, Topics: make([]TopicCommits, 0, len(blocks))}
	if kerror != sarama.ErrNoError {
		g.Err = kerror
	}
	for topic, ps := range blocks {
		t := TopicCommits{Topic: topic, Partitions: make([]Commit, 0, len(ps))}
		for p, o := range ps {
			// -1 is Kafka's "no commit".
			if o.Err == sarama.ErrNoError && o.Offset >= 0 {
				t.Partitions = append(t.Partitions, Commit{Offset: o.Offset, Partition: p})
			}
		}
		if len(t.Partitions) > 0 {
			g.Topics = append(g.Topics, t)
		}
	}
	return g
}
