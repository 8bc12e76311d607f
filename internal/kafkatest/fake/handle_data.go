package fake

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetch answers each partition with the one record at the asked offset; idle
// says that there was neither a record nor an error.
func fetch(s *State, broker int32, req *kmsg.FetchRequest, resp *kmsg.FetchResponse) (idle bool) {
	if req.SessionID != 0 {
		// Sessions are not kept: the client starts a new full fetch.
		resp.ErrorCode = errFetchSessionNotFound
		return false
	}
	idle = true
	for i := range req.Topics {
		rt := &req.Topics[i]
		ot := kmsg.NewFetchResponseTopic()
		ot.Topic, ot.TopicID = rt.Topic, rt.TopicID
		name := &rt.Topic
		if req.Version >= 13 {
			name = nil
		}
		t, unknown := s.findTopic(name, rt.TopicID)
		for j := range rt.Partitions {
			rp := &rt.Partitions[j]
			op := kmsg.NewFetchResponseTopicPartition()
			op.Partition, op.HighWatermark, op.LastStableOffset, op.LogStartOffset = rp.Partition, -1, -1, -1
			op.RecordBatches = []byte{}
			if t == nil {
				op.ErrorCode = unknown
			} else {
				s.fetchPartition(broker, t, rp, req.IsolationLevel, &op)
			}
			idle = idle && op.ErrorCode == 0 && len(op.RecordBatches) == 0
			ot.Partitions = append(ot.Partitions, op)
		}
		resp.Topics = append(resp.Topics, ot)
	}
	return idle
}

func (s *State) fetchPartition(broker int32, t *Topic, rp *kmsg.FetchRequestTopicPartition, isolation int8, op *kmsg.FetchResponseTopicPartition) {
	p, code := s.checkLeader(broker, t, rp.Partition, rp.CurrentLeaderEpoch)
	if op.ErrorCode = code; code != 0 {
		return
	}
	op.HighWatermark, op.LastStableOffset, op.LogStartOffset = p.End, p.Stable, p.Start
	end := p.End
	if isolation == 1 {
		end = p.Stable
	}
	switch {
	case rp.FetchOffset < p.Start || rp.FetchOffset > p.End:
		op.ErrorCode = errOffsetOutOfRange
	case rp.FetchOffset < end:
		key := t.Name + "-" + itoa(rp.Partition) + "@" + strconv.FormatInt(rp.FetchOffset, 10)
		op.RecordBatches = recordBatch(rp.FetchOffset, p.LeaderEpoch, p.timestamp(rp.FetchOffset), []byte(key), []byte("fake"))
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordBatch encodes an uncompressed v2 batch of one record.
func recordBatch(offset int64, epoch int32, timestamp int64, key, value []byte) []byte {
	rec := kmsg.Record{Key: key, Value: value}
	// The length field counts what follows it; as a zero it takes one byte.
	rec.Length = int32(len(rec.AppendTo(nil)) - 1)
	b := kmsg.RecordBatch{
		FirstOffset: offset, PartitionLeaderEpoch: epoch, Magic: 2,
		FirstTimestamp: timestamp, MaxTimestamp: timestamp,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
		NumRecords: 1, Records: rec.AppendTo(nil),
	}
	const beforeLength, beforeCRC, afterCRC = 12, 17, 21
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-beforeLength))
	binary.BigEndian.PutUint32(raw[beforeCRC:], crc32.Checksum(raw[afterCRC:], castagnoli))
	return raw
}

// produce counts records: it moves the end offset and the last timestamp, the
// records themselves are not kept.
func produce(s *State, broker int32, req *kmsg.ProduceRequest, resp *kmsg.ProduceResponse) {
	for i := range req.Topics {
		rt := &req.Topics[i]
		ot := kmsg.NewProduceResponseTopic()
		ot.Topic, ot.TopicID = rt.Topic, rt.TopicID
		name := &rt.Topic
		if req.Version >= 13 {
			name = nil
		}
		t, unknown := s.findTopic(name, rt.TopicID)
		for j := range rt.Partitions {
			rp := &rt.Partitions[j]
			op := kmsg.NewProduceResponseTopicPartition()
			op.Partition, op.BaseOffset = rp.Partition, -1
			if op.ErrorCode = unknown; t != nil {
				var p *Partition
				if p, op.ErrorCode = s.checkLeader(broker, t, rp.Partition, -1); p != nil {
					op.BaseOffset, op.LogStartOffset = p.End, p.Start
					p.appendBatch(rp.Records)
				}
			}
			ot.Partitions = append(ot.Partitions, op)
		}
		resp.Topics = append(resp.Topics, ot)
	}
}

func (p *Partition) appendBatch(raw []byte) {
	var b kmsg.RecordBatch
	if b.ReadFrom(raw) != nil {
		return
	}
	if p.End == p.Start {
		p.FirstTimestamp = b.FirstTimestamp
	}
	if p.Stable == p.End {
		p.Stable += int64(b.NumRecords)
	}
	p.End += int64(b.NumRecords)
	p.MaxTimestamp = max(p.MaxTimestamp, b.MaxTimestamp)
}

// offsetCommit commits for any member and generation; a group that does not
// exist is made, empty, as brokers do.
func offsetCommit(s *State, broker int32, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) {
	g, code := s.committing(broker, req.Group)
	if g == nil && code == 0 {
		g = s.AddGroup(strings.Clone(req.Group), Classic)
		g.State, g.ProtocolType, g.Protocol = "Empty", "", ""
	}
	for _, rt := range req.Topics {
		ot := kmsg.NewOffsetCommitResponseTopic()
		ot.Topic, ot.TopicID = rt.Topic, rt.TopicID
		name := &rt.Topic
		if req.Version >= 10 {
			name = nil
		}
		t, unknown := s.findTopic(name, rt.TopicID)
		for _, rp := range rt.Partitions {
			op := kmsg.NewOffsetCommitResponseTopicPartition()
			op.Partition = rp.Partition
			switch {
			case code != 0:
				op.ErrorCode = code
			case t == nil:
				op.ErrorCode = unknown
			case rp.Partition < 0 || int(rp.Partition) >= len(t.Partitions):
				op.ErrorCode = errUnknownTopicOrPartition
			default:
				c := g.SetCommit(t.Name, rp.Partition, rp.Offset)
				c.LeaderEpoch = rp.LeaderEpoch
				if rp.Metadata != nil {
					c.Metadata = *rp.Metadata
				}
			}
			ot.Partitions = append(ot.Partitions, op)
		}
		resp.Topics = append(resp.Topics, ot)
	}
	s.index.groups = slices.Sorted(maps.Keys(s.Groups))
}

// initProducerID hands out one id: nothing here looks at sequences.
func initProducerID(_ *State, _ int32, _ *kmsg.InitProducerIDRequest, resp *kmsg.InitProducerIDResponse) {
	resp.ProducerID, resp.ProducerEpoch = 1000, 0
}
