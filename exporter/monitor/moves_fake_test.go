package monitor

import (
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

// C-10: a reassignment is no under-replication, and RF is the target's.
func TestReassigning(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		p := &s.AddTopic("t", 2, 2).Partitions[0]
		p.Leader, p.Replicas, p.ISR, p.Adding, p.Removing = 2, []int32{1, 2, 3}, []int32{1, 2}, []int32{3}, []int32{1}
		s.AddTopic("rf1", 3, 1)
		mixed := s.AddTopic("mixed", 2, 1)
		mixed.Partitions[1].Replicas, mixed.Partitions[1].ISR = []int32{2, 3}, []int32{2, 3}
		for _, b := range s.Brokers { // AddTopic placed the replicas of t-0
			for _, d := range b.LogDirs {
				for i := range d.Replicas {
					d.Replicas[i].Size = 1000
				}
			}
		}
	})
	w := watchFake(t, c, "")
	w.all()
	w.play(1) // the bytes are known from the log directories of before
	w.scrape().want(`
		kafka_partition_under_replicated{partition="0",topic="t"} 0
		kafka_partition_reassigning{partition="0",topic="t"} 1
		kafka_partition_adding_replicas{partition="0",topic="t"} 1
		kafka_partition_removing_replicas{partition="0",topic="t"} 1
		kafka_partition_replicas{partition="0",topic="t"} 3
		kafka_partition_in_sync_replicas{partition="0",topic="t"} 2
		kafka_topic_replication_factor_min{topic="t"} 2
		kafka_topic_replication_factor_max{topic="t"} 2
		kafka_reassignment_partitions 1
		kafka_reassignment_remaining_bytes{partition="0",topic="t"} 1000
		kafka_topic_replication_factor_min{topic="rf1"} 1
		kafka_topic_replication_factor_max{topic="rf1"} 1
		kafka_partition_in_sync_replicas{partition="0",topic="rf1"} 1
		kafka_partition_under_replicated{partition="0",topic="rf1"} 0
		kafka_topic_replication_factor_min{topic="mixed"} 1
		kafka_topic_replication_factor_max{topic="mixed"} 2
	`)
	c.Update(func(s *fake.State) { s.Topics["t"].Partitions[0].ISR = []int32{1} })
	w.play(1)
	w.scrape().want(`kafka_partition_under_replicated{partition="0",topic="t"} 1`)
	c.Update(func(s *fake.State) {
		p := &s.Topics["t"].Partitions[0]
		p.Replicas, p.ISR, p.Adding, p.Removing = []int32{2, 3}, []int32{2, 3}, nil, nil
	})
	w.play(1)
	s := w.scrape()
	s.want(`
		kafka_partition_under_replicated{partition="0",topic="t"} 0
		kafka_reassignment_partitions 0
		kafka_topic_replication_factor_max{topic="t"} 2
	`)
	s.none("kafka_partition_reassigning")
	s.none("kafka_reassignment_remaining_bytes")
}

// Whatever moment of a move falls between the readings of a round, it is never
// shown as under-replication nor as another replication factor.
func TestMoveBetweenReadings(t *testing.T) {
	before := fake.Partition{Leader: 1, Replicas: []int32{1, 2}, ISR: []int32{1, 2}}
	during := fake.Partition{Leader: 1, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2}, Adding: []int32{3}, Removing: []int32{2}}
	after := fake.Partition{Leader: 1, Replicas: []int32{1, 3}, ISR: []int32{1, 3}}
	for _, tc := range []struct {
		name string
		// Shape of the cluster from the n-th request of the round on.
		shapes map[int]fake.Partition
		start  fake.Partition
		// lags makes the brokers' Metadata show the shape of before the last
		// change, as brokers hear of it later than the controller.
		lags bool
	}{
		{"begins after the first", map[int]fake.Partition{1: during}, before, false},
		{"begins after the second", map[int]fake.Partition{2: during}, before, false},
		{"ends after the first", map[int]fake.Partition{1: after}, during, false},
		{"ends after the second", map[int]fake.Partition{2: after}, during, false},
		{"begins and ends between the rounds", map[int]fake.Partition{0: after}, before, false},
		{"begins before and ends after the first", map[int]fake.Partition{0: during, 1: after}, before, false},
		{"begins after the first and ends after the second", map[int]fake.Partition{1: during, 2: after}, before, false},
		{"begins, and brokers hear of it late", map[int]fake.Partition{0: during}, before, true},
		{"ends, and brokers hear of it late", map[int]fake.Partition{0: after}, during, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := fake.Start(t)
			set := func(p fake.Partition) { c.Update(func(s *fake.State) { s.Topics["t"].Partitions[0] = p }) }
			c.Update(func(s *fake.State) { s.AddTopic("t", 1, 2) })
			set(tc.start)
			w := watchFake(t, c, "")
			w.play(1)
			var mu sync.Mutex
			n := 0
			c.Intercept(func(broker int32, req kmsg.Request) (kmsg.Response, fake.Action) {
				mu.Lock()
				defer mu.Unlock()
				if _, ok := req.(*kmsg.MetadataRequest); ok && tc.lags && n < 3 { // all of the first round
					set(tc.start)
					res := c.Default(broker, req)
					set(tc.shapes[0])
					n++
					return res, fake.Answer
				}
				switch req.(type) {
				case *kmsg.MetadataRequest, *kmsg.ListPartitionReassignmentsRequest:
					if p, ok := tc.shapes[n]; ok {
						set(p)
					}
					n++
				}
				return nil, fake.Pass
			})
			for range 3 {
				w.play(1)
				w.scrape().want(`
					kafka_partition_under_replicated{partition="0",topic="t"} 0
					kafka_topic_replication_factor_min{topic="t"} 2
					kafka_topic_replication_factor_max{topic="t"} 2
				`)
			}
			mu.Lock()
			defer mu.Unlock()
			if n < 2 {
				t.Fatalf("only %d requests of interest", n)
			}
		})
	}
}
