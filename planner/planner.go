// Package planner plans changes of a Kafka cluster: one call per operation, from
// a snapshot to a plan that can be believed.
//
// Every call searches, computes what no plan can beat (package bounds), has the
// plan judged by a checker that shares no code with the search (package check),
// and orders it into batches (package migration). A plan that the checker finds
// fault with is never returned. Nothing is carried out, there is no clock and no
// input or output: the same snapshot and request give the same result, byte for
// byte.
package planner

import (
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/migration"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/placement"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// Result is a plan with what it was made from and how to carry it out. In JSON
// it is the document that the command line writes and reads.
type Result struct {
	// Format is FormatPlan.
	Format string `json:"format"`
	// Request is what was asked for.
	Request Request `json:"request"`
	// Source tells where the cluster's figures come from.
	Source Source     `json:"source"`
	Plan   *plan.Plan `json:"plan"`
	// Schedule orders the changes into batches; nil for plans that only create
	// partitions, which takes no copying.
	Schedule *migration.Schedule `json:"schedule,omitempty"`
	// Explanations tell about single partitions that were asked about.
	Explanations []Explanation `json:"explanations,omitempty"`
}

// Refused tells whether something that was asked for is not in the plan or
// cannot be carried out.
func (r *Result) Refused() bool {
	return len(r.Plan.Refusals) > 0 || r.Schedule != nil && len(r.Schedule.Refusals) > 0
}

// Rebalance evens out traffic, disk, leaders and counts over brokers and disks.
func Rebalance(s *model.Snapshot, o Options) (*Result, error) {
	return Make(s, Request{Operation: plan.Rebalance, Options: o})
}

// Decommission empties brokers, alive or dead.
func Decommission(s *model.Snapshot, brokers []int32, o Options) (*Result, error) {
	return Make(s, Request{Operation: plan.Decommission, Brokers: brokers, Options: o})
}

// Replace puts what lies on old brokers onto new ones, position for position.
func Replace(s *model.Snapshot, pairs []balance.Pair, o Options) (*Result, error) {
	r := Request{Operation: plan.Replace, Options: o}
	for _, p := range pairs {
		r.Pairs = append(r.Pairs, Pair(p))
	}
	return Make(s, r)
}

// Expand puts load on new brokers and moves nothing among the others.
func Expand(s *model.Snapshot, brokers []int32, o Options) (*Result, error) {
	return Make(s, Request{Operation: plan.Expand, Brokers: brokers, Options: o})
}

// Place places a new topic in a resource group, "" for all brokers.
func Place(s *model.Snapshot, topic string, partitions, replicationFactor int, group string, load placement.Load, o Options) (*Result, error) {
	return Make(s, Request{
		Operation: plan.Place, Topics: []string{topic}, Partitions: partitions, ReplicationFactor: replicationFactor,
		Group: group, Load: Load(load), Options: o,
	})
}

// AddPartitions places n more partitions of a topic.
func AddPartitions(s *model.Snapshot, topic string, n int, o Options) (*Result, error) {
	return Make(s, Request{Operation: plan.AddParts, Topics: []string{topic}, Partitions: n, Options: o})
}

// ChangeRF gives topics another replication factor.
func ChangeRF(s *model.Snapshot, topics []string, replicationFactor int, o Options) (*Result, error) {
	return Make(s, Request{Operation: plan.ChangeRF, Topics: topics, ReplicationFactor: replicationFactor, Options: o})
}

// Elect makes the first replica of partitions lead; no topics means all.
func Elect(s *model.Snapshot, topics []string, o Options) (*Result, error) {
	return Make(s, Request{Operation: plan.Elect, Topics: topics, Options: o})
}

// Make makes the plan that is asked for. Where the cluster has no rates at all,
// no topic counts as idle: sizes and counts are planned by. The error is a *CheckError if the
// checker found fault with it.
func Make(s *model.Snapshot, r Request) (*Result, error) {
	c := s.Cluster
	r.normalise()
	if !traffic(c) {
		r.Options.LeaveIdle = false // nothing is known of what is idle
	}
	r.Options.progress("searching")
	p, err := r.search(c)
	if err != nil {
		return nil, err
	}
	return finish(s, &r, p)
}

// traffic tells whether anything is known about rates.
func traffic(c *model.Cluster) bool {
	positive := func(x int64) bool { return x > 0 }
	return slices.ContainsFunc(c.InRate, positive) || slices.ContainsFunc(c.OutRate, positive)
}

// finish adds bounds, checks and schedules.
func finish(s *model.Snapshot, r *Request, p *plan.Plan) (*Result, error) {
	c := s.Cluster
	if p.SnapshotHash == "" {
		p.SnapshotHash = c.Hash()
	}
	r.Options.progress("computing bounds")
	if err := addBounds(c, r, p); err != nil {
		return nil, err
	}
	r.Options.progress("checking")
	if problems := Check(c, r, p); len(problems) > 0 {
		return nil, &CheckError{Operation: p.Operation, Problems: problems}
	}
	out := &Result{Format: FormatPlan, Request: *r, Source: sourceOf(s), Plan: p}
	if p.Operation == plan.Place || p.Operation == plan.AddParts {
		return out, nil
	}
	r.Options.progress("scheduling")
	var err error
	if out.Schedule, err = migration.Make(c, p.Changes, r.Options.migration(r.drained())); err != nil {
		return nil, err
	}
	return out, nil
}
