// Package snapshot holds what was read from one Kafka cluster, as plain data.
//
// A snapshot is partial by design: every subject (topology, offsets, groups …)
// is a part of its own with its own time of reading and its own list of what
// could not be read. Parts are immutable once published, so that a scrape may
// render one while the next is being read. The package imports nothing of the
// exporter and nothing that speaks Kafka: collectors that turn a snapshot into
// series cannot reach a broker even by mistake.
package snapshot

import "time"

// Unknown marks an offset, size or timestamp that was not read. No value that
// Kafka returns as a valid offset, size or time is negative.
const Unknown int64 = -1

// Cluster is everything known about one cluster at one moment. A nil part has
// never been read, is switched off, or is older than its limit.
type Cluster struct {
	// Name is the cluster's name from the configuration, the kafka_cluster label.
	Name string

	Topology      *Topology
	Quorum        *Quorum
	Offsets       *Offsets
	Groups        *Groups
	Lag           *Lag
	LogDirs       *LogDirs
	Configs       *Configs
	Reassignments *Reassignments
	Quotas        *Quotas
	Transactions  *Transactions
	ACLs          *ACLs

	// Collectors reports on every enabled collector, sorted by name.
	Collectors []CollectorStatus
	// RPCs counts requests to the cluster since the process started, sorted by
	// API then class.
	RPCs []RPCCount
	// RenamedLabels counts, by kind (group, client_id, …), names in this
	// snapshot that are not valid UTF-8 and were made visible.
	RenamedLabels map[string]int
}

// Missing names something that could not be read and why.
type Missing struct {
	// What is the thing: "broker 3", "group orders", "topic t".
	What string
	// Broker is the broker concerned, or -1.
	Broker int32
	// Class is the error class: auth, tls, acl, timeout, network, unsupported, other.
	Class string
	// Err is the message for people.
	Err string
}

// CollectorStatus is how one collector's last runs went.
type CollectorStatus struct {
	Name        string
	Success     bool
	Partial     bool
	Duration    time.Duration
	LastRun     time.Time
	LastSuccess time.Time
	// Interval is how often the collector runs.
	Interval time.Duration
	// Errors counts failures since the process started by error class. All
	// classes are present, zero from the start.
	Errors map[string]uint64
	// Denied is true when the last run was refused by the cluster's ACLs.
	Denied bool
	// Unsupported is true when the cluster does not offer what the collector needs.
	Unsupported bool
	// Missing lists what the last run could not read.
	Missing []Missing
}

// RPCCount counts requests of one API by outcome.
type RPCCount struct {
	API string
	// Class is "" for success, else the error class.
	Class string
	Count uint64
	// Seconds is the time spent in these requests in total.
	Seconds float64
}
