package monitor

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

func realLag(t *testing.T, r *real) {
	ctx := t.Context()
	topic := r.Topic(t, 3, 2)
	group := topic + "-group"
	for p := range int32(3) {
		must(t, r.Produce(ctx, topic, p, 10*int(p+1), 100))
	}
	must(t, r.Commit(ctx, group, map[string]map[int32]int64{topic: {0: 10, 1: 5, 2: 0}}))
	r.play(1)
	s := r.scrape()
	ends, err := r.Admin().ListEndOffsets(ctx, topic)
	must(t, err)
	starts, err := r.Admin().ListStartOffsets(ctx, topic)
	must(t, err)
	stable, err := r.Admin().ListCommittedOffsets(ctx, topic)
	must(t, err)
	commits, err := r.Admin().FetchOffsets(ctx, group)
	must(t, err)
	for p := range int32(3) {
		end, _ := ends.Lookup(topic, p)
		start, _ := starts.Lookup(topic, p)
		committed, _ := commits.Lookup(topic, p)
		lso, _ := stable.Lookup(topic, p)
		s.want(fmt.Sprintf(`
			kafka_partition_end_offset{partition="%[1]d",topic="%[2]s"} %[3]d
			kafka_partition_start_offset{partition="%[1]d",topic="%[2]s"} %[4]d
			kafka_partition_stable_offset{partition="%[1]d",topic="%[2]s"} %[8]d
			kafka_group_committed_offset{group="%[5]s",partition="%[1]d",topic="%[2]s"} %[6]d
			kafka_group_lag_records{group="%[5]s",partition="%[1]d",topic="%[2]s"} %[7]d
		`, p, topic, end.Offset, start.Offset, group, committed.At, end.Offset-committed.At, lso.Offset))
	}
	s.want(fmt.Sprintf(`
		kafka_group_members{group="%[1]s"} 0
		kafka_group_state{group="%[1]s",state="Empty"} 1
		kafka_group_lag_partial{group="%[1]s",topic="%[2]s"} 0
	`, group, topic))
	last := s.values[fmt.Sprintf(`kafka_partition_last_record_timestamp_seconds{partition="2",topic="%s"}`, topic)]
	if since := time.Since(time.UnixMilli(int64(last * 1000))); since < 0 || since > time.Minute {
		t.Errorf("the last record is of %s ago", since)
	}
	s.neverNegative()
}

// C-01 on real brokers.
func realUncommitted(t *testing.T, r *real) {
	ctx := t.Context()
	topic := r.Topic(t, 3, 1)
	group := topic + "-group"
	must(t, r.Produce(ctx, topic, 0, 30, 10))
	must(t, r.Produce(ctx, topic, 2, 40, 10))
	must(t, r.Commit(ctx, group, map[string]map[int32]int64{topic: {2: 40}}))
	r.play(1)
	s := r.scrape()
	s.want(fmt.Sprintf(`
		kafka_group_committed_offset{group="%[1]s",partition="2",topic="%[2]s"} 40
		kafka_group_lag_records{group="%[1]s",partition="2",topic="%[2]s"} 0
		kafka_group_uncommitted_partitions{group="%[1]s",topic="%[2]s"} 2
	`, group, topic))
	for _, family := range []string{"kafka_group_committed_offset", "kafka_group_lag_records"} {
		if n := len(s.of(family, `group="`+group+`"`)); n != 1 {
			t.Errorf("%d series of %s, want 1", n, family)
		}
	}
}

// C-23 (a) on real brokers: the marker is a lag of 1, and that is ok.
func realMarker(t *testing.T, r *real) {
	ctx := t.Context()
	topic := r.Topic(t, 1, 1)
	group := topic + "-group"
	cl := r.Client(t, kgo.TransactionalID(topic+"-tx"))
	must(t, cl.BeginTransaction())
	for range 100 {
		cl.Produce(ctx, &kgo.Record{Topic: topic, Value: []byte("x")}, nil)
	}
	must(t, cl.Flush(ctx))
	must(t, cl.EndTransaction(ctx, kgo.TryCommit))
	must(t, r.Commit(ctx, group, map[string]map[int32]int64{topic: {0: 100}}))
	s := r.settled("", fmt.Sprintf(`
		kafka_partition_end_offset{partition="0",topic="%[2]s"} 101
		kafka_group_lag_records{group="%[1]s",partition="0",topic="%[2]s"} 1
		kafka_group_verdict{group="%[1]s",verdict="ok"} 1
	`, group, topic))
	s.none("kafka_group_partition_verdict", `group="`+group+`"`)
}

// C-05 on real brokers: KIP-848 (4.x) and classic groups side by side.
func realProtocols(t *testing.T, r *real) {
	ctx := t.Context()
	topic := r.Topic(t, 6, 1)
	for p := range int32(6) {
		must(t, r.Produce(ctx, topic, p, 10, 10))
	}
	var lines strings.Builder
	groups := map[string][]kgo.Opt{topic + "-classic": nil}
	if r.Mode() == kafkatest.KRaft4 {
		groups[topic+"-next"] = []kgo.Opt{kgo.ServerSideBalancer()}
	}
	for group, opts := range groups {
		for i := range 3 {
			member(t, r.Cluster, group, topic, 8, append(opts, kgo.ClientID(fmt.Sprintf("member-%d", i)))...)
		}
		fmt.Fprintf(&lines, `
			kafka_group_members{group="%[1]s"} 3
			kafka_group_state{group="%[1]s",state="Stable"} 1
			kafka_group_assigned_partitions{group="%[1]s",topic="%[2]s"} 6
			kafka_group_topic_assigned{group="%[1]s",topic="%[2]s"} 1
		`, group, topic)
		for p := range 6 {
			fmt.Fprintf(&lines, "kafka_group_lag_records{group=\"%s\",partition=\"%d\",topic=\"%s\"} 2\n", group, p, topic)
		}
	}
	s := r.settled("", lines.String())
	for group := range groups {
		kind := "classic"
		if strings.HasSuffix(group, "-next") {
			kind = "consumer"
		}
		if n := len(s.of("kafka_group_info", `group="`+group+`"`, `group_type="`+kind+`"`)); n != 1 {
			t.Errorf("info: %v", s.of("kafka_group_info", `group="`+group+`"`))
		}
		for i := range 3 {
			if n := len(s.of("kafka_group_member_info", `group="`+group+`"`, fmt.Sprintf(`client_id="member-%d"`, i), `client_ip="127.0.0.1"`)); n != 1 {
				t.Errorf("members: %v", s.of("kafka_group_member_info", `group="`+group+`"`))
			}
		}
	}
}

// member joins a group and commits an offset for every partition it is given.
func member(t *testing.T, c *kafkatest.Cluster, group, topic string, offset int64, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl := c.Client(t, append(opts, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()),
		kgo.OnPartitionsAssigned(func(ctx context.Context, cl *kgo.Client, assigned map[string][]int32) {
			commits := map[string]map[int32]kgo.EpochOffset{}
			for topic, ps := range assigned {
				commits[topic] = map[int32]kgo.EpochOffset{}
				for _, p := range ps {
					commits[topic][p] = kgo.EpochOffset{Epoch: -1, Offset: offset}
				}
			}
			cl.CommitOffsetsSync(ctx, commits, nil)
		}))...)
	go func() {
		for !cl.PollFetches(t.Context()).IsClientClosed() && t.Context().Err() == nil {
			continue
		}
	}()
	return cl
}

// C-25 (a) and C-26 on real brokers.
func realLifeOfGroups(t *testing.T, r *real) {
	ctx := t.Context()
	old, neu := r.Topic(t, 1, 1), r.Topic(t, 1, 1)
	group := old + "-group"
	must(t, r.Produce(ctx, old, 0, 10, 10))
	first := member(t, r.Cluster, group, old, 4)
	lag := func(topic string, n int) string {
		return fmt.Sprintf("kafka_group_lag_records{group=%q,partition=\"0\",topic=%q} %d\n", group, topic, n)
	}
	assigned := func(topic string, n int) string {
		return fmt.Sprintf("kafka_group_topic_assigned{group=%q,topic=%q} %d\n", group, topic, n)
	}
	members := func(n int) string { return fmt.Sprintf("kafka_group_members{group=%q} %d\n", group, n) }
	r.settled("", lag(old, 6)+assigned(old, 1)+members(1))
	first.Close()
	must(t, r.Produce(ctx, old, 0, 5, 10))
	r.settled("", lag(old, 11)+assigned(old, 0)+members(0)+fmt.Sprintf("kafka_group_state{group=%q,state=\"Empty\"} 1", group))
	// It comes back for another topic; the old commit stays and its lag grows.
	member(t, r.Cluster, group, neu, 0)
	must(t, r.Produce(ctx, old, 0, 5, 10))
	r.settled("", lag(old, 16)+assigned(old, 0)+lag(neu, 0)+assigned(neu, 1)+members(1))
	_, err := r.Admin().DeleteOffsets(ctx, group, kadm.TopicsSet{old: {0: {}}})
	must(t, err)
	kafkatest.WaitFor(t, "the series to go", 20*time.Second, func(context.Context) (bool, string) {
		r.play(1)
		left := r.scrape().of("kafka_group_lag_records", `group="`+group+`"`, `topic="`+old+`"`)
		return len(left) == 0, strings.Join(left, "\n")
	})
}

// Lag in seconds: from the log's past, and exact, against timestamps we wrote.
func realSeconds(t *testing.T, r *real) {
	ctx := t.Context()
	topic := r.Topic(t, 1, 1)
	cl := r.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	now := time.Now()
	for i := range 121 { // one a minute, the last one now
		at := now.Add(-2*time.Hour + time.Duration(i)*time.Minute)
		must(t, cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("x"), Timestamp: at}).FirstErr())
	}
	exact, estimated := "exact-"+topic, "about-"+topic
	for _, group := range []string{exact, estimated} {
		must(t, r.Commit(ctx, group, map[string]map[int32]int64{topic: {0: 60}}))
	}
	r.play(1)
	s := r.scrape()
	near(s, fmt.Sprintf(`kafka_group_lag_seconds{group="%s",partition="0",topic="%s"}`, exact, topic), 3600, 30)
	near(s, fmt.Sprintf(`kafka_group_lag_seconds{group="%s",partition="0",topic="%s"}`, estimated, topic), 3600, 200)
}

func realLost(t *testing.T, r *real) {
	ctx := t.Context()
	topic := r.Topic(t, 1, 1)
	group := topic + "-group"
	must(t, r.Produce(ctx, topic, 0, 50, 10))
	must(t, r.Commit(ctx, group, map[string]map[int32]int64{topic: {0: 10}}))
	lost := func(n int) string {
		return fmt.Sprintf("kafka_group_records_lost_total{group=%q,topic=%q} %d\n", group, topic, n)
	}
	r.settled("", lost(0))
	for _, step := range []struct{ start, lost int }{{30, 20}, {40, 30}} {
		cut := kadm.Offsets{}
		cut.AddOffset(topic, 0, int64(step.start), -1)
		_, err := r.Admin().DeleteRecords(ctx, cut)
		must(t, err)
		s := r.settled("", fmt.Sprintf("kafka_partition_start_offset{partition=\"0\",topic=%q} %d", topic, step.start))
		s.want(lost(step.lost) + fmt.Sprintf("kafka_group_lag_records{group=%q,partition=\"0\",topic=%q} %d", group, topic, 50-step.start))
	}
}
