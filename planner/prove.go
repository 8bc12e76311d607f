package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kafka-steward/kafka-steward/planner/bounds"
	"github.com/kafka-steward/kafka-steward/planner/check"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// CheckError says that a plan breaks rules.
type CheckError struct {
	Operation plan.Operation
	Problems  []model.Problem
}

const shownProblems = 20

func (e *CheckError) Error() string {
	var b strings.Builder
	if e.Operation == Import {
		fmt.Fprintf(&b, "the document breaks %d rules and is not used:", len(e.Problems))
	} else {
		fmt.Fprintf(&b, "the plan to %s breaks %d rules and is not shown; this is a bug, please report it with the snapshot:", e.Operation, len(e.Problems))
	}
	for i, p := range e.Problems {
		if i == shownProblems {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Problems)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %v", p)
	}
	return b.String()
}

// Check returns everything that is wrong with a plan for a cluster, by the
// rules of the request it was made for. It shares no code with the search.
func Check(c *model.Cluster, r *Request, p *plan.Plan) []model.Problem {
	if r.Operation != p.Operation {
		return []model.Problem{{Where: "plan", Reason: fmt.Sprintf("is to %s, asked for was to %s", p.Operation, r.Operation)}}
	}
	return check.Plan(c, p, r.rules())
}

// drift is what sizes may change between two readings without making a plan
// look as if it overloaded a broker that was above its limit before.
const drift = 0.01

// CheckNow is Check for a cluster that was read again: sizes, loads and
// capacities are never the same twice, so that the plan's figures are computed
// anew and only what it does is judged.
func CheckNow(c *model.Cluster, r *Request, p *plan.Plan) []model.Problem {
	now := *p
	now.Changes = slices.Clone(p.Changes)
	sum, err := summarise(c, now.Changes, r)
	if err != nil {
		return Check(c, r, p) // says what does not fit
	}
	if len(p.Summary.Resources) == 0 {
		sum.Resources = nil
	}
	now.Summary = sum
	if r.Operation != p.Operation {
		return Check(c, r, &now) // says so
	}
	rules := r.rules()
	rules.Drift = drift
	return check.Plan(c, &now, rules)
}

// addBounds enters what no plan can beat. Plans that create partitions have no
// figures of evenness to compare with.
func addBounds(c *model.Cluster, r *Request, p *plan.Plan) error {
	s := &p.Summary
	if len(s.Resources) != int(model.NumResources) {
		return nil
	}
	o := bounds.Options{Drain: set(r.drained()), CountsFollowDisk: r.Options.CountsFollowDisk, RacksStay: p.Operation != plan.Rebalance}
	switch p.Operation {
	case plan.Rebalance:
		// An expansion does not have to bring the old brokers into the band, so
		// that this is no bound for it.
		s.BytesBound = bounds.Bytes(c, r.Options.Band, o)
	case plan.Decommission, plan.Replace:
		// Evenness is not asked for: only what must leave counts. What the plan
		// refuses to move does not have to leave.
		if len(p.Refusals) == 0 {
			s.BytesBound = bounds.Bytes(c, math.Inf(1), o)
		}
	case plan.ChangeRF:
		after, err := check.Apply(c, p.Changes)
		if err != nil {
			return fmt.Errorf("the plan does not fit the cluster; this is a bug, please report it: %w", err)
		}
		c = after
	}
	for k := range model.NumResources {
		b := bounds.Worst(c, k, o)
		s.Resources[k].Bound = b.Share
		if b.Binds != bounds.Total && b.Share > 1+r.Options.Band {
			addLimit(p, k, b)
		}
	}
	return nil
}

// addLimit lists what binds, unless the search did already.
func addLimit(p *plan.Plan, k model.Resource, b bounds.Bound) {
	for _, l := range p.Limits {
		if l.Resource == k.String() && l.Item == b.Item {
			return
		}
	}
	advice := "one partition is more than a broker's fair share: more partitions for its topic, or a larger broker"
	if b.Binds == bounds.Rack {
		advice = "the rack has to hold more copies than a fair share for its brokers: add brokers to it, or even out the racks"
	}
	p.Limits = append(p.Limits, plan.Limit{Resource: k.String(), Item: b.Item, Share: math.Round(b.Share*1000) / 1000, Advice: advice})
}
