// Package collector turns snapshots of Kafka clusters into metric families,
// one file per subject. Every family is a pure function of a snapshot: it
// cannot reach Kafka. What is not known gives no series, never a made-up value.
package collector

//go:generate go run ./cmd/metricsdoc -o ../../docs/metrics.md

import (
	"slices"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// Subject is a set of families about one thing.
type Subject struct {
	// Title and Note head the subject in the documentation.
	Title, Note string
	Families    []exposition.Family
}

// Subjects lists all families by subject, in the order of the output.
func Subjects() []Subject {
	return []Subject{
		clusterSubject(),
		brokersSubject(),
		topicsSubject(),
		topicConfigsSubject(),
		partitionsSubject(),
		offsetsSubject(),
		logDirsSubject(),
		reassignmentsSubject(),
		throttlesSubject(),
		quotasSubject(),
		groupsSubject(),
		membersSubject(),
		lagSubject(),
		verdictsSubject(),
		quorumSubject(),
		transactionsSubject(),
		aclsSubject(),
		selfSubject(),
	}
}

// Families lists all families in the order of the output.
func Families() []exposition.Family {
	var all []exposition.Family
	for _, s := range Subjects() {
		all = append(all, s.Families...)
	}
	return all
}

// Known tells every family's labels, kafka_cluster apart, by family name. It
// is what a configuration may name.
func Known() map[string][]string {
	known := map[string][]string{}
	for _, f := range Families() {
		known[f.Name] = slices.Clone(f.Labels)
	}
	return known
}

// Collectors that feed families, as the configuration names them.
const (
	topology      = "topology"
	endOffsets    = "offsets"
	startOffsets  = "start_offsets"
	stableOffsets = "stable_offsets"
	lastRecord    = "last_record"
	groups        = "groups"
	logDirs       = "logdirs"
	configs       = "configs"
	reassignments = "reassignments"
	quotas        = "quotas"
	transactions  = "transactions"
	acls          = "acls"
	quorum        = "quorum"
	self          = "self"
)

// Short names: families are long lists.
const (
	none = exposition.None
	sum  = exposition.Sum
	most = exposition.Max
	min1 = exposition.Min
)

type (
	family  = exposition.Family
	emitter = exposition.Emitter
	cluster = snapshot.Cluster
	render  = func(*cluster, *emitter)
)

// labels names a family's labels besides kafka_cluster.
func labels(names ...string) []string { return names }

// gauge makes a family that goes up and down.
func gauge(collector, name, help string, fold exposition.Fold, labels []string, r render) family {
	return family{
		Desc:      exposition.Desc{Name: name, Help: help, Fold: fold, Labels: labels, Grouped: grouped(labels)},
		Collector: collector, Render: r,
	}
}

// orders are how the parts of a snapshot are sorted, as labels: families that
// start with one of them are rendered in that order.
var orders = [][]string{
	{"topic", "partition"},
	{"group", "topic", "partition"},
	{"broker", "log_dir", "topic", "partition"},
}

// grouped is the number of leading labels that series are grouped by. The last
// label of an order tells series apart and is not worth counting.
func grouped(labels []string) int {
	best := 0
	for _, order := range orders {
		n := 0
		for n < len(order) && n < len(labels) && order[n] == labels[n] {
			n++
		}
		best = max(best, min(n, len(order)-1))
	}
	return best
}

// counter makes a family that only grows while the process lives.
func counter(collector, name, help string, labels []string, r render) family {
	f := gauge(collector, name, help, exposition.Sum, labels, r)
	f.Type = exposition.Counter
	return f
}

// sparse says which series of a family exist.
func sparse(which string, f family) family { f.Sparse = which; return f }

// optIn makes a family one that has to be asked for.
func optIn(f family) family { f.OptIn = true; return f }

// requires says what a family needs from the cluster.
func requires(what string, f family) family { f.Requires = what; return f }
