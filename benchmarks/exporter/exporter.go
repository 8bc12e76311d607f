package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// exporter is the process under test.
type exporter struct {
	*process
	url string
}

func startExporter(ctx context.Context, dir string, o options, bootstrap string) (*exporter, error) {
	config := filepath.Join(dir, "steward.yml")
	text := fmt.Sprintf("clusters:\n- name: bench\n  interval: %s\n  bootstrap_servers:\n", o.interval)
	for _, b := range strings.Split(bootstrap, ",") {
		text += "  - " + strconv.Quote(b) + "\n"
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	e := &exporter{process: start(ctx, o.exporter, "--config.file="+config, "--web.listen-address="+addr), url: "http://" + addr + "/metrics"}
	return e, e.cmd.Start()
}

// scrape is one scrape as a client sees it, without compression.
type scrape struct {
	took   time.Duration
	bytes  int
	series int
	body   []byte
}

var client = &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}, Timeout: 5 * time.Minute}

func (e *exporter) scrape(ctx context.Context) (*scrape, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url, nil)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	s := &scrape{took: time.Since(began), bytes: len(body), body: body}
	if err != nil || res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("scrape: status %s: %v", res.Status, err)
	}
	for line := range bytes.Lines(body) {
		if len(line) > 0 && line[0] != '#' {
			s.series++
		}
	}
	return s, nil
}

// value returns the value of the first series that begins with prefix.
func (s *scrape) value(prefix string) (float64, bool) {
	for line := range bytes.Lines(s.body) {
		if bytes.HasPrefix(line, []byte(prefix)) {
			f := bytes.Fields(line)
			v, err := strconv.ParseFloat(string(f[len(f)-1]), 64)
			return v, err == nil
		}
	}
	return 0, false
}

// each calls f for every series of a family.
func (s *scrape) each(family string, f func(labels map[string]string, value float64)) {
	sc := bufio.NewScanner(bytes.NewReader(s.body))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line, ok := strings.CutPrefix(sc.Text(), family+"{")
		if !ok {
			continue
		}
		i := strings.LastIndex(line, "} ")
		v, err := strconv.ParseFloat(line[i+2:], 64)
		if err != nil {
			continue
		}
		labels := map[string]string{}
		// The load's names hold no quotes or commas.
		for _, l := range strings.Split(line[:i], ",") {
			name, value, _ := strings.Cut(l, "=")
			labels[name] = strings.Trim(value, `"`)
		}
		f(labels, v)
	}
}

// waitCollected waits until every collector has run, and then some rounds more:
// the first ones also ask for the history of lag, once for each partition.
func (e *exporter) waitCollected(ctx context.Context, o options) error {
	for {
		s, err := e.scrape(ctx)
		if err == nil {
			pending := 0
			s.each("kafka_steward_collector_last_run_timestamp_seconds", func(_ map[string]string, v float64) {
				if v <= 0 {
					pending++
				}
			})
			if n, ok := s.value("kafka_steward_collector_series{"); ok && n >= 0 && pending == 0 && bytes.Contains(s.body, []byte("\nkafka_log_dir_size_bytes{")) {
				return pause(ctx, warmRounds*o.interval)
			}
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// warmRounds is how many rounds pass before the measurement.
const warmRounds = 3

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// figures are the medians over the measured cycles.
type figures struct {
	scrapeSeconds, cpuSeconds, collectSeconds float64
	// ageSeconds is the oldest that commits and end offsets were at a scrape.
	ageSeconds    float64
	bytes, series int
	peakMB        float64
}

// measure scrapes once at the start of each cycle and accounts whole cycles.
func (e *exporter) measure(ctx context.Context, o options) (*figures, error) {
	var scrapes, cpus, collects []float64
	f := &figures{}
	for range o.cycles {
		next := time.Now().Add(o.interval)
		cpu, began := e.cpuSeconds(), time.Now()
		s, err := e.scrape(ctx)
		if err != nil {
			return nil, err
		}
		scrapes = append(scrapes, s.took.Seconds())
		f.bytes, f.series = s.bytes, s.series
		// What one round takes: the parts that run one after another.
		sum := 0.0
		s.each("kafka_steward_collector_duration_seconds", func(l map[string]string, v float64) {
			switch l["collector"] {
			case "topology", "reassignments", "groups", "offsets", "stable_offsets":
				sum += v
			}
		})
		collects = append(collects, sum)
		s.each("kafka_steward_collector_last_success_timestamp_seconds", func(l map[string]string, v float64) {
			if l["collector"] == "groups" || l["collector"] == "offsets" {
				f.ageSeconds = max(f.ageSeconds, float64(began.UnixMilli())/1000-v)
			}
		})
		s.body = nil
		if err := pause(ctx, time.Until(next)); err != nil {
			return nil, err
		}
		cpus = append(cpus, e.cpuSeconds()-cpu)
	}
	f.scrapeSeconds, f.cpuSeconds, f.collectSeconds, f.peakMB = median(scrapes), mean(cpus), median(collects), e.peakMB()
	return f, nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
