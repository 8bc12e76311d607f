package fleet

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kafka-steward/kafka-steward/exporter/config"
)

func gauge(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

const (
	successful = "kafka_steward_config_last_reload_successful"
	succeeded  = "kafka_steward_config_last_reload_success_timestamp_seconds"
)

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			e   events
			log bytes.Buffer
			cfg = file(cluster("a"))
			bad error
		)
		logger := slog.New(slog.NewTextHandler(&log, nil))
		f := New(e.factory, noLimits, logger)
		defer f.Stop()
		reg := prometheus.NewPedanticRegistry()
		r, err := NewReloader(f, func() (*config.Config, error) { return cfg, bad }, logger, reg)
		if err != nil {
			t.Fatal(err)
		}
		if got := gauge(t, reg, successful); got != 0 {
			t.Errorf("before the first load %s is %v", successful, got)
		}
		if summary, err := r.Reload(t.Context()); err != nil || summary != "started a" {
			t.Fatalf("first load gives %q, %v", summary, err)
		}
		first := gauge(t, reg, succeeded)
		if gauge(t, reg, successful) != 1 || first != float64(time.Now().Unix()) {
			t.Errorf("after the first load: successful %v at %v", gauge(t, reg, successful), first)
		}
		e.take()

		time.Sleep(time.Minute) // virtual
		bad = config.Errors{{File: "f", Line: 1, Msg: "one"}, {File: "f", Line: 2, Msg: "two"}}
		if _, err := r.ReloadOrLog(t.Context()); err == nil {
			t.Error("a bad configuration is accepted")
		}
		if gauge(t, reg, successful) != 0 || gauge(t, reg, succeeded) != first {
			t.Errorf("after a bad load: successful %v at %v", gauge(t, reg, successful), gauge(t, reg, succeeded))
		}
		if got := e.take(); len(got) != 0 {
			t.Errorf("a bad configuration caused %q", got)
		}
		if got := log.String(); strings.Count(got, "not reloaded") != 2 || !strings.Contains(got, "f:2: two") {
			t.Errorf("the log does not have one line per mistake:\n%s", got)
		}

		bad, cfg = nil, file(cluster("a"), cluster("b"))
		if summary, err := r.ReloadOrLog(t.Context()); err != nil || summary != "started b; unchanged a" {
			t.Errorf("good load gives %q, %v", summary, err)
		}
		if gauge(t, reg, successful) != 1 || gauge(t, reg, succeeded) != first+60 {
			t.Errorf("after a good load: successful %v at %v", gauge(t, reg, successful), gauge(t, reg, succeeded))
		}
	})
}

func TestReloadOnSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		logger := slog.New(slog.DiscardHandler)
		f := New(e.factory, noLimits, logger)
		defer f.Stop()
		loads := 0
		load := func() (*config.Config, error) { loads++; return file(cluster("a")), nil }
		r, err := NewReloader(f, load, logger, prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		signals := make(chan os.Signal)
		done := make(chan struct{})
		go func() { r.OnSignals(ctx, signals); close(done) }()
		signals <- syscall.SIGHUP
		signals <- syscall.SIGHUP
		synctest.Wait()
		if loads != 2 {
			t.Errorf("two signals loaded %d times", loads)
		}
		cancel()
		<-done
	})
}
