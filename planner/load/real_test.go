package load

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/config"

	"github.com/kafka-steward/kafka-steward/internal/promtest"
)

// TestRealPrometheus gives a real Prometheus a day of history: counters that
// start again, a group that is rewound, a spike, a gap in scraping, and another
// cluster under the same names.
func TestRealPrometheus(t *testing.T) {
	tools := promtest.MustFind(t)
	dir := t.TempDir()
	end := time.Now().UTC().Truncate(time.Hour)
	history := filepath.Join(dir, "history.txt")
	if err := os.WriteFile(history, []byte(openMetrics(end)), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tools.Promtool, "tsdb", "create-blocks-from", "openmetrics", history, filepath.Join(dir, "tsdb"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	server := promtest.New(t, promtest.Options{Tools: tools, Dir: dir})
	prom, err := NewPrometheus(server.URL(), config.DefaultHTTPClientConfig)
	if err != nil {
		t.Fatal(err)
	}
	c := testCluster(t)
	o := DefaultOptions("prod", end.Add(25*time.Minute))
	o.Window = 16 * time.Hour
	r, err := FromPrometheus(t.Context(), prom, c, o)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a.t-0": "1000/1020", // bytes counted; 2 records/s of 10 bytes are read, a rewind is no reading
		"a.t-1": "3000/3000", // the spike of one hour is filtered, the counter starts again
		"a.t-2": "2000/2010", // filled: medians of its topic
		"a.t-3": "2000/2010",
		"b.t-0": "50/50", // 5 records/s of 1000/100 bytes
		"b.t-1": "0/0",   // written once, long ago
		// Its offsets are not there, but its topic's bytes are.
		"shared-0": "700/700",
	}
	if d := cmp.Diff(want, ratesOf(c)); d != "" {
		t.Errorf("%s\n%+v", d, r)
	}
	if r.Sampled != 5 || r.Filtered.Spikes != 1 || len(r.Worst) != 1 || r.Worst[0].Partition != 1 {
		t.Errorf("%+v", r)
	}
	t.Logf("%+v", r.Note())

	// A server that finds fault with a query says so.
	o.Queries.BytesIn = "rate(x{$SELECTOR}"
	if _, err := FromPrometheus(t.Context(), prom, c, o); err == nil || !strings.Contains(err.Error(), "bad_data") {
		t.Error(err)
	}
}

// openMetrics is a sample each five minutes for 18 hours before end.
func openMetrics(end time.Time) string {
	var b strings.Builder
	family := func(name, kind string, series ...func(i int, at time.Time) string) {
		fmt.Fprintf(&b, "# TYPE %s %s\n", strings.TrimSuffix(name, "_total"), kind)
		for _, s := range series {
			for i := range 18 * 12 {
				at := end.Add(-18*time.Hour + time.Duration(i+1)*5*time.Minute)
				if text := s(i, at); text != "" {
					fmt.Fprintf(&b, "%s%s %d\n", name, text, at.Unix())
				}
			}
		}
	}
	labels := func(cluster, topic string, p int, more string) string {
		return fmt.Sprintf(`{kafka_cluster=%q,topic=%q,partition="%d"%s}`, cluster, topic, p, more)
	}
	// counter grows by rate a second, and starts again at sample reset.
	counter := func(l string, rate, reset int) func(int, time.Time) string {
		return func(i int, _ time.Time) string {
			if i >= reset {
				i -= reset
			}
			return fmt.Sprintf("%s %d", l, (i+1)*300*rate)
		}
	}
	const never = 1 << 30
	spiky := func(i int, _ time.Time) string {
		if i >= 60 && i < 66 {
			return "" // half an hour without scraping
		}
		v := (i + 1) * 300 * 3000
		if i >= 120 {
			v += min(i-119, 12) * 300 * 5_000_000 // one hour of much more
		}
		return fmt.Sprintf("%s %d", labels("prod", "a.t", 1, `,broker="1"`), v)
	}
	family("kafka_partition_bytes_in_total", "counter",
		counter(labels("prod", "a.t", 0, `,broker="1"`), 1000, 100), spiky,
		func(i int, at time.Time) string { // only just made
			if i < 18*12-20 {
				return ""
			}
			return counter(labels("prod", "a.t", 2, `,broker="1"`), 9, never)(i, at)
		},
		counter(labels("other", "a.t", 3, `,broker="1"`), 77_777, never))
	gauge := func(l string, value func(i int) int) func(int, time.Time) string {
		return func(i int, _ time.Time) string { return fmt.Sprintf("%s %d", l, value(i)) }
	}
	const last = 18*12 - 1
	family("kafka_partition_end_offset", "gauge",
		// Two exporters tell the same.
		gauge(labels("prod", "b.t", 0, `,instance="x"`), func(i int) int { return i * 1500 }),
		gauge(labels("prod", "b.t", 0, `,instance="y"`), func(i int) int { return i * 1500 }),
		gauge(labels("prod", "b.t", 1, ""), func(int) int { return 500 }),
		gauge(labels("prod", "a.t", 0, ""), func(i int) int { return i * 30_000 }))
	family("kafka_partition_start_offset", "gauge",
		gauge(labels("prod", "b.t", 0, `,instance="x"`), func(i int) int { return i*1500 - 100 }),
		gauge(labels("prod", "b.t", 1, ""), func(int) int { return 300 }),
		gauge(labels("prod", "a.t", 0, ""), func(i int) int { return i*30_000 - 100 }))
	family("kafka_server_brokertopicmetrics_bytesin_total", "counter",
		func(i int, _ time.Time) string {
			return fmt.Sprintf(`{kafka_cluster="prod",topic="shared",instance="b2"} %d`, (i+1)*300*400)
		},
		func(i int, _ time.Time) string {
			return fmt.Sprintf(`{kafka_cluster="prod",topic="shared",instance="b3"} %d`, (i+1)*300*300)
		})
	family("kafka_group_committed_offset", "gauge",
		gauge(labels("prod", "a.t", 0, `,group="g"`), func(i int) int {
			if i >= last-30 {
				return 1_000_000 + i*600 // rewound by more than it ever reads in an hour
			}
			return 10_000_000 + i*600
		}))
	b.WriteString("# EOF\n")
	return b.String()
}
