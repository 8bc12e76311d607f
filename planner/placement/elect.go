package placement

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// ElectOptions shape a plan of elections.
type ElectOptions struct {
	// Topics limits the elections to some topics; nil means all.
	Topics []string
	// PerBroker is how many leaderships a broker may gain in one step; 0 is 50.
	PerBroker int
	// Exclude lists ids of brokers that are not to become leaders.
	Exclude map[int32]bool
}

// DefaultElections is how many leaderships a broker gains in one step.
const DefaultElections = 50

// Elections are preferred-leader elections in steps.
type Elections struct {
	Plan *plan.Plan
	// Steps are the ends of the steps in Plan.Changes: step i is
	// Changes[Steps[i-1]:Steps[i]].
	Steps []int
}

// Elect plans to give partitions back to their first replica where another one
// leads. Elections that relieve most come first; no broker gains more than
// PerBroker leaderships in a step. Partitions that are moving, or whose first
// replica is on a dead broker or an offline log dir, are refused: the election
// would fail or stop the partition. O(partitions · log partitions).
func Elect(c *model.Cluster, o ElectOptions) (*Elections, error) {
	per := o.PerBroker
	if per == 0 {
		per = DefaultElections
	}
	if per < 0 {
		return nil, fmt.Errorf("electing leaders: %d leaderships per step cannot be; give 1 or more", per)
	}
	only := map[int32]bool{}
	for _, name := range o.Topics {
		t, ok := findTopic(c, name)
		if !ok {
			return nil, fmt.Errorf("electing leaders of topic %s: cluster %s does not have it", name, c.Name)
		}
		only[t] = true
	}
	e := &Elections{Plan: &plan.Plan{Operation: plan.Elect, Cluster: c.Name, SnapshotHash: c.Hash()}}
	var parts []int
	for p := range c.Topic {
		if c.Leader[p] == c.Off[p] || o.Topics != nil && !only[c.Topic[p]] {
			continue
		}
		if reason, detail := notElectable(c, &o, p); reason != "" {
			e.Plan.Refusals = append(e.Plan.Refusals, plan.Refusal{Topic: c.Topics[c.Topic[p]].Name, Partition: c.ID[p], Reason: reason, Detail: detail})
			continue
		}
		parts = append(parts, p)
	}
	e.step(c, parts, per)
	summarise(c, e.Plan, model.None, Load{})
	return e, nil
}

func notElectable(c *model.Cluster, o *ElectOptions, p int) (reason, detail string) {
	s := c.Off[p]
	b := &c.Brokers[c.Broker[s]]
	switch {
	case c.Moving[p]:
		return "moving", "a reassignment of it is in flight; its replicas are not in place"
	case b.Dead:
		return "brokers", fmt.Sprintf("its first replica is on broker %d, which is dead", b.ID)
	case o.Exclude[b.ID]:
		return "excluded", fmt.Sprintf("its first replica is on broker %d, which is not to lead", b.ID)
	case c.Dir[s] != model.None && b.Dirs[c.Dir[s]].Offline:
		return "disk", fmt.Sprintf("its first replica is in log dir %s of broker %d, which is offline", b.Dirs[c.Dir[s]].Path, b.ID)
	}
	return "", ""
}

// step writes the elections, each in the first step in which its broker gains
// few enough.
func (e *Elections) step(c *model.Cluster, parts []int, per int) {
	slices.SortFunc(parts, func(x, y int) int {
		// Without a leader a partition stands still: those come first.
		return cmp.Or(compareBool(c.Leader[y] == model.None, c.Leader[x] == model.None),
			cmp.Compare(c.OutRate[y], c.OutRate[x]), cmp.Compare(x, y))
	})
	gained := make([]int, len(c.Brokers))
	at := make(map[int]int, len(parts))
	for _, p := range parts {
		b := c.Broker[c.Off[p]]
		at[p] = gained[b] / per
		gained[b]++
	}
	slices.SortStableFunc(parts, func(x, y int) int { return cmp.Compare(at[x], at[y]) })
	for i, p := range parts {
		if i > 0 && at[p] != at[parts[i-1]] {
			e.Steps = append(e.Steps, i)
		}
		list := current(c, p)
		why := fmt.Sprintf("broker %d is its preferred leader, broker %d leads", list[0].Broker, leaderID(c, p))
		if c.Leader[p] == model.None {
			why = fmt.Sprintf("broker %d is its preferred leader, nobody leads", list[0].Broker)
		}
		e.Plan.Changes = append(e.Plan.Changes, plan.Change{
			Topic: c.Topics[c.Topic[p]].Name, Partition: c.ID[p], From: list, To: slices.Clone(list),
			OldLeader: leaderID(c, p), NewLeader: list[0].Broker, Why: why,
		})
	}
	if len(parts) > 0 {
		e.Steps = append(e.Steps, len(parts))
	}
}
