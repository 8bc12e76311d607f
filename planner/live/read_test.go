package live_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kafka-steward/kafka-steward/internal/kafka"
	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
	"github.com/kafka-steward/kafka-steward/planner/live"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

// client connects to a cluster and counts requests by API.
func client(t *testing.T, servers []string) (*kafka.Client, func() map[string]int) {
	t.Helper()
	cfg := connect.Config{BootstrapServers: servers}
	cfg.DialTimeout, cfg.RequestTimeout = connect.Duration(5*time.Second), connect.Duration(5*time.Second)
	connector, err := connect.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	calls := map[string]int{}
	c := kafka.New(connector, kafka.WithObserver(func(api string, _ connect.Class, _ time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		calls[api]++
	}))
	t.Cleanup(c.Close)
	return c, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(calls)
	}
}

func TestReadFakeCluster(t *testing.T) {
	f := fake.Start(t, fake.WithBrokers(4))
	f.Update(func(s *fake.State) {
		s.AddTopic("a", 40, 3)
		s.AddTopic("b", 1, 2)
		s.Topics["b"].Internal = true
		for _, b := range []int32{1, 2, 3} {
			s.SetReplicaSize(b, "a", 0, 1000*int64(b))
		}
		p := s.Partition("a", 4) // replicas 1, 2, 3
		p.Replicas, p.Adding, p.Removing = []int32{2, 3, 4, 1}, []int32{4}, []int32{1}
		s.KillBroker(4)
	})
	f.StopBroker(4)
	cl, calls := client(t, f.Addrs())
	loads := 0
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s, err := live.Read(t.Context(), cl, live.Options{
		Name: "fake", Now: func() time.Time { return at },
		Load: func(_ context.Context, c *model.Cluster) (model.LoadNote, error) {
			loads = c.NumPartitions()
			return model.LoadNote{Source: "test"}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cluster
	if c.Name != "fake" || s.ClusterID == "" || !s.ReadAt.Equal(at) || s.Load.Source != "test" || loads != 41 {
		t.Errorf("%+v, loads of %d partitions", s, loads)
	}
	if len(c.Brokers) != 4 || !c.Brokers[3].Dead || c.Brokers[1].Rack != "r2" || c.Brokers[0].Dirs[0].Path != "/data/0" || c.Brokers[0].Host != f.Addr(1) {
		t.Errorf("brokers %+v", c.Brokers)
	}
	if c.Size[0] != 1000 || c.Size[1] != 2000 || c.Size[2] != 3000 || !c.Topics[1].Internal {
		t.Errorf("sizes %v, topics %+v", c.Size[:3], c.Topics)
	}
	p, _ := c.PartitionIndex("a", 4)
	var ids []int32
	for r := c.Off[p]; r < c.Off[p+1]; r++ {
		ids = append(ids, c.Brokers[c.Broker[r]].ID)
	}
	if !c.Moving[p] || !slices.Equal(ids, []int32{2, 3, 4}) {
		t.Errorf("a-4 has %v, moving %v", ids, c.Moving[p])
	}
	// Nothing is asked per partition or topic.
	got := calls()
	if got["Metadata"] != 2 || got["ListPartitionReassignments"] != 2 || got["DescribeLogDirs"] != 3 {
		t.Errorf("requests: %v", got)
	}
	for api := range got {
		if !slices.Contains([]string{"Metadata", "ListPartitionReassignments", "DescribeLogDirs", "ApiVersions"}, api) {
			t.Errorf("asked %s %d times", api, got[api])
		}
	}
}

// broken answers all but one question.
type broken struct {
	live.Source
	moves error
	meta  error
}

func (b *broken) Reassignments(ctx context.Context) ([]kafka.Reassignment, error) {
	if b.moves != nil {
		return nil, b.moves
	}
	return b.Source.Reassignments(ctx)
}

func (b *broken) Metadata(ctx context.Context, topics []string) (*kafka.Metadata, error) {
	if b.meta != nil {
		return nil, b.meta
	}
	return b.Source.Metadata(ctx, topics)
}

func TestReadErrors(t *testing.T) {
	f := fake.Start(t, fake.WithBrokers(1))
	f.Update(func(s *fake.State) { s.AddTopic("a", 1, 1) })
	cl, _ := client(t, f.Addrs())
	unsupported := &kafka.UnsupportedError{API: "ListPartitionReassignments"}
	s, err := live.Read(t.Context(), &broken{Source: cl, moves: unsupported}, live.Options{})
	if err != nil || !strings.Contains(strings.Join(s.Warnings, "\n"), "cannot list reassignments") {
		t.Errorf("an old broker: %v", err)
	}
	if !strings.Contains(strings.Join(s.Warnings, "\n"), "there are no loads") {
		t.Errorf("warnings %q", s.Warnings)
	}
	for want, src := range map[string]live.Source{
		"listing the reassignments in flight": &broken{Source: cl, moves: errors.New("denied")},
		"reading the cluster's metadata":      &broken{Source: cl, meta: errors.New("gone")},
	} {
		if s, err := live.Read(t.Context(), src, live.Options{}); err == nil || !strings.Contains(err.Error(), want) || s != nil {
			t.Errorf("%v, %v; want %q", s, err, want)
		}
	}
	boom := func(context.Context, *model.Cluster) (model.LoadNote, error) {
		return model.LoadNote{}, errors.New("boom")
	}
	if s, err := live.Read(t.Context(), cl, live.Options{Name: "x", Load: boom}); err == nil || s != nil {
		t.Errorf("loads that fail: %v, %v", s, err)
	}
}

// TestReadRealCluster compares what is read with what Kafka was told.
func TestReadRealCluster(t *testing.T) {
	c := kafkatest.Shared(t, kafkatest.KRaft4)
	cl, _ := client(t, strings.Split(c.Bootstrap(), ","))
	topic := c.Topic(t, 3, 2)
	deadline := time.Now().Add(60 * time.Second)
	for {
		s, err := live.Read(t.Context(), cl, live.Options{Name: "real"})
		if err != nil {
			t.Fatal(err)
		}
		m := s.Cluster
		found := 0
		for p := range m.NumPartitions() {
			if m.Topics[m.Topic[p]].Name != topic {
				continue
			}
			// A new topic's leaders and directories take a moment.
			if m.RF(p) == 2 && m.Leader[p] != model.None && m.Dir[m.Off[p]] != model.None && m.Dir[m.Off[p]+1] != model.None && !m.Moving[p] {
				found++
			}
		}
		if found == 3 {
			for i := range m.Brokers {
				b := &m.Brokers[i]
				want := slices.Sorted(slices.Values(c.Broker(int(b.ID)).LogDirs()))
				var got []string
				for _, d := range b.Dirs {
					got = append(got, d.Path)
				}
				if !slices.Equal(got, want) || b.Rack != c.Broker(int(b.ID)).Rack() || b.Capacity[model.Disk] == model.Unlimited {
					t.Errorf("broker %d: dirs %v, want %v; %+v", b.ID, got, want, b)
				}
				// The test bed's directories are folders of one file system.
				if len(b.Dirs) > 1 && b.Dirs[0].Volume != b.Dirs[1].Volume {
					t.Errorf("broker %d: two directories of one file system count as two volumes: %+v", b.ID, b.Dirs)
				}
			}
			t.Logf("%d brokers, %d partitions; %q", len(m.Brokers), m.NumPartitions(), s.Warnings)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not there with 3 partitions: %q", topic, s.Warnings)
		}
		select {
		case <-t.Context().Done():
			t.Fatal("cancelled")
		case <-time.After(200 * time.Millisecond):
		}
	}
}
