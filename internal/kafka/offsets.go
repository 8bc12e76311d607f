package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetSpec says which offset ListOffsets looks for.
type OffsetSpec struct {
	timestamp int64
	isolation sarama.IsolationLevel
}

// What to look for.
var (
	// EndOffsets is the high watermark: the offset after the last record that
	// consumers may read.
	EndOffsets = OffsetSpec{timestamp: -1}
	// StableOffsets is the last stable offset, the end for read_committed.
	StableOffsets = OffsetSpec{timestamp: -1, isolation: sarama.ReadCommitted}
	// StartOffsets is the log start offset.
	StartOffsets = OffsetSpec{timestamp: -2}
	// MaxTimestamp finds the record with the newest timestamp (KIP-734, Kafka ≥ 3.0).
	MaxTimestamp = OffsetSpec{timestamp: -3}
)

// AtTime looks for the first record with a timestamp at or after t (Unix
// milliseconds); the answer's offset is -1 where there is none.
func AtTime(t int64) OffsetSpec { return OffsetSpec{timestamp: t} }

// Assignment maps a broker to topics to partitions.
type Assignment map[int32]map[string][]int32

// Add puts a partition under a broker.
func (a Assignment) Add(broker int32, topic string, partition int32) {
	t := a[broker]
	if t == nil {
		t = map[string][]int32{}
		a[broker] = t
	}
	t[topic] = append(t[topic], partition)
}

func (a Assignment) brokers() []int32 {
	ids := make([]int32, 0, len(a))
	for id := range a {
		ids = append(ids, id)
	}
	return ids
}

// OffsetResult is the answer for one partition. Timestamp is that of the
// record found by AtTime or MaxTimestamp in Unix milliseconds, else -1.
type OffsetResult struct {
	Topic     string
	Partition int32
	Offset    int64
	Timestamp int64
	Err       error
}

// ListOffsets asks every leader for its partitions, one request per leader, in
// parallel. It returns what the brokers answered (partitions with errors of
// their own included) and, by broker, why one did not answer.
func (c *Client) ListOffsets(ctx context.Context, leaders Assignment, spec OffsetSpec, each1 func(OffsetResult)) map[int32]error {
	results := make(chan []OffsetResult, len(leaders))
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		for rs := range results {
			for _, r := range rs {
				each1(r)
			}
		}
	}()
	failed := each(leaders.brokers(), func(id int32) error {
		list := c.listOffsets
		if spec == MaxTimestamp {
			list = c.listMaxTimestamp
		}
		rs, err := list(ctx, id, leaders[id], spec)
		results <- rs
		return err
	})
	close(results)
	<-collected
	return failed
}

func (c *Client) listOffsets(ctx context.Context, broker int32, topics map[string][]int32, spec OffsetSpec) ([]OffsetResult, error) {
	res, err := on(ctx, c, broker, apiListOffsets, func(b *sarama.Broker) (*sarama.OffsetResponse, error) {
		req := sarama.NewOffsetRequest(sarama.MaxVersion)
		req.IsolationLevel = spec.isolation
		for t, ps := range topics {
			for _, p := range ps {
				req.AddBlock(t, p, spec.timestamp, 1)
			}
		}
		return b.GetAvailableOffsets(req)
	})
	if err != nil {
		return nil, err
	}
	var out []OffsetResult
	for t, ps := range res.Blocks {
		for p, o := range ps {
			r := OffsetResult{Topic: t, Partition: p, Offset: o.Offset, Timestamp: o.Timestamp}
			if o.Err != sarama.ErrNoError {
				r.Err = o.Err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// listMaxTimestamp goes through franz-go: sarama stops at version 6, the
// special timestamp -3 needs version 7.
func (c *Client) listMaxTimestamp(ctx context.Context, broker int32, topics map[string][]int32, spec OffsetSpec) ([]OffsetResult, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	for t, ps := range topics {
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = t
		for _, p := range ps {
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Partition, rp.Timestamp = p, spec.timestamp
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	res, err := raw[*kmsg.ListOffsetsResponse](ctx, c, broker, req)
	if err != nil {
		return nil, err
	}
	var out []OffsetResult
	for _, t := range res.Topics {
		for _, p := range t.Partitions {
			out = append(out, OffsetResult{Topic: t.Topic, Partition: p.Partition, Offset: p.Offset, Timestamp: p.Timestamp, Err: kerr.ErrorForCode(p.ErrorCode)})
		}
	}
	return out, nil
}

// RecordTime is the timestamp (Unix milliseconds) of the first record at or
// after an offset.
type RecordTime struct {
	Topic     string
	Partition int32
	Asked     int64
	Timestamp int64
	Err       error
}

// maxFetchBytes bounds what one partition sends to have one timestamp read:
// brokers always send at least one batch, however large.
const maxFetchBytes = 4 << 10

// RecordTimes reads the timestamps of the records at the given offsets, one
// Fetch per leader. offsets maps topic to partition to offset.
func (c *Client) RecordTimes(ctx context.Context, leaders Assignment, offsets map[string]map[int32]int64) ([]RecordTime, map[int32]error) {
	out := make(chan []RecordTime, len(leaders))
	failed := each(leaders.brokers(), func(id int32) error {
		res, err := on(ctx, c, id, apiFetch, func(b *sarama.Broker) (*sarama.FetchResponse, error) {
			req := &sarama.FetchRequest{Version: apiFetch.max, MaxWaitTime: 0, MinBytes: 0, MaxBytes: 8 << 20}
			for t, ps := range leaders[id] {
				for _, p := range ps {
					req.AddBlock(t, p, offsets[t][p], maxFetchBytes, -1)
				}
			}
			return b.Fetch(req)
		})
		if err != nil {
			return err
		}
		var rs []RecordTime
		for t, ps := range res.Blocks {
			for p, block := range ps {
				rs = append(rs, recordTime(t, p, offsets[t][p], block))
			}
		}
		out <- rs
		return nil
	})
	close(out)
	var all []RecordTime
	for rs := range out {
		all = append(all, rs...)
	}
	return all, failed
}

// ErrNoRecord says that no whole record at or after the offset came back.
var ErrNoRecord = errors.New("no record at or after the offset was returned")

func recordTime(topic string, partition int32, asked int64, b *sarama.FetchResponseBlock) RecordTime {
	r := RecordTime{Topic: topic, Partition: partition, Asked: asked, Timestamp: -1}
	if b.Err != sarama.ErrNoError {
		r.Err = b.Err
		return r
	}
	for _, set := range b.RecordsSet {
		if ts, ok := firstAtOrAfter(set, asked); ok {
			r.Timestamp = ts
			return r
		}
	}
	r.Err = fmt.Errorf("offset %d of %s-%d: %w", asked, topic, partition, ErrNoRecord)
	return r
}

func firstAtOrAfter(set *sarama.Records, offset int64) (int64, bool) {
	if rb := set.RecordBatch; rb != nil {
		if rb.Control {
			return 0, false
		}
		for _, rec := range rb.Records {
			if rb.FirstOffset+rec.OffsetDelta >= offset {
				if rb.LogAppendTime {
					return rb.MaxTimestamp.UnixMilli(), true
				}
				return rb.FirstTimestamp.Add(rec.TimestampDelta).UnixMilli(), true
			}
		}
	}
	if ms := set.MsgSet; ms != nil {
		for _, m := range ms.Messages {
			for _, inner := range m.Messages() {
				if inner.Offset >= offset {
					return inner.Msg.Timestamp.UnixMilli(), true
				}
			}
		}
	}
	return 0, false
}
