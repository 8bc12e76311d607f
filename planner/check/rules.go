// Package check judges plans. It is written from the rules alone and shares no
// code with the search that makes plans, so that a fault in one does not hide
// in the other. Every plan has to pass before anybody sees it.
//
// # Which copy is which
//
// A change lists brokers, not copies. Copies of one partition may differ in
// size and load, so the figures after a change need a rule: a broker that is in
// From and To keeps its own copy; brokers that are only in To take the figures
// of those that are only in From, first for first in the order of the lists.
// Brokers beyond that (a higher replication factor) take the leader's figures,
// or the first replica's if nobody leads. Partitions to be created are empty.
//
// # Fair shares
//
// A broker's fair share of a resource is its resource group's load on live and
// dead brokers together, divided among the group's brokers that are neither
// dead nor to be emptied, in proportion to capacity, or evenly if the capacity
// of one of them is not known. Counts (replicas, leaders) are divided by
// their own capacities if known, by disks if CountsFollowDisk, else evenly. The
// loads are those before the plan, because that is what the plan aimed at;
// a plan that changes the number of replicas is measured by the loads after it.
//
// # Figures
//
// Spreads are taken over brokers with a share: load divided by share, its
// greatest, its least, the root of the mean squared distance from 1, and the
// part of brokers within the band. Without any load all are 0.
// Bytes copied to a broker count as its BytesIn; those copied from the leader
// that a partition has before the plan as its BytesOut.
package check

import (
	"fmt"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

func (t TopicPartition) String() string { return fmt.Sprintf("%s-%d", t.Topic, t.Partition) }

// RackRule says what a plan may do to the spread over racks.
type RackRule int

const (
	// RacksNoWorse lets a changed partition have as many copies in a rack as it
	// had at most in one before, or as the racks force.
	RacksNoWorse RackRule = iota
	// RacksSpread lets a changed partition have no more copies in a rack than
	// the racks force.
	RacksSpread
	// RacksDistinct lets a changed partition have one copy in a rack.
	RacksDistinct
)

// Rules are what was asked of a plan. The zero value asks for a plain
// rebalance that may use all of every capacity.
type Rules struct {
	// Band is how far from its fair share a broker may be: 0.05 is ±5 %.
	Band float64
	// Margin is how much narrower than Band the search aims; the objective is
	// compared at Band-Margin.
	Margin float64
	// Weights and Under weigh the objective: a broker's distance above the band
	// counts Weights, below it Weights·Under. All zero means all 1.
	Weights, Under [model.NumResources]float64
	// Objective, if set, replaces the built-in one. Lower is better.
	Objective func(*model.Cluster) float64
	// CapacityShare is the part of capacity that a plan may use, 0 means all.
	CapacityShare [model.NumResources]float64
	// Drift is how far, in shares of it, the load of what is above its limit may
	// rise all the same: 0 for the cluster that a plan was made for. On a cluster
	// that was read again sizes have changed, and a broker that gives a copy away
	// for one of the same size may seem to gain some bytes.
	Drift float64
	// DirShare is the part of a volume that a plan may fill, 0 means all.
	DirShare float64
	// CountsFollowDisk gives bigger brokers more replicas and leaders.
	CountsFollowDisk bool

	// Exclude lists topics, Keep partitions, that may not be changed at all.
	Exclude map[string]bool
	Keep    map[TopicPartition]bool
	// Pin lists partitions whose replicas stay; who leads may change.
	Pin map[TopicPartition]bool
	// Drain lists brokers that receive nothing and must end empty.
	Drain map[int32]bool
	// Cordon lists brokers that receive nothing but keep what they have.
	Cordon map[int32]bool
	// NoLead lists brokers that may not become leader.
	NoLead map[int32]bool
	// New lists the brokers that an expansion moves replicas to.
	New map[int32]bool
	// RF is the wanted replication factor of topics. Topics that are not in it
	// keep theirs.
	RF map[string]int
	// Racks is how strict the rule about racks is.
	Racks RackRule
	// MaxBytes and MaxMoves bound what the plan may copy; 0 is no bound.
	MaxBytes int64
	MaxMoves int
	// Group is the resource group of topics to be created, "" for all brokers.
	Group string
}

// Plan returns everything that is wrong with a plan for a cluster; nothing for
// a good plan. Where a change does not fit the cluster at all (no such
// partition or broker, other replicas than the plan expects), what follows from
// all changes together is not judged. O(replicas + topics·brokers of changed
// topics).
func Plan(c *model.Cluster, p *plan.Plan, rules Rules) []model.Problem {
	k := newChecker(c, p, rules)
	k.plan()
	return k.problems
}

// checker is one run of the checks.
type checker struct {
	c *model.Cluster
	p *plan.Plan
	r *Rules

	receive  []bool // broker is neither dead nor to be emptied
	refused  map[TopicPartition]bool
	changes  []resolved
	racks    *rackLimits
	after    *model.Cluster
	problems []model.Problem
}

func newChecker(c *model.Cluster, p *plan.Plan, rules Rules) *checker {
	k := &checker{c: c, p: p, r: &rules, refused: map[TopicPartition]bool{}}
	if rules.Weights == ([model.NumResources]float64{}) {
		fill(&rules.Weights, 1)
	}
	if rules.Under == ([model.NumResources]float64{}) {
		fill(&rules.Under, 1)
	}
	for i, s := range rules.CapacityShare {
		if s == 0 {
			rules.CapacityShare[i] = 1
		}
	}
	if rules.DirShare == 0 {
		rules.DirShare = 1
	}
	for i := range c.Brokers {
		k.receive = append(k.receive, !c.Brokers[i].Dead && !rules.Drain[c.Brokers[i].ID])
	}
	for _, f := range p.Refusals {
		k.refused[TopicPartition{f.Topic, f.Partition}] = true
	}
	k.racks = newRackLimits(c, k.receive)
	return k
}

func fill(v *[model.NumResources]float64, x float64) {
	for i := range v {
		v[i] = x
	}
}

func (k *checker) bad(where, format string, args ...any) {
	k.problems = append(k.problems, model.Problem{Where: where, Reason: fmt.Sprintf(format, args...)})
}

func (k *checker) plan() {
	k.identity()
	changes, problems := resolve(k.c, k.p.Changes, k.r.Group)
	k.problems = append(k.problems, problems...)
	k.changes = changes
	for i := range k.changes {
		k.change(&k.changes[i])
	}
	k.refusals()
	if len(problems) > 0 {
		return
	}
	k.after = apply(k.c, k.changes)
	k.created()
	k.drained()
	k.budget()
	k.capacity()
	k.goals()
	k.figures()
}

// identity compares what the plan says it was made for.
func (k *checker) identity() {
	if k.p.Cluster != k.c.Name {
		k.bad("plan", "was made for cluster %q, not for %q", k.p.Cluster, k.c.Name)
	}
	if h := k.p.SnapshotHash; h != "" {
		if now := k.c.Hash(); now != h {
			k.bad("plan", "was made on snapshot %s, the cluster is at %s now", h, now)
		}
	}
}

// refusals must be about partitions that exist or were to be created.
func (k *checker) refusals() {
	for _, f := range k.p.Refusals {
		if _, ok := findPartition(k.c, f.Topic, f.Partition); !ok && !creates(k.p.Operation) {
			k.bad(TopicPartition{f.Topic, f.Partition}.String(), "is refused (%s) but does not exist", f.Reason)
		}
	}
}

// drained brokers end empty, but for partitions that the plan refuses to move.
func (k *checker) drained() {
	if len(k.r.Drain) == 0 {
		return
	}
	a := k.after
	for p := range a.Topic {
		tp := TopicPartition{a.Topics[a.Topic[p]].Name, a.ID[p]}
		for s := a.Off[p]; s < a.Off[p+1]; s++ {
			if id := a.Brokers[a.Broker[s]].ID; k.r.Drain[id] && !k.refused[tp] {
				k.bad(tp.String(), "stays on broker %d, which must end empty, and the plan does not say why", id)
			}
		}
	}
}

// budget compares the plan with what it may copy.
func (k *checker) budget() {
	var bytes int64
	moves := 0
	for i := range k.changes {
		bytes += k.changes[i].bytes(k.c)
		moves += k.changes[i].moves()
	}
	if k.r.MaxBytes > 0 && bytes > k.r.MaxBytes {
		k.bad("plan", "copies %d bytes, more than the %d allowed", bytes, k.r.MaxBytes)
	}
	if k.r.MaxMoves > 0 && moves > k.r.MaxMoves {
		k.bad("plan", "moves %d replicas, more than the %d allowed", moves, k.r.MaxMoves)
	}
}
