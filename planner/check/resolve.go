package check

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// resolved is a change in terms of the cluster's indexes.
type resolved struct {
	*plan.Change
	// part is the partition's index, model.None if it is to be created; topic
	// is the topic's, model.None if that is to be created too.
	part, topic int32
	group       int32
	to          []target
}

// target is a place in To.
type target struct {
	broker, dir int32
	// slot is the replica whose figures this one takes, model.None in a
	// partition to be created.
	slot int32
	// copied tells that the broker has no replica of the partition before.
	copied bool
}

func (r *resolved) name() string { return TopicPartition{r.Topic, r.Partition}.String() }

// creates tells whether an operation makes partitions instead of changing them.
func creates(o plan.Operation) bool { return o == plan.Place || o == plan.AddParts }

// findPartition finds a partition by name. O(log topics + log partitions).
func findPartition(c *model.Cluster, topic string, id int32) (int, bool) {
	t, ok := findTopic(c, topic)
	if !ok {
		return 0, false
	}
	p := sort.Search(len(c.Topic), func(i int) bool { return c.Topic[i] > t || c.Topic[i] == t && c.ID[i] >= id })
	return p, p < len(c.Topic) && c.Topic[p] == t && c.ID[p] == id
}

func findTopic(c *model.Cluster, name string) (int32, bool) {
	t, ok := slices.BinarySearchFunc(c.Topics, name, func(t model.Topic, n string) int { return cmp.Compare(t.Name, n) })
	return int32(t), ok
}

// resolve finds every change's partition, brokers and log dirs, and the copy
// whose figures each place takes. What does not fit the cluster is a problem,
// and the change is left out. newGroup is the resource group of topics to be
// created.
func resolve(c *model.Cluster, changes []plan.Change, newGroup string) ([]resolved, []model.Problem) {
	out := make([]resolved, 0, len(changes))
	var problems []model.Problem
	seen := make(map[TopicPartition]bool, len(changes))
	for i := range changes {
		r := resolved{Change: &changes[i], part: model.None, topic: model.None, group: model.None}
		tp := TopicPartition{r.Topic, r.Partition}
		reason := ""
		if seen[tp] {
			reason = "is changed twice"
		} else if reason = r.locate(c, newGroup); reason == "" {
			reason = r.aim(c)
		}
		seen[tp] = true
		if reason != "" {
			problems = append(problems, model.Problem{Where: tp.String(), Reason: reason})
			continue
		}
		out = append(out, r)
	}
	return out, problems
}

// locate finds the partition and compares its replicas with From.
func (r *resolved) locate(c *model.Cluster, newGroup string) string {
	if t, ok := findTopic(c, r.Topic); ok {
		r.topic, r.group = t, c.Topics[t].Group
	} else if g, ok := slices.BinarySearch(c.Groups, newGroup); ok {
		r.group = int32(g)
	} else if newGroup != "" && len(r.From) == 0 {
		return fmt.Sprintf("is to be created in resource group %s, which has no brokers", newGroup)
	}
	p, exists := findPartition(c, r.Topic, r.Partition)
	switch {
	case len(r.From) == 0 && exists:
		return "is to be created but exists"
	case len(r.From) == 0 && r.OldLeader != model.None:
		return fmt.Sprintf("is to be created but has leader %d before", r.OldLeader)
	case len(r.From) == 0:
		return ""
	case !exists:
		return "does not exist in the cluster"
	}
	r.part = int32(p)
	return r.drift(c)
}

// drift tells how From and OldLeader differ from the cluster.
func (r *resolved) drift(c *model.Cluster) string {
	from, to := c.Slots(int(r.part))
	same := int(to-from) == len(r.From)
	for i := 0; same && i < len(r.From); i++ {
		s := from + int32(i)
		b := &c.Brokers[c.Broker[s]]
		same = b.ID == r.From[i].Broker
		if d := c.Dir[s]; same && d != model.None && r.From[i].Dir != "" && b.Dirs[d].Path != r.From[i].Dir {
			return fmt.Sprintf("lies in log dir %s of broker %d, the plan expects %s: the cluster has changed since", b.Dirs[d].Path, b.ID, r.From[i].Dir)
		}
	}
	if !same {
		return fmt.Sprintf("has replicas %v, the plan expects %v: the cluster has changed since", brokerIDs(c, from, to), places(r.From))
	}
	if l := leaderID(c, int(r.part)); l != r.OldLeader {
		return fmt.Sprintf("is led by broker %d, the plan expects %d: the cluster has changed since", l, r.OldLeader)
	}
	return ""
}

// aim finds the brokers and log dirs of To and pairs copies.
func (r *resolved) aim(c *model.Cluster) string {
	for _, x := range r.To {
		b, ok := c.BrokerIndex(x.Broker)
		if !ok {
			return fmt.Sprintf("goes to broker %d, which does not exist", x.Broker)
		}
		dir, ok := findDir(&c.Brokers[b], x.Dir)
		if !ok {
			return fmt.Sprintf("goes to log dir %s of broker %d, which has no such log dir", x.Dir, x.Broker)
		}
		r.to = append(r.to, target{broker: b, dir: dir, slot: model.None, copied: true})
	}
	if len(r.to) == 0 {
		return "ends without replicas"
	}
	leaderless := r.part != model.None && r.OldLeader == model.None && r.NewLeader == model.None
	if !leaderless && r.leaderSlot() < 0 {
		return fmt.Sprintf("is to be led by broker %d, which is not among its replicas %v", r.NewLeader, places(r.To))
	}
	if r.part != model.None {
		r.pair(c)
	}
	return ""
}

// findDir is the index of a log dir. An unnamed one is known if it is the only one.
func findDir(b *model.Broker, path string) (int32, bool) {
	if path == "" {
		if len(b.Dirs) == 1 {
			return 0, true
		}
		return model.None, true
	}
	i := slices.IndexFunc(b.Dirs, func(d model.LogDir) bool { return d.Path == path })
	return int32(i), i >= 0
}

// pair gives every place the copy whose figures it takes: see the package comment.
func (r *resolved) pair(c *model.Cluster) {
	from, to := c.Slots(int(r.part))
	var removed []int32
	for s := from; s < to; s++ {
		kept := false
		for i := range r.to {
			if t := &r.to[i]; t.broker == c.Broker[s] && t.copied {
				t.slot, t.copied, kept = s, false, true
				if r.To[i].Dir == "" {
					t.dir = c.Dir[s]
				}
				break
			}
		}
		if !kept {
			removed = append(removed, s)
		}
	}
	for i := range r.to {
		t := &r.to[i]
		switch {
		case !t.copied:
		case len(removed) > 0:
			t.slot, removed = removed[0], removed[1:]
		case c.Leader[r.part] != model.None:
			t.slot = c.Leader[r.part]
		default:
			t.slot = from
		}
	}
}

// size is what a place takes on disk.
func (t *target) size(c *model.Cluster) int64 {
	if t.slot == model.None {
		return 0
	}
	return c.Size[t.slot]
}

// changesDir tells whether a replica stays on its broker in another log dir.
func (t *target) changesDir(c *model.Cluster) bool {
	return !t.copied && t.dir != model.None && c.Dir[t.slot] != model.None && t.dir != c.Dir[t.slot]
}

// bytes is what a change copies between brokers.
func (r *resolved) bytes(c *model.Cluster) (n int64) {
	for i := range r.to {
		if r.to[i].copied {
			n += r.to[i].size(c)
		}
	}
	return n
}

// dirBytes is what a change copies between log dirs of a broker.
func (r *resolved) dirBytes(c *model.Cluster) (n int64) {
	for i := range r.to {
		if r.to[i].changesDir(c) {
			n += r.to[i].size(c)
		}
	}
	return n
}

// moves counts the replicas that a change puts on another broker. Those of a
// partition to be created do not move.
func (r *resolved) moves() (n int) {
	for i := range r.to {
		if r.to[i].copied && r.part != model.None {
			n++
		}
	}
	return n
}

func (r *resolved) dirMoves(c *model.Cluster) (n int) {
	for i := range r.to {
		if r.to[i].changesDir(c) {
			n++
		}
	}
	return n
}

// leaderSlot is the index in to of the new leader, -1 for a partition that has
// no leader and gets none.
func (r *resolved) leaderSlot() int {
	return slices.IndexFunc(r.To, func(x plan.Replica) bool { return x.Broker == r.NewLeader })
}

func leaderID(c *model.Cluster, p int) int32 {
	if c.Leader[p] == model.None {
		return model.None
	}
	return c.Brokers[c.Broker[c.Leader[p]]].ID
}

func brokerIDs(c *model.Cluster, from, to int32) []int32 {
	var ids []int32
	for s := from; s < to; s++ {
		ids = append(ids, c.Brokers[c.Broker[s]].ID)
	}
	return ids
}

func places(rs []plan.Replica) []int32 {
	var ids []int32
	for _, r := range rs {
		ids = append(ids, r.Broker)
	}
	return ids
}
