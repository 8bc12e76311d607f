package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kafka-steward/kafka-steward/internal/child"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
	"github.com/kafka-steward/kafka-steward/internal/loadgen"
	"github.com/kafka-steward/kafka-steward/internal/promtest"
)

// stack is all that the demo runs.
type stack struct {
	options options
	root    string // of the source tree
	began   time.Time

	kafka        *kafkatest.Cluster
	load         *loadgen.Load
	exporter     *child.Process
	exporterAddr string // host:port
	prometheus   *promtest.Server
}

// stop ends what was started, in reverse order. The data directories of all
// parts are in Kafka's, which goes last.
func (s *stack) stop() {
	if s.prometheus != nil {
		s.prometheus.Stop()
	}
	if s.exporter != nil {
		s.exporter.Stop(10 * time.Second)
	}
	if s.load != nil {
		s.load.Stop()
	}
	if s.kafka != nil {
		s.kafka.Stop()
		s.say("all stopped, nothing is left")
	}
}

// start starts the parts one after the other, and says what it downloads first.
func (s *stack) start(ctx context.Context) error {
	tools, err := promtest.Fetch(ctx, s.root, os.Stdout)
	if err != nil {
		return err
	}
	if err := s.startKafka(ctx); err != nil {
		return err
	}
	if err := s.startLoad(ctx); err != nil {
		return err
	}
	if err := s.startExporter(ctx); err != nil {
		return err
	}
	return s.startPrometheus(ctx, tools)
}

func (s *stack) startKafka(ctx context.Context) (err error) {
	mode, err := kafkatest.ParseMode(s.options.mode)
	if err != nil {
		return err
	}
	s.say("1/4 Kafka %s, %d brokers (%s); its jars are fetched with Maven the first time", mode.Version(), s.options.brokers, mode)
	s.kafka, err = kafkatest.Start(ctx, kafkatest.Options{Mode: mode, Brokers: s.options.brokers, Log: logger(os.Stdout)})
	return err
}

func (s *stack) startLoad(ctx context.Context) (err error) {
	s.say("2/4 traffic: %g records per second from the users alice, bob and ANONYMOUS", s.options.rate)
	s.load, err = loadgen.Start(ctx, loadgen.Options{
		Bootstrap: strings.Split(s.kafka.Bootstrap(), ","),
		SASL:      strings.Split(s.kafka.BootstrapFor(kafkatest.ListenerSASLPlaintext), ","),
		Password:  kafkatest.Password,
		Rate:      s.options.rate,
		Seed:      s.options.seed,
		Log:       logger(os.Stdout),
	})
	return err
}

func (s *stack) startPrometheus(ctx context.Context, tools promtest.Tools) error {
	s.say("4/4 Prometheus (%s)", tools.Source)
	dir, err := s.dir("prometheus")
	if err != nil {
		return err
	}
	rules, err := ruleFiles(s.root)
	if err != nil {
		return err
	}
	s.prometheus, err = promtest.Start(ctx, promtest.Options{
		Tools:         tools,
		ScrapeTargets: map[string][]string{"kafka-steward": {s.exporterAddr}},
		RuleFiles:     rules,
		Interval:      scrapeInterval,
		Dir:           dir,
	})
	return err
}

// ruleFiles lists the project's rules, those for old dashboards included.
func ruleFiles(root string) (files []string, err error) {
	for _, pattern := range []string{"rules/*.yml", "rules/compat/*.yml"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	return files, nil
}

// dir makes a directory for one part of the stack. It is in Kafka's data
// directory, which is removed even if this process is killed.
func (s *stack) dir(name string) (string, error) {
	dir := filepath.Join(s.kafka.State().Dir, "demo", name)
	return dir, os.MkdirAll(dir, 0o755)
}

// findRoot returns the root of the source tree that the working directory is in.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/kafka-steward/kafka-steward\n") {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not in the source tree of Kafka Steward: run `make demo` there")
		}
		dir = parent
	}
}

// logger writes what the parts tell, without time and level.
func logger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.TimeKey:
				return slog.Attr{}
			case slog.LevelKey:
				return slog.String(slog.LevelKey, strings.ToLower(fmt.Sprint(a.Value)))
			}
			return a
		},
	}))
}
