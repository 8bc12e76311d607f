package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/collector"
	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
	"github.com/kafka-steward/kafka-steward/internal/promtest"
)

// TestSteward holds the demo's configuration to what the exporter accepts.
func TestSteward(t *testing.T) {
	text, err := steward([]string{"127.0.0.1:9092"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "steward.yml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(file, collector.Known()); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestQueriesNameRealFamilies holds the queries to the exporter's names.
func TestQueriesNameRealFamilies(t *testing.T) {
	known := collector.Known()
	for _, q := range queries {
		names := regexp.MustCompile(`kafka_\w+`).FindAllString(q.promql, -1)
		if len(names) == 0 {
			t.Errorf("%s names no family", q.promql)
		}
		for _, name := range names {
			if _, ok := known[name]; !ok {
				t.Errorf("%s: the exporter has no %s", q.promql, name)
			}
		}
	}
}

// program is a demo that runs in a process of its own.
type program struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer
	done chan struct{} // closed when it has ended
	err  error
}

// binaries builds the demo and the exporter.
func binaries(t *testing.T) (demo, exporter string) {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/", "./demo", "./exporter")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return filepath.Join(dir, "demo"), filepath.Join(dir, "exporter")
}

func startProgram(t *testing.T, demo string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(demo, args...), done: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			p.mu.Lock()
			p.text.WriteString(line)
			p.mu.Unlock()
			if err != nil {
				break
			}
		}
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("the demo's output:\n%s", p.output())
		}
	})
	return p
}

func (p *program) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// waitOutput waits for an expression and returns what its first group matched.
func (p *program) waitOutput(t *testing.T, expression string, within time.Duration) string {
	t.Helper()
	re := regexp.MustCompile(expression)
	var found []string
	kafkatest.WaitFor(t, "the demo to print "+expression, within, func(context.Context) (bool, string) {
		found = re.FindStringSubmatch(p.output())
		select {
		case <-p.done:
			if found == nil {
				t.Fatalf("the demo has ended: %v", p.err)
			}
		default:
		}
		return found != nil, "its output is shown below"
	})
	return found[len(found)-1]
}

// left lists the processes that have text in their command line.
func left(text string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && bytes.Contains(line, []byte(text)) {
			pids = append(pids, f+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return pids
}

// checkNothingLeft waits until neither processes nor files of the demo exist.
func checkNothingLeft(t *testing.T, dir string) {
	t.Helper()
	kafkatest.WaitFor(t, "nothing to be left", 20*time.Second, func(context.Context) (bool, string) {
		_, err := os.Stat(dir)
		pids := left(dir)
		return len(pids) == 0 && errors.Is(err, os.ErrNotExist), fmt.Sprintf("stat %s: %v; processes %v", dir, err, pids)
	})
}

const directory = `directory=(\S+)`

func TestDemo(t *testing.T) {
	kafkatest.SkipIfOff(t)
	promtest.MustFind(t)
	demo, exporter := binaries(t)

	t.Run("check and Ctrl-C", func(t *testing.T) {
		p := startProgram(t, demo, "--exporter="+exporter, "--seed=1")
		dir := p.waitOutput(t, directory, 3*time.Minute)
		p.waitOutput(t, `(?m)^\[.*\] ready$`, 6*time.Minute)
		p.waitOutput(t, `Press Ctrl-C`, time.Minute) // the last line: all links are there
		if got := len(left(dir)); got < 5 {          // three brokers, the exporter, Prometheus
			t.Errorf("only %d processes have the directory in their command line; the check for what is left sees nothing", got)
		}
		checkPages(t, p)
		if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.done:
		case <-time.After(60 * time.Second):
			t.Fatal("Ctrl-C did not end it within a minute")
		}
		if p.err != nil {
			t.Errorf("after Ctrl-C: %v", p.err)
		}
		checkNothingLeft(t, dir)
	})

	t.Run("killed", func(t *testing.T) {
		p := startProgram(t, demo, "--exporter="+exporter, "--brokers=1")
		dir := p.waitOutput(t, directory, 3*time.Minute)
		p.waitOutput(t, `waiting for answers`, 3*time.Minute)
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.done
		checkNothingLeft(t, dir)
	})
}

// checkPages follows what the demo printed, and asks Prometheus itself.
func checkPages(t *testing.T, p *program) {
	t.Helper()
	links := regexp.MustCompile(`http://\S+`).FindAllString(p.output(), -1)
	if len(links) != 4+len(queries) {
		t.Errorf("%d links are printed: %v", len(links), links)
	}
	for _, link := range links {
		if err := fetchOK(t.Context(), link); err != nil {
			t.Error(err)
		}
	}
	prometheus := promtest.Connect(strings.TrimSuffix(p.waitOutput(t, `Prometheus\s+(http://\S+)`, time.Second), "/"))
	for _, promql := range []string{
		queries[0].promql, queries[1].promql, queries[2].promql,
		`up == 1`, `kafka_cluster_brokers == 3`, `kafka_client_quota_producer_bytes_per_second{user="bob"} == 1048576`,
		`kafka_acls{resource_type=~"(?i)topic"} > 0`, `kafka_group_verdict{group="orders-search-index",verdict="stalled"} == 1`,
		`kafka_group_verdict{group="payments-export",verdict="stopped"} == 1`,
		`kafka_consumergroup_lag_sum{consumergroup="orders-fraud-detection"} > 0`,
		`sum without (partition) (rate(kafka_partition_end_offset{topic="legacy-imports"}[1m])) == 0`,
		`kafka_groups{group_type="consumer"} == 1`,
	} {
		prometheus.WaitFor(t, promql, time.Minute, nil)
	}
	rate, err := prometheus.Query(t.Context(), `sum(rate(kafka_partition_end_offset{topic!~"__.*"}[1m]))`)
	if err != nil || len(rate) != 1 || rate[0].Value < 200 || rate[0].Value > 400 {
		t.Errorf("Prometheus sees %v records per second, not about 300 (%v)", rate, err)
	}
}

func TestBadCommandLine(t *testing.T) {
	for _, args := range [][]string{{"--brokers=many"}, {"--nonsense"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	o, err := parse(nil)
	if err != nil || o.brokers != 3 || o.mode != string(kafkatest.KRaft4) {
		t.Errorf("defaults: %+v, %v", o, err)
	}
}
