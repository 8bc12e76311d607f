// Package migration orders the changes of a plan into steps that a cluster can
// carry out: batches of partitions of similar size, bounded per broker and disk,
// with room on every disk at every moment, and an estimate of the time. It
// plans only; carrying out is somebody else's.
//
// # Two ways to carry a schedule out
//
// Batch by batch: all steps of a batch at once, the next batch when all are
// done. Bounds and disk space hold however long each step takes. This is what
// a person does with Kafka's own tool and one document per batch.
//
// As a stream: the steps in their order, each as soon as the bounds allow, the
// former step of its partition is done, and its disk has room for it and for
// every earlier step that is still to arrive there (or it is the first of
// these). Small moves then never wait for a big one between other brokers, and
// no step can be shut out by a later one. Start and End are of this way.
//
// # Steps of a partition
//
// One replica moves at a time: Kafka adds the new one, waits for it, and removes
// the old one. Every list in between has distinct brokers, is no shorter than
// both ends, and is no worse spread over racks than the worse of both ends where
// some order allows it. A move between brokers and one between log directories
// of a broker are never one step (Options.JoinDirMoves joins them): in Kafka up
// to 2.8 the pair was seen to hang for ever.
package migration

import (
	"fmt"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// Options bound a schedule. The zero value is useful.
type Options struct {
	// BrokerIn and BrokerOut are how many replicas are copied to and from a
	// broker at once; PerDisk how many copies read or write a disk at once.
	// 0 stands for 5 each.
	BrokerIn, BrokerOut, PerDisk int
	// Elections is how many leaderships a broker gains in a batch; 0 is 50.
	Elections int
	// BatchSteps bounds the steps of a batch; 0 is no bound.
	BatchSteps int
	// DiskReserve is the part of every disk that stays free at every moment;
	// 0 stands for 0.1. Negative means no reserve.
	DiskReserve float64
	// SmallFirst takes all small partitions before bigger ones. Without it each
	// batch has the size of the best change that is left.
	SmallFirst bool
	// JoinDirMoves lets one step move a partition between brokers and between
	// log directories.
	JoinDirMoves bool
	// NoTemporary forbids to break cycles on full disks by parking replicas.
	NoTemporary bool
	// Exclude lists ids of brokers that nothing is parked on.
	Exclude map[int32]bool

	// Bandwidth is what a broker's network carries each way, bytes/s, where the
	// model has no capacity; 0 is DefaultBandwidth. DiskBandwidth is a disk's; 0
	// is DefaultDiskBandwidth, or more for brokers known to take in more.
	Bandwidth, DiskBandwidth int64
	// Throttle is the replication throttle to be set on each broker and
	// direction, DirThrottle the one for moves between log directories of a
	// broker, bytes/s; 0 is none.
	Throttle, DirThrottle int64
	// Budget is what all copying together may take, bytes/s; 0 is no bound. It
	// shapes the suggested throttle.
	Budget int64
}

// Defaults of what an estimate assumes.
const (
	DefaultBandwidth     = 125_000_000 // 1 Gbit/s
	DefaultDiskBandwidth = 150_000_000
)

const (
	defaultConcurrency = 5
	defaultElections   = 50
	defaultReserve     = 0.1
)

func (o *Options) defaults() error {
	for _, x := range []struct {
		name string
		v    *int
		def  int
	}{{"BrokerIn", &o.BrokerIn, defaultConcurrency}, {"BrokerOut", &o.BrokerOut, defaultConcurrency}, {"PerDisk", &o.PerDisk, defaultConcurrency}, {"Elections", &o.Elections, defaultElections}, {"BatchSteps", &o.BatchSteps, 0}} {
		if *x.v < 0 {
			return fmt.Errorf("scheduling: %s is %d; give 0 for the default or more", x.name, *x.v)
		}
		if *x.v == 0 {
			*x.v = x.def
		}
	}
	for _, v := range []int64{o.Bandwidth, o.DiskBandwidth, o.Throttle, o.DirThrottle, o.Budget} {
		if v < 0 {
			return fmt.Errorf("scheduling: a rate of %d bytes/s cannot be; give 0 for the default or more", v)
		}
	}
	if o.Bandwidth == 0 {
		o.Bandwidth = DefaultBandwidth
	}
	switch {
	case o.DiskReserve == 0:
		o.DiskReserve = defaultReserve
	case o.DiskReserve < 0:
		o.DiskReserve = 0
	case o.DiskReserve >= 1:
		return fmt.Errorf("scheduling: a disk reserve of %g leaves nothing to use; give a part of 1", o.DiskReserve)
	}
	return nil
}

// Kind is what a step does.
type Kind string

// Kinds of steps.
const (
	// Move copies a replica to another broker and removes the one it replaces.
	Move Kind = "move"
	// DirMove copies a replica to another log directory of its broker.
	DirMove Kind = "dir"
	// Drop removes replicas.
	Drop Kind = "drop"
	// Order changes the order of preference only.
	Order Kind = "order"
	// Elect makes the first replica lead.
	Elect Kind = "elect"
)

// Schedule is the result.
type Schedule struct {
	// Steps are in order; those of a batch are neighbours.
	Steps   []Step  `json:"steps"`
	Batches []Batch `json:"batches"`
	// Refusals are changes that no order of steps can carry out. None of their
	// steps is in the schedule.
	Refusals []plan.Refusal `json:"refusals,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	// Unthrottled and Throttled estimate the time without a throttle and with
	// the one given, or else the one suggested.
	Unthrottled Estimate `json:"unthrottled"`
	Throttled   Estimate `json:"throttled"`
	Throttle    Throttle `json:"throttle"`
}

// Step is one thing to do with one partition.
type Step struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Kind      Kind   `json:"kind"`
	// From and To are the replicas before and after, in order of preference.
	From []plan.Replica `json:"from"`
	To   []plan.Replica `json:"to"`
	// OldLeader and Leader lead before and after, model.None for nobody. What
	// leads after a leader was removed is what Kafka chooses: the first replica.
	OldLeader int32 `json:"old_leader"`
	Leader    int32 `json:"leader"`
	// Bytes are copied between brokers, DirBytes between log directories.
	Bytes    int64 `json:"bytes"`
	DirBytes int64 `json:"dir_bytes,omitempty"`
	// Temporary steps park a replica where it does not stay.
	Temporary bool `json:"temporary,omitempty"`
	// Batch is the index in Batches, Change in the changes scheduled.
	Batch  int `json:"batch"`
	Change int `json:"change"`
	// Start and End are in milliseconds from the beginning, with
	// Options.Throttle if given.
	Start int64 `json:"start_ms"`
	End   int64 `json:"end_ms"`
}

// Batch is a set of steps that may run at once.
type Batch struct {
	// Steps from First to First+Count of the schedule are in it.
	First int `json:"first"`
	Count int `json:"count"`
	// Moves, DirMoves and Elections count steps of these kinds.
	Moves     int `json:"moves"`
	DirMoves  int `json:"dir_moves"`
	Elections int `json:"elections"`
	// Bytes and DirBytes are copied in all; the copies are from Smallest to
	// Largest bytes.
	Bytes    int64 `json:"bytes"`
	DirBytes int64 `json:"dir_bytes"`
	Smallest int64 `json:"smallest"`
	Largest  int64 `json:"largest"`
	// Millis is the time without a throttle if nothing else runs.
	Millis int64 `json:"ms"`
}

// Changes returns a batch's steps as changes, for plan.ToKafka and
// plan.WriteElection.
func (s *Schedule) Changes(batch int) []plan.Change {
	b := s.Batches[batch]
	out := make([]plan.Change, 0, b.Count)
	for i := b.First; i < b.First+b.Count; i++ {
		t := &s.Steps[i]
		out = append(out, plan.Change{
			Topic: t.Topic, Partition: t.Partition, From: t.From, To: t.To, OldLeader: t.OldLeader, NewLeader: t.Leader,
			Bytes: t.Bytes, DirBytes: t.DirBytes, Why: fmt.Sprintf("step of batch %d: %s", batch+1, t.Kind),
		})
	}
	return out
}

// Make makes the schedule of changes, best first, to a cluster. Changes that do
// not fit the cluster (unknown or doubled brokers, other replicas than the
// cluster has) are an error that names all of them, and nothing is scheduled.
// Changes that fit but cannot be carried out are refused. Same input, same
// schedule. O(steps · log steps + batches · brokers).
func Make(c *model.Cluster, changes []plan.Change, o Options) (*Schedule, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	s := &Schedule{Steps: []Step{}, Batches: []Batch{}}
	parts, problems := compile(c, changes, &o, s)
	if err := model.JoinProblems(problems); err != nil {
		return nil, fmt.Errorf("the changes cannot be scheduled, and none of them is: %w", err)
	}
	for {
		r := newRun(c, &o, parts)
		again := r.batches()
		s.Refusals = append(s.Refusals, r.refusals...)
		parts = r.alive()
		if !again {
			s.write(c, changes, r)
			r.estimate(s)
			return s, nil
		}
	}
}
