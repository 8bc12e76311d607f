package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// TestKafka28: the oldest version that many still run is read as far as it
// goes; what it lacks is unsupported, not failing.
func TestKafka28(t *testing.T) {
	c := kafkatest.Private(t, kafkatest.Options{Mode: kafkatest.ZK28, Brokers: 2, ZooKeepers: 1})
	ctx := t.Context()
	must(t, c.CreateTopicAssigned(ctx, "orders", [][]int32{{1, 2}, {2, 1}, {1, 2}}, map[string]string{"retention.ms": "3600000"}))
	for p, n := range []int{30, 10, 5} {
		must(t, c.Produce(ctx, "orders", int32(p), n, 100))
	}
	must(t, c.Commit(ctx, "readers", map[string]map[int32]int64{"orders": {0: 12, 1: 10}}))
	must(t, c.Commit(ctx, "others", map[string]map[int32]int64{"orders": {2: 9}}))
	b := &bed{c, t}
	b.quotas()
	b.acls()

	p := launch(t, section("old", c.Bootstrap(), strings.Replace(often(), "last_record: {", "last_record: {enabled: true, ", 1)))
	unsupported := []string{"transactions", "last_record", "quorum"}
	complete(t, p, unsupported...)
	for _, collector := range unsupported {
		of := fmt.Sprintf("{collector=%q}", collector)
		untilSeries(t, p, 20*time.Second, map[string]float64{"kafka_steward_collector_unsupported" + of: 1, "kafka_steward_collector_denied" + of: 0})
	}
	untilSeries(t, p, 20*time.Second, map[string]float64{
		"kafka_cluster_brokers": 2,
		`kafka_group_lag_records{group="readers",topic="orders",partition="0"}`: 18,
		`kafka_group_lag_records{group="readers",topic="orders",partition="1"}`: 0,
		`kafka_group_lag_records{group="others",topic="orders",partition="2"}`:  0,
		`kafka_group_lag_clamped_partitions{group="others"}`:                    1,
		`kafka_group_uncommitted_partitions{group="readers",topic="orders"}`:    1,
		`kafka_group_state{group="readers",state="Empty"}`:                      1,
		`kafka_groups{group_type="classic"}`:                                    2,
		`kafka_topic_config_retention_seconds{topic="orders"}`:                  3600,
		`kafka_topic_replication_factor_min{topic="orders"}`:                    2,
		`kafka_topic_replication_factor_max{topic="orders"}`:                    2,
		`kafka_partition_end_offset{topic="orders",partition="0"}`:              30,
		`kafka_partition_stable_offset{topic="orders",partition="0"}`:           30,
		`kafka_partition_start_offset{topic="orders",partition="0"}`:            0,
		"kafka_authorizer_enabled":                                              1,
		`kafka_client_quota_connection_creations_per_second{user="",user_default="",client_id="",client_id_default="",ip="127.0.0.9",ip_default=""}`: 8,
	})
	s := scrape(t, p)
	if got := s.with("kafka_log_dir_online"); len(got) != 4 {
		t.Errorf("log directories: %v", got)
	}
	for _, absent := range []string{"kafka_log_dir_total_bytes", "kafka_log_dir_usable_bytes", "kafka_transactions", "kafka_quorum_", "kafka_partition_last_record"} {
		if got := s.with(absent); len(got) > 0 {
			t.Errorf("Kafka 2.8 does not tell %v", got)
		}
	}
	if info := s.with("kafka_cluster_info"); len(info) != 1 || !strings.Contains(info[0], `mode="zookeeper"`) {
		t.Errorf("the cluster is %v", info)
	}
	for name, v := range s.series {
		if v < 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
	lint(t, s)
	checkBrokerLogs(t, c)
}
