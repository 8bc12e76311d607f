// Package balance finds where replicas and leaders should be: rebalance,
// decommission, replace and expand. It is a pure function of a cluster and
// options: no clock, no input or output, the same plan for the same input.
//
// The search minimises a penalty (squares of what lies outside the band, by
// broker and resource) plus a price per byte that falls step by step, as in
// simulated annealing but without chance in what is accepted. While bytes are
// dear only moves that relieve much for little pay; as they get cheap, all
// brokers approach the band together and stop at its edge. Work grows with
// brokers × steps × (replicas of a broker + widths of the search).
package balance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// Rebalance evens out traffic, disk, counts and leaders over the brokers.
func Rebalance(c *model.Cluster, o Options) (*plan.Plan, error) {
	if err := validate(c, o); err != nil {
		return nil, err
	}
	if err := strictRacks(c, prepare(c, o, nil, nil)); err != nil {
		return nil, err
	}
	t := task{opts: o, repairRacks: true, evenDirs: true}
	a, found := repeat(c, t)
	return finish(newPlan(c, plan.Rebalance), t, a, found), nil
}

// Decommission empties brokers, alive or dead. Only what lies on them moves.
func Decommission(c *model.Cluster, brokers []int32, o Options) (*plan.Plan, error) {
	if err := validate(c, o); err != nil {
		return nil, err
	}
	drain, err := markBrokers(c, brokers)
	if err != nil {
		return nil, err
	}
	t := task{opts: o, drain: drain, forcedOnly: true}
	set := prepare(c, o, drain, nil)
	if set.members(c) == 0 {
		return nil, fmt.Errorf("no live broker would be left after emptying %s", names(brokers))
	}
	if err := strictRacks(c, set); err != nil {
		return nil, err
	}
	found := improve(c, t)
	return finish(newPlan(c, plan.Decommission), t, arrange(c, t, found.place), found), nil
}

// Expand puts load on new brokers. Nothing moves among the others.
func Expand(c *model.Cluster, brokers []int32, o Options) (*plan.Plan, error) {
	if err := validate(c, o); err != nil {
		return nil, err
	}
	only, err := markBrokers(c, brokers)
	if err != nil {
		return nil, err
	}
	for b := range c.Brokers {
		if only[b] && c.Brokers[b].Dead {
			return nil, fmt.Errorf("broker %d is dead and cannot take load", c.Brokers[b].ID)
		}
	}
	if err := strictRacks(c, prepare(c, o, nil, only)); err != nil {
		return nil, err
	}
	t := task{opts: o, only: only, seedLeaders: true}
	found := improve(c, t)
	return finish(newPlan(c, plan.Expand), t, arrange(c, t, found.place), found), nil
}

// repeat searches again from what a plan leads to until that gains less than
// MinGain: then a plan of the result is empty, since it is the same search.
func repeat(c *model.Cluster, t task) (*arranged, *outcome) {
	first := improve(c, t)
	best := arrange(c, t, first.place)
	if !worth(first, t.opts) || !best.worth(c, t.opts) {
		return arrange(c, t, best.unchanged()), first
	}
	if t.opts.MaxBytes > 0 || t.opts.MaxMoves > 0 {
		return best, first
	}
	const rounds = 8
	now := best.cluster()
	objective := outsideBand(now, t)
	for range rounds {
		if objective <= negligible && best.racks == 0 {
			break // nothing that is left would be worth a plan
		}
		next := improve(now, t)
		first.steps += next.steps
		if !worth(next, t.opts) || !arrange(now, t, next.place).worth(now, t.opts) {
			break
		}
		// The same places, now as seen by a reader of the plan, who knows c only.
		more := arrange(c, t, next.place)
		after := more.cluster()
		x := outsideBand(after, t)
		if more.racks > best.racks || more.racks == best.racks && x >= objective {
			break
		}
		best, now, objective = more, after, x
	}
	return best, first
}

// outsideBand is the objective of a cluster by its own fair shares.
func outsideBand(c *model.Cluster, t task) float64 {
	return newState(c, prepare(c, t.opts, t.drain, t.only)).outsideBand()
}

// worth tells whether a search gained enough to act on.
func worth(o *outcome, opts Options) bool {
	return o.rackRepairs > 0 || gains(o.before, o.after, opts)
}

func gains(before, after float64, opts Options) bool {
	return before-after > max(opts.MinGain*before, negligible)
}

// negligible is a gain not worth a plan: what one resource of one broker costs
// that lies 3 % of its fair share outside the band.
const negligible = 0.03 * 0.03

func newPlan(c *model.Cluster, op plan.Operation) *plan.Plan {
	return &plan.Plan{Operation: op, Cluster: c.Name, SnapshotHash: c.Hash(), Changes: []plan.Change{}}
}

func validate(c *model.Cluster, o Options) error {
	if problems := c.Validate(); len(problems) > 0 {
		return fmt.Errorf("the cluster cannot be planned on: %w", model.JoinProblems(problems))
	}
	if !(o.Band > margin && o.Band < 1) { // so that NaN is none either
		return fmt.Errorf("the band must be between %g and 1, not %g", margin, o.Band)
	}
	if prepare(c, o, nil, nil).members(c) == 0 {
		return fmt.Errorf("the cluster has no live broker")
	}
	for id := range o.Cordon {
		if _, ok := c.BrokerIndex(id); !ok {
			return fmt.Errorf("broker %d, which must not receive anything, is not in the cluster", id)
		}
	}
	return nil
}

func (s *settings) members(c *model.Cluster) int {
	n := 0
	for b := range c.Brokers {
		if s.member(c, b) {
			n++
		}
	}
	return n
}

func markBrokers(c *model.Cluster, ids []int32) ([]bool, error) {
	if len(ids) == 0 {
		return nil, fmt.Errorf("no broker is named")
	}
	mark := make([]bool, len(c.Brokers))
	for _, id := range ids {
		i, ok := c.BrokerIndex(id)
		if !ok {
			return nil, fmt.Errorf("broker %d is not in the cluster", id)
		}
		mark[i] = true
	}
	return mark, nil
}

func names(ids []int32) string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = fmt.Sprint(id)
	}
	return strings.Join(out, ", ")
}
