package fake

import (
	"sort"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// checkLeader returns a partition that a broker leads, or the error code that
// a broker answers otherwise (a leaderless partition has no right broker).
func (s *State) checkLeader(broker int32, t *Topic, partition, epoch int32) (*Partition, int16) {
	if t == nil || partition < 0 || int(partition) >= len(t.Partitions) {
		return nil, errUnknownTopicOrPartition
	}
	p := &t.Partitions[partition]
	switch {
	case t.Err != 0:
		return nil, t.Err
	case p.ListOffsetsErr != 0:
		return nil, p.ListOffsetsErr
	case p.Leader != broker:
		return nil, errNotLeader
	case epoch >= 0 && epoch < p.LeaderEpoch:
		return nil, errFencedLeaderEpoch
	case epoch > p.LeaderEpoch:
		return nil, errUnknownLeaderEpoch
	}
	return p, 0
}

func listOffsets(s *State, broker int32, req *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
	resp.Topics = make([]kmsg.ListOffsetsResponseTopic, len(req.Topics))
	for i := range req.Topics {
		rt, ot := &req.Topics[i], &resp.Topics[i]
		ot.Topic = rt.Topic
		ot.Partitions = make([]kmsg.ListOffsetsResponseTopicPartition, len(rt.Partitions))
		t := s.Topics[rt.Topic]
		for j := range rt.Partitions {
			rp, op := &rt.Partitions[j], &ot.Partitions[j]
			op.Default()
			op.Partition = rp.Partition
			p, code := s.checkLeader(broker, t, rp.Partition, rp.CurrentLeaderEpoch)
			if op.ErrorCode = code; code == 0 {
				p.listOffset(rp.Timestamp, req, op)
			}
		}
	}
}

// The special timestamps of ListOffsets.
const (
	tsLatest        = -1
	tsEarliest      = -2
	tsMaxTimestamp  = -3
	tsEarliestLocal = -4
)

func (p *Partition) listOffset(ts int64, req *kmsg.ListOffsetsRequest, op *kmsg.ListOffsetsResponseTopicPartition) {
	op.LeaderEpoch, op.Offset, op.Timestamp = p.LeaderEpoch, -1, -1
	end := p.End
	if req.IsolationLevel == 1 {
		end = p.Stable
	}
	switch {
	case ts == tsLatest:
		op.Offset = end
	case ts == tsEarliest, ts == tsEarliestLocal && req.Version >= 8:
		op.Offset = p.Start
	case ts == tsMaxTimestamp && req.Version >= 7:
		if end > p.Start {
			op.Offset, op.Timestamp = end-1, p.timestamp(end-1)
		}
	case ts < 0:
		op.ErrorCode, op.LeaderEpoch = errUnsupportedVersion, -1
	default:
		n := int(end - p.Start)
		i := sort.Search(n, func(i int) bool { return p.timestamp(p.Start+int64(i)) >= ts })
		if i < n {
			op.Offset = p.Start + int64(i)
			op.Timestamp = p.timestamp(op.Offset)
		}
	}
	if op.Offset < 0 {
		op.LeaderEpoch = -1
	}
}

// timestamp is the time of the record at an offset: on the straight line from
// the first record's to the last one's.
func (p *Partition) timestamp(offset int64) int64 {
	last := p.End - 1
	if offset >= last {
		return p.MaxTimestamp
	}
	f := float64(offset-p.Start) / float64(last-p.Start)
	return p.FirstTimestamp + int64(f*float64(p.MaxTimestamp-p.FirstTimestamp))
}

func offsetForLeaderEpoch(s *State, broker int32, req *kmsg.OffsetForLeaderEpochRequest, resp *kmsg.OffsetForLeaderEpochResponse) {
	for _, rt := range req.Topics {
		ot := kmsg.NewOffsetForLeaderEpochResponseTopic()
		ot.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			op := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			op.Partition, op.EndOffset, op.LeaderEpoch = rp.Partition, -1, -1
			p, code := s.checkLeader(broker, s.Topics[rt.Topic], rp.Partition, rp.CurrentLeaderEpoch)
			if op.ErrorCode = code; code == 0 && rp.LeaderEpoch <= p.LeaderEpoch {
				op.EndOffset, op.LeaderEpoch = p.End, rp.LeaderEpoch
			}
			ot.Partitions = append(ot.Partitions, op)
		}
		resp.Topics = append(resp.Topics, ot)
	}
}

func offsetFetch(s *State, broker int32, req *kmsg.OffsetFetchRequest, resp *kmsg.OffsetFetchResponse) {
	if req.Version < 8 {
		offsetFetchSingle(s, broker, req, resp)
		return
	}
	resp.Groups = make([]kmsg.OffsetFetchResponseGroup, len(req.Groups))
	for i := range req.Groups {
		rg, og := &req.Groups[i], &resp.Groups[i]
		og.Default()
		og.Group = rg.Group
		g, code := s.committing(broker, rg.Group)
		if og.ErrorCode = code; code != 0 {
			continue
		}
		if rg.Topics == nil {
			og.Topics = s.allCommits(g, req.Version)
			continue
		}
		og.Topics = make([]kmsg.OffsetFetchResponseGroupTopic, len(rg.Topics))
		for j := range rg.Topics {
			s.commitsOf(g, req.Version, &rg.Topics[j], &og.Topics[j])
		}
	}
}

// committing finds the group whose commits to answer: nil for one that does
// not exist, which is no error.
func (s *State) committing(broker int32, id string) (*Group, int16) {
	g := s.Groups[id]
	switch {
	case g == nil && s.coordinatorFor(id) != broker, g != nil && g.Coordinator != broker:
		return nil, errNotCoordinator
	case g != nil:
		return g, g.Err
	}
	return nil, 0
}

func (s *State) allCommits(g *Group, version int16) []kmsg.OffsetFetchResponseGroupTopic {
	if g == nil {
		return nil
	}
	out := make([]kmsg.OffsetFetchResponseGroupTopic, 0, len(g.Commits))
	for i := range g.Commits {
		tc := &g.Commits[i]
		ot := kmsg.NewOffsetFetchResponseGroupTopic()
		ot.Topic, ot.TopicID = tc.Topic, s.topicID(tc.Topic)
		if version >= 10 && ot.TopicID == [16]byte{} {
			continue // a topic that is gone has no id to answer with
		}
		ot.Partitions = make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(tc.Partitions))
		for j := range tc.Partitions {
			tc.Partitions[j].fill(&ot.Partitions[j])
		}
		out = append(out, ot)
	}
	return out
}

func (s *State) commitsOf(g *Group, version int16, rt *kmsg.OffsetFetchRequestGroupTopic, ot *kmsg.OffsetFetchResponseGroupTopic) {
	ot.Topic, ot.TopicID = rt.Topic, rt.TopicID
	name, code := rt.Topic, int16(0)
	if version >= 10 {
		if t := s.index.byID[rt.TopicID]; t != nil {
			name = t.Name
		} else {
			code = errUnknownTopicID
		}
	}
	ot.Partitions = make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(rt.Partitions))
	for i, n := range rt.Partitions {
		op := &ot.Partitions[i]
		noCommit(n, op)
		op.ErrorCode = code
		if g != nil && code == 0 {
			if c := g.Commit(name, n); c != nil {
				c.fill(op)
			}
		}
	}
}

func noCommit(partition int32, op *kmsg.OffsetFetchResponseGroupTopicPartition) {
	op.Default()
	op.Partition, op.Offset, op.LeaderEpoch, op.Metadata = partition, -1, -1, new(string)
}

func (c *Commit) fill(op *kmsg.OffsetFetchResponseGroupTopicPartition) {
	noCommit(c.Partition, op)
	if op.ErrorCode = c.Err; c.Err == 0 {
		op.Offset, op.LeaderEpoch, op.Metadata = c.Offset, c.LeaderEpoch, &c.Metadata
	}
}

// offsetFetchSingle answers the versions before 8, which ask for one group.
func offsetFetchSingle(s *State, broker int32, req *kmsg.OffsetFetchRequest, resp *kmsg.OffsetFetchResponse) {
	g, code := s.committing(broker, req.Group)
	resp.ErrorCode = code
	if req.Topics == nil && req.Version >= 2 {
		if code == 0 {
			for _, gt := range s.allCommits(g, req.Version) {
				resp.Topics = append(resp.Topics, singleTopic(gt))
			}
		}
		return
	}
	if code != 0 {
		g = nil
	}
	for i := range req.Topics {
		rt := kmsg.OffsetFetchRequestGroupTopic{Topic: req.Topics[i].Topic, Partitions: req.Topics[i].Partitions}
		var gt kmsg.OffsetFetchResponseGroupTopic
		s.commitsOf(g, req.Version, &rt, &gt)
		for j := range gt.Partitions {
			if code != 0 {
				gt.Partitions[j].ErrorCode = code
			}
		}
		resp.Topics = append(resp.Topics, singleTopic(gt))
	}
}

func singleTopic(gt kmsg.OffsetFetchResponseGroupTopic) kmsg.OffsetFetchResponseTopic {
	t := kmsg.NewOffsetFetchResponseTopic()
	t.Topic = gt.Topic
	for _, gp := range gt.Partitions {
		p := kmsg.NewOffsetFetchResponseTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode = gp.Partition, gp.Offset, gp.LeaderEpoch, gp.Metadata, gp.ErrorCode
		t.Partitions = append(t.Partitions, p)
	}
	return t
}
