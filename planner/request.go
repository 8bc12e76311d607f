package planner

import (
	"fmt"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/check"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/placement"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// Import is the operation of plans that were read from Kafka's reassignment
// documents.
const Import plan.Operation = "import"

// Request is what is asked of a plan.
type Request struct {
	Operation plan.Operation `json:"operation"`
	// Brokers are to be emptied (decommission) or to receive (expand).
	Brokers []int32 `json:"brokers,omitempty"`
	// Pairs are brokers and those that take their place.
	Pairs []Pair `json:"pairs,omitempty"`
	// Topics are to be placed, changed or elected leaders for.
	Topics            []string `json:"topics,omitempty"`
	Partitions        int      `json:"partitions,omitempty"`
	ReplicationFactor int      `json:"replication_factor,omitempty"`
	// Group is the resource group of a new topic, Load what it is expected to
	// carry.
	Group string `json:"group,omitempty"`
	Load  Load   `json:"load,omitzero"`
	// RF are the replication factors by topic that an imported document sets.
	RF      map[string]int `json:"rf,omitempty"`
	Options Options        `json:"options"`
}

// Pair is balance.Pair with names for JSON.
type Pair struct {
	Old int32 `json:"old"`
	New int32 `json:"new"`
}

// Load is placement.Load with names for JSON.
type Load struct {
	In    int64 `json:"in,omitempty"`
	Out   int64 `json:"out,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
}

// normalise sorts what is a set, so that the same request in another order
// gives the same plan.
func (r *Request) normalise() {
	sorted(&r.Brokers)
	sorted(&r.Topics)
	sorted(&r.Options.Exclude)
	sorted(&r.Options.Cordon)
}

func sorted[T int32 | string](list *[]T) {
	*list = slices.Clone(*list)
	slices.Sort(*list)
	*list = slices.Compact(*list)
}

func (r *Request) topic() (string, error) {
	if len(r.Topics) != 1 {
		return "", fmt.Errorf("a plan to %s is for one topic, not %d", r.Operation, len(r.Topics))
	}
	return r.Topics[0], nil
}

func (r *Request) search(c *model.Cluster) (*plan.Plan, error) {
	switch r.Operation {
	case plan.Rebalance:
		return balance.Rebalance(c, r.Options.Balance())
	case plan.Decommission:
		return balance.Decommission(c, r.Brokers, r.Options.Balance())
	case plan.Expand:
		return balance.Expand(c, r.Brokers, r.Options.Balance())
	case plan.Replace:
		pairs := make([]balance.Pair, len(r.Pairs))
		for i, p := range r.Pairs {
			pairs[i] = balance.Pair(p)
		}
		return balance.Replace(c, pairs, r.Options.Balance())
	}
	return r.place(c)
}

// place is for the operations of package placement, which expects a cluster
// that can be planned on and brokers that exist.
func (r *Request) place(c *model.Cluster) (*plan.Plan, error) {
	if err := model.JoinProblems(c.Validate()); err != nil {
		return nil, fmt.Errorf("the cluster cannot be planned on: %w", err)
	}
	if err := r.known(c); err != nil {
		return nil, err
	}
	switch r.Operation {
	case plan.Place:
		topic, err := r.topic()
		if err != nil {
			return nil, err
		}
		return placement.Place(c, placement.Request{
			Topic: topic, Partitions: r.Partitions, ReplicationFactor: r.ReplicationFactor,
			Group: r.Group, Load: placement.Load(r.Load), Options: r.Options.placement(),
		})
	case plan.AddParts:
		topic, err := r.topic()
		if err != nil {
			return nil, err
		}
		return placement.AddPartitions(c, topic, r.Partitions, r.Options.placement())
	case plan.ChangeRF:
		return placement.ChangeRF(c, r.Topics, r.ReplicationFactor, r.Options.placement())
	case plan.Elect:
		e, err := placement.Elect(c, placement.ElectOptions{Topics: r.electable(c), PerBroker: r.Options.Schedule.Elections, Exclude: set(r.Options.Cordon)})
		if err != nil {
			return nil, err
		}
		return e.Plan, nil
	}
	return nil, fmt.Errorf("%q is no operation of the planner", r.Operation)
}

func (r *Request) known(c *model.Cluster) error {
	for _, id := range r.Options.Cordon {
		if _, ok := c.BrokerIndex(id); !ok {
			return fmt.Errorf("broker %d, which must not receive anything, is not in the cluster", id)
		}
	}
	for _, t := range r.Topics {
		if slices.Contains(r.Options.Exclude, t) {
			return fmt.Errorf("topic %s is both asked for and excluded", t)
		}
	}
	return nil
}

// electable are the topics to elect leaders for.
func (r *Request) electable(c *model.Cluster) []string {
	if len(r.Topics) > 0 || len(r.Options.Exclude) == 0 {
		return r.Topics
	}
	out := []string{}
	for i := range c.Topics {
		if _, excluded := slices.BinarySearch(r.Options.Exclude, c.Topics[i].Name); !excluded {
			out = append(out, c.Topics[i].Name)
		}
	}
	return out
}

// drained are the brokers that must end empty.
func (r *Request) drained() []int32 {
	switch r.Operation {
	case plan.Decommission:
		return r.Brokers
	case plan.Replace:
		out := make([]int32, len(r.Pairs))
		for i, p := range r.Pairs {
			out[i] = p.Old
		}
		return out
	}
	return nil
}

// rules are what the checker is to judge by.
func (r *Request) rules() check.Rules {
	rules := r.Options.rules()
	rules.Drain = set(r.drained())
	switch r.Operation {
	case plan.Expand:
		rules.New = set(r.Brokers)
	case plan.Place, plan.AddParts:
		rules.Group = r.Group
		if r.Options.StrictRacks {
			rules.Racks = check.RacksDistinct
		}
	case plan.ChangeRF:
		rules.Band = figureBand
		rules.RF = map[string]int{}
		for _, t := range r.Topics {
			rules.RF[t] = r.ReplicationFactor
		}
	case plan.Elect:
		rules.Band = figureBand
		rules.NoLead, rules.Cordon = rules.Cordon, nil
	case Import:
		rules.RF = r.RF
	}
	return rules
}

// figureBand is the band that package placement counts brokers in.
const figureBand = 0.05
