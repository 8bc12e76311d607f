package config

import (
	"slices"
	"time"
)

// Granularities of collectors and of what is exported from them.
const (
	GranularityPartition = "partition"
	GranularityTopic     = "topic"
	GranularityGroup     = "group"
	GranularityLogDir    = "log_dir"
)

// CollectorInfo describes a collector: its defaults and what it needs. The
// documentation is made from it.
type CollectorInfo struct {
	Name string
	// Help says what it reads, one line.
	Help string
	// Interval is the default; 0 means the cluster's interval.
	Interval time.Duration
	// Enabled is the default.
	Enabled bool
	// Granularities that may be chosen; the first is the default. Empty if
	// there is no choice.
	Granularities []string
	// ACLs is what the exporter's principal must be allowed, for people.
	ACLs string
}

var collectorInfos = []CollectorInfo{
	{
		Name: "topology", Enabled: true,
		Help: "brokers, racks, controller, topics, partitions, replicas and in-sync replicas",
		ACLs: "Describe on Topic (topics without it are not seen)",
	},
	{
		Name: "offsets", Enabled: true,
		Granularities: []string{GranularityPartition, GranularityTopic},
		Help:          "end offset of every partition",
		ACLs:          "Describe on Topic",
	},
	{
		Name: "start_offsets", Enabled: true, Interval: time.Minute,
		Help: "log start offset of every partition: what retention has left",
		ACLs: "Describe on Topic",
	},
	// As often as end offsets: against an older reading every partition that is
	// being written to would look as if a transaction were open.
	{
		Name: "stable_offsets", Enabled: true,
		Help: "last stable offset of every partition: how far read_committed consumers see",
		ACLs: "Describe on Topic",
	},
	{
		Name: "last_record", Enabled: false, Interval: time.Minute,
		Help: "timestamp of the newest record of every partition",
		ACLs: "Describe on Topic",
	},
	{
		Name: "groups", Enabled: true,
		Granularities: []string{GranularityPartition, GranularityTopic, GranularityGroup},
		Help:          "groups of every kind: state, members, committed offsets, lag",
		ACLs:          "Describe on Group; Describe on Topic; Read on Topic for lag.exact_groups",
	},
	{
		Name: "logdirs", Enabled: true, Interval: time.Minute,
		Granularities: []string{GranularityTopic, GranularityPartition, GranularityLogDir},
		Help:          "data directories: size, capacity, state, replicas being moved between them",
		ACLs:          "Describe on Cluster",
	},
	{
		Name: "configs", Enabled: true, Interval: 5 * time.Minute,
		Help: "topic and broker configurations that matter to rules; replication throttles",
		ACLs: "Describe on Topic; DescribeConfigs on Topic; DescribeConfigs on Cluster",
	},
	{
		Name: "reassignments", Enabled: true,
		Help: "partition reassignments in flight",
		ACLs: "Describe on Cluster",
	},
	{
		Name: "quotas", Enabled: true, Interval: time.Minute,
		Help: "client quotas of users, client ids and IPs, defaults included",
		ACLs: "DescribeConfigs on Cluster",
	},
	{
		Name: "transactions", Enabled: true, Interval: time.Minute,
		Help: "transactions by state; partitions with open and hanging transactions",
		ACLs: "Describe on TransactionalId; Read on Topic",
	},
	{
		Name: "acls", Enabled: true, Interval: 5 * time.Minute,
		Help: "number of access control entries by resource",
		ACLs: "Describe on Cluster",
	},
	{
		Name: "quorum", Enabled: true,
		Help: "KRaft metadata quorum: leader, voters, observers, how far behind they are",
		ACLs: "Describe on Cluster",
	},
}

// defaultTimeout bounds a collector's run unless its interval is shorter: long
// enough for a slow broker, short enough to leave the next run alone.
const defaultTimeout = 10 * time.Second

// CollectorInfos lists all collectors in the order of the documentation.
func CollectorInfos() []CollectorInfo { return slices.Clone(collectorInfos) }

// LookupCollector finds a collector by name.
func LookupCollector(name string) (CollectorInfo, bool) {
	i := slices.IndexFunc(collectorInfos, func(c CollectorInfo) bool { return c.Name == name })
	if i < 0 {
		return CollectorInfo{}, false
	}
	return collectorInfos[i], true
}

// ResolvedCollector is what holds for a collector after defaults.
type ResolvedCollector struct {
	Enabled           bool
	Interval, Timeout time.Duration
	// Granularity is "" for collectors without a choice.
	Granularity string
}

// Collector tells what holds for the named collector in this cluster. An
// unknown name is not enabled.
func (c *Cluster) Collector(name string) ResolvedCollector {
	info, ok := LookupCollector(name)
	if !ok {
		return ResolvedCollector{}
	}
	set := c.Collectors[name]
	r := ResolvedCollector{Enabled: info.Enabled, Interval: info.Interval, Granularity: set.Granularity}
	if set.Enabled != nil {
		r.Enabled = *set.Enabled
	}
	if set.Interval > 0 {
		r.Interval = time.Duration(set.Interval)
	}
	if r.Interval == 0 {
		r.Interval = time.Duration(c.Interval)
	}
	r.Timeout = min(r.Interval, defaultTimeout)
	if set.Timeout > 0 {
		r.Timeout = time.Duration(set.Timeout)
	}
	if r.Granularity == "" && len(info.Granularities) > 0 {
		r.Granularity = info.Granularities[0]
	}
	return r
}
