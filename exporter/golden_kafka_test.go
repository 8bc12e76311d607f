package main

import (
	"bytes"
	"context"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
	"github.com/kafka-steward/kafka-steward/internal/promtest"
)

var update = flag.Bool("update", false, "write the golden scrapes anew")

// golden compares a complete scrape of a filled cluster with testdata and with
// what Prometheus' own tools think of it.
func golden(t *testing.T, b *bed, p *process) {
	until(t, p, "what is in flight", time.Minute, func(s scraped) (bool, string) {
		return len(s.with("kafka_reassignment_remaining_bytes{")) == 1 && len(s.with("kafka_partition_open_transactions{")) == 1, "no move or no transaction"
	})
	s := complete(t, p)
	got := masked(t, s.body, b.State().Dir)
	file := filepath.Join("testdata", "golden-"+string(b.Mode())+".txt")
	if *update {
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the scrape differs from %s (-want +got; go test -run Golden -update writes it anew):\n%s", file, diff)
	}
	lint(t, s)
}

// lint holds a scrape against promtool and client_golang, and looks for series
// that occur twice.
func lint(t *testing.T, s scraped) {
	t.Helper()
	promtool := exec.CommandContext(t.Context(), promtest.Promtool(t), "check", "metrics")
	promtool.Stdin = strings.NewReader(s.body)
	if out, err := promtool.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	problems, err := promlint.New(strings.NewReader(s.body)).Lint()
	must(t, err)
	for _, p := range problems {
		t.Errorf("promlint: %s: %s", p.Metric, p.Text)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(s.body) {
		name, labels, _ := splitSample(strings.TrimSuffix(line, "\n"))
		if series := name + labels; !strings.HasPrefix(line, "#") && seen[series] {
			t.Errorf("%s occurs twice", series)
		} else {
			seen[series] = true
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(s.body))
	must(t, err)
	n := 0
	for _, f := range families {
		n += len(f.GetMetric())
	}
	if n < 400 {
		t.Errorf("only %d series: nothing was tested", n)
	}
}

// complaint finds what a broker logs about requests that it does not know or take.
var complaint = regexp.MustCompile(`UnsupportedVersion|InvalidRequest|(?i)unsupported version|error (while )?parsing request|UnknownServerException`)

// checkBrokerLogs fails the test when a broker complained about a request
// (C-14). That it would have, had there been reason to, is tried at the end.
func checkBrokerLogs(t *testing.T, c *kafkatest.Cluster) {
	t.Helper()
	for _, b := range c.Brokers() {
		if got := complaints(t, b); len(got) > 0 {
			t.Errorf("broker %d complains: %q", b.ID(), got)
		}
	}
	b := c.Broker(1)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", b.Addr(kafkatest.ListenerPlaintext))
	must(t, err)
	defer conn.Close()
	// ListOffsets of version 99: length, key, version, correlation id, client id.
	_, err = conn.Write([]byte{0, 0, 0, 10, 0, 2, 0, 99, 0, 0, 0, 1, 0xff, 0xff})
	must(t, err)
	kafkatest.WaitFor(t, "a complaint about a bad request", 10*time.Second, func(context.Context) (bool, string) {
		return len(complaints(t, b)) > 0, "none"
	})
}

func complaints(t *testing.T, b *kafkatest.Broker) (lines []string) {
	t.Helper()
	log, err := os.ReadFile(b.ServerLog())
	must(t, err)
	for line := range strings.Lines(string(log)) {
		if complaint.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestGoldenZooKeeper: default settings see all of a 3.9 cluster with ZooKeeper.
func TestGoldenZooKeeper(t *testing.T) {
	c := kafkatest.Private(t, kafkatest.Options{Mode: kafkatest.ZK39, ZooKeepers: 1})
	b := fill(t, c)
	p := launch(t, section("zk39", c.Bootstrap()))
	golden(t, b, p)
	checkBrokerLogs(t, c)
}
