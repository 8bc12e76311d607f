package exposition

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// logBuffer collects log lines of concurrent requests.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func serveWith(t *testing.T, o Options) (*httptest.Server, *logBuffer) {
	t.Helper()
	logs := &logBuffer{}
	o.Logger = slog.New(slog.NewTextHandler(logs, nil))
	if o.Clusters == nil {
		o.Clusters = func() []Source { return []Source{source("c", nil)} }
	}
	s := httptest.NewServer(NewHandler(o))
	t.Cleanup(s.Close)
	return s, logs
}

func get(t *testing.T, url string, header map[string]string) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	// Go's own transparent gzip would hide what the server does.
	resp, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

func two() []Family {
	return []Family{
		rowsFamily(Desc{Name: "kafka_x", Help: "X.", Labels: []string{"topic"}}, []row{{[]string{"a"}, 1}}),
		rowsFamily(Desc{Name: "kafka_y_total", Help: "Y.", Type: Counter}, []row{{nil, 2}}),
	}
}

// What Prometheus 2 and 3 send, by configuration.
const (
	acceptDefault = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
	acceptProto   = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6," + acceptDefault
)

func TestNegotiation(t *testing.T) {
	r := prometheus.NewRegistry()
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "steward_h_seconds", Help: "H.", NativeHistogramBucketFactor: 1.1})
	h.Observe(1)
	r.MustRegister(h)
	s, _ := serveWith(t, Options{Families: two(), Gatherer: r})
	for accept, want := range map[string]string{
		"":                             "text/plain; version=0.0.4",
		"*/*":                          "text/plain; version=0.0.4",
		"text/html,*/*;q=0.8":          "text/plain; version=0.0.4",
		acceptDefault:                  "text/plain; version=0.0.4",
		acceptProto:                    "application/vnd.google.protobuf",
		"application/openmetrics-text": "application/openmetrics-text; version=0.0.1",
		"application/openmetrics-text;version=1.0.0": "application/openmetrics-text; version=1.0.0",
		"image/png": "text/plain; version=0.0.4",
		"text/plain;version=0.0.4;q=0.9,application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.1": "text/plain; version=0.0.4",
	} {
		resp, body, err := get(t, s.URL, map[string]string{"Accept": accept})
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", accept, resp.Status, err)
		}
		ct := resp.Header.Get("Content-Type")
		if !strings.HasPrefix(ct, want) {
			t.Errorf("Accept %q gives %q, want %q", accept, ct, want)
			continue
		}
		f := expfmt.Format(ct)
		if f.FormatType() == expfmt.TypeOpenMetrics {
			// Its parser is not in this library: look at what tells it apart.
			if b := string(body); !strings.HasSuffix(b, "# EOF\n") || !strings.Contains(b, "# TYPE kafka_y counter\n") || strings.Count(b, "# EOF") != 1 {
				t.Errorf("not OpenMetrics:\n%s", b)
			}
			continue
		}
		got := parse(t, f, body)
		if got.values("kafka_x")[`{kafka_cluster="c",topic="a"}`] != 1 || got.values("kafka_y_total")[`{kafka_cluster="c"}`] != 2 ||
			got["kafka_y_total"].GetType() != dto.MetricType_COUNTER || got["steward_h_seconds"] == nil {
			t.Errorf("%s: got\n%s", accept, body)
		}
		if native := got["steward_h_seconds"].Metric[0].Histogram.Schema != nil; native != (f.FormatType() == expfmt.TypeProtoDelim) {
			t.Errorf("%s: native histogram %v", accept, native)
		}
	}
}

func TestGzip(t *testing.T) {
	s, _ := serveWith(t, Options{Families: two()})
	for encoding, zipped := range map[string]bool{
		"": false, "gzip": true, "deflate, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0": false, "br": false, "identity": false,
	} {
		resp, body, err := get(t, s.URL, map[string]string{"Accept-Encoding": encoding})
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Header.Get("Content-Encoding") == "gzip"; got != zipped {
			t.Errorf("Accept-Encoding %q: gzip is %v", encoding, got)
			continue
		}
		if zipped {
			z, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		if len(parse(t, expfmt.FmtText, body)) != 2 {
			t.Errorf("Accept-Encoding %q: got %q", encoding, body)
		}
	}
}

func TestMethods(t *testing.T) {
	s, _ := serveWith(t, Options{Families: two()})
	for method, want := range map[string]int{http.MethodHead: 200, http.MethodPost: 405, http.MethodDelete: 405} {
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s is %s, want %d", method, resp.Status, want)
		}
	}
}

// TestTooManyScrapes: one more than may run is refused at once, and served
// when there is room again.
func TestTooManyScrapes(t *testing.T) {
	entered, leave := make(chan bool), make(chan bool)
	blocking := Family{Desc: Desc{Name: "kafka_slow", Help: "Slow."}, Render: func(_ *snapshot.Cluster, e *Emitter) {
		entered <- true
		<-leave
		e.Int(1)
	}}
	s, _ := serveWith(t, Options{Families: []Family{blocking}, MaxInFlight: 2})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if resp, body, err := get(t, s.URL, nil); err != nil || resp.StatusCode != 200 || !bytes.Contains(body, []byte("kafka_slow")) {
				t.Errorf("an admitted scrape got %v: %s", err, body)
			}
		})
		<-entered
	}
	resp, body, err := get(t, s.URL, nil)
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || !bytes.Contains(body, []byte("Too many scrapes")) {
		t.Errorf("the third scrape got %v %s %q", err, resp.Status, body)
	}
	close(leave)
	wg.Wait()
	go func() { <-entered }()
	if resp, _, _ := get(t, s.URL, nil); resp.StatusCode != http.StatusOK {
		t.Errorf("a scrape after that got %s", resp.Status)
	}
}

// endless emits until told to stop, and says when it returned.
func endless(stop func() bool, done chan<- int) Family {
	return Family{Desc: Desc{Name: "kafka_endless", Help: "Endless.", Labels: []string{"n"}}, Render: func(_ *snapshot.Cluster, e *Emitter) {
		n := 0
		for ; !stop() && e.out.err == nil; n++ {
			e.Int(1, fmt.Sprint(n))
		}
		done <- n
	}}
}

// TestClientGone: the scrape ends with the client, and its slot is free.
func TestClientGone(t *testing.T) {
	done := make(chan int, 1)
	after := Family{Desc: Desc{Name: "kafka_after", Help: "After."}, Render: func(*snapshot.Cluster, *Emitter) { t.Error("went on after the client left") }}
	s, _ := serveWith(t, Options{Families: []Family{endless(func() bool { return false }, done), after}, MaxInFlight: 1})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.Body.Close()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the scrape goes on without its client")
	}
}

// TestSlowReader: a client that stops reading is cut off at its own timeout,
// and never sees a complete response.
func TestSlowReader(t *testing.T) {
	done := make(chan int, 1)
	s, logs := serveWith(t, Options{Families: []Family{endless(func() bool { return false }, done)}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", "0.05")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a client that does not read holds its slot")
	}
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("half a scrape looks whole")
	}
	waitFor(t, "a log line", func() bool { return strings.Contains(logs.String(), "scrape not completed") })
}

// noDeadlines hides what http.ResponseController needs, as middleware does.
type noDeadlines struct{ http.ResponseWriter }

// TestSlowRenderIsNotWhole: a scrape that runs into its deadline is broken
// off, plain and compressed, also behind middleware.
func TestSlowRenderIsNotWhole(t *testing.T) {
	slow := Family{Desc: Desc{Name: "kafka_slow", Help: "Slow."}, Render: func(_ *snapshot.Cluster, e *Emitter) {
		<-time.After(100 * time.Millisecond)
		e.Int(1)
	}}
	h := NewHandler(Options{
		Families: []Family{two()[0], slow}, Timeout: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Clusters: func() []Source { return []Source{source("c", nil)} },
	})
	wrapped := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(noDeadlines{w}, r) })
	for _, h := range []http.Handler{h, wrapped} {
		s := httptest.NewServer(h)
		defer s.Close()
		for _, encoding := range []string{"identity", "gzip"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Accept-Encoding", encoding)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				continue // broken off before the first byte
			}
			if _, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("%s: half a scrape looks whole", encoding)
			}
			resp.Body.Close()
		}
	}
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("no %s in time", what)
		}
		<-time.After(time.Millisecond)
	}
}

type brokenGatherer struct{ prometheus.Gatherer }

func (g brokenGatherer) Gather() ([]*dto.MetricFamily, error) {
	fs, _ := g.Gatherer.Gather()
	return fs, errors.New("one collector is broken")
}

// TestNothingTwice: clusters, families and gathered families of one name are
// exported once, a broken gatherer costs only what it lacks, each logged once.
func TestNothingTwice(t *testing.T) {
	r := prometheus.NewRegistry()
	for _, name := range []string{"kafka_x", "steward_own"} {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "Gathered."})
		g.Set(7)
		r.MustRegister(g)
	}
	families := append(two(), two()[0])
	s, logs := serveWith(t, Options{
		Families: families, Gatherer: brokenGatherer{r},
		Clusters: func() []Source { return []Source{source("c", nil), source("c", nil), source("d", nil)} },
	})
	for range 2 {
		_, body, err := get(t, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := parse(t, expfmt.FmtText, body)
		if len(got["kafka_x"].Metric) != 2 || got["kafka_x"].GetHelp() != "X." || got["steward_own"] == nil {
			t.Errorf("got:\n%s", body)
		}
	}
	for _, want := range []string{"cluster exists twice", "metric family exists twice, only", "metric family exists twice, that of the process", "one collector is broken"} {
		if n := strings.Count(logs.String(), want); n != 1 {
			t.Errorf("%q is logged %d times:\n%s", want, n, logs)
		}
	}
}

func TestPanicIsLogged(t *testing.T) {
	bad := Family{Desc: Desc{Name: "kafka_bad", Help: "Bad."}, Render: func(*snapshot.Cluster, *Emitter) { panic("boom") }}
	s, logs := serveWith(t, Options{Families: append([]Family{bad}, two()...)})
	for _, accept := range []string{"", acceptProto} {
		resp, body, err := get(t, s.URL, map[string]string{"Accept": accept})
		if err != nil || len(parse(t, expfmt.Format(resp.Header.Get("Content-Type")), body)) != 2 {
			t.Errorf("got %v:\n%s", err, body)
		}
	}
	if n := strings.Count(logs.String(), "boom"); n != 1 {
		t.Errorf("the panic is logged %d times:\n%s", n, logs)
	}
}

// TestConcurrentScrapes share nothing: run with -race.
func TestConcurrentScrapes(t *testing.T) {
	families := append(two(), Accounting()...)
	s, _ := serveWith(t, Options{Families: families, MaxInFlight: 8})
	_, want, err := get(t, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				if _, body, err := get(t, s.URL, nil); err != nil || !bytes.Equal(body, want) {
					t.Errorf("got %v\n%s", err, body)
				}
			}
		})
	}
	wg.Wait()
}
