package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/spf13/cobra"

	"github.com/kafka-steward/kafka-steward/internal/kafka"
	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
	"github.com/kafka-steward/kafka-steward/planner/live"
	"github.com/kafka-steward/kafka-steward/planner/load"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

// sourceFlags say where the cluster comes from.
type sourceFlags struct {
	snapshot, config, cluster string
	prometheus, group         string
	measure, timeout          time.Duration
}

func (s *sourceFlags) add(cmd *cobra.Command, withSnapshot bool) {
	f := cmd.Flags()
	if withSnapshot {
		f.StringVar(&s.snapshot, "snapshot", "", "file with a snapshot, or with a model of format cc-model/1; .gz too")
	}
	f.StringVar(&s.config, "config", "", "configuration file with the cluster to read")
	f.StringVar(&s.cluster, "cluster", "", "name of the cluster in the configuration file")
	f.StringVar(&s.prometheus, "prometheus", "", "URL of the Prometheus to take loads from, instead of the configuration's")
	f.StringVar(&s.group, "resource-group", "", "measure the loads of this resource group's topics only")
	f.DurationVar(&s.measure, "measure", 30*time.Second, "without Prometheus: read offsets twice, this far apart; 0 plans by sizes and counts only")
	f.DurationVar(&s.timeout, "timeout", 5*time.Minute, "longest time for reading the cluster and its loads")
}

// read returns the snapshot that the flags name.
func (s *sourceFlags) read(ctx context.Context, p *progress) (*model.Snapshot, error) {
	switch {
	case s.snapshot != "" && s.config != "":
		return nil, errors.New("--snapshot and --config exclude each other: plan on a file or on a running cluster")
	case s.snapshot == "" && s.config == "":
		return nil, errors.New("no cluster is given: use --snapshot FILE or --config FILE --cluster NAME")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("not done within --timeout %v", s.timeout))
	defer cancel()
	if s.snapshot == "" {
		return s.live(ctx, p)
	}
	p.begin("reading " + s.snapshot)
	snap, err := model.ReadFile(s.snapshot)
	if err != nil {
		return nil, err
	}
	if s.prometheus == "" {
		return snap, nil
	}
	p.begin("asking Prometheus")
	end := snap.ReadAt
	if end.IsZero() {
		end = time.Now()
	}
	snap.Load, err = s.fromPrometheus(ctx, &prometheusConfig{}, snap.Cluster, snap.Cluster.Name, end)
	return snap, err
}

// live reads a running cluster.
func (s *sourceFlags) live(ctx context.Context, p *progress) (*model.Snapshot, error) {
	cfg, err := readConfig(s.config, s.cluster)
	if err != nil {
		return nil, err
	}
	connector, err := connect.New(cfg.Config)
	if err != nil {
		return nil, fmt.Errorf("%s: cluster %s: %w", s.config, cfg.Name, err)
	}
	if err := connector.CheckSecrets(); err != nil {
		return nil, fmt.Errorf("%s: cluster %s: %w", s.config, cfg.Name, err)
	}
	client := kafka.New(connector)
	defer client.Close()
	o := live.Options{Name: cfg.Name, Capacities: cfg.capacities, Groups: cfg.groups, ReplicationFactor: cfg.ReplicationFactor}
	switch {
	case cfg.Prometheus != nil || s.prometheus != "":
		o.Load = func(ctx context.Context, c *model.Cluster) (model.LoadNote, error) {
			p.begin("asking Prometheus")
			prom := cfg.Prometheus
			if prom == nil {
				prom = &prometheusConfig{}
			}
			return s.fromPrometheus(ctx, prom, c, cfg.Name, time.Now())
		}
	case s.measure > 0:
		o.Load = func(ctx context.Context, c *model.Cluster) (model.LoadNote, error) {
			p.begin(fmt.Sprintf("reading offsets twice, %v apart", s.measure))
			return s.fromOffsets(ctx, client, c)
		}
	}
	p.begin("reading cluster " + cfg.Name)
	snap, err := live.Read(ctx, client, o)
	if err != nil {
		return nil, unreachable(ctx, connector.Describe(err, "reading the cluster", cfg.Name), err)
	}
	return snap, nil
}

// unreachable gives the exit code to errors of a cluster that does not answer
// as it should; a capacity file that does not fit it is the user's.
func unreachable(ctx context.Context, err, cause error) error {
	if ctx.Err() != nil {
		return failed(exitUnreachable, fmt.Errorf("%w: %w", context.Cause(ctx), cause))
	}
	var coded *codeError
	if errors.As(cause, &coded) {
		return cause
	}
	var none *kafka.NoBrokerError
	if errors.As(cause, &none) {
		return failed(exitUnreachable, err)
	}
	switch kafka.Classify(cause) {
	case connect.ClassAuth, connect.ClassTLS, connect.ClassACL, connect.ClassTimeout, connect.ClassNetwork, connect.ClassUnsupported:
		return failed(exitUnreachable, err)
	}
	return cause
}

// fromOffsets measures; a cluster without any traffic or size yields zeros,
// which a warning tells.
func (s *sourceFlags) fromOffsets(ctx context.Context, client *kafka.Client, c *model.Cluster) (model.LoadNote, error) {
	r, err := load.FromOffsets(ctx, client, c, load.OffsetOptions{Group: s.group, Interval: s.measure})
	if err != nil {
		return model.LoadNote{}, err
	}
	return r.Note(), nil
}

func (s *sourceFlags) fromPrometheus(ctx context.Context, p *prometheusConfig, c *model.Cluster, name string, end time.Time) (model.LoadNote, error) {
	address := p.URL
	if s.prometheus != "" {
		address = s.prometheus
	}
	if address == "" {
		return model.LoadNote{}, errors.New("prometheus: url is missing")
	}
	auth := promconfig.DefaultHTTPClientConfig
	if p.HTTP != nil {
		auth = *p.HTTP
	}
	prom, err := load.NewPrometheus(address, auth)
	if err != nil {
		return model.LoadNote{}, err
	}
	o, err := p.options(name, end)
	if err != nil {
		return model.LoadNote{}, err
	}
	o.Group = s.group
	r, err := load.FromPrometheus(ctx, prom, c, o)
	if errors.Is(err, load.ErrNothingMeasured) {
		return model.LoadNote{}, fmt.Errorf("%w; check that it scrapes the exporter and that kafka_cluster is %q there, or set prometheus.selector", err, name)
	}
	if err != nil {
		return model.LoadNote{}, failed(exitUnreachable, err)
	}
	return r.Note(), nil
}
