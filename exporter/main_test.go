package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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
)

// binary is the program, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kafka-steward-exporter")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, program)
	build := exec.Command("go", "build", "-ldflags", "-X github.com/prometheus/common/version.Version=1.2.3-test", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build the exporter: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// call runs the program to its end.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestBadConfigExitsWith2AndSaysWhy(t *testing.T) {
	files, err := filepath.Glob("config/testdata/bad/*.yml")
	if err != nil || len(files) < 24 {
		t.Fatalf("found %d bad files, want at least 24 (%v)", len(files), err)
	}
	seen := map[string]string{}
	for _, file := range files {
		_, err := config.Load(file, collector.Known())
		if err == nil {
			t.Errorf("%s is accepted", file)
			continue
		}
		for _, mode := range [][]string{{"--config.check"}, {"--web.listen-address=127.0.0.1:0"}} {
			code, stdout, stderr := call(t, append(mode, "--config.file="+file)...)
			if code != 2 || stdout != "" || stderr != err.Error()+"\n" {
				t.Errorf("%s %v: exit code %d, said %q and %q, want 2 and %q", file, mode, code, stdout, stderr, err)
			}
		}
		message := strings.ReplaceAll(err.Error(), file, "")
		if other := seen[message]; other != "" {
			t.Errorf("%s and %s have the same message %q", file, other, message)
		}
		seen[message] = file
	}
}

func TestGoodConfigIsOK(t *testing.T) {
	files, err := filepath.Glob("config/testdata/good/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("found %d good files (%v)", len(files), err)
	}
	for _, file := range files {
		if code, stdout, stderr := call(t, "--config.check", "--config.file="+file); code != 0 || stdout != "ok\n" || stderr != "" {
			t.Errorf("%s: exit code %d, said %q and %q", file, code, stdout, stderr)
		}
	}
}

func TestOtherExits(t *testing.T) {
	good := "--config.file=config/testdata/good/minimal.yml"
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	webConfig := filepath.Join(t.TempDir(), "web.yml")
	write(t, webConfig, "nonsense: true\n")
	tests := []struct {
		name string
		args []string
		code int
		said string
	}{
		{"no file", []string{"--config.file=/nonexistent/steward.yml"}, 2, "no such file"},
		{"unknown flag", []string{"--kafka.server=x:9092"}, 2, "try --help"},
		{"bad web config", []string{good, "--config.check", "--web.config.file=" + webConfig}, 2, "web.yml"},
		{"bad metrics path", []string{good, "--web.telemetry-path=/status"}, 2, "/status"},
		{"address in use", []string{good, "--web.listen-address=" + taken.Addr().String()}, 1, "in use"},
		{"version", []string{"--version"}, 0, "version 1.2.3-test"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if code, stdout, stderr := call(t, test.args...); code != test.code || !strings.Contains(stdout+stderr, test.said) {
				t.Errorf("exit code %d, said %q and %q, want %d and %q", code, stdout, stderr, test.code, test.said)
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// process is a running exporter.
type process struct {
	*exec.Cmd
	t    *testing.T
	url  string
	mu   sync.Mutex
	logs bytes.Buffer
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.logs.Write(b)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.logs.String()
}

var listening = regexp.MustCompile(`msg="Listening on" address=(127\.0\.0\.1:\d+)`)

func start(t *testing.T, configFile string, env ...string) *process {
	t.Helper()
	p := &process{t: t}
	p.Cmd = exec.CommandContext(t.Context(), binary, "--config.file="+configFile, "--web.listen-address=127.0.0.1:0", "--log.level=debug")
	p.Env = append(os.Environ(), env...)
	p.Stdout, p.Stderr = p, p
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
		if t.Failed() {
			t.Logf("the exporter's log:\n%s", p.log())
		}
	})
	p.eventually("listens", func() bool {
		m := listening.FindStringSubmatch(p.log())
		if m != nil {
			p.url = "http://" + m[1]
		}
		return m != nil
	})
	return p
}

// eventually waits for a condition, 20 s at most.
func (p *process) eventually(what string, holds func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("it does not come true that the exporter %s", what)
		}
	}
}

func (p *process) do(method, path string) (int, string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func (p *process) has(series string) bool {
	_, body := p.do("GET", "/metrics")
	return strings.Contains(body, "\n"+series+"\n")
}

// signal sends a signal; the process must be alive.
func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func clusterYAML(name, address string) string {
	return "  - name: " + name + "\n    bootstrap_servers: [\"" + address + "\"]\n    interval: 1s\n"
}

// hangUp accepts connections and ends them, like something that is not Kafka.
func hangUp(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// Without Kafka the exporter starts, says why it has nothing, follows its
// configuration, and ends when told.
func TestLifeWithoutKafka(t *testing.T) {
	address := hangUp(t)
	file := filepath.Join(t.TempDir(), "steward.yml")
	write(t, file, "clusters:\n"+clusterYAML("one", address))
	p := start(t, file)

	if code, body := p.do("GET", "/-/healthy"); code != 200 {
		t.Errorf("healthy is %d %q", code, body)
	}
	p.eventually("is ready after the first try", func() bool {
		code, body := p.do("GET", "/-/ready")
		return code == 200 && strings.HasPrefix(body, "one: ") && strings.Contains(body, address)
	})
	const last = "kafka_steward_config_last_reload_successful"
	if !p.has(last+" 1") || !p.has(`kafka_steward_collector_success{kafka_cluster="one",collector="topology"} 0`) {
		_, body := p.do("GET", "/metrics")
		t.Errorf("the metrics do not tell how it stands:\n%s", body)
	}

	write(t, file, "clusters: []\n")
	if code, _ := p.do("POST", "/-/reload"); code != 500 || !p.has(last+" 0") {
		t.Errorf("a bad file is answered with %d", code)
	}
	write(t, file, "clusters:\n"+clusterYAML("one", address)+clusterYAML("two", address))
	if code, body := p.do("POST", "/-/reload"); code != 200 || body != "started two; unchanged one\n" || !p.has(last+" 1") {
		t.Errorf("a good file is answered with %d %q", code, body)
	}
	write(t, file, "clusters:\n  - nome: x\n")
	p.signal(syscall.SIGHUP)
	p.eventually("notes a bad file at SIGHUP", func() bool { return p.has(last + " 0") })
	// The log comes through a pipe, so it may be read after the metric shows.
	p.eventually("logs what is wrong", func() bool { return strings.Contains(p.log(), "did you mean") })
	write(t, file, "clusters:\n"+clusterYAML("two", address))
	p.signal(syscall.SIGHUP)
	p.eventually("drops a cluster at SIGHUP", func() bool {
		_, body := p.do("GET", "/-/ready")
		return !strings.Contains(body, "one: ") && strings.Contains(body, "two: ") && p.has(last+" 1")
	})

	began := time.Now()
	p.signal(syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("ending took %s", took)
	}
}
