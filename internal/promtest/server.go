package promtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kafka-steward/kafka-steward/internal/child"
)

// Options says what Prometheus does.
type Options struct {
	// Tools are the programs; the zero value means Find.
	Tools Tools
	// ScrapeTargets are "host:port" by job name; each is scraped at /metrics.
	ScrapeTargets map[string][]string
	// RuleFiles are paths, which may hold *.
	RuleFiles []string
	// Interval is how often targets are scraped and rules evaluated, default 1s.
	Interval time.Duration
	// Dir is where Prometheus keeps its data and its log; it must exist and is
	// left to the caller. Default: a temporary directory that Stop removes.
	Dir string
}

// Server is a running Prometheus.
type Server struct {
	process *child.Process
	url     string
	cleanup func()
}

// startTimeout bounds the time until Prometheus says that it is ready.
const startTimeout = 60 * time.Second

// Start starts Prometheus on a free port of loopback and returns when it is
// ready. The caller must Stop it.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Tools.Prometheus == "" {
		var err error
		if o.Tools, err = Find(); err != nil {
			return nil, err
		}
	}
	cleanup := func() {}
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "promtest-")
		if err != nil {
			return nil, fmt.Errorf("start Prometheus: %w", err)
		}
		o.Dir, cleanup = dir, func() { os.RemoveAll(dir) }
	}
	s, err := start(ctx, o)
	if err != nil {
		cleanup()
		return nil, fmt.Errorf("start Prometheus: %w", err)
	}
	s.cleanup = cleanup
	return s, nil
}

// New is Start for tests: Prometheus is stopped at the end of the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Tools.Prometheus == "" {
		o.Tools = MustFind(t)
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func start(ctx context.Context, o Options) (*Server, error) {
	configFile := filepath.Join(o.Dir, "prometheus.yml")
	text, err := Config(o)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(configFile, text, 0o644); err != nil {
		return nil, err
	}
	// Somebody may take the port before Prometheus does.
	for attempt := 1; ; attempt++ {
		s, err := launch(ctx, o, configFile)
		if err == nil || attempt == 3 || ctx.Err() != nil {
			return s, err
		}
	}
}

func launch(ctx context.Context, o Options, configFile string) (*Server, error) {
	addr, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	p, err := child.Start(child.Spec{
		Name: "prometheus",
		Argv: []string{
			o.Tools.Prometheus,
			"--config.file=" + configFile,
			"--storage.tsdb.path=" + filepath.Join(o.Dir, "tsdb"),
			"--storage.tsdb.retention.time=1d",
			"--web.listen-address=" + addr,
			"--log.level=warn",
		},
		Output: filepath.Join(o.Dir, "prometheus.log"),
	})
	if err != nil {
		return nil, err
	}
	s := &Server{process: p, url: "http://" + addr}
	if err := s.waitReady(ctx); err != nil {
		p.Stop(time.Second)
		return nil, err
	}
	return s, nil
}

func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %v", startTimeout))
	defer cancel()
	return poll(ctx, func() (bool, error) {
		if err := s.process.Err(); err != nil {
			return true, err
		}
		status, _, err := get(ctx, s.url+"/-/ready")
		return err == nil && status == http.StatusOK, nil
	})
}

// FreeAddress returns an address, "127.0.0.1:port", of loopback that nobody listens on.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// Connect returns a view of a Prometheus that somebody else runs, at a URL
// without a slash at its end. Only what asks it may be called.
func Connect(url string) *Server { return &Server{url: url} }

// URL returns the address of Prometheus, without a slash at its end.
func (s *Server) URL() string { return s.url }

// Err says how Prometheus has ended; it is nil while it runs.
func (s *Server) Err() error {
	if s.process == nil {
		return nil
	}
	return s.process.Err()
}

// Done is closed when Prometheus has ended.
func (s *Server) Done() <-chan struct{} { return s.process.Done() }

// Stop ends Prometheus and returns when it is gone.
func (s *Server) Stop() {
	s.process.Stop(10 * time.Second)
	s.cleanup()
}

// Config returns the configuration file of Prometheus for the options.
func Config(o Options) ([]byte, error) {
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	type static struct {
		Targets []string `yaml:"targets"`
	}
	type job struct {
		Name   string   `yaml:"job_name"`
		Static []static `yaml:"static_configs"`
	}
	var c struct {
		Global struct {
			Scrape  string `yaml:"scrape_interval"`
			Timeout string `yaml:"scrape_timeout"`
			Rules   string `yaml:"evaluation_interval"`
		} `yaml:"global"`
		RuleFiles []string `yaml:"rule_files,omitempty"`
		Jobs      []job    `yaml:"scrape_configs,omitempty"`
	}
	interval := fmt.Sprintf("%dms", o.Interval.Milliseconds())
	c.Global.Scrape, c.Global.Timeout, c.Global.Rules = interval, interval, interval
	for _, f := range o.RuleFiles {
		abs, err := filepath.Abs(f)
		if err != nil {
			return nil, err
		}
		c.RuleFiles = append(c.RuleFiles, abs)
	}
	for _, name := range sortedKeys(o.ScrapeTargets) {
		c.Jobs = append(c.Jobs, job{Name: name, Static: []static{{Targets: o.ScrapeTargets[name]}}})
	}
	return yaml.Marshal(c)
}
