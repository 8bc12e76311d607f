package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kafka-steward/kafka-steward/internal/child"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
	"github.com/kafka-steward/kafka-steward/internal/promtest"
)

// scrapeInterval is how often the exporter reads and Prometheus scrapes: more
// often than one would elsewhere, so that there is something to see soon.
const scrapeInterval = 5 * time.Second

// steward is the exporter's configuration.
func steward(bootstrap []string) ([]byte, error) {
	every := func(interval string) map[string]any { return map[string]any{"enabled": true, "interval": interval} }
	return yaml.Marshal(map[string]any{"clusters": []any{map[string]any{
		"name":              "demo",
		"bootstrap_servers": bootstrap,
		"interval":          "5s",
		// A verdict soon, too; ten minutes are the default.
		"lag": map[string]any{"window": "1m"},
		"collectors": map[string]any{
			"last_record": every("15s"), "start_offsets": every("15s"), "logdirs": every("15s"), "configs": every("15s"),
			"quotas": every("30s"), "acls": every("30s"),
		},
	}}})
}

func (s *stack) startExporter(ctx context.Context) error {
	binary := s.options.exporter
	if !filepath.IsAbs(binary) {
		binary = filepath.Join(s.root, binary)
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("the exporter is not built (run `make build`, or `make demo`, which does it): %w", err)
	}
	s.say("3/4 the exporter (%s)", s.options.exporter)
	dir, err := s.dir("exporter")
	if err != nil {
		return err
	}
	config, err := steward(strings.Split(s.kafka.Bootstrap(), ","))
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "steward.yml")
	if err := os.WriteFile(file, config, 0o644); err != nil {
		return err
	}
	if s.exporterAddr, err = promtest.FreeAddress(); err != nil {
		return err
	}
	s.exporter, err = child.Start(child.Spec{
		Name:   "kafka-steward-exporter",
		Argv:   []string{binary, "--config.file=" + file, "--web.listen-address=" + s.exporterAddr},
		Output: filepath.Join(dir, "exporter.log"),
	})
	if err != nil {
		return err
	}
	return kafkatest.Wait(ctx, "the exporter to be ready", time.Minute, s.exporterReady)
}

// exporterReady is a condition to wait for.
func (s *stack) exporterReady(ctx context.Context) (bool, string) {
	if err := s.exporter.Err(); err != nil {
		return false, err.Error()
	}
	err := fetchOK(ctx, "http://"+s.exporterAddr+"/-/ready")
	if err != nil {
		return false, err.Error()
	}
	return true, ""
}

// fetchOK reports an error unless the address answers with status 200.
func fetchOK(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(address + " answers " + response.Status)
	}
	return nil
}
