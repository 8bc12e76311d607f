package monitor

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kafka-steward/kafka-steward/exporter/collector"
	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/gather"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
	"github.com/kafka-steward/kafka-steward/internal/promtest"
)

// watched is a monitor that a test drives by hand: no clock, no goroutine.
type watched struct {
	*Monitor
	t    testing.TB
	conf *config.Cluster
}

// parse makes a cluster's configuration of a bootstrap list and further lines.
func parse(t testing.TB, name, bootstrap, yaml string) config.Cluster {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "clusters:\n- name: %s\n  bootstrap_servers:\n", name)
	for s := range strings.SplitSeq(bootstrap, ",") {
		fmt.Fprintf(&b, "  - %q\n", s)
	}
	for line := range strings.Lines(strings.TrimSpace(yaml)) {
		b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
	cfg, err := config.Parse([]byte(b.String()), collector.Known())
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	return cfg.Clusters[0]
}

// everyRound keeps rounds and deadlines short.
const everyRound = `
interval: 1s
request_timeout: 2s
`

// watch makes a monitor of a cluster; nothing runs until the test says so.
func watch(t testing.TB, name, bootstrap, yaml string) *watched {
	t.Helper()
	cfg := parse(t, name, bootstrap, yaml)
	m, err := New(cfg, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.client.Close)
	return &watched{m, t, &cfg}
}

func watchFake(t testing.TB, c *fake.Cluster, yaml string) *watched {
	t.Helper()
	return watch(t, "test", c.Bootstrap(), everyRound+yaml)
}

// play plays n rounds; each must succeed.
func (w *watched) play(n int) {
	w.t.Helper()
	for range n {
		if !w.round(w.t.Context()) {
			_, detail := w.Ready()
			w.t.Fatalf("the round failed: %s", detail)
		}
	}
}

// all plays a round and every enabled subject beside it, once.
func (w *watched) all() {
	w.t.Helper()
	w.play(1)
	w.subjects()
}

// subjects reads every enabled subject beside the rounds, or the named ones.
func (w *watched) subjects(names ...string) {
	for _, s := range w.background() {
		if !w.cfg.Collector(s.name).Enabled || len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		_, _ = w.run(w.t.Context(), s.name, w.reading(s))
	}
}

// text is the whole scrape.
func (w *watched) text() string {
	w.t.Helper()
	return render(w.t, exposition.Source{Snapshot: w.Snapshot(), Limits: collector.Limits(w.conf)})
}

func render(t testing.TB, sources ...exposition.Source) string {
	t.Helper()
	var b bytes.Buffer
	if err := exposition.WriteText(&b, collector.Families(), sources); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// scraped is one scrape: values by series.
type scraped struct {
	t      testing.TB
	text   string
	values map[string]float64
}

// scrape renders everything and reads it as Prometheus would.
func (w *watched) scrape() *scraped {
	w.t.Helper()
	return read(w.t, w.text())
}

// read parses a scrape. Series are named like name{a="b",c="d"}, labels sorted,
// without kafka_cluster.
func read(t testing.TB, text string) *scraped {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("the scrape is malformed: %v\n%s", err, text)
	}
	s := &scraped{t: t, text: text, values: map[string]float64{}}
	for name, f := range families {
		for _, m := range f.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				if l.GetName() != "kafka_cluster" {
					labels[l.GetName()] = l.GetValue()
				}
			}
			key := seriesKey(name, labels)
			if _, twice := s.values[key]; twice {
				t.Errorf("the series %s is there twice", key)
			}
			s.values[key] = valueOf(m)
		}
	}
	return s
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	case m.Counter != nil:
		return m.Counter.GetValue()
	}
	return m.GetUntyped().GetValue()
}

func seriesKey(name string, labels map[string]string) string {
	if len(labels) == 0 {
		return name
	}
	var parts []string
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, l+"="+strconv.Quote(labels[l]))
	}
	return name + "{" + strings.Join(parts, ",") + "}"
}

// want checks series written as "name{labels} value", one to a line.
func (s *scraped) want(lines string) {
	s.t.Helper()
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			s.t.Fatalf("line %q: %v", line, err)
		}
		if got, ok := s.values[line[:i]]; !ok {
			s.t.Errorf("no series %s; of that family there are:\n%s", line[:i], s.family(line))
		} else if got != value {
			s.t.Errorf("%s is %v, want %v", line[:i], got, value)
		}
	}
}

// family lists the series of the family that a line names.
func (s *scraped) family(line string) string {
	name, _, _ := strings.Cut(line, "{")
	name, _, _ = strings.Cut(name, " ")
	return strings.Join(s.of(name), "\n")
}

// of lists the series of a family with their values.
func (s *scraped) of(family string, having ...string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(s.values)) {
		if n, _, _ := strings.Cut(k, "{"); n == family && containsAll(k, having) {
			out = append(out, fmt.Sprintf("%s %v", k, s.values[k]))
		}
	}
	return out
}

func containsAll(s string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// none checks that no series of the family has all the label pairs given.
func (s *scraped) none(family string, having ...string) {
	s.t.Helper()
	if found := s.of(family, having...); len(found) > 0 {
		s.t.Errorf("there should be no %s with %v, but there is:\n%s", family, having, strings.Join(found, "\n"))
	}
}

// nothingAbout checks that a name occurs in no label of any series but those of
// the given families.
func (s *scraped) nothingAbout(name string, but ...string) {
	s.t.Helper()
	for k, v := range s.values {
		family, _, _ := strings.Cut(k, "{")
		if strings.Contains(k, strconv.Quote(name)) && !slices.Contains(but, family) {
			s.t.Errorf("%s %v: nothing should tell of %q", k, v, name)
		}
	}
}

// sum adds up the series of a family with all the label pairs given.
func (s *scraped) sum(family string, having ...string) float64 {
	var sum float64
	for k, v := range s.values {
		if n, _, _ := strings.Cut(k, "{"); n == family && containsAll(k, having) {
			sum += v
		}
	}
	return sum
}

// neverNegative checks what no scrape may show.
func (s *scraped) neverNegative() {
	s.t.Helper()
	for k, v := range s.values {
		if v < 0 {
			s.t.Errorf("%s is negative: %v", k, v)
		}
	}
}

// checkByPromtool lets the real promtool read the scrape, where there is one.
func checkByPromtool(t *testing.T, text string) {
	t.Helper()
	tools, err := promtest.Find()
	if err != nil {
		t.Logf("promtool is not there: %v", err)
		return
	}
	cmd := exec.CommandContext(t.Context(), tools.Promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// reading is what the subject's own loop does in each of its turns.
func (w *watched) reading(s subject) func(ctx context.Context) (gather.Failures, error) {
	return func(ctx context.Context) (gather.Failures, error) {
		now := w.current()
		if now.offsets == nil {
			now.offsets = &snapshot.Offsets{}
		}
		return s.read(ctx, now)
	}
}

func contextWithCancel(t testing.TB) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}
