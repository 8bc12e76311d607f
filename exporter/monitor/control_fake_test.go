package monitor

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

// ZooKeeper mode: no quorum, which is no failure; the controller is a broker.
func TestZooKeeperMode(t *testing.T) {
	c := fake.Start(t)
	c.RemoveAPI(kmsg.DescribeQuorum)
	c.Update(func(s *fake.State) {
		everything(s)
		s.Quorum, s.Controller = nil, 2
	})
	w := watchFake(t, c, "")
	w.all()
	s := w.scrape()
	s.want(`
		kafka_cluster_info{cluster_id="fake-cluster-0000000000",mode="zookeeper"} 1
		kafka_cluster_controller_broker 2
		kafka_cluster_controller_changes_total 0
		kafka_steward_collector_success{collector="quorum"} 1
		kafka_steward_collector_unsupported{collector="quorum"} 1
		kafka_steward_missing_items{collector="quorum"} 0
		kafka_reassignment_partitions 1
	`)
	s.none("kafka_quorum_leader_id")
	if n := c.Count(kmsg.DescribeQuorum); n != 0 {
		t.Errorf("%d DescribeQuorum were sent", n)
	}
	c.Update(func(s *fake.State) { s.Controller = 3 })
	w.play(1)
	w.scrape().want(`
		kafka_cluster_controller_broker 3
		kafka_cluster_controller_changes_total 1
	`)
	for k, n := range c.Counts() {
		if k.Key == kmsg.ListPartitionReassignments.Int16() && k.Broker == 1 {
			t.Errorf("broker 1 was asked %d times for the reassignments, which only the controller knows", n)
		}
	}
}

func TestQuorum(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		s.Quorum.Leader, s.Quorum.LeaderEpoch, s.Quorum.HighWatermark = 2, 5, 500
		for i := range s.Quorum.Voters {
			s.Quorum.Voters[i].LogEndOffset = 500
		}
		s.Quorum.Voters[0].LogEndOffset = 480
		s.Quorum.Observers = []fake.QuorumReplica{{ID: 9, LogEndOffset: 100, LastFetchMillis: 1000, CaughtUpMillis: -1}}
	})
	w := watchFake(t, c, "")
	w.all()
	s := w.scrape()
	s.want(`
		kafka_cluster_info{cluster_id="fake-cluster-0000000000",mode="kraft"} 1
		kafka_cluster_controller_broker 2
		kafka_quorum_leader_id 2
		kafka_quorum_leader_epoch 5
		kafka_quorum_leader_changes_total 0
		kafka_quorum_high_watermark 500
		kafka_quorum_replica_log_end_offset{replica="1",role="voter"} 480
		kafka_quorum_replica_lag_records{replica="1",role="voter"} 20
		kafka_quorum_replica_lag_records{replica="9",role="observer"} 400
		kafka_quorum_replica_last_fetch_timestamp_seconds{replica="9",role="observer"} 1
	`)
	s.none("kafka_quorum_replica_last_caught_up_timestamp_seconds", `replica="9"`)
	c.Update(func(s *fake.State) { s.Quorum.Leader, s.Quorum.LeaderEpoch = 3, 6 })
	w.subjects("quorum")
	w.scrape().want(`
		kafka_cluster_controller_broker 3
		kafka_cluster_controller_changes_total 1
	`)
}

// A transaction that a coordinator knows is open; one that none knows hangs,
// which is only said when every coordinator answered.
func TestTransactions(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		o := s.AddTopic("orders", 3, 1)
		for p := range o.Partitions {
			o.Partitions[p].SetOffsets(0, 100)
		}
		o.Partitions[0].Stable, o.Partitions[1].Stable = 90, 80
		o.Partitions[0].Producers = []fake.Producer{
			{ID: 1, LastTimestamp: 5000, TxnStartOffset: 90},
			{ID: 2, LastTimestamp: 4000, TxnStartOffset: 95},
			{ID: 3, LastTimestamp: 1000, TxnStartOffset: -1}, // idempotent only
		}
		o.Partitions[1].Producers = []fake.Producer{{ID: 9, LastTimestamp: 2000, TxnStartOffset: 80}}
		o.Partitions[2].Producers = []fake.Producer{{ID: 8, LastTimestamp: 2000, TxnStartOffset: 99}} // not behind: not asked
		s.Transactions["a"] = &fake.Transaction{ID: "a", Coordinator: 1, State: "Ongoing", ProducerID: 1}
		s.Transactions["b"] = &fake.Transaction{ID: "b", Coordinator: 2, State: "PrepareCommit", ProducerID: 2}
		s.Transactions["c"] = &fake.Transaction{ID: "c", Coordinator: 3, State: "Empty", ProducerID: 9}
	})
	w := watchFake(t, c, "")
	w.all()
	s := w.scrape()
	s.want(`
		kafka_transactions{state="Ongoing"} 1
		kafka_transactions{state="PrepareCommit"} 1
		kafka_transactions{state="Empty"} 1
		kafka_partition_open_transactions{partition="0",topic="orders"} 2
		kafka_partition_hanging_transactions{partition="0",topic="orders"} 0
		kafka_partition_oldest_open_transaction_timestamp_seconds{partition="0",topic="orders"} 4
		kafka_partition_open_transactions{partition="1",topic="orders"} 1
		kafka_partition_hanging_transactions{partition="1",topic="orders"} 1
		kafka_partition_stable_offset{partition="0",topic="orders"} 90
	`)
	s.none("kafka_partition_open_transactions", `partition="2"`)
	c.StopBroker(3)
	w.play(1)
	w.subjects("transactions")
	s = w.scrape()
	s.want(`
		kafka_partition_hanging_transactions{partition="1",topic="orders"} 0
		kafka_steward_collector_partial{collector="transactions"} 1
	`)
	// Denied on the topic: told, not shown as "nothing open".
	if err := c.StartBroker(3); err != nil {
		t.Fatal(err)
	}
	c.OnKey(kmsg.DescribeProducers, func(broker int32, req kmsg.Request) (kmsg.Response, fake.Action) {
		res := c.Default(broker, req).(*kmsg.DescribeProducersResponse)
		for i := range res.Topics {
			for j := range res.Topics[i].Partitions {
				res.Topics[i].Partitions[j] = kmsg.DescribeProducersResponseTopicPartition{Partition: res.Topics[i].Partitions[j].Partition, ErrorCode: kerr.TopicAuthorizationFailed.Code}
			}
		}
		return res, fake.Answer
	})
	eventually(t, "broker 3 to be asked again", func() string {
		w.play(1)
		w.subjects("transactions")
		s = w.scrape()
		if s.values[`kafka_steward_missing_items{collector="transactions"}`] != 2 || s.values[`kafka_steward_collector_errors_total{collector="transactions",reason="acl"}`] < 2 {
			return s.family("kafka_steward_missing_items")
		}
		return ""
	})
	s.none("kafka_partition_open_transactions")
}

// C-43 for the exporter: the default entity is not the user "<default>".
func TestQuotas(t *testing.T) {
	literal, alice := "<default>", "alice"
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		s.Quotas = []fake.Quota{
			{Entity: map[string]*string{"user": nil}, Values: map[string]float64{"producer_byte_rate": 1}},
			{Entity: map[string]*string{"user": &literal}, Values: map[string]float64{"producer_byte_rate": 2}},
			{Entity: map[string]*string{"user": nil, "client-id": nil}, Values: map[string]float64{"producer_byte_rate": 3}},
			{Entity: map[string]*string{"user": &alice, "client-id": nil}, Values: map[string]float64{"request_percentage": 250, "consumer_byte_rate": 4}},
			{Entity: map[string]*string{"ip": nil}, Values: map[string]float64{"connection_creation_rate": 5}},
		}
	})
	w := watchFake(t, c, "")
	w.all()
	w.scrape().want(`
		kafka_client_quota_producer_bytes_per_second{client_id="",client_id_default="",ip="",ip_default="",user="",user_default="true"} 1
		kafka_client_quota_producer_bytes_per_second{client_id="",client_id_default="",ip="",ip_default="",user="<default>",user_default=""} 2
		kafka_client_quota_producer_bytes_per_second{client_id="",client_id_default="true",ip="",ip_default="",user="",user_default="true"} 3
		kafka_client_quota_request_ratio{client_id="",client_id_default="true",ip="",ip_default="",user="alice",user_default=""} 2.5
		kafka_client_quota_connection_creations_per_second{client_id="",client_id_default="",ip="",ip_default="true",user="",user_default=""} 5
	`)
}

// C-19 against a fake: what is refused is told as denied, collector by
// collector, and heals by itself.
func TestDenied(t *testing.T) {
	c := fake.Start(t)
	c.Update(everything)
	denied := kerr.ClusterAuthorizationFailed.Code
	remove := c.Intercept(func(broker int32, req kmsg.Request) (kmsg.Response, fake.Action) {
		switch res := req.ResponseKind().(type) {
		case *kmsg.DescribeLogDirsResponse:
			res.ErrorCode = denied
			return res, fake.Answer
		case *kmsg.ListPartitionReassignmentsResponse:
			res.ErrorCode = denied
			return res, fake.Answer
		case *kmsg.DescribeClientQuotasResponse:
			res.ErrorCode = denied
			return res, fake.Answer
		case *kmsg.DescribeACLsResponse:
			res.ErrorCode = denied
			return res, fake.Answer
		case *kmsg.DescribeQuorumResponse:
			res.ErrorCode = denied
			return res, fake.Answer
		}
		return nil, fake.Pass
	})
	w := watchFake(t, c, "")
	w.all()
	s := w.scrape()
	for _, name := range []string{"logdirs", "reassignments", "quotas", "acls", "quorum"} {
		s.want(`
			kafka_steward_collector_denied{collector="` + name + `"} 1
			kafka_steward_collector_success{collector="` + name + `"} 0
		`)
	}
	s.want(`
		kafka_steward_collector_denied{collector="topology"} 0
		kafka_steward_collector_denied{collector="groups"} 0
		kafka_broker_reachable{broker="1"} 1
		kafka_group_lag_records{group="classic",partition="0",topic="orders"} 50
	`)
	s.none("kafka_log_dir_online")
	s.none("kafka_reassignment_partitions")
	remove()
	w.all()
	s = w.scrape()
	for _, name := range []string{"logdirs", "reassignments", "quotas", "acls", "quorum"} {
		s.want(`
			kafka_steward_collector_denied{collector="` + name + `"} 0
			kafka_steward_collector_success{collector="` + name + `"} 1
		`)
	}
}

// Throttles, and those that nothing needs any more.
func TestThrottles(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		everything(s) // moving-0: adds broker 3, has replicas on 1, 2, 3
		s.Brokers[1].Configs["leader.replication.throttled.rate"] = fake.Value("1000")
		s.Brokers[2].Configs["replica.alter.log.dirs.io.max.bytes.per.second"] = fake.Value("2000")
		s.Topics["moving"].Configs = map[string]fake.Config{"leader.replication.throttled.replicas": fake.Value("0:1,0:2")}
		s.Topics["orders"].Configs = map[string]fake.Config{"follower.replication.throttled.replicas": fake.Value("*")}
	})
	w := watchFake(t, c, "")
	w.all()
	w.play(1)
	w.scrape().want(`
		kafka_throttle_bytes_per_second{broker="1",config="leader.replication.throttled.rate"} 1000
		kafka_throttle_replicas{config="leader.replication.throttled.replicas",topic="moving"} 2
		kafka_throttle_all_replicas{config="follower.replication.throttled.replicas",topic="orders"} 1
		kafka_throttle_unneeded{broker="1",config="leader.replication.throttled.rate",topic=""} 0
		kafka_throttle_unneeded{broker="2",config="replica.alter.log.dirs.io.max.bytes.per.second",topic=""} 1
		kafka_throttle_unneeded{broker="",config="leader.replication.throttled.replicas",topic="moving"} 0
		kafka_throttle_unneeded{broker="",config="follower.replication.throttled.replicas",topic="orders"} 1
	`)
	c.Update(func(s *fake.State) {
		p := &s.Topics["moving"].Partitions[0]
		p.Replicas, p.ISR, p.Adding, p.Removing = []int32{1, 3}, []int32{1, 3}, nil, nil
	})
	w.play(1) // no new reading of the configurations is needed
	w.scrape().want(`
		kafka_throttle_unneeded{broker="1",config="leader.replication.throttled.rate",topic=""} 1
		kafka_throttle_unneeded{broker="",config="leader.replication.throttled.replicas",topic="moving"} 1
	`)
}

// Records lost to retention reach the scrape, once each.
func TestRecordsLost(t *testing.T) {
	c := fake.Start(t, fake.WithBrokers(1))
	c.Update(func(s *fake.State) {
		s.AddTopic("orders", 1, 1).Partitions[0].SetOffsets(30, 100)
		s.AddGroup("g1", fake.Classic).SetCommit("orders", 0, 10)
	})
	w := watchFake(t, c, "collectors: {start_offsets: {interval: 1s}}")
	for _, step := range []struct{ start, commit, lost int64 }{{30, 10, 20}, {30, 10, 20}, {50, 10, 40}, {50, 60, 40}, {70, 60, 50}, {70, 5, 50}} {
		c.Update(func(s *fake.State) {
			s.Topics["orders"].Partitions[0].SetOffsets(step.start, 100)
			s.Groups["g1"].SetCommit("orders", 0, step.commit)
		})
		w.play(1)
		s := w.scrape()
		if got := s.values[`kafka_group_records_lost_total{group="g1",topic="orders"}`]; got != float64(step.lost) {
			t.Errorf("start %d, commit %d: lost %v, want %d", step.start, step.commit, got, step.lost)
		}
		if got, want := s.values[`kafka_group_lag_records{group="g1",partition="0",topic="orders"}`], float64(100-max(step.start, step.commit)); got != want {
			t.Errorf("start %d, commit %d: lag %v, want %v", step.start, step.commit, got, want)
		}
	}
}
