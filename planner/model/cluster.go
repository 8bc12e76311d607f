// Package model is the planner's vocabulary: a cluster, its brokers and disks,
// topics, partitions, replicas and their loads.
//
// A Cluster is a struct of arrays with int32 indexes, sorted by id and name, so
// that a million replicas fit in some tens of megabytes, loops run over plain
// slices and ties break the same way every time. Loads are int64 in base units
// (bytes, bytes per second, millionths of a percent of CPU): sums are exact and
// do not depend on the order of adding.
package model

import "math"

// Resource is a dimension of load.
type Resource int

// The resources that plans balance. In counts what a broker writes: as leader
// from producers, as follower from leaders. Out counts what it sends to
// consumers and followers: only the leader does.
const (
	In Resource = iota
	Out
	Disk
	CPU
	Replicas
	Leaders
	LeaderIn
	NumResources
)

// ResourceNames are the names in documents and tables.
var ResourceNames = [NumResources]string{"in", "out", "disk", "cpu", "replicas", "leaders", "leader-in"}

func (r Resource) String() string { return ResourceNames[r] }

// Vector is a load or a capacity by resource.
type Vector [NumResources]int64

// Add adds w.
func (v *Vector) Add(w *Vector) {
	for k := range v {
		v[k] += w[k]
	}
}

// Sub subtracts w.
func (v *Vector) Sub(w *Vector) {
	for k := range v {
		v[k] -= w[k]
	}
}

// None marks an absent index (no leader, no log dir, no group).
const None int32 = -1

// Unlimited is a capacity that is not known or does not bind.
const Unlimited int64 = math.MaxInt64

// Broker is one broker.
type Broker struct {
	ID   int32
	Rack string
	Host string
	// Group is the resource group's index in Cluster.Groups, None if the broker
	// is in none.
	Group int32
	// Dead brokers hold replicas but cannot receive or send.
	Dead bool
	// Capacity is what the broker can carry: bytes/s in and out, bytes of disk,
	// millionths of a percent of CPU. Unlimited where it is not known. Targets
	// are proportional to it; Replicas and Leaders follow Weight.
	Capacity Vector
	// Dirs are the log directories, nil when they are not known.
	Dirs []LogDir

	// groupName holds the group's name while a Builder works.
	groupName string
}

// LogDir is a data directory of a broker.
type LogDir struct {
	Path string
	// Capacity in bytes, Unlimited if not known.
	Capacity int64
	// Volume tells directories on one file system: equal numbers share the
	// capacity, which then counts once.
	Volume  int32
	Offline bool
}

// Topic is one topic.
type Topic struct {
	Name string
	// Group is the resource group whose brokers the topic lives on, None for all.
	Group             int32
	ReplicationFactor int32
	Internal          bool
}

// Cluster is a cluster at one moment.
type Cluster struct {
	Name    string
	Groups  []string // resource groups, sorted
	Brokers []Broker // sorted by ID
	Topics  []Topic  // sorted by name
	Racks   []string // sorted
	// RackOf is a broker's rack as an index into Racks.
	RackOf []int32

	// Partitions, sorted by topic then id. Topic holds indexes into Topics.
	Topic []int32
	ID    []int32
	// Off[p] to Off[p+1] are the partition's replica slots, in order of
	// preference: the first is the preferred leader.
	Off []int32
	// Leader is the leading replica's slot, None without a leader.
	Leader []int32
	// OutRate is what the leader sends, bytes/s; LeadCPU what leading costs on
	// top of following.
	OutRate, LeadCPU []int64
	// Moving partitions have a reassignment in flight. Their replicas here are
	// its target's.
	Moving []bool

	// Replica slots.
	Broker []int32 // index into Brokers
	Dir    []int32 // index into the broker's Dirs, None if not known
	Size   []int64 // bytes on this broker
	InRate []int64 // bytes/s written on this broker
	CPU    []int64 // cost of following
}

// NumPartitions is the number of partitions.
func (c *Cluster) NumPartitions() int { return len(c.Topic) }

// NumReplicas is the number of replicas.
func (c *Cluster) NumReplicas() int { return len(c.Broker) }

// Slots returns the range of a partition's replica slots.
func (c *Cluster) Slots(p int) (from, to int32) { return c.Off[p], c.Off[p+1] }

// RF is the number of replicas that a partition has.
func (c *Cluster) RF(p int) int { return int(c.Off[p+1] - c.Off[p]) }

// Load is what a replica costs its broker, leading or not.
func (c *Cluster) Load(p int, slot int32, leads bool) Vector {
	v := Vector{In: c.InRate[slot], Disk: c.Size[slot], CPU: c.CPU[slot], Replicas: 1}
	if leads {
		v[Out], v[Leaders], v[LeaderIn] = c.OutRate[p], 1, c.InRate[slot]
		v[CPU] += c.LeadCPU[p]
	}
	return v
}

// BrokerLoads sums the loads of every broker. O(replicas).
func (c *Cluster) BrokerLoads() []Vector {
	loads := make([]Vector, len(c.Brokers))
	for p := range c.Topic {
		for s := c.Off[p]; s < c.Off[p+1]; s++ {
			v := c.Load(p, s, c.Leader[p] == s)
			loads[c.Broker[s]].Add(&v)
		}
	}
	return loads
}

// BrokerIndex finds a broker by id. O(log brokers).
func (c *Cluster) BrokerIndex(id int32) (int32, bool) {
	lo, hi := 0, len(c.Brokers)
	for lo < hi {
		m := (lo + hi) / 2
		if c.Brokers[m].ID < id {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(c.Brokers) && c.Brokers[lo].ID == id {
		return int32(lo), true
	}
	return None, false
}
