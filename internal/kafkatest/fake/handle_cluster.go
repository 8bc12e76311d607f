package fake

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func metadata(s *State, _ int32, req *kmsg.MetadataRequest, resp *kmsg.MetadataResponse) {
	resp.ClusterID = &s.ClusterID
	resp.ControllerID = s.Controller
	for _, id := range s.index.brokers {
		if b := s.Brokers[id]; b.Alive {
			mb := kmsg.NewMetadataResponseBroker()
			mb.NodeID, mb.Host, mb.Port, mb.Rack = id, b.Host, b.Port, b.rack()
			resp.Brokers = append(resp.Brokers, mb)
		}
	}
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		resp.Topics = make([]kmsg.MetadataResponseTopic, 0, len(s.index.topics))
		for _, name := range s.index.topics {
			// Brokers leave out of "all" what the principal may not see.
			if t := s.Topics[name]; t.Err != errTopicAuthorization {
				resp.Topics = append(resp.Topics, s.topicMetadata(t, req.Version))
			}
		}
		return
	}
	for _, rt := range req.Topics {
		t, unknown := s.findTopic(rt.Topic, rt.TopicID)
		if t != nil {
			resp.Topics = append(resp.Topics, s.topicMetadata(t, req.Version))
			continue
		}
		mt := kmsg.NewMetadataResponseTopic()
		mt.ErrorCode, mt.Topic, mt.TopicID = unknown, rt.Topic, rt.TopicID
		if mt.Topic == nil && req.Version < 12 {
			mt.Topic = new(string)
		}
		resp.Topics = append(resp.Topics, mt)
	}
}

func (b *Broker) rack() *string {
	if b.Rack == "" {
		return nil
	}
	return &b.Rack
}

// findTopic finds a topic by name or, if that is nil or empty, by id. If there
// is none it returns the error code for that.
func (s *State) findTopic(name *string, id [16]byte) (*Topic, int16) {
	if name == nil || *name == "" && id != [16]byte{} {
		return s.index.byID[id], errUnknownTopicID
	}
	return s.Topics[*name], errUnknownTopicOrPartition
}

func (s *State) topicMetadata(t *Topic, version int16) kmsg.MetadataResponseTopic {
	mt := kmsg.NewMetadataResponseTopic()
	mt.ErrorCode, mt.Topic, mt.TopicID, mt.IsInternal = t.Err, &t.Name, t.ID, t.Internal
	if t.Err != 0 {
		return mt
	}
	mt.Partitions = make([]kmsg.MetadataResponseTopicPartition, len(t.Partitions))
	for i := range t.Partitions {
		p := &t.Partitions[i]
		mp := &mt.Partitions[i]
		mp.Default()
		mp.Partition, mp.Leader, mp.LeaderEpoch = int32(i), p.Leader, p.LeaderEpoch
		mp.Replicas, mp.ISR, mp.OfflineReplicas = p.Replicas, p.ISR, s.offline(p)
		switch {
		case p.Err != 0:
			mp.ErrorCode = p.Err
		case p.Leader < 0:
			mp.ErrorCode = errLeaderNotAvailable
		case version == 0 && len(mp.OfflineReplicas) > 0:
			mp.ErrorCode = errReplicaNotAvailable
		}
	}
	return mt
}

// offline returns the replicas that are offline by themselves or by their
// broker.
func (s *State) offline(p *Partition) []int32 {
	off := p.Offline
	for _, r := range p.Replicas {
		if b := s.Brokers[r]; (b == nil || !b.Alive) && !slices.Contains(off, r) {
			off = append(slices.Clip(off), r)
		}
	}
	return off
}

func describeCluster(s *State, _ int32, req *kmsg.DescribeClusterRequest, resp *kmsg.DescribeClusterResponse) {
	resp.ClusterID, resp.ControllerID, resp.EndpointType = s.ClusterID, s.Controller, req.EndpointType
	if req.Version >= 1 && req.EndpointType != 1 {
		resp.ErrorCode = errUnsupportedEndpointType
		if req.EndpointType == 2 {
			resp.ErrorCode = errMismatchedEndpointType
		}
		return
	}
	for _, id := range s.index.brokers {
		b := s.Brokers[id]
		if !b.Alive && !req.IncludeFencedBrokers {
			continue
		}
		rb := kmsg.NewDescribeClusterResponseBroker()
		rb.NodeID, rb.Host, rb.Port, rb.Rack, rb.IsFenced = id, b.Host, b.Port, b.rack(), !b.Alive
		resp.Brokers = append(resp.Brokers, rb)
	}
}

func findCoordinator(s *State, _ int32, req *kmsg.FindCoordinatorRequest, resp *kmsg.FindCoordinatorResponse) {
	if req.Version >= 4 {
		for _, key := range req.CoordinatorKeys {
			resp.Coordinators = append(resp.Coordinators, s.coordinator(key, req.CoordinatorType))
		}
		return
	}
	rc := s.coordinator(req.CoordinatorKey, req.CoordinatorType)
	resp.ErrorCode, resp.ErrorMessage = rc.ErrorCode, rc.ErrorMessage
	resp.NodeID, resp.Host, resp.Port = rc.NodeID, rc.Host, rc.Port
}

// coordinator finds the coordinator of a group (type 0), transactional id (1)
// or share partition (2, key "group:topicId:partition"). A name that does not
// exist has a coordinator too.
func (s *State) coordinator(key string, typ int8) kmsg.FindCoordinatorResponseCoordinator {
	rc := kmsg.NewFindCoordinatorResponseCoordinator()
	rc.Key, rc.NodeID, rc.Port = key, -1, -1
	g, t := s.Groups[key], s.Transactions[key]
	var id int32
	switch {
	case typ == 0 && g != nil && g.Err == errGroupAuthorization:
		rc.ErrorCode = g.Err
		return rc
	case typ == 0 && g != nil:
		id = g.Coordinator
	case typ == 1 && t != nil:
		id = t.Coordinator
	case typ == 2:
		group, _, _ := strings.Cut(key, ":")
		id = s.coordinatorFor(group)
	case typ == 0 || typ == 1:
		id = s.coordinatorFor(key)
	default:
		rc.ErrorCode = errInvalidRequest
		return rc
	}
	b := s.Brokers[id]
	if b == nil || !b.Alive {
		rc.ErrorCode = errCoordinatorNotAvailable
		return rc
	}
	rc.NodeID, rc.Host, rc.Port = id, b.Host, b.Port
	return rc
}

func describeQuorum(s *State, _ int32, req *kmsg.DescribeQuorumRequest, resp *kmsg.DescribeQuorumResponse) {
	q := s.Quorum
	if q == nil {
		resp.ErrorCode = errUnsupportedVersion
		return
	}
	for _, rt := range req.Topics {
		qt := kmsg.NewDescribeQuorumResponseTopic()
		qt.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			qp := kmsg.NewDescribeQuorumResponseTopicPartition()
			qp.Partition = rp.Partition
			if rt.Topic != "__cluster_metadata" || rp.Partition != 0 {
				qp.ErrorCode = errUnknownTopicOrPartition
			} else {
				qp.LeaderID, qp.LeaderEpoch, qp.HighWatermark = q.Leader, q.LeaderEpoch, q.HighWatermark
				qp.CurrentVoters, qp.Observers = quorumReplicas(q.Voters), quorumReplicas(q.Observers)
			}
			qt.Partitions = append(qt.Partitions, qp)
		}
		resp.Topics = append(resp.Topics, qt)
	}
	for _, v := range q.Voters {
		n := kmsg.NewDescribeQuorumResponseNode()
		n.NodeID = v.ID
		if b := s.Brokers[v.ID]; b != nil {
			l := kmsg.NewDescribeQuorumResponseNodeListener()
			l.Name, l.Host, l.Port = "CONTROLLER", b.Host, uint16(b.Port)
			n.Listeners = append(n.Listeners, l)
		}
		resp.Nodes = append(resp.Nodes, n)
	}
}

func quorumReplicas(in []QuorumReplica) []kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	out := make([]kmsg.DescribeQuorumResponseTopicPartitionReplicaState, len(in))
	for i, r := range in {
		out[i].Default()
		out[i].ReplicaID, out[i].LogEndOffset = r.ID, r.LogEndOffset
		out[i].LastFetchTimestamp, out[i].LastCaughtUpTimestamp = r.LastFetchMillis, r.CaughtUpMillis
	}
	return out
}
