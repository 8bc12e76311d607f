package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

// seen is one call of the observer.
type seen struct {
	api   string
	class connect.Class
}

// recorder keeps what the observer was told.
type recorder struct {
	mu    sync.Mutex
	calls map[seen]int
}

func (r *recorder) observe(api string, class connect.Class, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[seen]int{}
	}
	r.calls[seen{api, class}]++
}

func (r *recorder) counts() map[seen]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.calls)
}

// connectorFor makes a connector of the fake cluster.
func connectorFor(t testing.TB, c *fake.Cluster, change func(*connect.Config)) *connect.Connector {
	t.Helper()
	cfg := connect.Config{BootstrapServers: c.Addrs()}
	cfg.DialTimeout, cfg.RequestTimeout = connect.Duration(3*time.Second), connect.Duration(3*time.Second)
	if change != nil {
		change(&cfg)
	}
	connector, err := connect.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return connector
}

// clientOf makes a client of the fake cluster that has read its metadata.
func clientOf(t testing.TB, c *fake.Cluster, opts ...Option) (*Client, *recorder) {
	t.Helper()
	cl, rec := unconnected(t, c, opts...)
	if _, err := cl.Metadata(t.Context(), nil); err != nil {
		t.Fatalf("Metadata: %v", err)
	}
	return cl, rec
}

func unconnected(t testing.TB, c *fake.Cluster, opts ...Option) (*Client, *recorder) {
	t.Helper()
	rec := &recorder{}
	cl := New(connectorFor(t, c, nil), append([]Option{WithObserver(rec.observe)}, opts...)...)
	t.Cleanup(cl.Close)
	return cl, rec
}

// three is a cluster of three brokers, one partition led by each, and a group
// coordinated by each: "g1" at broker 1 and so on.
func three(t testing.TB, opts ...fake.Option) *fake.Cluster {
	t.Helper()
	c := fake.Start(t, opts...)
	c.Update(func(s *fake.State) {
		o := s.AddTopic("orders", 3, 2)
		for p := range o.Partitions {
			o.Partitions[p].SetOffsets(int64(p), int64(100+p))
			g := s.AddGroup(fmt.Sprintf("g%d", p+1), fake.Classic)
			g.Coordinator = int32(p + 1)
			g.SetCommit("orders", int32(p), int64(90+p))
			g.AddMember("m", "client", "/10.0.0.1", fake.TopicPartitions{Topic: "orders", Partitions: []int32{int32(p)}})
		}
	})
	return c
}

var allBrokers = []int32{1, 2, 3}

// orders assigns the three partitions of three to their leaders.
func orders() Assignment {
	a := Assignment{}
	for p := range int32(3) {
		a.Add(p+1, "orders", p)
	}
	return a
}

func endOffsets(ctx context.Context, cl *Client, a Assignment) (map[int32]int64, map[int32]error) {
	got := map[int32]int64{}
	failed := cl.ListOffsets(ctx, a, EndOffsets, func(r OffsetResult) {
		if r.Err == nil {
			got[r.Partition] = r.Offset
		}
	})
	return got, failed
}

// within fails the test when f takes longer than limit.
func within(t testing.TB, limit time.Duration, what string, f func()) time.Duration {
	t.Helper()
	start := time.Now()
	f()
	took := time.Since(start)
	if took > limit {
		t.Errorf("%s took %s, at most %s were allowed", what, took, limit)
	}
	return took
}

// classesOf reduces failures by broker to their classes.
func classesOf(failed map[int32]error) map[int32]connect.Class {
	out := map[int32]connect.Class{}
	for id, err := range failed {
		out[id] = Classify(err)
	}
	return out
}

func keysOf[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// at counts the requests of an API that a broker got.
func at(c *fake.Cluster, broker int32, key kmsg.Key) int {
	n := 0
	for k, v := range c.Counts() {
		if k.Broker == broker && k.Key == key.Int16() {
			n += v
		}
	}
	return n
}

// clientGoroutines is the stacks of all goroutines that run code of this
// package's client, sarama or franz-go.
func clientGoroutines() []string {
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var out []string
	for g := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(g, "testing.tRunner") || strings.Contains(g, "kafkatest/fake") {
			continue
		}
		for _, mark := range []string{"internal/kafka.", "IBM/sarama.", "franz-go/pkg/kgo."} {
			if strings.Contains(g, mark) {
				out = append(out, g)
				break
			}
		}
	}
	return out
}

// noClientGoroutines waits until the clients' goroutines have ended.
func noClientGoroutines(t testing.TB, limit time.Duration) {
	t.Helper()
	kafkatest.WaitFor(t, "the clients' goroutines to end", limit, func(context.Context) (bool, string) {
		left := clientGoroutines()
		return len(left) == 0, strings.Join(left, "\n\n")
	})
}

func wantErr[E error](t testing.TB, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("the error is %T (%v), want a %T in it", err, err, e)
	}
	return e
}
