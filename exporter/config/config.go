// Package config reads the exporter's configuration, steward.yml.
//
// Reading is strict: an unknown key, a wrong type, a value out of range are
// errors, and all errors of a file are reported together, each with its line.
// Nothing in the file is expanded. Secrets are never written in it: fields
// named *_file and *_env say where they are.
package config

import (
	"time"

	"github.com/prometheus/common/model"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
)

// Config is the whole file.
type Config struct {
	// Clusters are the Kafka clusters to observe, at least one.
	Clusters []Cluster `yaml:"clusters"`
}

// Cluster is one Kafka cluster: how to reach it and what to read from it.
type Cluster struct {
	// Name is the kafka_cluster label; required and unique.
	Name string `yaml:"name"`
	// Config says how to connect: bootstrap_servers, tls, sasl …
	connect.Config `yaml:",inline"`
	// Interval is how often collectors without an interval of their own run.
	Interval model.Duration `yaml:"interval"`
	// MaxAge is how old data may be and still be exported; see [Cluster.Limit].
	MaxAge model.Duration `yaml:"max_age"`
	// Topics and Groups say which of them are read at all.
	Topics Filter `yaml:"topics"`
	Groups Filter `yaml:"groups"`
	// Shard is the share of the topics that this process reads.
	Shard Shard `yaml:"shard"`
	// ResourceGroups name sets of brokers; a broker is in at most one.
	ResourceGroups map[string]ResourceGroup `yaml:"resource_groups"`
	// Collectors overrides defaults by collector name, see [CollectorInfos].
	Collectors map[string]Collector `yaml:"collectors"`
	// Lag says how consumer lag is computed.
	Lag Lag `yaml:"lag"`
	// Metrics overrides what is exported, by family name.
	Metrics map[string]Metric `yaml:"metrics"`
}

// Shard selects topics by a hash of their name, so that several processes
// share one cluster. The zero value is not valid; {0, 1} selects everything.
type Shard struct {
	// Index is this process's share, 0 ≤ Index < Of.
	Index int `yaml:"index"`
	// Of is the number of shares, at least 1.
	Of int `yaml:"of"`
}

// ResourceGroup is a named set of brokers.
type ResourceGroup struct {
	Brokers []int32 `yaml:"brokers"`
}

// Collector overrides a collector's defaults. Zero fields keep the default;
// use [Cluster.Collector] to read the outcome.
type Collector struct {
	Enabled     *bool          `yaml:"enabled"`
	Interval    model.Duration `yaml:"interval"`
	Timeout     model.Duration `yaml:"timeout"`
	Granularity string         `yaml:"granularity"`
}

// Values of Lag.Uncommitted.
const (
	// UncommittedSkip: a partition without a commit has no lag.
	UncommittedSkip = "skip"
	// UncommittedFull: it has none either, but what lies in it is exported as
	// kafka_group_uncommitted_records.
	UncommittedFull = "full"
)

// Lag says how consumer lag is computed.
type Lag struct {
	// Uncommitted is what a partition without a commit counts as:
	// [UncommittedSkip] or [UncommittedFull].
	Uncommitted string `yaml:"uncommitted"`
	// Window is the time over which the verdict is made.
	Window model.Duration `yaml:"window"`
	// HistoryPoints is how many (time, end offset) points are kept for each
	// partition, to tell lag in seconds.
	HistoryPoints int `yaml:"history_points"`
	// ExactGroups are the groups whose lag in seconds is read from the record
	// at the committed offset. Nil means none; see [Lag.Exact].
	ExactGroups *Filter `yaml:"exact_groups"`
	// AssignedTopicsOnly leaves out topics that a stable group has committed
	// but is not assigned any more.
	AssignedTopicsOnly bool `yaml:"assigned_topics_only"`
}

// Exact tells whether the group's lag in seconds is read from the record.
func (l *Lag) Exact(group string) bool {
	return l.ExactGroups != nil && l.ExactGroups.Match(group)
}

// Metric overrides how one family is exported.
type Metric struct {
	// Enabled nil keeps the default.
	Enabled *bool `yaml:"enabled"`
	// KeepLabels nil keeps all labels; otherwise series are summed over the
	// labels that are not listed. kafka_cluster is always kept.
	KeepLabels []string `yaml:"keep_labels"`
	// Include and Exclude choose series by the value of a label: every
	// Include must match and no Exclude may.
	Include map[string]Regexp `yaml:"include"`
	Exclude map[string]Regexp `yaml:"exclude"`
	// MaxSeries is the most series of the family in this cluster; the rest is
	// folded into one. 0 keeps the default.
	MaxSeries int `yaml:"max_series"`
}

// Limit is how old a part that is read every interval may be and still be
// exported: max_age or three intervals, whichever is longer.
func (c *Cluster) Limit(interval time.Duration) time.Duration {
	return max(time.Duration(c.MaxAge), 3*interval)
}
