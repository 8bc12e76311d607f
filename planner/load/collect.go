package load

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// Options say what to ask Prometheus for. Start from DefaultOptions.
type Options struct {
	// Group is the resource group whose topics are asked for, "" for all.
	Group string
	// Window is how far back to look from End, Step the distance of samples: each
	// is the mean of one step.
	Window, Step time.Duration
	End          time.Time
	Stats        Stats
	Queries      Queries
	// Selector picks the cluster: label matchers as in PromQL, without braces.
	Selector string
	// JMXSelector is the same for series of the brokers' JMX, whose labels may
	// differ; "" is Selector.
	JMXSelector string
	// MaxPoints bounds what one query gives: partitions × samples. 0 is 2,000,000.
	MaxPoints int
}

// Queries are PromQL. In them $SELECTOR stands for label matchers, $RANGE for
// the step and $SECONDS for its length. Results are series with the labels topic
// and partition; without partition the figure is the topic's. "" leaves a query
// out.
type Queries struct {
	// BytesIn is bytes/s produced per partition, preferred to all others.
	BytesIn string
	// TopicBytesIn is bytes/s produced per topic; RecordsIn tells how they are
	// spread over its partitions.
	TopicBytesIn string
	// RecordsIn is records/s per partition.
	RecordsIn string
	// Records is how many records a partition holds.
	Records string
	// RecordsRead is records/s that consumer groups read per partition.
	RecordsRead string
}

// DefaultQueries work on the exporter's series, whoever else scrapes the same
// cluster a second time, and on those of a JMX exporter.
func DefaultQueries() Queries {
	return Queries{
		BytesIn:      `sum by (topic, partition) (max by (topic, partition, broker) (rate(kafka_partition_bytes_in_total{$SELECTOR}[$RANGE])))`,
		TopicBytesIn: `sum by (topic) (rate(kafka_server_brokertopicmetrics_bytesin_total{$SELECTOR}[$RANGE]))`,
		// An offset that falls is a topic made anew, which rate takes for a counter
		// that starts again. A group's falls when it is rewound: that is no reading.
		RecordsIn:   `max by (topic, partition) (rate(kafka_partition_end_offset{$SELECTOR}[$RANGE]))`,
		Records:     `max by (topic, partition) (kafka_partition_end_offset{$SELECTOR}) - max by (topic, partition) (kafka_partition_start_offset{$SELECTOR})`,
		RecordsRead: `sum by (topic, partition) (max by (group, topic, partition) (clamp_min(delta(kafka_group_committed_offset{$SELECTOR}[$RANGE]) / $SECONDS, 0)))`,
	}
}

// DefaultOptions look at the week before end in steps of an hour. The cluster
// is its name in the exporter's configuration.
func DefaultOptions(cluster string, end time.Time) Options {
	return Options{
		Window: 7 * 24 * time.Hour, Step: time.Hour, End: end, Stats: DefaultStats(), Queries: DefaultQueries(),
		Selector: "kafka_cluster=" + strconv.Quote(cluster),
	}
}

// ErrNothingMeasured says that no partition has any sample.
var ErrNothingMeasured = errors.New("no partition has any sample")

// FromPrometheus measures the rates of a cluster's partitions, puts them into c
// and reports. Sizes must be in c already: they tell how big records are. If it
// fails, c is as it was.
func FromPrometheus(ctx context.Context, prom *Prometheus, c *model.Cluster, o Options) (*Report, error) {
	m, err := newMeasurer(prom, c, o)
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{m.recordSizes, m.bytesIn, m.otherwiseIn, m.recordsRead} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if m.nothing() {
		return nil, fmt.Errorf("loads from Prometheus for {%s} from %s to %s: %w: check that the cluster is scraped and the selector is right",
			o.Selector, m.report.From.Format(time.RFC3339), m.report.To.Format(time.RFC3339), ErrNothingMeasured)
	}
	m.fill()
	m.apply()
	m.report.keepWorst()
	return m.report, nil
}

type measurer struct {
	*rates
	prom  *Prometheus
	o     Options
	rng   Range
	least int
	// size is bytes per record by partition.
	size     []float64
	warnings map[string]bool
}

func newMeasurer(prom *Prometheus, c *model.Cluster, o Options) (*measurer, error) {
	if o.Step < time.Second || o.Window < o.Step || o.End.IsZero() {
		return nil, fmt.Errorf("a window of %v in steps of %v until %v cannot be looked at", o.Window, o.Step, o.End)
	}
	if o.Stats.Percentile < 0 || o.Stats.Percentile > 1 {
		return nil, fmt.Errorf("percentile %g is not between 0 and 1", o.Stats.Percentile)
	}
	r, err := newRates(c, o.Group, "prometheus")
	if err != nil {
		return nil, err
	}
	m := &measurer{rates: r, prom: prom, o: o, warnings: map[string]bool{}}
	// Whole steps: the same window asked for a minute later gives the same samples.
	to := o.End.UTC().Truncate(o.Step)
	m.rng = Range{From: to.Add(-o.Window.Truncate(o.Step) + o.Step), To: to, Step: o.Step}
	m.least = o.Stats.MinSamples
	if m.least <= 0 {
		m.least = max(1, min(12, m.rng.Points()/2))
	}
	r.report.From, r.report.To, r.report.Step, r.report.Stats = m.rng.From.Add(-o.Step), to, o.Step, o.Stats
	return m, nil
}

// recordSizes asks how many records partitions hold now.
func (m *measurer) recordSizes(ctx context.Context) error {
	records := make([]float64, m.c.NumPartitions())
	for p := range records {
		records[p] = -1
	}
	err := m.ask(ctx, m.o.Queries.Records, m.o.Selector, true, func(t int32, p int, s Series) {
		if p >= 0 {
			records[p] = s.Values[0]
		}
	})
	m.size = recordSizes(m.c, records)
	return err
}

// series are estimates by partition and, for series without a partition, by
// topic.
type series struct{ partition, topic []Estimate }

func (m *measurer) measure(ctx context.Context, query, selector, what string) (*series, error) {
	out := &series{make([]Estimate, m.c.NumPartitions()), make([]Estimate, len(m.c.Topics))}
	err := m.ask(ctx, query, selector, false, func(t int32, p int, s Series) {
		e := m.o.Stats.Estimate(s.Values)
		if p < 0 {
			out.topic[t] = e
			m.report.count(m.c.Topics[t].Name, model.None, what, e)
			return
		}
		out.partition[p] = e
		m.report.count(m.c.Topics[t].Name, m.c.ID[p], what, e)
	})
	return out, err
}

func (m *measurer) method(n int, format string, args ...any) {
	if n > 0 {
		m.report.Methods = append(m.report.Methods, fmt.Sprintf("in: %d partitions by "+format, append([]any{n}, args...)...))
	}
}

// take uses an estimate for a partition if it rests on more than what is there.
func (m *measurer) take(p int, e Estimate, value float64) bool {
	if m.known[p] || e.Samples == 0 || m.some[p] && e.Samples < m.least {
		return false
	}
	m.in[p], m.some[p], m.known[p] = value, true, e.Samples >= m.least
	return m.known[p]
}

func (m *measurer) bytesIn(ctx context.Context) error {
	s, err := m.measure(ctx, m.o.Queries.BytesIn, m.o.Selector, "bytes/s in")
	if err != nil {
		return err
	}
	n := 0
	m.each(func(p int) {
		if m.take(p, s.partition[p], s.partition[p].Value) {
			n++
		}
	})
	m.method(n, "bytes of each partition")
	return nil
}

// otherwiseIn measures partitions whose bytes nobody counts: by what their topic
// takes in, spread as records are, or by records and their size.
func (m *measurer) otherwiseIn(ctx context.Context) error {
	missing := false
	m.each(func(p int) { missing = missing || !m.known[p] })
	if !missing {
		return nil
	}
	records, err := m.measure(ctx, m.o.Queries.RecordsIn, m.o.Selector, "records/s in")
	if err != nil {
		return err
	}
	jmx := m.o.JMXSelector
	if jmx == "" {
		jmx = m.o.Selector
	}
	topics, err := m.measure(ctx, m.o.Queries.TopicBytesIn, jmx, "bytes/s in")
	if err != nil {
		return err
	}
	share := m.shares(records)
	byTopic, byRecords, byTopicRecords := 0, 0, 0
	m.each(func(p int) {
		t := m.c.Topic[p]
		e := records.partition[p]
		switch {
		case m.take(p, topics.topic[t], topics.topic[t].Value*share[p]):
			byTopic++
		case (m.size[p] > 0 || e.Value == 0) && m.take(p, e, e.Value*m.size[p]):
			byRecords++
		case m.size[p] > 0 && m.take(p, records.topic[t], records.topic[t].Value*share[p]*m.size[p]):
			byTopicRecords++
		}
	})
	m.method(byTopic, "bytes of their topic (JMX), spread as their records are")
	m.method(byRecords, "records × mean size of a record (size / records held)")
	m.method(byTopicRecords, "records of their topic, spread evenly, × mean size of a record")
	return nil
}

// shares is each partition's share of its topic's records; equal ones where
// there are none.
func (m *measurer) shares(records *series) []float64 {
	total, count := make([]float64, len(m.c.Topics)), make([]float64, len(m.c.Topics))
	for p, t := range m.c.Topic {
		total[t] += records.partition[p].Value
		count[t]++
	}
	out := make([]float64, len(m.c.Topic))
	for p, t := range m.c.Topic {
		out[p] = 1 / count[t]
		if total[t] > 0 {
			out[p] = records.partition[p].Value / total[t]
		}
	}
	return out
}

func (m *measurer) recordsRead(ctx context.Context) error {
	s, err := m.measure(ctx, m.o.Queries.RecordsRead, m.o.Selector, "records/s read")
	if err != nil {
		return err
	}
	n, noSize := 0, 0
	share := m.shares(&series{partition: make([]Estimate, m.c.NumPartitions())})
	m.each(func(p int) {
		t := m.c.Topic[p]
		v := s.partition[p].Value
		if s.partition[p].Samples == 0 {
			v = s.topic[t].Value * share[p]
		}
		if v > 0 && m.size[p] == 0 {
			noSize++
		}
		m.read[p] = v * m.size[p]
		if s.partition[p].Samples+s.topic[t].Samples > 0 {
			n++
		}
	})
	m.report.Methods = append(m.report.Methods, fmt.Sprintf("out: bytes in × (replicas - 1), and for %d partitions what groups committed × mean size of a record", n))
	if noSize > 0 {
		m.report.note("%d partitions are read, but the size of their records is not known: what consumers take is not counted", noSize)
	}
	return nil
}

// ask runs a query for the topics that are asked for, in as many pieces as it
// takes, and calls each with the topic's index and the partition's, -1 if the
// series has none. Series of topics and partitions that the cluster does not
// have are passed over: they were deleted meanwhile.
func (m *measurer) ask(ctx context.Context, query, selector string, instant bool, each func(t int32, p int, s Series)) error {
	if query == "" {
		return nil
	}
	for _, matcher := range m.matchers(instant) {
		full := matcher
		if selector != "" {
			full = selector + "," + matcher
		}
		text := strings.NewReplacer("$SELECTOR", full, "$RANGE", promDuration(m.o.Step), "$SECONDS", strconv.FormatFloat(m.o.Step.Seconds(), 'f', -1, 64)).Replace(query)
		found := func(s Series) error {
			t, p, ok := m.find(s.Labels)
			if ok {
				each(t, p, s)
			}
			return nil
		}
		var warnings []string
		var err error
		if instant {
			warnings, err = m.prom.Query(ctx, text, m.rng.To, found)
		} else {
			warnings, err = m.prom.QueryRange(ctx, text, m.rng, found)
		}
		if err != nil {
			return err
		}
		for _, w := range warnings {
			if !m.warnings[w] {
				m.warnings[w] = true
				m.report.note("Prometheus warns: %s", w)
			}
		}
	}
	return ctx.Err()
}

func (m *measurer) find(labels map[string]string) (int32, int, bool) {
	topic, text := labels["topic"], labels["partition"]
	if text == "" {
		t, ok := m.topicIndex(topic)
		return t, -1, ok && m.wanted[t]
	}
	id, err := strconv.ParseInt(text, 10, 32)
	p, ok := m.c.PartitionIndex(topic, int32(id))
	if err != nil || !ok || !m.wanted[m.c.Topic[p]] {
		return model.None, -1, false
	}
	return m.c.Topic[p], p, true
}

// maxNames bounds the topics that one query names.
const maxNames = 500

// matchers are PromQL label matchers that together pick the topics asked for.
func (m *measurer) matchers(instant bool) []string {
	most := m.o.MaxPoints
	if most <= 0 {
		most = 2_000_000
	}
	if !instant {
		most /= max(1, m.rng.Points())
	}
	most = max(1, most)
	count := make([]int, len(m.c.Topics))
	for _, t := range m.c.Topic {
		count[t]++
	}
	var out, names []string
	partitions := 0
	flush := func() {
		if len(names) > 0 {
			out = append(out, "topic=~"+strconv.Quote(strings.Join(names, "|")))
		}
		names, partitions = nil, 0
	}
	for t := range m.c.Topics {
		if !m.wanted[t] {
			continue
		}
		if partitions+count[t] > most || len(names) == maxNames {
			flush()
		}
		names = append(names, regexp.QuoteMeta(m.c.Topics[t].Name))
		partitions += count[t]
	}
	if m.o.Group == "" && len(out) == 0 {
		return []string{`topic!=""`}
	}
	flush()
	return out
}

// promDuration is a duration as PromQL has it.
func promDuration(d time.Duration) string {
	return strconv.FormatInt(int64(d/time.Millisecond), 10) + "ms"
}
