package fleet

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kafka-steward/kafka-steward/exporter/config"
)

// Reloader reads the configuration again and applies it.
type Reloader struct {
	fleet  *Fleet
	load   func() (*config.Config, error)
	logger *slog.Logger

	mu         sync.Mutex
	successful prometheus.Gauge
	succeeded  prometheus.Gauge
}

// NewReloader makes a reloader and registers its two metrics. Load is called
// for every reload.
func NewReloader(f *Fleet, load func() (*config.Config, error), logger *slog.Logger, reg prometheus.Registerer) (*Reloader, error) {
	r := &Reloader{
		fleet: f, load: load, logger: logger,
		successful: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kafka_steward_config_last_reload_successful",
			Help: "1 if the last attempt to load the configuration succeeded, 0 if the one before is still used.",
		}),
		succeeded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kafka_steward_config_last_reload_success_timestamp_seconds",
			Help: "When the configuration was last loaded successfully, in Unix seconds.",
		}),
	}
	return r, errors.Join(reg.Register(r.successful), reg.Register(r.succeeded))
}

// Reload loads and applies the configuration and says on one line what
// changed. On an error the configuration before is kept. It is for the first
// load, too.
func (r *Reloader) Reload(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cfg, err := r.load()
	var change Change
	if err == nil {
		change, err = r.fleet.Apply(cfg)
	}
	if err != nil {
		r.successful.Set(0)
		return "", err
	}
	r.successful.Set(1)
	r.succeeded.Set(float64(time.Now().UnixNano()) / 1e9)
	r.logger.Info("configuration loaded", "clusters", change.String())
	return change.String(), nil
}

// ReloadOrLog is Reload for callers that cannot do anything about an error but
// have it known.
func (r *Reloader) ReloadOrLog(ctx context.Context) (string, error) {
	summary, err := r.Reload(ctx)
	for _, mistake := range mistakes(err) {
		r.logger.Error("configuration not reloaded, the one before is kept", "err", mistake)
	}
	return summary, err
}

// mistakes takes a configuration's errors apart, one for each line of the log.
func mistakes(err error) []error {
	if err == nil {
		return nil
	}
	errs := config.Errors(nil)
	if !errors.As(err, &errs) {
		return []error{err}
	}
	list := make([]error, len(errs))
	for i, e := range errs {
		list[i] = e
	}
	return list
}

// OnSignals reloads at every signal until ctx is done.
func (r *Reloader) OnSignals(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			_, _ = r.ReloadOrLog(ctx) // it is in the log and in the metrics
		}
	}
}
