package load

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kafka-steward/kafka-steward/internal/kafka"
	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

// clock is a clock that only waiting moves.
type clock struct {
	at     time.Time
	during func()
}

func (c *clock) now() time.Time { return c.at }

func (c *clock) wait(_ context.Context, d time.Duration) error {
	c.at = c.at.Add(d)
	c.during()
	return nil
}

// fakeCluster is testCluster as a fake Kafka, with consumer groups g and h.
func fakeCluster(t *testing.T) (*fake.Cluster, *kafka.Client) {
	t.Helper()
	f := fake.Start(t, fake.WithBrokers(4))
	f.Update(func(s *fake.State) {
		for name, x := range map[string]struct {
			n        int
			replicas []int32
		}{"a.t": {4, []int32{1, 2}}, "b.t": {2, []int32{3, 4}}, "shared": {1, []int32{2, 3}}} {
			topic := s.AddTopic(name, x.n, 2)
			for p := range topic.Partitions {
				part := &topic.Partitions[p]
				part.Leader, part.Replicas, part.ISR = x.replicas[0], x.replicas, x.replicas
				part.SetOffsets(1000, 1100) // 100 records of 10 × (p + 1) bytes
			}
		}
		addGroup(s, "g", 1, map[string]int64{"a.t": 1000})
		addGroup(s, "h", 2, map[string]int64{"a.t": 1000, "b.t": 1100})
	})
	connector, err := connect.New(connect.Config{BootstrapServers: f.Addrs()})
	if err != nil {
		t.Fatal(err)
	}
	cl := kafka.New(connector)
	t.Cleanup(cl.Close)
	if _, err := cl.Metadata(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return f, cl
}

func TestFromOffsets(t *testing.T) {
	f, cl := fakeCluster(t)
	c := testCluster(t)
	start := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	clk := &clock{at: start, during: func() {
		f.Update(func(s *fake.State) {
			s.Partition("a.t", 0).SetOffsets(1100, 1200) // 10 records/s of 1000/100 bytes
			s.Partition("a.t", 1).SetOffsets(1000, 1200) // 10 of 2000/200
			s.Partition("a.t", 3).SetOffsets(0, 10)      // made anew
			s.Partition("b.t", 1).SetOffsets(1020, 1120) // 2 of 2000/100
			s.Partition("shared", 0).ListOffsetsErr = 6  // moved away meanwhile
			commit(s, "g", "a.t", 0, 1050)               // 5 records/s
			commit(s, "h", "a.t", 0, 1020)               // 2
			commit(s, "h", "b.t", 1, 900)                // rewound
		})
	}}
	r, err := FromOffsets(t.Context(), cl, c, OffsetOptions{Interval: 10 * time.Second, Now: clk.now, Wait: clk.wait})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.t-0": "100/170", "a.t-1": "100/100", "a.t-2": "0/0", "a.t-3": "100/100", "b.t-0": "0/0", "b.t-1": "40/40", "shared-0": "0/0"}
	if d := cmp.Diff(want, ratesOf(c)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]model.TopicPartitions{{Topic: "a.t", Partitions: []int32{3}}, {Topic: "shared", Partitions: []int32{0}}}, r.Filled); d != "" {
		t.Error(d)
	}
	if r.Sampled != 5 || r.Partitions != 7 || !r.From.Equal(start) || r.Step != 10*time.Second || r.Source != "offsets" {
		t.Errorf("%+v", r)
	}
	if notes := strings.Join(r.Note().Notes, "\n"); !strings.Contains(notes, "two readings 10s apart show one moment only") || strings.Contains(notes, "percentile") {
		t.Errorf("%q", notes)
	}
}

func TestFromOffsetsWithADeadBroker(t *testing.T) {
	f, cl := fakeCluster(t)
	c := testCluster(t)
	clk := &clock{at: time.Unix(1000, 0), during: func() {
		f.Update(func(s *fake.State) { s.Partition("a.t", 2).SetOffsets(1000, 1300) })
		f.StopBroker(3)
	}}
	o := OffsetOptions{Interval: 10 * time.Second, Now: clk.now, Wait: clk.wait, Group: ""}
	r, err := FromOffsets(t.Context(), cl, c, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := ratesOf(c); got["a.t-2"] != "200/200" || got["b.t-0"] != "0/0" { // 20 records/s of 3000/300 bytes
		t.Errorf("%v", got)
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "broker 3 did not tell everything") {
		t.Errorf("%q", r.Notes)
	}
}

func TestFromOffsetsFailures(t *testing.T) {
	f, cl := fakeCluster(t)
	c := testCluster(t)
	before := ratesOf(c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := FromOffsets(ctx, cl, c, OffsetOptions{Interval: time.Hour}); !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := FromOffsets(t.Context(), cl, c, OffsetOptions{}); err == nil {
		t.Error("an interval of nothing was accepted")
	}
	for b := int32(1); b <= 4; b++ {
		f.StopBroker(b)
	}
	clk := &clock{at: time.Unix(1000, 0), during: func() {}}
	_, err := FromOffsets(t.Context(), cl, c, OffsetOptions{Interval: time.Second, Now: clk.now, Wait: clk.wait})
	if !errors.Is(err, ErrNothingMeasured) || !strings.Contains(err.Error(), "broker 1: ") {
		t.Error(err)
	}
	if d := cmp.Diff(before, ratesOf(c)); d != "" {
		t.Error(d)
	}
}

// addGroup adds a consumer group with the same commit in four partitions of
// topics.
func addGroup(s *fake.State, id string, coordinator int32, commits map[string]int64) {
	g := s.AddGroup(id, fake.Classic)
	g.Coordinator = coordinator
	for topic, offset := range commits {
		for p := range int32(4) {
			g.SetCommit(topic, p, offset)
		}
	}
}

func commit(s *fake.State, group, topic string, p int32, offset int64) {
	s.Groups[group].SetCommit(topic, p, offset)
}
