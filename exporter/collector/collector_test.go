package collector

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

var update = flag.Bool("update", false, "write golden files anew")

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func renderAll(t fataler, limits map[string]exposition.Limits, clusters ...*snapshot.Cluster) []byte {
	t.Helper()
	return renderSome(t, Families(), limits, clusters...)
}

func renderSome(t fataler, families []exposition.Family, limits map[string]exposition.Limits, clusters ...*snapshot.Cluster) []byte {
	t.Helper()
	var sources []exposition.Source
	for _, c := range clusters {
		sources = append(sources, exposition.Source{Snapshot: c, Limits: limits})
	}
	var b bytes.Buffer
	if err := exposition.WriteText(&b, families, sources); err != nil {
		t.Fatalf("rendering: %v", err)
	}
	return b.Bytes()
}

// series are the values of a scrape, by family and label set.
type series map[string]map[string]float64

// parse reads a scrape back and refuses duplicates and families that failed.
func parse(t fataler, body []byte) (series, map[string]*dto.MetricFamily) {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("parsing: %v", err)
	}
	got := series{}
	for name, mf := range families {
		got[name] = map[string]float64{}
		for _, m := range mf.Metric {
			k := labelSet(m)
			if _, twice := got[name][k]; twice {
				t.Fatalf("duplicate series %s%s", name, k)
			}
			got[name][k] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	if f := got["kafka_steward_failed_families"]; len(f) > 0 {
		t.Fatalf("families failed: %v", f)
	}
	return got, families
}

// labelSet leaves empty labels out, which Prometheus takes for absent.
func labelSet(m *dto.Metric) string {
	var pairs []string
	for _, l := range m.Label {
		if l.GetValue() != "" {
			pairs = append(pairs, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
		}
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}

// everything enables all families.
func everything() map[string]exposition.Limits {
	limits := map[string]exposition.Limits{}
	for _, f := range Families() {
		limits[f.Name] = exposition.Limits{Enabled: true}
	}
	return limits
}

func granularity(collectors map[string]string) *config.Cluster {
	c := &config.Cluster{Name: "prod", Collectors: map[string]config.Collector{}}
	for name, g := range collectors {
		c.Collectors[name] = config.Collector{Granularity: g}
	}
	return c
}

func TestGolden(t *testing.T) {
	for name, limits := range map[string]map[string]exposition.Limits{
		"default":    Limits(granularity(nil)),
		"everything": everything(),
		"coarse":     Limits(granularity(map[string]string{"offsets": "topic", "groups": "group", "logdirs": "log_dir"})),
		"topic":      Limits(granularity(map[string]string{"groups": "topic", "logdirs": "partition"})),
	} {
		t.Run(name, func(t *testing.T) {
			got := renderAll(t, limits, kraftCluster(), zookeeperCluster())
			parse(t, got)
			file := filepath.Join("testdata", name+".prom")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("run with -update if this is meant (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPromlint(t *testing.T) {
	body := renderAll(t, everything(), kraftCluster(), zookeeperCluster())
	problems, err := promlint.New(bytes.NewReader(body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	got, _ := parse(t, body)
	for _, f := range Families() {
		if got[f.Name] == nil && !slices.Contains(rare, f.Name) {
			t.Errorf("%s has no series in the fixtures: nothing tests it", f.Name)
		}
	}
}

// rare families have no series unless something is wrong with the scrape; the
// tests of package exposition look at them.
var rare = []string{"kafka_steward_folded_series", "kafka_steward_dropped_series", "kafka_steward_failed_families"}

// TestFamiliesAreSound checks what registration would.
func TestFamiliesAreSound(t *testing.T) {
	seen := map[string]bool{}
	collectors := map[string]bool{self: true}
	for _, i := range config.CollectorInfos() {
		collectors[i.Name] = true
	}
	for _, f := range Families() {
		if seen[f.Name] {
			t.Errorf("%s exists twice", f.Name)
		}
		seen[f.Name] = true
		if !strings.HasPrefix(f.Name, "kafka_") || strings.HasPrefix(f.Name, "kafka_steward_") != (f.Collector == self) {
			t.Errorf("%s: prefix and collector %q disagree", f.Name, f.Collector)
		}
		if !collectors[f.Collector] {
			t.Errorf("%s: unknown collector %q", f.Name, f.Collector)
		}
		if !strings.HasSuffix(f.Help, ".") || f.Render == nil {
			t.Errorf("%s: help must end in a full stop, render must be set", f.Name)
		}
		labels := slices.Sorted(slices.Values(f.Labels))
		if len(slices.Compact(labels)) != len(f.Labels) || slices.Contains(f.Labels, exposition.ClusterLabel) {
			t.Errorf("%s: labels %v", f.Name, f.Labels)
		}
		if f.Type == exposition.Counter && f.Fold != exposition.Sum {
			t.Errorf("%s: counters add up", f.Name)
		}
	}
	if known := Known(); len(known) != len(seen) || !slices.Equal(known["kafka_group_lag_records"], []string{"group", "topic", "partition"}) {
		t.Errorf("Known knows %d families of %d", len(known), len(seen))
	}
}

// parts are the parts of a snapshot that may be nil.
var parts = []func(*snapshot.Cluster){
	func(c *snapshot.Cluster) { c.Topology = nil },
	func(c *snapshot.Cluster) { c.Quorum = nil },
	func(c *snapshot.Cluster) { c.Offsets = nil },
	func(c *snapshot.Cluster) { c.Groups = nil },
	func(c *snapshot.Cluster) { c.Lag = nil },
	func(c *snapshot.Cluster) { c.LogDirs = nil },
	func(c *snapshot.Cluster) { c.Configs = nil },
	func(c *snapshot.Cluster) { c.Reassignments = nil },
	func(c *snapshot.Cluster) { c.Quotas = nil },
	func(c *snapshot.Cluster) { c.Transactions = nil },
	func(c *snapshot.Cluster) { c.ACLs = nil },
}

// TestAnyPartMayBeMissing goes through all combinations of missing parts: no
// family fails, no series comes twice, and what is there does not change.
func TestAnyPartMayBeMissing(t *testing.T) {
	limits, whole := everything(), kraftCluster()
	full := lines(t, renderAll(t, limits, whole))
	for mask := range 1 << len(parts) {
		c := *whole
		for i, remove := range parts {
			if mask>>i&1 == 1 {
				remove(&c)
			}
		}
		for line := range lines(t, renderAll(t, limits, &c)) {
			switch family, _, _ := strings.Cut(line, "{"); {
			case strings.HasPrefix(family, "kafka_steward_failed_families"):
				t.Fatalf("missing %b: %s", mask, line)
			case strings.HasPrefix(family, "kafka_steward_"):
			case mask == 1<<len(parts)-1:
				t.Errorf("%s comes from nothing", line)
			case c.Topology == nil && (family == "kafka_partition_end_offset" || family == "kafka_topic_config_min_insync_replicas"):
				// Without it there is no telling that the topic is gone.
			case c.Configs == nil && family == "kafka_topic_info":
				// Some of its labels are empty then.
			case !full[line]:
				t.Fatalf("missing %b: %s", mask, line)
			}
		}
	}
	// A lag that is shorter than the groups it should run parallel to.
	c := *whole
	c.Lag = &snapshot.Lag{Groups: whole.Lag.Groups[:3]}
	parse(t, renderAll(t, limits, &c))
	parse(t, renderAll(t, limits, &snapshot.Cluster{Name: "empty"}))
}

// lines are a scrape's samples as text. No series may have two.
func lines(t *testing.T, body []byte) map[string]bool {
	t.Helper()
	all, seen := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		series := line[:strings.LastIndexByte(line, ' ')]
		if seen[series] {
			t.Fatalf("duplicate series %s", series)
		}
		seen[series], all[line] = true, true
	}
	return all
}

// TestNothingNegative: unknown is no number. No family of ours has values
// below 0.
func TestNothingNegative(t *testing.T) {
	got, _ := parse(t, renderAll(t, everything(), kraftCluster(), zookeeperCluster()))
	for name, set := range got {
		for k, v := range set {
			if v < 0 {
				t.Errorf("%s%s = %v", name, k, v)
			}
		}
	}
}

// TestRepeatedNeighbours: topics and groups that a reader saw twice cost
// nothing.
func TestRepeatedNeighbours(t *testing.T) {
	c := kraftCluster()
	want, _ := parse(t, renderAll(t, everything(), c))
	c.Topology.Topics = slices.Insert(c.Topology.Topics, 4, c.Topology.Topics[4])
	c.Groups.Groups = slices.Insert(c.Groups.Groups, 7, c.Groups.Groups[7])
	c.Lag.Groups = slices.Insert(c.Lag.Groups, 7, c.Lag.Groups[7])
	l := &c.Lag.Groups[7]
	l.Topics = slices.Insert(l.Topics, 0, l.Topics[0])
	got, _ := parse(t, renderAll(t, everything(), c))
	// Only a partition count within the group may see the repeated topic.
	delete(want, "kafka_group_lag_clamped_partitions")
	delete(got, "kafka_group_lag_clamped_partitions")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestKeepLabelsNeverDuplicates drops labels of every family in every way and
// compares sums, largest and smallest values with the series in full.
func TestKeepLabelsNeverDuplicates(t *testing.T) {
	clusters := []*snapshot.Cluster{kraftCluster(), zookeeperCluster()}
	_, full := parse(t, renderAll(t, everything(), clusters...))
	for _, f := range Families() {
		for mask := range 1 << len(f.Labels) {
			keep := []string{}
			for i, l := range f.Labels {
				if mask>>i&1 == 1 {
					keep = append(keep, l)
				}
			}
			limits := map[string]exposition.Limits{f.Name: {Enabled: true, KeepLabels: keep}}
			got, _ := parse(t, renderSome(t, []exposition.Family{f}, limits, clusters...))
			if f.Collector == self || f.Name == "kafka_group_stable_lag_records" {
				continue // say something else then
			}
			if diff := cmp.Diff(folded(f, full[f.Name], keep), got[f.Name]); diff != "" {
				t.Errorf("%s keeping %v (-want +got):\n%s", f.Name, keep, diff)
			}
		}
	}
}

// folded is what a family comes to when only some labels are kept.
func folded(f exposition.Family, full *dto.MetricFamily, keep []string) map[string]float64 {
	all := map[string][]float64{}
	for _, m := range full.GetMetric() {
		kept := &dto.Metric{}
		for _, l := range m.Label {
			if l.GetName() == exposition.ClusterLabel || slices.Contains(keep, l.GetName()) {
				kept.Label = append(kept.Label, l)
			}
		}
		k := labelSet(kept)
		all[k] = append(all[k], m.GetGauge().GetValue()+m.GetCounter().GetValue())
	}
	var out map[string]float64
	for k, vs := range all {
		v := vs[0]
		for _, w := range vs[1:] {
			switch f.Fold {
			case exposition.Sum:
				v += w
			case exposition.Max:
				v = max(v, w)
			case exposition.Min:
				v = min(v, w)
			}
		}
		if f.Fold == exposition.None && len(vs) > 1 {
			continue
		}
		if out == nil {
			out = map[string]float64{}
		}
		out[k] = v
	}
	return out
}
