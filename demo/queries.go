package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// query is one that is worth trying.
type query struct {
	question, promql string
}

var queries = []query{
	{"How far behind is each group, in seconds?", `sort_desc(max by (group) (kafka_group_lag_seconds))`},
	{"Which topics are the hottest, in records per second?", `topk(3, sum by (topic) (rate(kafka_partition_end_offset[1m])))`},
	{"Which groups do not get on?", `kafka_group_verdict{verdict=~"stalled|stopped|rewound"} == 1`},
}

// seriesTimeout bounds the wait for the queries' answers. The last one needs
// two readings of the exporter that are lag.window apart.
const seriesTimeout = 4 * time.Minute

// awaitSeries waits until every query has an answer.
func (s *stack) awaitSeries(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, seriesTimeout, fmt.Errorf("not within %v", seriesTimeout))
	defer cancel()
	s.say("waiting for answers to three queries; the third needs the exporter to watch for two minutes or so")
	for i, q := range queries {
		answer, err := s.prometheus.Await(ctx, q.promql, nil)
		if err != nil {
			return err
		}
		s.say("query %d of %d has an answer: %d series", i+1, len(queries), len(answer))
	}
	return nil
}

// printAddresses says where the parts are.
func (s *stack) printAddresses(w io.Writer) {
	exporter := "http://" + s.exporterAddr
	fmt.Fprintf(w, `
  Kafka          %s  (without logging in, super user)
  Exporter       %s/
    status       %s/status
    series       %s/metrics
  Prometheus     %s/

`, s.kafka.Bootstrap(), exporter, exporter, exporter, s.prometheus.URL())
}

// printQueries says that all is ready, and what to try.
func (s *stack) printQueries(ctx context.Context, w io.Writer) {
	s.say("ready")
	fmt.Fprintln(w)
	for _, q := range queries {
		fmt.Fprintf(w, "  %s\n    %s\n    %s\n", q.question, q.promql, s.prometheus.Link(ctx, q.promql))
	}
	if !s.prometheus.HasPage(ctx) {
		fmt.Fprintln(w, "  (This Prometheus was built from its Go module and has no web page, only the API.)")
	}
	last := s.kafka.Brokers()[s.options.brokers-1]
	fmt.Fprintf(w, "  What would a rebalance do?\n    %s\n", s.plannerLines())
	fmt.Fprintf(w, `
  To see a broker fail: kill -9 %d (broker %d).
  The traffic's seed is %d. Press Ctrl-C to end everything.

`, last.PID(), last.ID(), s.load.Seed())
}

// check proves that the parts work together.
func (s *stack) check(ctx context.Context) error {
	var errs []error
	for _, path := range []string{"/", "/status", "/metrics", "/-/ready", "/-/healthy"} {
		errs = append(errs, fetchOK(ctx, "http://"+s.exporterAddr+path))
	}
	for _, q := range queries {
		errs = append(errs, fetchOK(ctx, s.prometheus.Link(ctx, q.promql)))
	}
	for _, promql := range []string{
		`up{job="kafka-steward"} == 1`,
		fmt.Sprintf(`kafka_cluster_brokers == %d`, s.options.brokers),
		`kafka_steward_collector_success == 1`,
		`kafka_consumergroup_lag_sum{consumergroup="orders-fraud-detection"} > 0`, // from the rules
	} {
		answer, err := s.prometheus.Query(ctx, promql)
		if err == nil && len(answer) == 0 {
			err = fmt.Errorf("%s has no answer", promql)
		}
		errs = append(errs, err)
	}
	errs = append(errs, s.checkPlanner(ctx))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	s.say("check: all parts work together; %+v", s.load.Stats())
	return nil
}
