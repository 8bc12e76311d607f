package load

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// records are what the stub's offsets say: partition p of a.t and b.t holds 100
// records of 10×(p+1) bytes, shared as many of 10.
func records() []stubSeries {
	var out []stubSeries
	for p := range 4 {
		out = append(out, stubSeries{labels("a.t", p), always(100)})
	}
	return append(out, stubSeries{labels("b.t", 0), always(100)}, stubSeries{labels("b.t", 1), always(100)}, stubSeries{labels("shared", 0), always(100)})
}

const (
	seriesBytes   = "kafka_partition_bytes_in_total"
	seriesJMX     = "kafka_server_brokertopicmetrics_bytesin_total"
	seriesOffset  = "kafka_partition_end_offset"
	seriesCommits = "kafka_group_committed_offset"
)

// The stub answers "records held" and "records/s in" by the same name: 100 at
// point 0 is what the instant query takes.
func TestBytesPerPartition(t *testing.T) {
	s := &stub{answers: map[string][]stubSeries{
		seriesBytes: {
			{labels("a.t", 0), func(i int) float64 {
				if i == 80 {
					return 1e14 // a spike
				}
				return 1000
			}},
			{labels("a.t", 1), always(2000)},
			{labels("a.t", 2), func(i int) float64 { // a counter that is only there at times
				if i%7 == 3 {
					return nan
				}
				return 4000
			}},
			{labels("a.t", 3), func(i int) float64 { // too few samples
				if i < 160 {
					return nan
				}
				return 90_000
			}},
			{labels("b.t", 0), always(500)},
			{labels("b.t", 1), always(700)},
			{labels("shared", 0), always(0)},
			{labels("gone", 0), always(1e9)},
			{labels("a.t", 99), always(1e9)},
			{map[string]string{"topic": "a.t", "partition": "x"}, always(1e9)},
		},
		seriesOffset:  records(),
		seriesCommits: {{labels("a.t", 0), always(5)}, {labels("b.t", 1), always(3)}},
	}}
	// Records of a.t-3 do not tell either: it has too few samples there too.
	s.answers[seriesOffset][3].at = func(i int) float64 {
		if i > 2 {
			return nan
		}
		return 100
	}
	c := testCluster(t)
	r, err := FromPrometheus(t.Context(), s.start(t), c, options())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a.t-0": "1000/1050", // 5 records/s of 10 bytes are read
		"a.t-1": "2000/2000", "a.t-2": "4000/4000",
		"a.t-3": "2000/2000", // the median of its topic
		"b.t-0": "500/500", "b.t-1": "700/760", "shared-0": "0/0",
	}
	if d := cmp.Diff(want, ratesOf(c)); d != "" {
		t.Error(d)
	}
	if r.Partitions != 7 || r.Sampled != 6 || r.Coverage() < 0.857 || r.Coverage() > 0.858 {
		t.Errorf("%d of %d, coverage %g", r.Sampled, r.Partitions, r.Coverage())
	}
	if d := cmp.Diff([]model.TopicPartitions{{Topic: "a.t", Partitions: []int32{3}}}, r.Filled); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Outlier{{"a.t", 0, "bytes/s in", 1e14, 1000}}, r.Worst); d != "" || r.Filtered.Spikes != 1 {
		t.Errorf("%s %+v", d, r.Filtered)
	}
	if d := cmp.Diff([]string{
		"in: 6 partitions by bytes of each partition",
		"out: bytes in × (replicas - 1), and for 2 partitions what groups committed × mean size of a record",
	}, r.Methods); d != "" {
		t.Error(d)
	}
	if got := r.From.String() + " " + r.To.String(); got != "2026-03-01 12:00:00 +0000 UTC 2026-03-08 12:00:00 +0000 UTC" {
		t.Error(got)
	}
	if d := cmp.Diff([]string{"Prometheus warns: stub"}, r.Notes); d != "" {
		t.Error(d)
	}
	n := r.Note()
	if n.Source != "prometheus" || n.Coverage != r.Coverage() || !strings.Contains(strings.Join(n.Notes, "\n"), "1 spikes") || !strings.Contains(strings.Join(n.Notes, "\n"), "a.t-0 bytes/s in 100000000000000 among 1000") {
		t.Errorf("%+v", n)
	}
	if got := s.asked(seriesBytes); len(got) != 1 || !strings.Contains(got[0], `{kafka_cluster="prod",topic!=""}[3600000ms]`) {
		t.Errorf("asked %q", got)
	}
}

func TestBytesOfTopics(t *testing.T) {
	s := &stub{answers: map[string][]stubSeries{
		seriesJMX: {{labels("a.t", -1), always(10_000)}, {labels("shared", -1), always(300)}},
		// As records/s: a.t is 40, 30, 20, 10; shared is not told; b.t is told by
		// records only.
		seriesOffset: {
			{labels("a.t", 0), always(40)},
			{labels("a.t", 1), always(30)},
			{labels("a.t", 2), always(20)},
			{labels("a.t", 3), always(10)},
			{labels("b.t", 0), always(100)},
			{labels("b.t", 1), always(50)},
		},
	}}
	c := testCluster(t)
	o := options()
	o.JMXSelector = `env="prod"`
	r, err := FromPrometheus(t.Context(), s.start(t), c, o)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a.t-0": "4000/4000", "a.t-1": "3000/3000", "a.t-2": "2000/2000", "a.t-3": "1000/1000",
		// 100 records/s of 1000/100 bytes; 50 of 2000/50.
		"b.t-0": "1000/1000", "b.t-1": "2000/2000", "shared-0": "300/300",
	}
	if d := cmp.Diff(want, ratesOf(c)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{
		"in: 5 partitions by bytes of their topic (JMX), spread as their records are",
		"in: 2 partitions by records × mean size of a record (size / records held)",
	}, r.Methods[:2]); d != "" {
		t.Error(d)
	}
	if got := s.asked(seriesJMX); len(got) != 1 || !strings.Contains(got[0], `{env="prod",topic!=""}`) {
		t.Errorf("asked %q", got)
	}
}

// TestOneGroupOnly: only topics that touch the group are asked for and changed.
func TestOneGroupOnly(t *testing.T) {
	s := &stub{answers: map[string][]stubSeries{seriesBytes: {}, seriesOffset: records()}}
	for p := range 4 {
		s.answers[seriesBytes] = append(s.answers[seriesBytes], stubSeries{labels("a.t", p), always(7)})
	}
	s.answers[seriesBytes] = append(s.answers[seriesBytes], stubSeries{labels("b.t", 0), always(8)}, stubSeries{labels("b.t", 1), always(8)}, stubSeries{labels("shared", 0), always(9)})
	c := testCluster(t)
	o := options()
	o.Group = "b"
	r, err := FromPrometheus(t.Context(), s.start(t), c, o)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.t-0": "0/0", "a.t-1": "0/0", "a.t-2": "0/0", "a.t-3": "0/0", "b.t-0": "8/8", "b.t-1": "8/8", "shared-0": "9/9"}
	if d := cmp.Diff(want, ratesOf(c)); d != "" {
		t.Error(d)
	}
	if r.Partitions != 3 || r.Coverage() != 1 {
		t.Errorf("%+v", r)
	}
	for _, q := range s.queries {
		if !strings.Contains(q, `topic=~"b\\.t|shared"`) {
			t.Errorf("asked %q", q)
		}
	}
	o.Group = "c"
	if _, err := FromPrometheus(t.Context(), s.start(t), c, o); err == nil || !strings.Contains(err.Error(), `resource group "c" is not known`) {
		t.Error(err)
	}
}

func TestPiecesGiveTheSame(t *testing.T) {
	s := &stub{answers: map[string][]stubSeries{seriesOffset: records(), seriesCommits: {{labels("b.t", 1), always(3)}}}}
	whole, pieces := testCluster(t), testCluster(t)
	o := options()
	r1, err := FromPrometheus(t.Context(), s.start(t), whole, o)
	if err != nil {
		t.Fatal(err)
	}
	before := len(s.asked(seriesOffset))
	o.MaxPoints = 1
	r2, err := FromPrometheus(t.Context(), s.start(t), pieces, o)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ratesOf(whole), ratesOf(pieces)) + cmp.Diff(r1, r2); d != "" {
		t.Error(d)
	}
	if n := len(s.asked(seriesOffset)) - before; n != 6 { // three topics, two questions
		t.Errorf("asked in %d pieces", n)
	}
}

func TestTopicWithoutSamples(t *testing.T) {
	s := &stub{answers: map[string][]stubSeries{seriesBytes: {{labels("shared", 0), always(9)}, {labels("a.t", 2), func(i int) float64 {
		if i > 3 {
			return nan
		}
		return 60
	}}}}}
	c := testCluster(t)
	r, err := FromPrometheus(t.Context(), s.start(t), c, options())
	if err != nil {
		t.Fatal(err)
	}
	// The few samples of a.t-2 are better than nothing, and marked.
	want := map[string]string{"a.t-0": "0/0", "a.t-1": "0/0", "a.t-2": "60/60", "a.t-3": "0/0", "b.t-0": "0/0", "b.t-1": "0/0", "shared-0": "9/9"}
	if d := cmp.Diff(want, ratesOf(c)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]model.TopicPartitions{{Topic: "a.t", Partitions: []int32{0, 1, 2, 3}}, {Topic: "b.t", Partitions: []int32{0, 1}}}, r.Filled); d != "" {
		t.Error(d)
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "5 partitions have no samples and neither has their topic") {
		t.Errorf("%q", r.Notes)
	}
}

// TestTopicSeries: an exporter that folds partitions gives a topic's figure.
func TestTopicSeries(t *testing.T) {
	s := &stub{answers: map[string][]stubSeries{
		seriesBytes:   {{labels("a.t", 0), always(1)}},
		seriesOffset:  {{labels("a.t", 0), always(10)}, {labels("b.t", -1), always(30)}},
		seriesCommits: {{labels("b.t", -1), always(10)}},
	}}
	c := testCluster(t)
	if _, err := FromPrometheus(t.Context(), s.start(t), c, options()); err != nil {
		t.Fatal(err)
	}
	// A record takes 100 bytes (a.t-0: 1000/10), that is all that is known.
	if got := ratesOf(c); got["b.t-0"] != "1500/2000" || got["b.t-1"] != "1500/2000" {
		t.Errorf("%v", got)
	}
}

func TestFailuresLeaveTheClusterAlone(t *testing.T) {
	c := testCluster(t)
	before := ratesOf(c)
	check := func(name string, prom *Prometheus, o Options, want string) {
		t.Helper()
		if r, err := FromPrometheus(t.Context(), prom, c, o); err == nil || !strings.Contains(err.Error(), want) || r != nil {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if d := cmp.Diff(before, ratesOf(c)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	empty := &stub{}
	check("nothing there", empty.start(t), options(), `{kafka_cluster="prod"}`)
	if _, err := FromPrometheus(t.Context(), empty.start(t), c, options()); !errors.Is(err, ErrNothingMeasured) {
		t.Error(err)
	}
	for want, change := range map[string]func(*Options){
		"cannot be looked at":          func(o *Options) { o.Step = 0 },
		"window of 1m0s":               func(o *Options) { o.Window = 60e9 },
		"until 0001":                   func(o *Options) { o.End = o.End.AddDate(-3000, 0, 0); o.End = (Options{}).End },
		"percentile 95 is not between": func(o *Options) { o.Stats.Percentile = 95 },
	} {
		o := options()
		change(&o)
		check(want, empty.start(t), o, want)
	}
}

func TestMatchers(t *testing.T) {
	c := model.Generate(model.GenerateDefaults(1, 10, 2, 20_000))
	m, err := newMeasurer(nil, c, options())
	if err != nil {
		t.Fatal(err)
	}
	if got := m.matchers(false); len(got) != 1 || got[0] != `topic!=""` {
		t.Errorf("%q", got)
	}
	m.o.MaxPoints = 168 * 1000
	seen := map[string]int{}
	for _, x := range m.matchers(false) {
		partitions := 0
		for _, n := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(x, `topic=~"`), `"`), "|") {
			seen[n]++
			i, _ := m.topicIndex(n)
			for _, t := range c.Topic {
				if t == i {
					partitions++
				}
			}
		}
		if partitions > 1000 {
			t.Errorf("%d partitions in one piece", partitions)
		}
	}
	if len(seen) != len(c.Topics) {
		t.Errorf("%d of %d topics are asked for", len(seen), len(c.Topics))
	}
	for n, times := range seen {
		if times != 1 {
			t.Errorf("%s is asked for %d times", n, times)
		}
	}
}

// TestWorstAreTheSameInAnyOrder: series come in the server's order.
func TestWorstAreTheSameInAnyOrder(t *testing.T) {
	var up, down Report
	for i := range 3000 {
		add := func(r *Report, i int) {
			r.count("t", int32(i), "x", Estimate{Samples: 1, Spikes: 1, Worst: float64(i%100) * 1000, Median: 10})
		}
		add(&up, i)
		add(&down, 2999-i)
	}
	up.keepWorst()
	down.keepWorst()
	if d := cmp.Diff(up, down, cmpopts.EquateEmpty()); d != "" || len(up.Worst) != examples {
		t.Error(d, len(up.Worst))
	}
	if up.Worst[0].Value != 99_000 || up.Worst[0].Partition != 99 {
		t.Errorf("%s", fmt.Sprint(up.Worst))
	}
}
