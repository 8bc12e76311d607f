package loadgen

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// tick is how often producers look at what is due.
const tick = 100 * time.Millisecond

func (p producerSpec) options() []kgo.Opt {
	return []kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MaxBufferedRecords(2000),
		kgo.RecordDeliveryTimeout(20 * time.Second),
		kgo.ProducerLinger(20 * time.Millisecond),
	}
}

// source makes the records of one producer.
type source struct {
	topic      string
	random     *rand.Rand
	zipf       *rand.Zipf // nil: even
	partitions int32
	keys       int
	size       int
}

func newSource(r *rand.Rand, topic string, skew float64, keys, size int) *source {
	s := &source{topic: topic, random: r, keys: keys, size: size, partitions: partitionsOf(topic)}
	if skew > 0 {
		s.zipf = rand.NewZipf(r, skew, 1, uint64(s.partitions-1))
	}
	return s
}

func partitionsOf(topic string) int32 {
	for _, t := range topics {
		if t.name == topic {
			return t.partitions
		}
	}
	panic("the scenario has no topic " + topic)
}

// record makes the next record.
func (s *source) record() *kgo.Record {
	r := &kgo.Record{Topic: s.topic, Value: make([]byte, s.size/2+s.random.IntN(s.size+1))}
	for i := range r.Value {
		r.Value[i] = 'a' + byte(s.random.UintN(26))
	}
	switch {
	case s.keys > 0:
		key := s.random.IntN(s.keys)
		r.Key = fmt.Appendf(nil, "key-%d", key)
		r.Partition = int32(key) % s.partitions
	case s.zipf != nil:
		r.Partition = int32(s.zipf.Uint64())
	default:
		r.Partition = s.random.Int32N(s.partitions)
	}
	return r
}

// produce sends records at the producer's rate until ctx ends.
func (l *Load) produce(ctx context.Context, client *kgo.Client, p producerSpec) {
	pace := pacer{rate: p.share * l.opts.Rate}
	source := newSource(l.random(p.clientID), p.topic, p.skew, p.keys, p.size)
	for sleep(ctx, tick) {
		for range pace.due(time.Now()) {
			// Try: a cluster that is down makes errors, not a growing buffer.
			client.TryProduce(ctx, source.record(), func(r *kgo.Record, err error) {
				if err != nil {
					l.failed(ctx, "produce to "+r.Topic, err)
					return
				}
				l.counts.produced.Add(1)
			})
		}
	}
}
