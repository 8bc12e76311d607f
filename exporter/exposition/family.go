// Package exposition writes snapshots of Kafka clusters as Prometheus series.
//
// It exists because a scrape of a large cluster is a million series: families
// are rendered straight from the snapshot into a small buffer, nothing rendered
// is kept, and a series costs no allocation. Per family and cluster, [Limits]
// drop labels, choose series by label value and bound their number.
//
// Formats are the Prometheus text format 0.0.4, OpenMetrics 1.0 and delimited
// protobuf. Metric names are classic ones, so no name escaping is involved.
package exposition

import "github.com/kafka-steward/kafka-steward/exporter/snapshot"

// Type is a family's Prometheus type. Info families are gauges of value 1.
type Type uint8

// Types of families.
const (
	Gauge Type = iota
	Counter
)

func (t Type) String() string {
	if t == Counter {
		return "counter"
	}
	return "gauge"
}

// Fold says how series become one where labels are dropped or the number of
// series is bounded.
type Fold uint8

// Ways to merge series.
const (
	// None: the values cannot be merged. Series that would have to be are
	// dropped, and counted as dropped.
	None Fold = iota
	Sum
	Max
	Min
)

func (f Fold) String() string { return [...]string{"none", "sum", "max", "min"}[f] }

// ClusterLabel is the first label of every series.
const ClusterLabel = "kafka_cluster"

// OtherValue is the value of every label, kafka_cluster apart, of the series
// that stands for those beyond Limits.MaxSeries.
const OtherValue = "other"

// Desc describes a family.
type Desc struct {
	Name, Help string
	Type       Type
	// Labels are the label names without [ClusterLabel].
	Labels []string
	Fold   Fold
	// Grouped is how many leading labels Render groups its series by: series
	// that agree in the first Grouped labels follow each other, and so for
	// every shorter prefix. Labels dropped behind them then cost no map.
	Grouped int
	// Merge says that Render may give one label set several times: values are
	// folded into one series even when all labels are kept. It costs a map.
	Merge bool
}

// Family is a metric family and how to make it from a snapshot.
type Family struct {
	Desc
	// Collector names the collector of the configuration that feeds the
	// family, or "self" for what the exporter says about itself.
	Collector string
	// OptIn families are not exported unless the configuration enables them.
	OptIn bool
	// Sparse says which series exist, for people; "" when all do.
	Sparse string
	// Requires says which Kafka version, mode or KIP is needed, for people.
	Requires string
	// Render emits the family's series of one cluster. It must not keep or
	// change the snapshot, and must not give a label set twice unless Merge is
	// set; one that equals the one before it is written once.
	Render func(*snapshot.Cluster, *Emitter)
}

// Matcher decides on a label value; *regexp.Regexp is one.
type Matcher interface{ MatchString(string) bool }

// Limits override how one family of one cluster is exported.
type Limits struct {
	Enabled bool
	// KeepLabels nil keeps all labels. Otherwise series are folded over the
	// labels that are not listed; unknown names are ignored.
	KeepLabels []string
	// Include and Exclude choose series by label value, before folding: every
	// Include must match, no Exclude may. Unknown label names are ignored.
	Include, Exclude map[string]Matcher
	// MaxSeries bounds the number of series: that many pass in the order of
	// the snapshot, the rest is folded into one whose labels are all
	// [OtherValue]. 0 is no bound.
	MaxSeries int
}

// Source is one cluster to expose.
type Source struct {
	Snapshot *snapshot.Cluster
	// Limits by family name. A family that is absent is exported in full,
	// unless it is OptIn.
	Limits map[string]Limits
}

func (s *Source) limits(f *Family) Limits {
	if l, ok := s.Limits[f.Name]; ok {
		return l
	}
	return Limits{Enabled: !f.OptIn}
}
