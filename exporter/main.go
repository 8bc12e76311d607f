// Kafka-steward-exporter tells Prometheus about Apache Kafka clusters.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/promslog"
	logflag "github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	webflag "github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/kafka-steward/kafka-steward/exporter/collector"
	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/fleet"
	"github.com/kafka-steward/kafka-steward/exporter/monitor"
	"github.com/kafka-steward/kafka-steward/exporter/web"
)

const program = "kafka-steward-exporter"

// Exit codes.
const (
	exitFailure   = 1 // something went wrong at run time
	exitBadConfig = 2 // the configuration or the flags cannot be used
)

type flags struct {
	configFile, metricsPath *string
	check, lifecycle        *bool
	web                     *toolkit.FlagConfig
	log                     promslog.Config
}

func parseFlags(args []string) (*flags, error) {
	app := kingpin.New(program, "Prometheus exporter for Apache Kafka clusters.").UsageWriter(os.Stdout)
	app.Version(version.Print(program)).HelpFlag.Short('h')
	f := &flags{
		configFile:  app.Flag("config.file", "The configuration file.").Default("steward.yml").String(),
		check:       app.Flag("config.check", "Check the configuration, say ok or all mistakes, and exit with 0 or 2.").Bool(),
		metricsPath: app.Flag("web.telemetry-path", "Path under which to serve metrics.").Default("/metrics").String(),
		lifecycle:   app.Flag("web.enable-lifecycle", "Reload the configuration on a POST or PUT to "+web.ReloadPath+".").Default("true").Bool(),
		web:         webflag.AddFlags(app, ":9979"),
	}
	logflag.AddFlags(app, &f.log)
	_, err := app.Parse(args)
	return f, err
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	f, err := parseFlags(args)
	if err != nil {
		return failed(stderr, exitBadConfig, fmt.Errorf("%s: %w, try --help", program, err))
	}
	f.log.Writer = stderr
	load := func() (*config.Config, error) { return config.Load(*f.configFile, collector.Known()) }
	if err := toolkit.Validate(*f.web.WebConfigFile); err != nil {
		return failed(stderr, exitBadConfig, fmt.Errorf("%s: %w", *f.web.WebConfigFile, err))
	}
	if *f.check {
		if _, err := load(); err != nil {
			return failed(stderr, exitBadConfig, err)
		}
		fmt.Fprintln(stdout, "ok")
		return 0
	}
	return serve(f, load, stderr)
}

func failed(stderr io.Writer, code int, err error) int {
	fmt.Fprintln(stderr, err)
	return code
}

// newRunner observes a real cluster.
func newRunner(c config.Cluster, logger *slog.Logger) (fleet.Runner, error) {
	return monitor.New(c, logger)
}

func serve(f *flags, load func() (*config.Config, error), stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)

	logger := promslog.New(&f.log)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), versioncollector.NewCollector("kafka_steward"),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	clusters := fleet.New(newRunner, collector.Limits, logger)
	defer clusters.Stop()
	reloader, err := fleet.NewReloader(clusters, load, logger, registry)
	if err != nil {
		return failed(stderr, exitFailure, err)
	}
	options := web.Options{
		Clusters:    clusters.Clusters,
		MetricsPath: *f.metricsPath,
		Metrics: exposition.NewHandler(exposition.Options{
			Clusters: clusters.Sources, Families: collector.Families(), Gatherer: registry, Logger: logger,
		}),
		Version: version.Version,
		Logger:  logger,
	}
	if *f.lifecycle {
		options.Reload = reloader.ReloadOrLog
	}
	handler, err := web.NewHandler(options)
	if err != nil {
		return failed(stderr, exitBadConfig, err)
	}
	if _, err := reloader.Reload(ctx); err != nil {
		return failed(stderr, exitBadConfig, err)
	}
	go reloader.OnSignals(ctx, hangups)
	logger.Info("starting "+program, "version", version.Info(), "build", version.BuildContext())
	if err := web.Serve(ctx, handler, f.web, logger); err != nil {
		logger.Error("cannot serve", "err", err)
		return exitFailure
	}
	return 0
}
