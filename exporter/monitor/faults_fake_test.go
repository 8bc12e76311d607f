package monitor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

// C-11: names that break expositions come through, byte-exact where they are
// valid, visible and distinct where they are not.
func TestHostileNames(t *testing.T) {
	ids := []string{`a"b`, `c\d`, "e\nf", "g\xff", "g\xfe", "", strings.Repeat("x", 300), "nul\x00inside", "ünï ${}#,=", "\ufeffbom"}
	c := fake.Start(t, fake.WithBrokers(1))
	c.Update(func(s *fake.State) {
		s.AddTopic("orders", 1, 1).Partitions[0].SetOffsets(0, 1000)
		for i, id := range ids {
			g := s.AddGroup(id, fake.Classic)
			g.SetCommit("orders", 0, int64(100+i))
			g.AddMember(fmt.Sprintf("m%d", i), "client\x00"+id, "/10.0.0.1", fake.TopicPartitions{Topic: "orders", Partitions: []int32{0}})
		}
		user := "user \"\\\n\xff"
		s.Quotas = []fake.Quota{{Entity: map[string]*string{"user": &user}, Values: map[string]float64{"producer_byte_rate": 7}}}
	})
	w := watchFake(t, c, "")
	w.all()
	s := w.scrape()
	seen := map[string]bool{}
	for i, id := range ids {
		var found []string
		for key, v := range s.values {
			if strings.HasPrefix(key, "kafka_group_lag_records{") && v == float64(900-i) {
				found = append(found, key)
			}
		}
		if len(found) != 1 || seen[found[0]] {
			t.Errorf("group %q: %d series of its lag: %q", id, len(found), found)
			continue
		}
		seen[found[0]] = true
		if key := seriesKey("kafka_group_lag_records", map[string]string{"group": id, "topic": "orders", "partition": "0"}); !strings.HasPrefix(id, "g") && found[0] != key {
			t.Errorf("group %q is read back as %s", id, found[0])
		}
	}
	if len(s.of("kafka_group_info")) != len(ids) || len(s.of("kafka_group_member_info")) != len(ids) {
		t.Errorf("%d groups, %d members; want %d of each", len(s.of("kafka_group_info")), len(s.of("kafka_group_member_info")), len(ids))
	}
	s.want(`
		kafka_steward_renamed_labels{kind="group"} 2
		kafka_steward_renamed_labels{kind="client_id"} 2
	`)
	if q := s.of("kafka_client_quota_producer_bytes_per_second"); len(q) != 1 || !strings.Contains(q[0], `xff`) {
		t.Errorf("quota of a user with an invalid name: %q", q)
	}
	checkByPromtool(t, s.text)
}

// A group whose id looks like what another one is rewritten to keeps apart.
func TestRewrittenNamesStayDistinct(t *testing.T) {
	visible, _ := exposition.Label("g\xff")
	c := fake.Start(t, fake.WithBrokers(1))
	c.Update(func(s *fake.State) {
		s.AddGroup("g\xff", fake.Classic)
		s.AddGroup(visible, fake.Classic)
		s.AddGroup(visible+"~2", fake.Classic)
	})
	w := watchFake(t, c, "")
	w.play(1)
	s := w.scrape()
	if n := len(s.of("kafka_group_info")); n != 3 {
		t.Errorf("%d groups, want 3:\n%s", n, strings.Join(s.of("kafka_group_info"), "\n"))
	}
	checkByPromtool(t, s.text)
}

// C-14 (b): brokers with which we share no version of ListOffsets.
func TestNoCommonVersion(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		s.AddTopic("orders", 3, 1)
		s.AddGroup("g1", fake.Classic).SetCommit("orders", 0, 5)
	})
	c.SetVersions(kmsg.ListOffsets, 99, 100)
	w := watchFake(t, c, "collectors: {last_record: {enabled: true}}")
	w.all()
	w.play(1)
	s := w.scrape()
	s.want(`
		kafka_steward_collector_success{collector="offsets"} 0
		kafka_steward_collector_unsupported{collector="offsets"} 1
		kafka_steward_collector_success{collector="topology"} 1
		kafka_steward_collector_success{collector="groups"} 1
		kafka_steward_collector_success{collector="logdirs"} 1
		kafka_steward_collector_success{collector="configs"} 1
		kafka_steward_collector_unsupported{collector="logdirs"} 0
		kafka_topic_partitions{topic="orders"} 3
		kafka_group_committed_offset{group="g1",partition="0",topic="orders"} 5
		kafka_group_state{group="g1",state="Stable"} 1
	`)
	s.none("kafka_group_lag_records")
	s.none("kafka_partition_end_offset")
	if e := s.values[`kafka_steward_collector_errors_total{collector="offsets",reason="unsupported"}`]; e < 2 {
		t.Errorf("%v errors of class unsupported in two rounds", e)
	}
	var said string
	for _, status := range w.Snapshot().Collectors {
		if status.Name == "offsets" && len(status.Missing) > 0 {
			said = status.Missing[0].Err
		}
	}
	for _, part := range []string{"ListOffsets", "99 to 100", "1 to 6"} {
		if !strings.Contains(said, part) {
			t.Errorf("the error does not say %q: %s", part, said)
		}
	}
}

// C-25 (a): when a group's consumers die its lag goes on rising.
func TestConsumersDie(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		s.AddTopic("orders", 1, 1).Partitions[0].SetOffsets(0, 1000)
		g := s.AddGroup("g1", fake.Classic)
		g.SetCommit("orders", 0, 500)
		g.AddMember("m", "app", "/10.0.0.1", fake.TopicPartitions{Topic: "orders", Partitions: []int32{0}})
	})
	w := watchFake(t, c, "")
	w.play(1)
	w.scrape().want(`
		kafka_group_members{group="g1"} 1
		kafka_group_lag_records{group="g1",partition="0",topic="orders"} 500
	`)
	for i := range int64(5) {
		c.Update(func(s *fake.State) {
			s.Groups["g1"].State, s.Groups["g1"].Members = "Empty", nil
			s.Topics["orders"].Partitions[0].SetOffsets(0, 1000+100*(i+1))
		})
		w.play(1)
		w.scrape().want(fmt.Sprintf(`
			kafka_group_members{group="g1"} 0
			kafka_group_state{group="g1",state="Empty"} 1
			kafka_group_topic_assigned{group="g1",topic="orders"} 0
			kafka_group_lag_records{group="g1",partition="0",topic="orders"} %d
		`, 600+100*i))
	}
}

// C-26: a topic that a stable group has left carries that; an empty group's
// lag in it stays.
func TestGroupLeftTopic(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		s.AddTopic("new", 1, 1).Partitions[0].SetOffsets(0, 50)
		s.AddTopic("old", 1, 1).Partitions[0].SetOffsets(0, 2000)
		g1 := s.AddGroup("g1", fake.Classic)
		g1.SetCommit("old", 0, 1000)
		g1.SetCommit("new", 0, 50)
		g1.AddMember("m", "app", "/10.0.0.1", fake.TopicPartitions{Topic: "new", Partitions: []int32{0}})
		g2 := s.AddGroup("g2", fake.Classic)
		g2.State = "Empty"
		g2.SetCommit("old", 0, 1500)
	})
	w := watchFake(t, c, "")
	w.play(2)
	w.scrape().want(`
		kafka_group_topic_assigned{group="g1",topic="old"} 0
		kafka_group_topic_assigned{group="g1",topic="new"} 1
		kafka_group_lag_records{group="g1",partition="0",topic="old"} 1000
		kafka_group_lag_records{group="g2",partition="0",topic="old"} 500
		kafka_group_state{group="g1",state="Stable"} 1
	`)
	only := watchFake(t, c, "lag: {assigned_topics_only: true}")
	only.play(1)
	s := only.scrape()
	s.none("kafka_group_lag_records", `group="g1"`, `topic="old"`)
	s.want(`
		kafka_group_lag_records{group="g1",partition="0",topic="new"} 0
		kafka_group_lag_records{group="g2",partition="0",topic="old"} 500
	`)
	// The offset is deleted: the series goes.
	c.Update(func(s *fake.State) { s.Groups["g1"].Commits = s.Groups["g1"].Commits[:1] })
	w.play(1)
	w.scrape().none("kafka_group_lag_records", `group="g1"`, `topic="old"`)
}

// A coordinator that does not answer leaves its groups as they were, marked by
// the collector, until they are too old.
func TestStaleGroups(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		o := s.AddTopic("orders", 1, 1)
		o.Partitions[0].SetOffsets(0, 100)
		for id := range int32(3) {
			g := s.AddGroup(fmt.Sprintf("g%d", id+1), fake.Classic)
			g.Coordinator = id + 1
			g.SetCommit("orders", 0, 90)
		}
	})
	w := watchFake(t, c, "max_age: 1m")
	w.play(1)
	c.StopBroker(3)
	c.Update(func(s *fake.State) { s.Topics["orders"].Partitions[0].SetOffsets(0, 200) })
	for range 3 {
		w.play(1)
		s := w.scrape()
		s.want(`
			kafka_group_lag_records{group="g1",partition="0",topic="orders"} 110
			kafka_group_lag_records{group="g3",partition="0",topic="orders"} 10
			kafka_group_state{group="g3",state="Stable"} 1
			kafka_steward_collector_success{collector="groups"} 1
			kafka_steward_collector_partial{collector="groups"} 1
			kafka_steward_broker_missing{broker="3",collector="groups"} 1
		`)
	}
	age(w, 2*time.Minute)
	w.play(1)
	s := w.scrape()
	s.none("kafka_group_lag_records", `group="g3"`)
	s.none("kafka_group_info", `group="g3"`)
	s.want(`kafka_group_lag_records{group="g1",partition="0",topic="orders"} 110`)
}

// The same when the broker is dead to the cluster too, while its groups' new
// coordinator still loads them.
func TestGroupsWhileCoordinatorsMove(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		s.AddTopic("orders", 1, 1).Partitions[0].SetOffsets(0, 100)
		g := s.AddGroup("g3", fake.Classic)
		g.Coordinator = 3
		g.SetCommit("orders", 0, 90)
		s.AddGroup("g1", fake.Classic).Coordinator = 1
	})
	w := watchFake(t, c, "")
	w.play(1)
	c.StopBroker(3)
	c.Update(func(s *fake.State) {
		s.KillBroker(3)
		s.Groups["g3"].Coordinator = 2
	})
	remove := c.OnKey(kmsg.ListGroups, func(broker int32, req kmsg.Request) (kmsg.Response, fake.Action) {
		if broker != 2 {
			return nil, fake.Pass
		}
		res := req.ResponseKind().(*kmsg.ListGroupsResponse)
		res.ErrorCode = kerr.CoordinatorLoadInProgress.Code
		return res, fake.Answer
	})
	w.play(1)
	w.scrape().want(`kafka_group_lag_records{group="g3",partition="0",topic="orders"} 10`)
	remove()
	w.play(1)
	s := w.scrape()
	s.want(`
		kafka_group_lag_records{group="g3",partition="0",topic="orders"} 10
		kafka_steward_collector_partial{collector="groups"} 0
	`)
	if n := len(s.of("kafka_group_info", `group="g3"`, `coordinator="2"`)); n != 1 {
		t.Errorf("info: %v", s.of("kafka_group_info"))
	}
	// A group that is deleted while all answer is gone at once.
	c.Update(func(s *fake.State) { delete(s.Groups, "g3") })
	w.play(1)
	w.scrape().nothingAbout("g3")
}
