package kafka

import (
	"errors"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

// The time of the first record at or after an offset, in all forms of batches.
func TestRecordTimeInBatches(t *testing.T) {
	start := time.UnixMilli(1_000_000)
	batch := func(first int64, change func(*sarama.RecordBatch)) *sarama.Records {
		b := &sarama.RecordBatch{FirstOffset: first, FirstTimestamp: start, MaxTimestamp: start.Add(time.Hour)}
		for i := range int64(3) { // offsets first, first+2, first+4: compacted
			b.Records = append(b.Records, &sarama.Record{OffsetDelta: 2 * i, TimestampDelta: time.Duration(i) * time.Second})
		}
		if change != nil {
			change(b)
		}
		return &sarama.Records{RecordBatch: b}
	}
	old := &sarama.Records{MsgSet: &sarama.MessageSet{Messages: []*sarama.MessageBlock{
		{Offset: 10, Msg: &sarama.Message{Timestamp: start}},
		{Offset: 11, Msg: &sarama.Message{Timestamp: start.Add(7 * time.Second)}},
	}}}
	marker := batch(8, func(b *sarama.RecordBatch) { b.Control = true })
	for _, tc := range []struct {
		name  string
		sets  []*sarama.Records
		asked int64
		want  int64 // -1: no record
	}{
		{"first", []*sarama.Records{batch(10, nil)}, 10, 1_000_000},
		{"within", []*sarama.Records{batch(10, nil)}, 12, 1_001_000},
		{"compacted away", []*sarama.Records{batch(10, nil)}, 11, 1_001_000},
		{"log append time", []*sarama.Records{batch(10, func(b *sarama.RecordBatch) { b.LogAppendTime = true })}, 10, 4_600_000},
		{"second batch", []*sarama.Records{batch(0, nil), batch(10, nil)}, 9, 1_000_000},
		{"after a marker", []*sarama.Records{marker, batch(10, nil)}, 9, 1_000_000},
		{"a marker only", []*sarama.Records{marker}, 9, -1},
		{"old message set", []*sarama.Records{old}, 11, 1_007_000},
		{"beyond", []*sarama.Records{batch(10, nil)}, 15, -1},
		{"nothing", nil, 15, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := recordTime("t", 0, tc.asked, &sarama.FetchResponseBlock{RecordsSet: tc.sets})
			if got.Timestamp != tc.want || (tc.want < 0) != errors.Is(got.Err, ErrNoRecord) {
				t.Errorf("%+v, want %d", got, tc.want)
			}
		})
	}
	if got := recordTime("t", 0, 1, &sarama.FetchResponseBlock{Err: sarama.ErrOffsetOutOfRange}); !errors.Is(got.Err, sarama.ErrOffsetOutOfRange) || got.Timestamp != -1 {
		t.Errorf("%+v", got)
	}
}

// One Fetch per leader; errors of partitions and leaders are their own.
func TestRecordTimes(t *testing.T) {
	c := three(t)
	c.Update(func(s *fake.State) {
		for i := range s.Topics["orders"].Partitions {
			p := &s.Topics["orders"].Partitions[i]
			p.SetOffsets(0, 101)
			p.FirstTimestamp, p.MaxTimestamp = 1000, 101_000
		}
		s.Topics["orders"].Partitions[1].ListOffsetsErr = kerr.NotLeaderForPartition.Code
	})
	cl, _ := clientOf(t, c)
	c.StopBroker(3)
	times, failed := cl.RecordTimes(t.Context(), orders(), map[string]map[int32]int64{"orders": {0: 40, 1: 5, 2: 5}})
	if len(failed) != 1 || Classify(failed[3]) != connect.ClassNetwork || len(times) != 2 {
		t.Fatalf("%+v, failed %v", times, failed)
	}
	for _, r := range times {
		if r.Partition == 0 && (r.Timestamp != 41_000 || r.Asked != 40 || r.Err != nil) || r.Partition == 1 && !errors.Is(r.Err, sarama.ErrNotLeaderForPartition) {
			t.Errorf("%+v", r)
		}
	}
}
