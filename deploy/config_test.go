package deploy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kafka-steward/kafka-steward/exporter/collector"
	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/internal/promtest"
)

// TestStewardConfig checks the exporter's configuration with its own reader.
func TestStewardConfig(t *testing.T) {
	if _, err := config.Load("compose/steward.yml", collector.Known()); err != nil {
		t.Error(err)
	}
}

// TestPrometheusConfig checks Prometheus' configuration with the rules where
// docker-compose.yml mounts them.
func TestPrometheusConfig(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("prometheus/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "rules"), os.DirFS("../rules")); err != nil {
		t.Fatal(err)
	}
	promtest.RunPromtool(t, dir, "check", "config", "prometheus.yml")
}
