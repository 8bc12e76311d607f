package monitor

import (
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/kafka-steward/kafka-steward/exporter/collector"
	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

// BenchmarkRound measures a round and a scrape over a simulated cluster and one
// of a tenth of its size. The simulation runs in the same process: its part is
// measured apart and told as fake-ns/op. benchmarks/exporter measures the
// exporter as a process of its own.
func BenchmarkRound(b *testing.B) {
	large := fake.DefaultLargeSpec()
	small := large
	small.Brokers, small.Topics, small.Partitions, small.Groups, small.Commits = large.Brokers/10, large.Topics/10, large.Partitions/10, large.Groups/10, large.Commits/10
	for _, spec := range []fake.LargeSpec{small, large} {
		b.Run(fmt.Sprintf("%d_brokers_%d_pairs", spec.Brokers, spec.Commits), func(b *testing.B) { benchmarkRound(b, spec) })
	}
}

func benchmarkRound(b *testing.B, spec fake.LargeSpec) {
	state, err := fake.Large(spec)
	if err != nil {
		b.Fatal(err)
	}
	cluster := fake.Start(b, fake.WithState(state))
	cluster.Freeze()
	cfg, err := config.Parse([]byte("clusters:\n- name: bench\n  bootstrap_servers: ["+cluster.Addr(1)+"]\n"), collector.Known())
	if err != nil {
		b.Fatal(err)
	}
	m, err := New(cfg.Clusters[0], slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer m.client.Close()
	families, limits := collector.Families(), collector.Limits(&cfg.Clusters[0])
	for range 3 { // the first rounds also ask for history
		m.round(b.Context())
	}
	cluster.ResetRequests()
	m.round(b.Context())
	requests := cluster.Requests()
	cost, err := cluster.MeasureHandling(requests)
	if err != nil {
		b.Fatal(err)
	}
	series := 0
	for b.Loop() {
		if !m.round(b.Context()) {
			b.Fatal("the round failed")
		}
		if err := exposition.WriteText(io.Discard, families, []exposition.Source{{Snapshot: m.Snapshot(), Limits: limits}}); err != nil {
			b.Fatal(err)
		}
	}
	for _, l := range m.Snapshot().Lag.Groups {
		for _, t := range l.Topics {
			series += len(t.Partitions)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(series), "ns/pair")
	b.ReportMetric(float64(len(requests)), "requests/round")
	b.ReportMetric(float64(cost.Wall.Nanoseconds()), "fake-ns/op")
}
