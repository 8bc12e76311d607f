package monitor

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

// C-01: a group without a commit on some partitions.
func TestNoCommitOnSomePartitions(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		o := s.AddTopic("orders", 3, 2)
		for p, end := range []int64{30, 0, 40} {
			o.Partitions[p].SetOffsets(0, end)
		}
		g := s.AddGroup("g1", fake.Classic)
		g.State = "Empty"
		g.SetCommit("orders", 2, 40)
		g.SetCommit("orders", 0, -1) // as brokers answer "none"
	})
	w := watchFake(t, c, "")
	w.play(1)
	s := w.scrape()
	s.want(`
		kafka_group_committed_offset{group="g1",partition="2",topic="orders"} 40
		kafka_group_lag_records{group="g1",partition="2",topic="orders"} 0
		kafka_group_lag_seconds{group="g1",partition="2",topic="orders"} 0
		kafka_group_uncommitted_partitions{group="g1",topic="orders"} 2
		kafka_group_lag_partial{group="g1",topic="orders"} 0
		kafka_group_members{group="g1"} 0
		kafka_group_state{group="g1",state="Empty"} 1
	`)
	for _, family := range []string{"kafka_group_committed_offset", "kafka_group_lag_records", "kafka_group_lag_seconds"} {
		s.none(family, `partition="0"`)
		s.none(family, `partition="1"`)
	}
	if sum := s.sum("kafka_group_committed_offset"); sum != 40 {
		t.Errorf("offset sum %v, want 40", sum)
	}
	s.none("kafka_group_uncommitted_records")
	s.neverNegative()

	full := watchFake(t, c, "lag: {uncommitted: full}")
	full.play(1)
	full.scrape().want(`
		kafka_group_uncommitted_records{group="g1",topic="orders"} 30
		kafka_group_lag_records{group="g1",partition="2",topic="orders"} 0
	`)
}

// C-02: the log end answers 100, then 130, the commit of 120 comes in between:
// lag is never below zero, since commits are read before ends.
func TestLagIsNeverNegative(t *testing.T) {
	c := fake.Start(t, fake.WithBrokers(1))
	c.Update(func(s *fake.State) {
		s.AddTopic("orders", 1, 1).Partitions[0].SetOffsets(0, 100)
		s.AddGroup("g1", fake.Classic).SetCommit("orders", 0, 100)
	})
	w := watchFake(t, c, "")
	// Producer and consumer go on between any two requests.
	end, commit := int64(100), int64(100)
	var mu sync.Mutex
	c.Intercept(func(_ int32, req kmsg.Request) (kmsg.Response, fake.Action) {
		mu.Lock()
		defer mu.Unlock()
		switch req.(type) {
		case *kmsg.OffsetFetchRequest, *kmsg.ListOffsetsRequest:
			commit, end = end, end+30
			c.Update(func(s *fake.State) {
				s.Topics["orders"].Partitions[0].SetOffsets(0, end)
				s.Groups["g1"].SetCommit("orders", 0, commit)
			})
		}
		return nil, fake.Pass
	})
	for range 10 {
		c.ResetRequests()
		w.play(1)
		s := w.scrape()
		s.neverNegative()
		lag := s.values[`kafka_group_lag_records{group="g1",partition="0",topic="orders"}`]
		var order []string
		for _, r := range c.Requests(kmsg.OffsetFetch, kmsg.ListOffsets) {
			order = append(order, r.Name())
		}
		if len(order) < 2 || order[0] != "OffsetFetch" || strings.Contains(strings.Join(order[1:], " "), "OffsetFetch") {
			t.Fatalf("requests in the order %v: commits must be read first", order)
		}
		if lag != 60 {
			t.Errorf("lag %v, want 60: the commit of the first request against the end of the second", lag)
		}
	}
}

// C-04 (b): a broker that accepts no packets costs its own share only, round
// after round, within the deadline.
func TestBlackHole(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		o := s.AddTopic("orders", 3, 1)
		for p := range o.Partitions {
			o.Partitions[p].SetOffsets(0, int64(100+p))
			g := s.AddGroup(fmt.Sprintf("g%d", p+1), fake.Classic)
			g.Coordinator = int32(p + 1)
			g.SetCommit("orders", int32(p), 90)
			g.SetCommit("orders", int32((p+1)%3), 90)
			s.SetReplicaSize(int32(p+1), "orders", int32(p), int64(1000*(p+1)))
		}
	})
	w := watch(t, "test", c.Bootstrap(), "interval: 2s\nrequest_timeout: 1s\n")
	c.BlackHole(3)
	for round := range 4 {
		start := time.Now()
		w.play(1)
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("round %d took %s", round, took)
		}
		w.subjects()
		s := w.scrape()
		s.want(`
			kafka_broker_reachable{broker="1"} 1
			kafka_broker_reachable{broker="2"} 1
			kafka_broker_reachable{broker="3"} 0
			kafka_broker_up{broker="3"} 1
			kafka_partition_end_offset{partition="0",topic="orders"} 100
			kafka_partition_end_offset{partition="1",topic="orders"} 101
			kafka_partition_start_offset{partition="1",topic="orders"} 0
			kafka_partition_leader_broker{partition="2",topic="orders"} 3
			kafka_group_lag_records{group="g1",partition="0",topic="orders"} 10
			kafka_group_lag_records{group="g1",partition="1",topic="orders"} 11
			kafka_group_lag_records{group="g2",partition="1",topic="orders"} 11
			kafka_group_lag_partial{group="g1",topic="orders"} 0
			kafka_group_lag_partial{group="g2",topic="orders"} 1
			kafka_log_dir_size_bytes{broker="1",log_dir="/data/0"} 1000
			kafka_log_dir_size_bytes{broker="2",log_dir="/data/0"} 2000
			kafka_log_dirs_missing_brokers 1
			kafka_topic_size_partial{topic="orders"} 1
			kafka_steward_collector_success{collector="groups"} 1
			kafka_steward_collector_partial{collector="groups"} 1
			kafka_steward_broker_missing{broker="3",collector="groups"} 1
			kafka_steward_broker_missing{broker="3",collector="offsets"} 1
			kafka_steward_collector_success{collector="quotas"} 1
			kafka_steward_collector_success{collector="reassignments"} 1
			kafka_steward_collector_success{collector="quorum"} 1
		`)
		s.none("kafka_partition_end_offset", `partition="2"`)
		s.none("kafka_group_lag_records", `partition="2"`)
		s.none("kafka_group_lag_records", `group="g3"`)
		if s.values[`kafka_steward_collector_errors_total{collector="groups",reason="timeout"}`] == 0 {
			t.Errorf("no timeout was counted:\n%s", strings.Join(s.of("kafka_steward_collector_errors_total", `collector="groups"`), "\n"))
		}
	}
	c.Restore(3)
	eventually(t, "broker 3 to be read again", func() string {
		w.play(1)
		s := w.scrape()
		if s.values[`kafka_group_lag_records{group="g3",partition="2",topic="orders"}`] != 12 || s.values[`kafka_broker_reachable{broker="3"}`] != 1 {
			return strings.Join(append(s.of("kafka_group_lag_records"), s.of("kafka_broker_reachable")...), "\n")
		}
		return ""
	})
}

// C-04 (a): leaderless partitions have no offset and no lag, and no leader
// that looks like a broker.
func TestLeaderless(t *testing.T) {
	c := fake.Start(t, fake.WithBrokers(2))
	c.Update(func(s *fake.State) {
		o := s.AddTopic("t", 4, 1)
		for p := range o.Partitions {
			o.Partitions[p].SetOffsets(0, 10)
		}
		s.AddTopic("other", 1, 2).Partitions[0].SetOffsets(0, 7)
		g := s.AddGroup("g1", fake.Classic)
		for p := range int32(4) {
			g.SetCommit("t", p, 4)
		}
		s.KillBroker(2)
	})
	c.StopBroker(2)
	w := watchFake(t, c, "")
	w.all()
	s := w.scrape()
	s.want(`
		kafka_partition_end_offset{partition="0",topic="t"} 10
		kafka_partition_end_offset{partition="2",topic="t"} 10
		kafka_partition_end_offset{partition="0",topic="other"} 7
		kafka_partition_leaderless{partition="0",topic="t"} 0
		kafka_partition_leaderless{partition="1",topic="t"} 1
		kafka_partition_leaderless{partition="3",topic="t"} 1
		kafka_group_lag_records{group="g1",partition="0",topic="t"} 6
		kafka_group_lag_partial{group="g1",topic="t"} 1
		kafka_broker_up{broker="1"} 1
		kafka_broker_up{broker="2"} 0
		kafka_broker_reachable{broker="2"} 0
		kafka_cluster_brokers 1
		kafka_log_dirs_missing_brokers 1
	`)
	for _, p := range []string{`partition="1"`, `partition="3"`} {
		s.none("kafka_partition_leader_broker", p, `topic="t"`)
		s.none("kafka_partition_end_offset", p, `topic="t"`)
		s.none("kafka_group_lag_records", p)
		s.none("kafka_group_lag_seconds", p)
	}
	s.neverNegative()
}

// C-05: a KIP-848 group beside a classic one, on brokers that describe the
// former as Dead through the old API.
func TestKIP848(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		o := s.AddTopic("orders", 6, 1)
		next := s.AddGroup("next", fake.Consumer)
		classic := s.AddGroup("classic", fake.Classic)
		for p := range o.Partitions {
			o.Partitions[p].SetOffsets(0, 100)
			next.SetCommit("orders", int32(p), 98)
			classic.SetCommit("orders", int32(p), 99)
		}
		for i := range int32(3) {
			next.AddMember(fmt.Sprintf("m%d", i), "app", "/10.0.0.1", fake.TopicPartitions{Topic: "orders", Partitions: []int32{2 * i, 2*i + 1}})
		}
		classic.AddMember("c", "old-app", "/10.0.0.2", fake.TopicPartitions{Topic: "orders", Partitions: []int32{0, 1, 2, 3, 4, 5}})
	})
	c.SetVersions(kmsg.DescribeGroups, 0, 5)
	w := watchFake(t, c, "")
	w.play(1)
	s := w.scrape()
	s.want(`
		kafka_group_members{group="next"} 3
		kafka_group_state{group="next",state="Stable"} 1
		kafka_group_state{group="next",state="Dead"} 0
		kafka_group_assigned_partitions{group="next",topic="orders"} 6
		kafka_group_members{group="classic"} 1
		kafka_group_state{group="classic",state="Stable"} 1
		kafka_group_assigned_partitions{group="classic",topic="orders"} 6
		kafka_groups{group_type="consumer"} 1
		kafka_groups{group_type="classic"} 1
		kafka_steward_collector_partial{collector="groups"} 0
	`)
	if sum := s.sum("kafka_group_lag_records", `group="next"`); sum != 12 {
		t.Errorf("lag of next %v, want 12", sum)
	}
	if n := len(s.of("kafka_group_info", `group="next"`, `group_type="consumer"`)); n != 1 {
		t.Errorf("info: %v", s.of("kafka_group_info"))
	}
	// A broker that does not tell the type: described by the wrong API, a Dead
	// answer is told as such and never shown as an empty group.
	c.SetVersions(kmsg.ListGroups, 0, 4)
	w = watchFake(t, c, "")
	w.play(1)
	s = w.scrape()
	s.want(`
		kafka_group_state{group="next",state="Stable"} 1
		kafka_group_state{group="next",state="Dead"} 0
		kafka_group_members{group="classic"} 1
		kafka_steward_collector_partial{collector="groups"} 1
		kafka_steward_missing_items{collector="groups"} 1
	`)
	s.none("kafka_group_members", `group="next"`)
	if sum := s.sum("kafka_group_lag_records", `group="next"`); sum != 12 {
		t.Errorf("lag of next %v, want 12", sum)
	}
}

// C-07: commits for a topic that is gone and a partition that is gone.
func TestOrphanedCommits(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		s.AddTopic("live", 1, 1).Partitions[0].SetOffsets(0, 10)
		s.AddTopic("shrunk", 2, 1)
		g := s.AddGroup("g1", fake.Classic)
		g.SetCommit("live", 0, 7)
		g.SetCommit("gone", 0, 5)
		g.SetCommit("shrunk", 5, 9)
	})
	w := watchFake(t, c, "")
	w.play(2)
	s := w.scrape()
	s.want(`
		kafka_group_lag_records{group="g1",partition="0",topic="live"} 3
		kafka_group_orphaned_commits{group="g1"} 2
		kafka_steward_collector_success{collector="groups"} 1
	`)
	s.none("kafka_group_lag_records", `topic="gone"`)
	s.none("kafka_group_lag_seconds", `topic="gone"`)
	s.none("kafka_group_lag_records", `topic="shrunk"`)
	s.nothingAbout("gone", "kafka_group_committed_offset")
	for _, r := range fake.As[*kmsg.MetadataRequest](c.Requests(kmsg.Metadata)) {
		if r.AllowAutoTopicCreation {
			t.Errorf("a Metadata request allows topic creation: %+v", r)
		}
	}
	for _, r := range c.Requests(kmsg.ListOffsets, kmsg.Metadata) {
		if r.Mentions("gone") {
			t.Errorf("%s asks for the topic that is gone", r.Name())
		}
	}
}

// C-08: a log directory offline, and brokers that tell no totals.
func TestLogDirOffline(t *testing.T) {
	c := fake.Start(t, fake.WithBrokers(2))
	c.Update(func(s *fake.State) {
		s.AddTopic("a", 1, 2)
		s.AddTopic("b", 1, 1)
		s.Topics["b"].Partitions[0].Replicas = []int32{2}
		s.Brokers[1].LogDirs[0].Path = "/d1"
		s.SetReplicaSize(1, "a", 0, 500)
		s.SetReplicaSize(2, "a", 0, 500)
		s.Brokers[1].LogDirs = append(s.Brokers[1].LogDirs, &fake.LogDir{Path: "/d2", Err: kerr.KafkaStorageError.Code, Total: -1, Usable: -1})
	})
	w := watchFake(t, c, "")
	w.all()
	s := w.scrape()
	s.want(`
		kafka_log_dir_online{broker="1",log_dir="/d1"} 1
		kafka_log_dir_online{broker="1",log_dir="/d2"} 0
		kafka_log_dir_online{broker="2",log_dir="/data/0"} 1
		kafka_log_dir_size_bytes{broker="1",log_dir="/d1"} 500
		kafka_log_dir_size_bytes{broker="2",log_dir="/data/0"} 500
		kafka_log_dir_total_bytes{broker="1",log_dir="/d1"} 1099511627776
		kafka_topic_size_bytes{topic="a"} 1000
		kafka_topic_size_partial{topic="a"} 1
		kafka_steward_collector_success{collector="logdirs"} 1
		kafka_steward_collector_partial{collector="logdirs"} 1
	`)
	for _, family := range []string{"kafka_log_dir_total_bytes", "kafka_log_dir_usable_bytes", "kafka_log_dir_size_bytes", "kafka_log_dir_replicas"} {
		s.none(family, `log_dir="/d2"`)
	}
	s.none("kafka_topic_size_partial", `topic="b"`)
	if found := s.of("kafka_log_dir_error"); len(found) != 1 || !strings.Contains(found[0], `log_dir="/d2"`) {
		t.Errorf("errors: %v", found)
	}
	s.neverNegative()
	c.SetVersions(kmsg.DescribeLogDirs, 1, 3)
	w = watchFake(t, c, "")
	w.all()
	s = w.scrape()
	s.none("kafka_log_dir_total_bytes")
	s.none("kafka_log_dir_usable_bytes")
	s.want(`kafka_log_dir_size_bytes{broker="1",log_dir="/d1"} 500`)
	s.neverNegative()
}

// eventually repeats f until it returns "", 20 s at most.
func eventually(t testing.TB, what string, f func() string) {
	t.Helper()
	var last string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if last = f(); last == "" {
			return
		}
	}
	t.Fatalf("%s: not within 20 s; last seen:\n%s", what, last)
}
