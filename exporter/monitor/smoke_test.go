package monitor

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/collector"
	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

func TestSmoke(t *testing.T) {
	c := fake.Start(t, fake.WithBrokers(3))
	c.Update(func(s *fake.State) {
		o := s.AddTopic("orders", 3, 2)
		o.Partitions[0].SetOffsets(0, 30)
		o.Partitions[1].SetOffsets(0, 0)
		o.Partitions[2].SetOffsets(0, 40)
		g := s.AddGroup("g1", fake.Classic)
		g.SetCommit("orders", 2, 38)
	})
	cfgs, err := config.Parse([]byte("clusters:\n- name: t\n  bootstrap_servers: ["+c.Bootstrap()+"]\n  interval: 1s\n"), collector.Known())
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(cfgs.Clusters[0], slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	go m.Run(ctx)
	if err := m.WaitRound(ctx, 2); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	var b bytes.Buffer
	if err := exposition.WriteText(&b, collector.Families(), []exposition.Source{{Snapshot: m.Snapshot(), Limits: collector.Limits(&cfgs.Clusters[0])}}); err != nil {
		t.Fatal(err)
	}
	t.Log(b.String())
}
