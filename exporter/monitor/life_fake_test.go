package monitor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/exporter/collector"
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

// age makes everything that was read look older.
func age(w *watched, by time.Duration) {
	w.publish(func(p *parts) {
		if p.topology != nil {
			cp := *p.topology
			cp.ReadAt = cp.ReadAt.Add(-by)
			p.topology = &cp
		}
		if p.groups != nil {
			cp := *p.groups
			cp.Groups = slices.Clone(cp.Groups)
			cp.ReadAt = cp.ReadAt.Add(-by)
			for i := range cp.Groups {
				if cp.Groups[i].Stale {
					cp.Groups[i].ReadAt = cp.Groups[i].ReadAt.Add(-by)
				}
			}
			p.groups = &cp
		}
		if p.lag != nil {
			cp := *p.lag
			cp.ComputedAt = cp.ComputedAt.Add(-by)
			p.lag = &cp
		}
		if p.offsets != nil {
			cp := *p.offsets
			for _, at := range []*time.Time{&cp.EndReadAt, &cp.StartReadAt, &cp.StableReadAt, &cp.LastRecordReadAt} {
				*at = at.Add(-by)
			}
			p.offsets = &cp
		}
		shift(&p.quorum, by, func(x *snapshot.Quorum) *time.Time { return &x.ReadAt })
		shift(&p.logDirs, by, func(x *snapshot.LogDirs) *time.Time { return &x.ReadAt })
		shift(&p.configs, by, func(x *snapshot.Configs) *time.Time { return &x.ReadAt })
		shift(&p.reassignments, by, func(x *snapshot.Reassignments) *time.Time { return &x.ReadAt })
		shift(&p.quotas, by, func(x *snapshot.Quotas) *time.Time { return &x.ReadAt })
		shift(&p.transactions, by, func(x *snapshot.Transactions) *time.Time { return &x.ReadAt })
		shift(&p.acls, by, func(x *snapshot.ACLs) *time.Time { return &x.ReadAt })
	})
}

func shift[T any](part **T, by time.Duration, at func(*T) *time.Time) {
	if *part == nil {
		return
	}
	cp := **part
	*at(&cp) = at(&cp).Add(-by)
	*part = &cp
}

// What is older than its limit disappears; how the collectors do does not.
func TestOldPartsDisappear(t *testing.T) {
	c := fake.Start(t)
	c.Update(everything)
	w := watchFake(t, c, "max_age: 30s\ncollectors: {last_record: {enabled: true}}")
	w.all()
	w.play(1)
	fresh := w.scrape()
	count := func(s *scraped) int {
		n := 0
		for k := range s.values {
			if !strings.HasPrefix(k, "kafka_steward_") {
				n++
			}
		}
		return n
	}
	if count(fresh) < 80 {
		t.Fatalf("only %d series to begin with", count(fresh))
	}
	age(w, 31*time.Second) // older than rounds' parts may be; those read every minute may be 3 minutes old
	s := w.scrape()
	for _, gone := range []string{"kafka_broker_up", "kafka_topic_partitions", "kafka_group_lag_records", "kafka_group_info", "kafka_partition_end_offset", "kafka_quorum_leader_id", "kafka_reassignment_partitions"} {
		s.none(gone)
	}
	for _, stays := range []string{"kafka_log_dir_online", "kafka_client_quota_producer_bytes_per_second", "kafka_transactions", "kafka_acls"} {
		if len(s.of(stays)) == 0 {
			t.Errorf("%s is gone although it may be older", stays)
		}
	}
	age(w, time.Hour)
	s = w.scrape()
	if n := count(s); n != 0 {
		for k := range s.values {
			if !strings.HasPrefix(k, "kafka_steward_") {
				t.Errorf("an hour later there still is %s", k)
			}
		}
	}
	if len(s.of("kafka_steward_collector_success")) != 13 {
		t.Errorf("collectors: %v", s.of("kafka_steward_collector_success"))
	}
}

// everything is a cluster with something of each subject.
func everything(s *fake.State) {
	o := s.AddTopic("orders", 6, 2)
	for p := range o.Partitions {
		o.Partitions[p].SetOffsets(int64(p), int64(100+p))
		o.Partitions[p].FirstTimestamp, o.Partitions[p].MaxTimestamp = 1_700_000_000_000, 1_700_000_100_000
	}
	o.Partitions[0].Stable = 90
	o.Partitions[0].Producers = []fake.Producer{{ID: 7, LastTimestamp: 1_700_000_050_000, TxnStartOffset: 90}}
	s.Transactions["tx"] = &fake.Transaction{ID: "tx", Coordinator: 1, State: "Ongoing", ProducerID: 7}
	m := &s.AddTopic("moving", 1, 2).Partitions[0]
	m.Replicas, m.Adding, m.Removing = []int32{1, 2, 3}, []int32{3}, []int32{2}
	s.AddTopic("__consumer_offsets", 3, 3).Internal = true
	g := s.AddGroup("classic", fake.Classic)
	g.AddMember("m", "app", "/10.0.0.1", fake.TopicPartitions{Topic: "orders", Partitions: []int32{0, 1, 2, 3, 4, 5}})
	next := s.AddGroup("next", fake.Consumer)
	next.AddMember("n", "app", "/10.0.0.2", fake.TopicPartitions{Topic: "orders", Partitions: []int32{0, 1}})
	for p := range int32(6) {
		g.SetCommit("orders", p, 50)
		next.SetCommit("orders", p, 60)
	}
	s.AddGroup("shared", fake.Share).AddMember("s", "worker", "/10.0.0.3", fake.TopicPartitions{Topic: "orders", Partitions: []int32{0}})
	s.AddGroup("streams", fake.Streams)
	alice := "alice"
	s.Quotas = []fake.Quota{{Entity: map[string]*string{"user": &alice}, Values: map[string]float64{"producer_byte_rate": 1}}}
	s.ACLs = []fake.ACL{{ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: "a", PatternType: kmsg.ACLResourcePatternTypeLiteral, Principal: "User:x", Host: "*", Operation: kmsg.ACLOperationRead, Permission: kmsg.ACLPermissionTypeAllow}}
}

// Before Kafka is there the monitor says why; then series appear.
func TestStartWithoutKafka(t *testing.T) {
	c := fake.Start(t, fake.WithBrokers(1))
	c.Update(everything)
	c.StopBroker(1)
	w := watchFake(t, c, "")
	if tried, detail := w.Ready(); tried || detail != "not tried yet" {
		t.Errorf("before the first round: %v %q", tried, detail)
	}
	done := make(chan error, 1)
	ctx, cancel := contextWithCancel(t)
	go func() { done <- w.Run(ctx) }()
	if err := w.WaitRound(ctx, 1); err != nil {
		t.Fatal(err)
	}
	tried, detail := w.Ready()
	if !tried || !strings.HasPrefix(detail, "not collecting (network): ") || !strings.Contains(detail, c.Addr(1)) {
		t.Errorf("without Kafka: %v %q", tried, detail)
	}
	s := w.scrape()
	s.want(`
		kafka_steward_collector_success{collector="topology"} 0
		kafka_steward_collector_last_success_timestamp_seconds{collector="topology"} 0
		kafka_steward_collector_success{collector="logdirs"} 0
	`)
	s.none("kafka_broker_up")
	if err := c.StartBroker(1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "series to appear", func() string {
		if err := w.WaitRound(ctx, w.Rounds()+1); err != nil {
			t.Fatal(err)
		}
		s := w.scrape()
		for _, family := range []string{"kafka_broker_up", "kafka_group_lag_records", "kafka_log_dir_online", "kafka_quorum_leader_id"} {
			if len(s.of(family)) == 0 {
				return "no " + family
			}
		}
		return ""
	})
	if _, detail := w.Ready(); detail != "collecting" {
		t.Errorf("with Kafka: %q", detail)
	}
	cancel()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Error("Run does not end with its context")
	}
}

// Parts are immutable once published: scrapes and rounds share them without
// locks, also where a reading failed and what was known is shown again. (The
// race detector is the judge.)
func TestScrapesDuringRounds(t *testing.T) {
	c := fake.Start(t)
	c.Update(everything)
	c.Update(func(s *fake.State) {
		for id := range int32(3) {
			g := s.AddGroup(fmt.Sprintf("at-%d", id+1), fake.Classic)
			g.Coordinator = id + 1
			g.SetCommit("orders", id, 10)
			s.SetReplicaSize(id+1, "moving", 0, 1000)
		}
	})
	w := watchFake(t, c, "lag: {exact_groups: {include: [classic]}}")
	w.all()
	w.play(1)
	remove := c.OnKey(kmsg.ListPartitionReassignments, func(_ int32, req kmsg.Request) (kmsg.Response, fake.Action) {
		res := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
		res.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return res, fake.Answer
	})
	c.StopBroker(3)
	ctx, cancel := contextWithCancel(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			w.text()
		}
	})
	for i := range 6 {
		c.Update(func(s *fake.State) { // a new lagging group each time, so that history is seeded
			s.AddGroup(fmt.Sprintf("new-%d", i), fake.Classic).SetCommit("orders", int32(i), 1)
		})
		w.all()
	}
	s := w.scrape()
	s.want(`
		kafka_reassignment_partitions 1
		kafka_partition_reassigning{partition="0",topic="moving"} 1
	`)
	remove()
	w.play(1)
	cancel()
	wg.Wait()
}

// A dead cluster in the same process changes nothing for a healthy one.
func TestDeadClusterBesideAHealthyOne(t *testing.T) {
	c := fake.Start(t)
	c.Update(everything)
	dead := fake.Start(t)
	for _, id := range []int32{1, 2, 3} {
		dead.BlackHole(id)
	}
	alone := watch(t, "healthy", c.Bootstrap(), everyRound)
	alone.all()
	alone.play(1)
	want := cluster(t, render(t, exposition.Source{Snapshot: alone.Snapshot(), Limits: collector.Limits(alone.conf)}), "healthy")

	healthy := watch(t, "healthy", c.Bootstrap(), everyRound)
	other := watch(t, "dead", dead.Bootstrap(), "interval: 1s\nrequest_timeout: 1s\n")
	ctx, cancel := contextWithCancel(t)
	failed := make(chan bool, 1)
	go func() { failed <- other.round(ctx) }()
	start := time.Now()
	healthy.all()
	healthy.play(1)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the healthy cluster took %s", took)
	}
	cancel()
	if <-failed {
		t.Error("the dead cluster's round succeeded")
	}
	text := render(t,
		exposition.Source{Snapshot: healthy.Snapshot(), Limits: collector.Limits(healthy.conf)},
		exposition.Source{Snapshot: other.Snapshot(), Limits: collector.Limits(other.conf)})
	if diff := cmp.Diff(want, cluster(t, text, "healthy")); diff != "" {
		t.Errorf("-alone +beside a dead one:\n%s", diff)
	}
	checkByPromtool(t, text)
}

// cluster reads a cluster's series that do not tell of time or of the exporter.
func cluster(t testing.TB, text, name string) map[string]float64 {
	t.Helper()
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") || strings.Contains(line, `kafka_cluster="`+name+`"`) {
			lines = append(lines, line)
		}
	}
	values := read(t, strings.Join(lines, "")).values
	maps.DeleteFunc(values, func(k string, _ float64) bool {
		return strings.HasPrefix(k, "kafka_steward_") || strings.Contains(k, "_seconds")
	})
	return values
}
