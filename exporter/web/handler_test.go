package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

type fakeCluster struct {
	name   string
	snap   *snapshot.Cluster
	tried  bool
	detail string
}

func (c fakeCluster) Name() string                { return c.name }
func (c fakeCluster) Snapshot() *snapshot.Cluster { return c.snap }
func (c fakeCluster) Ready() (bool, string)       { return c.tried, c.detail }

var now = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

func handler(t *testing.T, change func(*Options), clusters ...Cluster) http.Handler {
	t.Helper()
	o := Options{
		Clusters: func() []Cluster { return clusters },
		Metrics:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics!") }),
		Version:  "1.2.3",
		Logger:   slog.New(slog.DiscardHandler),
		Now:      func() time.Time { return now },
	}
	if change != nil {
		change(&o)
	}
	h, err := NewHandler(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func do(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func expect(t *testing.T, w *httptest.ResponseRecorder, code int, body string) {
	t.Helper()
	if w.Code != code || w.Body.String() != body {
		t.Errorf("answer is %d %q, want %d %q", w.Code, w.Body, code, body)
	}
}

func TestHealthyAsLongAsTheProcessLives(t *testing.T) {
	h := handler(t, nil, fakeCluster{name: "prod"})
	expect(t, do(h, "GET", "/-/healthy"), 200, "healthy\n")
	expect(t, do(h, "HEAD", "/-/healthy"), 200, "healthy\n")
}

func TestReady(t *testing.T) {
	collecting := fakeCluster{name: "prod", tried: true, detail: "collecting since 12:00"}
	failing := fakeCluster{name: "test", tried: true, detail: "no broker reachable: kafka:9092: connection refused (class network)"}
	waiting := fakeCluster{name: "new"}
	forging := fakeCluster{name: "x", tried: true, detail: "line one\nprod: collecting"}
	tests := []struct {
		name     string
		clusters []Cluster
		code     int
		body     string
	}{
		{"collecting", []Cluster{collecting}, 200, "prod: collecting since 12:00\n"},
		{"one has failed once", []Cluster{collecting, failing}, 200, "prod: collecting since 12:00\ntest: no broker reachable: kafka:9092: connection refused (class network)\n"},
		{"one was not tried yet", []Cluster{collecting, waiting}, 503, "prod: collecting since 12:00\nnew: nothing was collected yet\n"},
		{"a message of several lines", []Cluster{forging}, 200, "x: line one prod: collecting\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			expect(t, do(handler(t, nil, test.clusters...), "GET", "/-/ready"), test.code, test.body)
		})
	}
}

func TestReload(t *testing.T) {
	calls := 0
	var fail error
	h := handler(t, func(o *Options) {
		o.Reload = func(context.Context) (string, error) { calls++; return "replaced prod", fail }
	})
	expect(t, do(h, "POST", "/-/reload"), 200, "replaced prod\n")
	expect(t, do(h, "PUT", "/-/reload"), 200, "replaced prod\n")
	for _, method := range []string{"GET", "DELETE"} {
		if w := do(h, method, "/-/reload"); w.Code != 405 {
			t.Errorf("%s is answered with %d", method, w.Code)
		}
	}
	if w := do(h, "POST", "/-/reload", "Sec-Fetch-Site", "cross-site"); w.Code != 403 {
		t.Errorf("a page of another site gets %d", w.Code)
	}
	if calls != 2 {
		t.Errorf("reloaded %d times, want 2", calls)
	}
	fail = errors.New(`steward.yml:3: interval: is "S3cr3t"`)
	w := do(h, "POST", "/-/reload")
	if w.Code != 500 || strings.Contains(w.Body.String(), "S3cr3t") || !strings.Contains(w.Body.String(), "kept") {
		t.Errorf("a bad configuration is answered with %d %q", w.Code, w.Body)
	}
	if w := do(handler(t, nil), "POST", "/-/reload"); w.Code != 403 || !strings.Contains(w.Body.String(), "--web.enable-lifecycle") {
		t.Errorf("switched off, it answers %d %q", w.Code, w.Body)
	}
}

func TestMetricsPath(t *testing.T) {
	h := handler(t, func(o *Options) { o.MetricsPath = "/kafka/metrics" })
	expect(t, do(h, "GET", "/kafka/metrics"), 200, "metrics!")
	if w := do(h, "GET", "/metrics"); w.Code != 404 {
		t.Errorf("/metrics is answered with %d", w.Code)
	}
	if w := do(h, "GET", "/"); !strings.Contains(w.Body.String(), `href="/kafka/metrics"`) {
		t.Errorf("the landing page does not link to the metrics:\n%s", w.Body)
	}
	expect(t, do(handler(t, func(o *Options) { o.MetricsPath = "/" }), "GET", "/"), 200, "metrics!")
	for _, path := range []string{"metrics", "/-/healthy", "/status", "/{x}"} {
		if _, err := NewHandler(Options{MetricsPath: path}); err == nil {
			t.Errorf("metrics at %q are accepted", path)
		}
	}
}

func TestLandingPage(t *testing.T) {
	h := handler(t, nil)
	w := do(h, "GET", "/")
	for _, want := range []string{`href="/metrics"`, `href="/status"`, `href="/status.json"`, `href="/-/ready"`, `href="/-/healthy"`, docsURL, "1.2.3"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the landing page lacks %s", want)
		}
	}
	if strings.Contains(w.Body.String(), "debug/pprof") {
		t.Error("the landing page offers profiles, which are not served")
	}
	for _, path := range []string{"/nothing", "/debug/pprof/", "/status/x"} {
		if w := do(h, "GET", path); w.Code != 404 {
			t.Errorf("%s is answered with %d", path, w.Code)
		}
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("content security policy is %q", csp)
	}
}

func sample() fakeCluster {
	return fakeCluster{name: `<b>&"prod"`, tried: true, detail: "collecting <script>alert(1)</script>", snap: &snapshot.Cluster{
		Topology: &snapshot.Topology{
			ClusterID: "abc", Mode: "kraft", Brokers: make([]snapshot.Broker, 3),
			Topics: []snapshot.Topic{{Name: "t", Partitions: make([]snapshot.Partition, 6)}},
		},
		Collectors: []snapshot.CollectorStatus{
			{
				Name: "groups", Success: true, Partial: true, Duration: 1500 * time.Millisecond, Interval: 15 * time.Second,
				LastRun: now.Add(-10 * time.Second), LastSuccess: now.Add(-10 * time.Second),
				Errors:  map[string]uint64{"network": 3, "tls": 0},
				Missing: []snapshot.Missing{{What: "broker 3", Broker: 3, Class: "network", Err: "<i>refused</i>"}, {What: "group g", Broker: -1, Class: "acl", Err: "denied"}},
			},
			{Name: "topology"},
		},
	}}
}

func TestStatusPageEscapes(t *testing.T) {
	w := do(handler(t, nil, sample()), "GET", "/status")
	body := w.Body.String()
	for _, evil := range []string{"<script>", "<b>", "<i>"} {
		if strings.Contains(body, evil) {
			t.Errorf("the page holds %s as it came", evil)
		}
	}
	for _, want := range []string{
		"&lt;b&gt;&amp;&#34;prod&#34;", "&lt;i&gt;refused", "kraft mode", "cluster id abc", "3 brokers", "1 topics", "6 partitions",
		"2026-10-01 11:59:50", "10s", "1.5s", "network: 3", "never", "waiting", "partial",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || strings.Contains(body, "<script") {
		t.Errorf("status %d, type %q", w.Code, w.Header().Get("Content-Type"))
	}
	if t.Failed() {
		t.Log(body)
	}
}

func TestStatusJSON(t *testing.T) {
	w := do(handler(t, nil, sample(), fakeCluster{name: "new"}), "GET", "/status.json")
	var got Status
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := Status{Time: now, Version: "1.2.3", Clusters: []ClusterStatus{
		{
			Name: `<b>&"prod"`, Tried: true, Detail: "collecting <script>alert(1)</script>", KafkaClusterID: "abc", Mode: "kraft",
			Brokers: ptr(3), Topics: ptr(1), Partitions: ptr(6),
			Collectors: []CollectorStatus{
				{
					Name: "groups", State: StatePartial, LastSuccess: ptr(now.Add(-10 * time.Second)), AgeSeconds: ptr(10.0), DurationSeconds: 1.5,
					Errors: map[string]uint64{"network": 3}, MissingCount: 2,
					Missing: []Missing{{What: "broker 3", Broker: ptr(int32(3)), Class: "network", Error: "<i>refused</i>"}, {What: "group g", Class: "acl", Error: "denied"}},
				},
				{Name: "topology", State: StateWaiting, Errors: map[string]uint64{}, Missing: []Missing{}},
			},
		},
		{Name: "new", Collectors: []CollectorStatus{}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestState(t *testing.T) {
	run := func(age time.Duration, c snapshot.CollectorStatus) snapshot.CollectorStatus {
		c.LastRun, c.Interval = now.Add(-age), 15*time.Second
		return c
	}
	tests := []struct {
		want string
		c    snapshot.CollectorStatus
	}{
		{StateWaiting, snapshot.CollectorStatus{}},
		{StateOK, run(time.Second, snapshot.CollectorStatus{Success: true})},
		{StateOK, run(45*time.Second, snapshot.CollectorStatus{Success: true})},
		{StateStale, run(46*time.Second, snapshot.CollectorStatus{Success: true})},
		{StatePartial, run(time.Second, snapshot.CollectorStatus{Success: true, Partial: true})},
		{StatePartial, run(time.Second, snapshot.CollectorStatus{Partial: true})},
		{StateFailed, run(time.Second, snapshot.CollectorStatus{})},
		{StateDenied, run(time.Second, snapshot.CollectorStatus{Denied: true})},
		{StateUnsupported, run(time.Second, snapshot.CollectorStatus{Unsupported: true})},
	}
	for _, test := range tests {
		if got := state(&test.c, now); got != test.want {
			t.Errorf("state of %+v is %s, want %s", test.c, got, test.want)
		}
	}
}

func TestMissingIsBounded(t *testing.T) {
	c := snapshot.CollectorStatus{Name: "groups", LastRun: now, Missing: make([]snapshot.Missing, 1000)}
	h := handler(t, nil, fakeCluster{name: "p", snap: &snapshot.Cluster{Collectors: []snapshot.CollectorStatus{c}}})
	if body := do(h, "GET", "/status").Body.String(); !strings.Contains(body, "and 980 more") {
		t.Errorf("the page does not say how many more:\n%.2000s", body)
	}
	if st := collectorStatus(&c, now); len(st.Missing) != MaxMissing || st.MissingCount != 1000 {
		t.Errorf("%d of %d are listed", len(st.Missing), st.MissingCount)
	}
}
