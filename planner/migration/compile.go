package migration

import (
	"fmt"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// part is a partition to be changed, and how far it is.
type part struct {
	change int // index of the change, also its rank
	p      int // index in the cluster
	start  []held
	chain  []action
	leader int32 // broker index at the start, None without
	goal   int32 // broker index that is to lead
	rate   int64 // bytes/s written to the partition
	rack   int   // most copies in a rack at either end
}

// held is a replica on a broker (index) in a log directory.
type held struct {
	broker, dir int32
	size        int64
}

// action is a step to come: it adds a replica, removes some, or moves some
// between log directories, and leaves the brokers of order.
type action struct {
	kind   Kind
	add    int32 // broker index, None
	dir    int32 // where to, None for any
	size   int64
	remove []int32
	dirs   []dirGoal
	order  []int32
	temp   bool
	// parked tells that the action ends a stay on a temporary place.
	parked bool
}

type dirGoal struct{ broker, dir int32 }

// compiler turns changes into parts.
type compiler struct {
	c        *model.Cluster
	o        *Options
	s        *Schedule
	parts    []*part
	problems []model.Problem
	seen     map[int]bool
}

func compile(c *model.Cluster, changes []plan.Change, o *Options, s *Schedule) ([]*part, []model.Problem) {
	k := compiler{c: c, o: o, s: s, seen: make(map[int]bool, len(changes))}
	for i := range changes {
		k.change(i, &changes[i])
	}
	return k.parts, k.problems
}

func (k *compiler) bad(ch *plan.Change, format string, args ...any) {
	k.problems = append(k.problems, model.Problem{Where: fmt.Sprintf("%s-%d", ch.Topic, ch.Partition), Reason: fmt.Sprintf(format, args...)})
}

func (k *compiler) refuse(ch *plan.Change, reason, format string, args ...any) {
	k.s.Refusals = append(k.s.Refusals, plan.Refusal{Topic: ch.Topic, Partition: ch.Partition, Reason: reason, Detail: fmt.Sprintf(format, args...)})
}

// change checks a change and makes a part of it.
func (k *compiler) change(i int, ch *plan.Change) {
	p, ok := k.c.PartitionIndex(ch.Topic, ch.Partition)
	switch {
	case len(ch.From) == 0:
		k.bad(ch, "is to be created: create it with its replicas, there is nothing to move")
		return
	case !ok:
		k.bad(ch, "does not exist in cluster %s", k.c.Name)
		return
	case k.seen[p]:
		k.bad(ch, "is changed twice")
		return
	}
	k.seen[p] = true
	x := &part{change: i, p: p, leader: model.None, rate: k.c.InRate[k.c.Off[p]]}
	from, to := k.c.Slots(p)
	for s := from; s < to; s++ {
		x.start = append(x.start, held{k.c.Broker[s], k.dirOf(k.c.Broker[s], k.c.Dir[s]), k.c.Size[s]})
		if s == k.c.Leader[p] {
			x.leader, x.rate = k.c.Broker[s], k.c.InRate[s]
		}
	}
	goal, ok := k.target(ch, x)
	if !ok || !k.possible(ch, x, goal) {
		return
	}
	x.goal = goal[0].broker
	if b, ok := k.c.BrokerIndex(ch.NewLeader); ok && has(goal, b) {
		x.goal = b
	}
	x.rack = max(k.mostInRack(brokersOf(x.start)), k.mostInRack(brokersOf(goal)))
	k.chain(x, goal)
	if len(x.chain) > 0 {
		k.parts = append(k.parts, x)
	}
}

// dirOf is a log directory, where a single one is known without being told.
func (k *compiler) dirOf(b, dir int32) int32 {
	if dir == model.None && len(k.c.Brokers[b].Dirs) == 1 {
		return 0
	}
	return dir
}

// target reads To, and compares From with the cluster.
func (k *compiler) target(ch *plan.Change, x *part) ([]held, bool) {
	before := len(k.problems)
	same := len(ch.From) == len(x.start)
	for i := 0; same && i < len(x.start); i++ {
		b := &k.c.Brokers[x.start[i].broker]
		same = b.ID == ch.From[i].Broker
		if d := x.start[i].dir; same && d != model.None && ch.From[i].Dir != "" && ch.From[i].Dir != b.Dirs[d].Path {
			k.bad(ch, "lies in log dir %s of broker %d, the change expects %s: plan anew", b.Dirs[d].Path, b.ID, ch.From[i].Dir)
		}
	}
	if !same {
		k.bad(ch, "has replicas %v, the change expects %v: plan anew", k.names(brokersOf(x.start)), ch.From)
	}
	if len(ch.To) == 0 {
		k.bad(ch, "ends without replicas")
	}
	var goal []held
	for _, r := range ch.To {
		b, ok := k.c.BrokerIndex(r.Broker)
		if !ok {
			k.bad(ch, "goes to broker %d, which does not exist", r.Broker)
			continue
		}
		if has(goal, b) {
			k.bad(ch, "has broker %d twice", r.Broker)
			continue
		}
		dir := slices.IndexFunc(k.c.Brokers[b].Dirs, func(d model.LogDir) bool { return d.Path == r.Dir })
		if r.Dir != "" && dir < 0 {
			k.bad(ch, "goes to log dir %s of broker %d, which has no such log dir", r.Dir, r.Broker)
			continue
		}
		goal = append(goal, held{broker: b, dir: k.dirOf(b, int32(dir))})
	}
	return goal, len(k.problems) == before
}

// possible refuses what cannot work in the cluster's present state.
func (k *compiler) possible(ch *plan.Change, x *part, goal []held) bool {
	if k.c.Moving[x.p] {
		k.refuse(ch, "moving", "a reassignment of it is in flight; wait for it or cancel it first")
		return false
	}
	copies := false
	for _, g := range goal {
		b := &k.c.Brokers[g.broker]
		i := slices.IndexFunc(x.start, func(h held) bool { return h.broker == g.broker })
		if i >= 0 && (g.dir == model.None || x.start[i].dir == model.None || x.start[i].dir == g.dir) {
			continue
		}
		copies = copies || i < 0
		if b.Dead {
			k.refuse(ch, "brokers", "broker %d is dead and cannot take a replica", b.ID)
			return false
		}
		if g.dir != model.None && b.Dirs[g.dir].Offline {
			k.refuse(ch, "disk", "log dir %s of broker %d is offline", b.Dirs[g.dir].Path, b.ID)
			return false
		}
	}
	if copies && k.source(x) == model.None {
		k.refuse(ch, "brokers", "all its replicas are on dead brokers, so there is none to copy from")
		return false
	}
	return true
}

// source is the broker that copies come from: the leader, else a live replica.
func (k *compiler) source(x *part) int32 { return source(k.c, x.leader, x.start) }

func source(c *model.Cluster, leader int32, at []held) int32 {
	if leader != model.None && !c.Brokers[leader].Dead {
		return leader
	}
	for _, h := range at {
		if !c.Brokers[h.broker].Dead {
			return h.broker
		}
	}
	return model.None
}

func has(list []held, b int32) bool {
	return slices.ContainsFunc(list, func(h held) bool { return h.broker == b })
}

func brokersOf(list []held) []int32 {
	out := make([]int32, len(list))
	for i, h := range list {
		out[i] = h.broker
	}
	return out
}

func (k *compiler) names(list []int32) []int32 {
	out := make([]int32, len(list))
	for i, b := range list {
		out[i] = k.c.Brokers[b].ID
	}
	return out
}

func (k *compiler) mostInRack(list []int32) int { return mostInRack(k.c, list) }

// mostInRack is the most copies of a list in one rack.
func mostInRack(c *model.Cluster, list []int32) int {
	most := 0
	for i, x := range list {
		same := 1
		for _, y := range list[:i] {
			if c.RackOf[x] == c.RackOf[y] {
				same++
			}
		}
		most = max(most, same)
	}
	return most
}
