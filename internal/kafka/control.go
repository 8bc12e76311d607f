package kafka

import (
	"context"
	"errors"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// QuotaEntity is one part of a quota's entity. Default marks the default
// entity, which has no name (a user may well be called "<default>").
type QuotaEntity struct {
	// Type is user, client-id or ip.
	Type    string
	Name    string
	Default bool
}

// Quota is the limits of one entity, by Kafka's name of the limit.
type Quota struct {
	Entity []QuotaEntity
	Values map[string]float64
}

// Quotas reads the client quotas of every entity. One request.
func (c *Client) Quotas(ctx context.Context) ([]Quota, error) {
	res, err := whoever(ctx, c, apiDescribeClientQuotas, func(b *sarama.Broker) (*sarama.DescribeClientQuotasResponse, error) {
		res, err := b.DescribeClientQuotas(sarama.NewDescribeClientQuotasRequest(sarama.MaxVersion, nil, false))
		if err == nil && res.ErrorCode != sarama.ErrNoError {
			err = res.ErrorCode
		}
		return res, err
	})
	if err != nil {
		return nil, err
	}
	out := make([]Quota, 0, len(res.Entries))
	for _, e := range res.Entries {
		q := Quota{Values: e.Values}
		for _, part := range e.Entity {
			q.Entity = append(q.Entity, QuotaEntity{Type: string(part.EntityType), Name: part.Name, Default: part.MatchType == sarama.QuotaMatchDefault})
		}
		out = append(out, q)
	}
	return out, nil
}

// ACLCount counts access control entries alike.
type ACLCount struct {
	ResourceType, PatternType, Permission string
	Count                                 int
}

// ErrAuthorizerOff says that the brokers run without an authorizer.
var ErrAuthorizerOff = errors.New("the brokers run without an authorizer")

// ACLCounts counts the access control entries. One request.
func (c *Client) ACLCounts(ctx context.Context) ([]ACLCount, error) {
	res, err := whoever(ctx, c, apiDescribeACLs, func(b *sarama.Broker) (*sarama.DescribeAclsResponse, error) {
		res, err := b.DescribeAcls(&sarama.DescribeAclsRequest{Version: int(apiDescribeACLs.max), AclFilter: sarama.AclFilter{
			ResourceType: sarama.AclResourceAny, ResourcePatternTypeFilter: sarama.AclPatternAny,
			Operation: sarama.AclOperationAny, PermissionType: sarama.AclPermissionAny,
		}})
		if err == nil && res.Err != sarama.ErrNoError {
			err = res.Err
		}
		return res, err
	})
	if errors.Is(err, sarama.ErrSecurityDisabled) {
		return nil, ErrAuthorizerOff
	}
	if err != nil {
		return nil, err
	}
	type key struct{ t, p, perm string }
	counts := map[key]int{}
	for _, r := range res.ResourceAcls {
		for _, a := range r.Acls {
			counts[key{r.ResourceType.String(), r.ResourcePatternType.String(), a.PermissionType.String()}]++
		}
	}
	out := make([]ACLCount, 0, len(counts))
	for k, n := range counts {
		out = append(out, ACLCount{k.t, k.p, k.perm, n})
	}
	return out, nil
}

// Quorum is the state of the KRaft metadata quorum.
type Quorum struct {
	LeaderID, LeaderEpoch int32
	HighWatermark         int64
	Voters, Observers     []QuorumReplica
}

// QuorumReplica is a voter or observer. Times are Unix milliseconds, -1 unknown.
type QuorumReplica struct {
	ID                                    int32
	LogEndOffset, LastFetch, LastCaughtUp int64
}

// metadataTopic is the KRaft metadata log, which DescribeQuorum asks for.
const metadataTopic = "__cluster_metadata"

// ErrNoQuorum says that the cluster does not run in KRaft mode.
var ErrNoQuorum = errors.New("the cluster runs in ZooKeeper mode and has no metadata quorum")

// Quorum describes the metadata quorum; ErrNoQuorum in ZooKeeper mode. One request.
func (c *Client) Quorum(ctx context.Context) (*Quorum, error) {
	if !c.offersQuorum() {
		return nil, ErrNoQuorum
	}
	req := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = metadataTopic
	t.Partitions = append(t.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, t)
	res, err := rawController[*kmsg.DescribeQuorumResponse](ctx, c, req)
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(res.ErrorCode); err != nil {
		return nil, err
	}
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		return nil, errors.New("DescribeQuorum answered without the metadata partition")
	}
	p := res.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return nil, err
	}
	q := &Quorum{LeaderID: p.LeaderID, LeaderEpoch: p.LeaderEpoch, HighWatermark: p.HighWatermark}
	for _, v := range p.CurrentVoters {
		q.Voters = append(q.Voters, QuorumReplica{v.ReplicaID, v.LogEndOffset, v.LastFetchTimestamp, v.LastCaughtUpTimestamp})
	}
	for _, v := range p.Observers {
		q.Observers = append(q.Observers, QuorumReplica{v.ReplicaID, v.LogEndOffset, v.LastFetchTimestamp, v.LastCaughtUpTimestamp})
	}
	return q, nil
}
