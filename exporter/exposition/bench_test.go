package exposition

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

const benchSeries = 1_000_000

// benchFamily emits benchSeries series: groups × topics × 100 partitions.
func benchFamily() Family {
	groups, topics := make([]string, 100), make([]string, 100)
	for i := range 100 {
		groups[i] = fmt.Sprintf("payments-service-%03d", i)
		topics[i] = fmt.Sprintf("eu.orders.created.v%03d", i)
	}
	return Family{
		Desc: Desc{
			Name: "kafka_group_lag_records", Help: "Lag.", Fold: Sum, Grouped: 2,
			Labels: []string{"group", "topic", "partition"},
		},
		Render: func(_ *snapshot.Cluster, e *Emitter) {
			for _, g := range groups {
				for _, t := range topics {
					for p := range int32(100) {
						e.Int(int64(p)*7919, g, t, Itoa(p))
					}
				}
			}
		},
	}
}

func benchRender(b *testing.B, f format, w io.Writer, l Limits) {
	families := []Family{benchFamily()}
	l.Enabled = true
	sources := []Source{{Snapshot: &snapshot.Cluster{Name: "prod"}, Limits: map[string]Limits{families[0].Name: l}}}
	b.ReportAllocs()
	for b.Loop() {
		s := newScrape(w, f, families, sources)
		if err := s.run(context.Background()); err != nil {
			b.Fatal(err)
		}
		s.out.flush()
		s.free()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchSeries, "ns/series")
}

func BenchmarkText(b *testing.B)     { benchRender(b, text, io.Discard, Limits{MaxSeries: 2_000_000}) }
func BenchmarkProtobuf(b *testing.B) { benchRender(b, protobuf, io.Discard, Limits{}) }
func BenchmarkFold(b *testing.B)     { benchRender(b, text, io.Discard, Limits{MaxSeries: 1000}) }

func BenchmarkTextGzip(b *testing.B) {
	z, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		b.Fatal(err)
	}
	benchRender(b, text, z, Limits{})
}

func BenchmarkKeepLeading(b *testing.B) {
	benchRender(b, text, io.Discard, Limits{KeepLabels: []string{"group", "topic"}})
}

func BenchmarkKeepMapped(b *testing.B) {
	benchRender(b, text, io.Discard, Limits{KeepLabels: []string{"topic", "partition"}})
}

// BenchmarkClientGolang is the same family as const metrics, for the ratio.
func BenchmarkClientGolang(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		r := prometheus.NewRegistry()
		r.MustRegister(constCollector{})
		families, err := r.Gather()
		if err != nil {
			b.Fatal(err)
		}
		enc := expfmt.NewEncoder(io.Discard, expfmt.FmtText)
		for _, f := range families {
			if err := enc.Encode(f); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchSeries, "ns/series")
}

var constDesc = prometheus.NewDesc("kafka_group_lag_records", "Lag.", []string{"kafka_cluster", "group", "topic", "partition"}, nil)

type constCollector struct{}

func (constCollector) Describe(ch chan<- *prometheus.Desc) { ch <- constDesc }

func (constCollector) Collect(ch chan<- prometheus.Metric) {
	for g := range 100 {
		for t := range 100 {
			group, topic := fmt.Sprintf("payments-service-%03d", g), fmt.Sprintf("eu.orders.created.v%03d", t)
			for p := range int32(100) {
				ch <- prometheus.MustNewConstMetric(constDesc, prometheus.GaugeValue, float64(p)*7919, "prod", group, topic, Itoa(p))
			}
		}
	}
}

// TestNoAllocationPerSeries: twice the series, the same allocations.
func TestNoAllocationPerSeries(t *testing.T) {
	count := func(n int32, l Limits) float64 {
		f := Family{Desc: Desc{Name: "kafka_n", Help: "N.", Labels: []string{"topic", "partition"}, Fold: Sum, Grouped: 1}, Render: func(_ *snapshot.Cluster, e *Emitter) {
			for i := range n {
				e.Int(int64(i), "int", Itoa(i))
			}
			for i := range n {
				e.Millis(int64(i), "millis", Itoa(i))
			}
			for i := range n {
				e.Add(0.5+float64(i), "add", Itoa(i))
			}
		}}
		families, sources := []Family{f}, []Source{source("c", map[string]Limits{f.Name: l})}
		return testing.AllocsPerRun(20, func() {
			if err := WriteText(io.Discard, families, sources); err != nil {
				t.Fatal(err)
			}
		})
	}
	for name, l := range map[string]Limits{
		"plain":  {Enabled: true, MaxSeries: 1 << 20},
		"fold":   {Enabled: true, MaxSeries: 10},
		"merged": {Enabled: true, KeepLabels: []string{"topic"}},
	} {
		// Some slack: the pool of scrapes may be emptied at any time.
		if few, many := count(1000, l), count(10000, l); many > few+50 {
			t.Errorf("%s: %v allocations for 3,000 series, %v for 30,000", name, few, many)
		}
	}
}
