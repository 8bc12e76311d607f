// Package web is the exporter's HTTP interface: metrics, health, status.
//
// It answers from what the clusters' runners have at hand and never waits for
// Kafka. Of the configuration it shows nothing but names.
package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// Cluster is one observed cluster. Its methods are safe for concurrent use and
// do not wait.
type Cluster interface {
	// Name is the kafka_cluster label.
	Name() string
	// Snapshot is what is known now, nil before anything is.
	Snapshot() *snapshot.Cluster
	// Ready tells whether a first collection was tried, successful or not, and
	// for people how the cluster does: "collecting since …", or why not.
	Ready() (tried bool, detail string)
}

// Options are what a handler serves.
type Options struct {
	// Clusters lists the clusters of the moment.
	Clusters func() []Cluster
	// Metrics answers scrapes, at MetricsPath ("/metrics" if empty).
	Metrics     http.Handler
	MetricsPath string
	// Reload reads the configuration again and says in one line what changed.
	// Nil: reloading over HTTP is switched off.
	Reload func(context.Context) (string, error)
	// Version is shown on the landing page.
	Version string
	// Logger defaults to slog.Default.
	Logger *slog.Logger
	// Now defaults to time.Now.
	Now func() time.Time
}

// Paths of the handler, besides the metrics'.
const (
	HealthyPath    = "/-/healthy"
	ReadyPath      = "/-/ready"
	ReloadPath     = "/-/reload"
	StatusPath     = "/status"
	StatusJSONPath = "/status.json"
)

const docsURL = "https://github.com/kafka-steward/kafka-steward/tree/main/docs"

type server struct{ Options }

// NewHandler makes the handler of everything. The error says that MetricsPath
// cannot be used.
func NewHandler(o Options) (http.Handler, error) {
	if o.MetricsPath == "" {
		o.MetricsPath = "/metrics"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := checkMetricsPath(o.MetricsPath); err != nil {
		return nil, err
	}
	s := &server{o}
	mux := http.NewServeMux()
	mux.Handle(exact(o.MetricsPath), o.Metrics)
	mux.HandleFunc("GET "+HealthyPath, healthy)
	mux.HandleFunc("GET "+ReadyPath, s.ready)
	mux.HandleFunc("POST "+ReloadPath, s.reload)
	mux.HandleFunc("PUT "+ReloadPath, s.reload)
	mux.HandleFunc("GET "+StatusPath, s.statusPage)
	mux.HandleFunc("GET "+StatusJSONPath, s.statusJSON)
	if o.MetricsPath != "/" {
		landing, err := landingPage(o)
		if err != nil {
			return nil, err
		}
		mux.Handle("GET /{$}", landing)
	}
	// A page on another site must not make a browser reload the exporter.
	return secured(http.NewCrossOriginProtection().Handler(mux)), nil
}

// exact is the pattern of a path without what lies below it.
func exact(path string) string {
	if strings.HasSuffix(path, "/") {
		return path + "{$}"
	}
	return path
}

func checkMetricsPath(path string) error {
	taken := []string{HealthyPath, ReadyPath, ReloadPath, StatusPath, StatusJSONPath}
	switch {
	case !strings.HasPrefix(path, "/"):
		return fmt.Errorf("the path of the metrics must begin with /, is %q", path)
	case slices.Contains(taken, path):
		return fmt.Errorf("the path of the metrics must not be %s, which serves something else", path)
	case strings.ContainsAny(path, "{} ?#"):
		return fmt.Errorf("the path of the metrics must be a plain path, is %q", path)
	}
	return nil
}

// secured tells browsers to run nothing and to guess nothing.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

func landingPage(o Options) (http.Handler, error) {
	return toolkit.NewLandingPage(toolkit.LandingConfig{
		Name:        "Kafka Steward exporter",
		Description: "Prometheus exporter for Apache Kafka clusters",
		Version:     o.Version,
		Profiling:   "false",
		Links: []toolkit.LandingLinks{
			{Address: o.MetricsPath, Text: "Metrics", Description: "what Prometheus scrapes"},
			{Address: StatusPath, Text: "Status", Description: "every cluster and collector, what is missing and why"},
			{Address: StatusJSONPath, Text: "Status as JSON"},
			{Address: ReadyPath, Text: "Ready", Description: "whether every cluster was tried once"},
			{Address: HealthyPath, Text: "Healthy", Description: "whether the process lives"},
		},
		ExtraHTML: `<p><a href="` + docsURL + `">Documentation</a></p>`,
	})
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text) // the client may have gone
}

func healthy(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "healthy\n") }

// ready is 200 when every cluster was tried once. A cluster that cannot be
// reached does not make the exporter unready: others are served, and that one
// is missing is what the metrics are there to say.
func (s *server) ready(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	code := http.StatusOK
	for _, c := range s.Clusters() {
		tried, detail := c.Ready()
		if !tried {
			code = http.StatusServiceUnavailable
		}
		if detail == "" {
			detail = "nothing was collected yet"
		}
		fmt.Fprintf(&b, "%s: %s\n", c.Name(), oneLine(detail))
	}
	plain(w, code, b.String())
}

// oneLine keeps a message with line breaks from looking like another cluster.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (s *server) reload(w http.ResponseWriter, r *http.Request) {
	if s.Reload == nil {
		plain(w, http.StatusForbidden, "Reloading over HTTP is switched off; start with --web.enable-lifecycle, or send SIGHUP.\n")
		return
	}
	summary, err := s.Reload(r.Context())
	if err != nil {
		// The messages may quote the file; they go to the log only.
		plain(w, http.StatusInternalServerError, "Not reloaded, the configuration before is kept: see the log, or run with --config.check.\n")
		return
	}
	plain(w, http.StatusOK, summary+"\n")
}
