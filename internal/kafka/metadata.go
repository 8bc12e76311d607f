package kafka

import (
	"cmp"
	"context"
	"slices"

	"github.com/IBM/sarama"
)

// Metadata is the cluster's shape as brokers tell it.
type Metadata struct {
	ClusterID string
	// ControllerID is the active controller in ZooKeeper mode; in KRaft mode
	// brokers put a random broker here.
	ControllerID int32
	// KRaft tells the mode, known from the APIs that the brokers offer.
	KRaft bool
	// Brokers lists the live brokers, sorted by id.
	Brokers []Broker
	// Topics is sorted by name.
	Topics []Topic
}

// Broker is a live broker. Addr is host:port, IPv6 in brackets.
type Broker struct {
	ID   int32
	Addr string
	Rack string
}

// Topic is one topic of a Metadata answer.
type Topic struct {
	Name       string
	ID         [16]byte
	Internal   bool
	Err        error
	Partitions []Partition
}

// Partition is one partition of a Metadata answer.
type Partition struct {
	ID, Leader, LeaderEpoch int32
	Replicas, ISR, Offline  []int32
}

// Metadata reads the shape of the cluster: all topics that the principal may
// see for nil, else the named ones (a denied or missing one has its Err set).
// One request.
func (c *Client) Metadata(ctx context.Context, topics []string) (*Metadata, error) {
	res, err := whoever(ctx, c, apiMetadata, func(b *sarama.Broker) (*sarama.MetadataResponse, error) {
		req := sarama.NewMetadataRequest(sarama.MaxVersion, topics)
		req.AllowAutoTopicCreation = false
		return b.GetMetadata(req)
	})
	if err != nil {
		return nil, err
	}
	c.learn(res.ControllerID, res.Brokers)
	md := &Metadata{ControllerID: res.ControllerID, KRaft: c.offersQuorum(), Topics: make([]Topic, 0, len(res.Topics))}
	if res.ClusterID != nil {
		md.ClusterID = *res.ClusterID
	}
	for _, b := range res.Brokers {
		md.Brokers = append(md.Brokers, Broker{ID: b.ID(), Addr: b.Addr(), Rack: b.Rack()})
	}
	slices.SortFunc(md.Brokers, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range res.Topics {
		md.Topics = append(md.Topics, convertTopic(t))
	}
	slices.SortFunc(md.Topics, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
	return md, nil
}

func convertTopic(t *sarama.TopicMetadata) Topic {
	out := Topic{Name: t.Name, ID: t.Uuid, Internal: t.IsInternal, Partitions: make([]Partition, 0, len(t.Partitions))}
	if t.Err != sarama.ErrNoError {
		out.Err = t.Err
	}
	for _, p := range t.Partitions {
		leader := p.Leader
		if leader < 0 {
			leader = -1
		}
		out.Partitions = append(out.Partitions, Partition{
			ID: p.ID, Leader: leader, LeaderEpoch: p.LeaderEpoch,
			Replicas: p.Replicas, ISR: p.Isr, Offline: p.OfflineReplicas,
		})
	}
	slices.SortFunc(out.Partitions, func(a, b Partition) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// offersQuorum tells whether any broker that was connected to offers
// DescribeQuorum, which only brokers in KRaft mode do.
func (c *Client) offersQuorum() bool {
	if c.parent != nil {
		return c.parent.offersQuorum()
	}
	c.mu.Lock()
	conns := slices.Clone(c.seeds)
	for _, b := range c.brokers {
		conns = append(conns, b)
	}
	c.mu.Unlock()
	for _, b := range conns {
		if _, ok := b.lastVersions()[keyDescribeQuorum]; ok {
			return true
		}
	}
	return false
}
