package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/web"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// section is one cluster of steward.yml: its name, its brokers
// ("host:port,host:port") and further lines.
func section(name, bootstrap string, lines ...string) string {
	servers := strings.Split(bootstrap, ",")
	for i := range servers {
		servers[i] = strconv.Quote(servers[i])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  - name: %s\n    bootstrap_servers: [%s]\n", name, strings.Join(servers, ", "))
	for _, l := range lines {
		for part := range strings.Lines(l) {
			b.WriteString("    " + strings.TrimSuffix(part, "\n") + "\n")
		}
	}
	return b.String()
}

// often makes every collector run once a second.
func often() string {
	var b strings.Builder
	b.WriteString("interval: 1s\nmax_age: 30s\ncollectors:\n")
	for _, c := range config.CollectorInfos() {
		fmt.Fprintf(&b, "  %s: {interval: 1s}\n", c.Name)
	}
	return b.String()
}

// launch starts the exporter with those clusters.
func launch(t *testing.T, sections ...string) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "steward.yml")
	write(t, file, "clusters:\n"+strings.Join(sections, ""))
	return start(t, file)
}

// scraped is one answer of /metrics.
type scraped struct {
	body string
	took time.Duration
	// series are the values by series as it is written, kafka_cluster="…" left out.
	series map[string]float64
}

var clusterLabel = regexp.MustCompile(`kafka_cluster="[^"]*",?`)

// get asks for a page; it fails the test unless the answer is 200.
func get(t testing.TB, url string) string {
	t.Helper()
	body, err := tryGet(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func tryGet(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", url, answer.Status, body)
	}
	return string(body), err
}

func scrape(t testing.TB, p *process) scraped {
	t.Helper()
	s, err := tryScrape(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryScrape(ctx context.Context, p *process) (scraped, error) {
	began := time.Now()
	body, err := tryGet(ctx, p.url+"/metrics")
	s := scraped{body: body, took: time.Since(began)}
	if err == nil {
		s.series, err = parse(body)
	}
	return s, err
}

func parse(body string) (map[string]float64, error) {
	series := map[string]float64{}
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, labels, value := splitSample(strings.TrimSuffix(line, "\n"))
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("not a sample: %q: %w", line, err)
		}
		series[name+strings.TrimSuffix(clusterLabel.ReplaceAllString(labels, ""), "{}")] = v
	}
	return series, nil
}

// of is the part of a scrape that is about one cluster.
func (s scraped) of(cluster string) scraped {
	var b strings.Builder
	for line := range strings.Lines(s.body) {
		if strings.Contains(line, fmt.Sprintf("{kafka_cluster=%q", cluster)) {
			b.WriteString(line)
		}
	}
	part := scraped{body: b.String(), took: s.took}
	part.series, _ = parse(part.body) // it was parsed before
	return part
}

// is tells whether a series is there with that value.
func (s scraped) is(series string, want float64) bool {
	v, ok := s.series[series]
	return ok && v == want
}

// with lists the series that begin so, sorted.
func (s scraped) with(prefix string) []string {
	var out []string
	for name, v := range s.series {
		if strings.HasPrefix(name, prefix) {
			out = append(out, fmt.Sprintf("%s %v", name, v))
		}
	}
	slices.Sort(out)
	return out
}

// until scrapes until ok accepts it, and returns that scrape.
func until(t testing.TB, p *process, what string, within time.Duration, ok func(scraped) (bool, string)) (last scraped) {
	t.Helper()
	kafkatest.WaitFor(t, what, within, func(ctx context.Context) (bool, string) {
		s, err := tryScrape(ctx, p)
		if err != nil {
			return false, err.Error()
		}
		last = s
		return ok(s)
	})
	return last
}

// untilSeries waits until all those series have those values.
func untilSeries(t testing.TB, p *process, within time.Duration, want map[string]float64) scraped {
	t.Helper()
	return until(t, p, fmt.Sprintf("%v", want), within, func(s scraped) (bool, string) {
		for name, v := range want {
			if got, ok := s.series[name]; !ok || got != v {
				return false, fmt.Sprintf("%s is %v (there: %v), want %v", name, got, ok, v)
			}
		}
		return true, ""
	})
}

// complete waits until every collector but those except has been run and
// succeeded with nothing missing, and two rounds were made.
func complete(t testing.TB, p *process, except ...string) scraped {
	t.Helper()
	return until(t, p, "a complete scrape", 90*time.Second, func(s scraped) (bool, string) {
		if n := s.series[`kafka_steward_rpcs_total{api="Metadata"}`]; n < 2 {
			return false, fmt.Sprintf("%v Metadata requests", n)
		}
		for _, c := range config.CollectorInfos() {
			if slices.Contains(except, c.Name) || c.Name == "last_record" {
				continue
			}
			of := fmt.Sprintf(`{collector=%q}`, c.Name)
			if !s.is("kafka_steward_collector_success"+of, 1) || !s.is("kafka_steward_missing_items"+of, 0) {
				return false, "collector " + c.Name + " is not complete: " + missing(p, c.Name)
			}
		}
		return true, ""
	})
}

// missing says what a collector misses, from /status.json.
func missing(p *process, collector string) string {
	text, _ := json.Marshal(collectorOf(p, collector).Missing)
	return string(text)
}

// collectorOf is the state of a collector of the first cluster in /status.json.
func collectorOf(p *process, name string) web.CollectorStatus {
	var st web.Status
	body, err := tryGet(context.Background(), p.url+"/status.json")
	if err != nil || json.Unmarshal([]byte(body), &st) != nil || len(st.Clusters) == 0 {
		return web.CollectorStatus{}
	}
	for _, c := range st.Clusters[0].Collectors {
		if c.Name == name {
			return c
		}
	}
	return web.CollectorStatus{}
}

// readyText is the body of /-/ready whatever its status.
func readyText(p *process) string {
	answer, err := http.Get(p.url + "/-/ready")
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return string(body)
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
