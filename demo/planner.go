package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// measureTime is how long the planner watches the cluster to learn its loads.
const measureTime = "5s"

// plannerCommand is the planner's command line for this cluster; it is built
// beside the exporter. fs.ErrNotExist tells that it is not built.
func (s *stack) plannerCommand() ([]string, error) {
	binary := filepath.Join(filepath.Dir(s.options.exporter), "kafka-planner")
	path := binary
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.root, path)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	dir, err := s.dir("planner")
	if err != nil {
		return nil, err
	}
	config, err := yaml.Marshal(map[string]any{"clusters": []any{map[string]any{
		"name": "demo", "bootstrap_servers": strings.Split(s.kafka.Bootstrap(), ","),
	}}})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "planner.yml")
	if err := os.WriteFile(file, config, 0o644); err != nil {
		return nil, err
	}
	return []string{binary, "plan", "rebalance", "--config", file, "--cluster", "demo", "--measure", measureTime}, nil
}

// plan runs the planner once and returns its report.
func (s *stack) plan(ctx context.Context, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = s.root
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(problems.String()))
	}
	return out.String(), nil
}

// plannerLines says how to see what a rebalance would do.
func (s *stack) plannerLines() string {
	argv, err := s.plannerCommand()
	if errors.Is(err, fs.ErrNotExist) {
		return "make build builds bin/kafka-planner, too"
	}
	if err != nil {
		return err.Error()
	}
	return strings.Join(argv, " ")
}

// checkPlanner proves that the planner plans for this cluster, if it is built.
func (s *stack) checkPlanner(ctx context.Context) error {
	argv, err := s.plannerCommand()
	if errors.Is(err, fs.ErrNotExist) {
		s.say("check: the planner is not built beside the exporter, and not tried")
		return nil
	}
	if err != nil {
		return err
	}
	report, err := s.plan(ctx, argv)
	if err == nil && !strings.Contains(report, "Plan to rebalance cluster demo") {
		err = fmt.Errorf("the planner's report is not one: %s", report)
	}
	return err
}
