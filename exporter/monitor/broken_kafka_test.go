package monitor

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// A cluster that is put through a move and the loss of a broker.
func TestKafkaInTrouble(t *testing.T) {
	c := kafkatest.Private(t, kafkatest.Options{})
	r := &real{watch(t, "trouble", c.Bootstrap(), "interval: 2s\nrequest_timeout: 5s\ncollectors:\n  start_offsets: {interval: 2s}\n  logdirs: {interval: 2s}\n"), c}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *real)
	}{
		{"a throttled move", realMove},
		{"a broker stops", realBrokerDown},
		{"nothing unsupported was asked", realNoUnsupported},
	} {
		if !t.Run(test.name, func(t *testing.T) { test.run(t, r.in(t)) }) {
			return
		}
	}
}

// C-14 (a): Kafka 4 never had to refuse a version of ours.
func realNoUnsupported(t *testing.T, r *real) {
	r.all()
	for _, b := range r.Brokers() {
		log, err := os.ReadFile(b.ServerLog())
		must(t, err)
		if len(log) == 0 {
			t.Errorf("the log of broker %d is empty", b.ID())
		}
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, "UnsupportedVersion") || strings.Contains(line, "InvalidRequestException") {
				t.Errorf("broker %d: %s", b.ID(), line)
			}
		}
	}
}

// C-10 on real brokers: a move at 1 kB/s.
func realMove(t *testing.T, r *real) {
	ctx := t.Context()
	topic := kafkatest.UniqueName(t)
	must(t, r.CreateTopicAssigned(ctx, topic, [][]int32{{1, 2}, {2, 3}}, nil))
	must(t, r.CreateTopicAssigned(ctx, topic+"-rf1", [][]int32{{1}, {2}, {3}}, nil))
	must(t, r.Produce(ctx, topic, 0, 8000, 1000)) // more than brokers let through at once
	rate, list := "1000", "0:1,0:2,0:3"
	_, err := r.Admin().AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Name: "leader.replication.throttled.rate", Value: &rate}, {Name: "follower.replication.throttled.rate", Value: &rate}}, 1, 2, 3)
	must(t, err)
	_, err = r.Admin().AlterTopicConfigs(ctx, []kadm.AlterConfig{
		{Name: "leader.replication.throttled.replicas", Value: &list}, {Name: "follower.replication.throttled.replicas", Value: &list},
	}, topic)
	must(t, err)
	r.play(1) // from before the move on
	r.subjects("logdirs")
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign(topic, 0, []int32{2, 3}) // [1,2] -> [2,3]
	rs, err := r.Admin().AlterPartitionAssignments(ctx, req)
	must(t, err)
	must(t, rs.Error())
	moving := fmt.Sprintf(`{partition="0",topic="%s"}`, topic)
	var s *scraped
	kafkatest.WaitFor(t, "the move to be seen", 20*time.Second, func(context.Context) (bool, string) {
		r.play(1)
		r.subjects("configs", "logdirs")
		s = r.scrape()
		// Never, from the first moment on.
		s.want(fmt.Sprintf(`
			kafka_partition_under_replicated%[1]s 0
			kafka_topic_replication_factor_min{topic="%[2]s"} 2
			kafka_topic_replication_factor_max{topic="%[2]s"} 2
		`, moving, topic))
		return s.has(fmt.Sprintf(`
			kafka_partition_reassigning%[1]s 1
			kafka_partition_adding_replicas%[1]s 1
			kafka_partition_removing_replicas%[1]s 1
			kafka_partition_replicas%[1]s 3
			kafka_reassignment_partitions 1
			kafka_throttle_bytes_per_second{broker="1",config="leader.replication.throttled.rate"} 1000
			kafka_throttle_replicas{config="leader.replication.throttled.replicas",topic="%[2]s"} 3
			kafka_throttle_unneeded{broker="",config="leader.replication.throttled.replicas",topic="%[2]s"} 0
			kafka_throttle_unneeded{broker="1",config="leader.replication.throttled.rate",topic=""} 0
		`, moving, topic))
	})
	s.want(fmt.Sprintf(`
		kafka_topic_replication_factor_min{topic="%[1]s-rf1"} 1
		kafka_topic_replication_factor_max{topic="%[1]s-rf1"} 1
		kafka_partition_in_sync_replicas{partition="2",topic="%[1]s-rf1"} 1
	`, topic))
	s = r.settled("logdirs", "kafka_reassignment_partitions 1")
	if left := s.values["kafka_reassignment_remaining_bytes"+moving]; left < 1 || left > 9e6 {
		t.Errorf("%v bytes remain of a move of 8 MB", left)
	}
	// Without throttle it ends, and the throttles of the topic are left over.
	_, err = r.Admin().AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Op: kadm.DeleteConfig, Name: "leader.replication.throttled.rate"}, {Op: kadm.DeleteConfig, Name: "follower.replication.throttled.rate"}}, 1, 2, 3)
	must(t, err)
	kafkatest.WaitFor(t, "the move to end", 40*time.Second, func(context.Context) (bool, string) {
		r.play(1)
		s = r.scrape()
		s.want(fmt.Sprintf("kafka_partition_under_replicated%s 0\nkafka_topic_replication_factor_max{topic=%q} 2", moving, topic))
		return s.has(fmt.Sprintf(`
			kafka_reassignment_partitions 0
			kafka_partition_replicas%[1]s 2
			kafka_throttle_unneeded{broker="",config="leader.replication.throttled.replicas",topic="%[2]s"} 1
		`, moving, topic))
	})
	s.none("kafka_partition_reassigning", topic)
}

// C-04 (a) on real brokers: one of three stops; the others' data stay fresh,
// and what is missing is named. Then it comes back.
func realBrokerDown(t *testing.T, r *real) {
	ctx := t.Context()
	topic := kafkatest.UniqueName(t)
	must(t, r.CreateTopicAssigned(ctx, topic, [][]int32{{1}, {2}, {1}, {2}}, nil))
	must(t, r.CreateTopicAssigned(ctx, topic+"-rf3", [][]int32{{2, 1, 3}}, nil))
	group := topic + "-group"
	for p := range int32(4) {
		must(t, r.Produce(ctx, topic, p, 10, 10))
	}
	must(t, r.Commit(ctx, group, map[string]map[int32]int64{topic: {0: 4, 1: 4, 2: 4, 3: 4}}))
	lag := func(p, n int) string {
		return fmt.Sprintf("kafka_group_lag_records{group=%q,partition=\"%d\",topic=%q} %d\n", group, p, topic, n)
	}
	r.settled("logdirs", lag(0, 6)+lag(1, 6)+lag(2, 6)+lag(3, 6))
	stop, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	must(t, r.Broker(2).Stop(stop))

	kafkatest.WaitFor(t, "the loss to be seen", 40*time.Second, func(context.Context) (bool, string) {
		start := time.Now()
		r.play(1)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("a round took %s", took)
		}
		r.subjects("logdirs")
		s := r.scrape()
		// Whatever the moment: what brokers 1 and 3 know is there.
		s.want(fmt.Sprintf(`
			kafka_partition_end_offset{partition="0",topic="%[1]s"} 10
			kafka_partition_end_offset{partition="2",topic="%[1]s"} 10
			kafka_broker_up{broker="1"} 1
			kafka_broker_reachable{broker="3"} 1
		`, topic) + lag(0, 6) + lag(2, 6))
		return s.has(fmt.Sprintf(`
			kafka_broker_up{broker="2"} 0
			kafka_broker_reachable{broker="2"} 0
			kafka_cluster_brokers 2
			kafka_partition_leaderless{partition="0",topic="%[1]s"} 0
			kafka_partition_leaderless{partition="1",topic="%[1]s"} 1
			kafka_partition_leaderless{partition="3",topic="%[1]s"} 1
			kafka_partition_offline_replicas{partition="1",topic="%[1]s"} 1
			kafka_partition_under_replicated{partition="0",topic="%[1]s-rf3"} 1
			kafka_group_lag_partial{group="%[2]s",topic="%[1]s"} 1
			kafka_log_dirs_missing_brokers 1
			kafka_topic_size_partial{topic="%[1]s"} 1
		`, topic, group))
	})
	must(t, r.Produce(ctx, topic, 0, 5, 10))
	s := r.settled("logdirs", lag(0, 11)+lag(2, 6)) // fresh, not carried over
	for _, p := range []string{`partition="1"`, `partition="3"`} {
		for _, family := range []string{"kafka_partition_leader_broker", "kafka_partition_end_offset", "kafka_group_lag_records"} {
			s.none(family, p, `topic="`+topic+`"`)
		}
	}
	s.neverNegative()
	checkByPromtool(t, s.text)
	if detail := strings.Join(s.of("kafka_log_dir_online", `broker="2"`), "\n"); detail != "" {
		t.Errorf("log directories of a dead broker: %s", detail)
	}

	must(t, r.Broker(2).Start(ctx))
	s = r.settled("logdirs", fmt.Sprintf(`
		kafka_broker_up{broker="2"} 1
		kafka_broker_reachable{broker="2"} 1
		kafka_partition_leaderless{partition="1",topic="%[1]s"} 0
		kafka_group_lag_partial{group="%[2]s",topic="%[1]s"} 0
		kafka_log_dirs_missing_brokers 0
	`, topic, group)+lag(1, 6)+lag(3, 6))
	s.none("kafka_topic_size_partial", topic)
}
