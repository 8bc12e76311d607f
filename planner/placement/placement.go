// Package placement decides where new replicas live: those of new topics, of
// added partitions and of a raised replication factor, and which leaders to
// elect. Existing partitions stay where they are.
//
// Leaders, and followers position by position, lie round-robin over all live
// brokers of the topic's resource group: two brokers differ by at most one
// wherever racks and disks allow it. Racks come first: a partition has as few
// copies in one rack as the racks allow. What cannot be placed whole is refused
// with what every broker lacked; a plan never has fewer replicas than asked for.
package placement

import (
	"fmt"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// Options hold for every operation. The zero value is useful.
type Options struct {
	// Exclude lists ids of brokers that get no new replicas: excluded ones and
	// those that are being emptied.
	Exclude map[int32]bool
	// Strict refuses what cannot have every copy in a rack of its own.
	Strict bool
	// Weighted gives brokers leaders and followers in proportion to their
	// capacity, for mixed hardware. Without it all get the same.
	Weighted bool
	// CapacityShare is the share of a broker's capacity that may be used in the
	// end, by resource. 0 stands for the default: 0.8, and 1 for counts.
	CapacityShare [model.NumResources]float64
}

func (o *Options) share(r model.Resource) float64 {
	switch s := o.CapacityShare[r]; {
	case s > 0:
		return s
	case r == model.Replicas || r == model.Leaders:
		return 1
	default:
		return 0.8
	}
}

// Load is what a whole topic is expected to carry.
type Load struct {
	// In is what producers write and Out what leaders send, bytes/s.
	In, Out int64
	// Bytes is what one copy of the topic takes on disk.
	Bytes int64
}

// Request asks for a new topic.
type Request struct {
	Topic                         string
	Partitions, ReplicationFactor int
	// Group is the name of the resource group to live on, "" for all brokers.
	Group string
	// Load is checked against what brokers and disks have left. Zero values are
	// not known and not checked.
	Load Load
	Options
}

// maxPartitions bounds a request: beyond it a typing error is likelier.
const maxPartitions = 1_000_000

// Place plans a new topic. A request that makes no sense is an error; one that
// the cluster cannot take is a plan without changes and with a Refusal.
// O(partitions × brokers).
func Place(c *model.Cluster, req Request) (*plan.Plan, error) {
	if req.Topic == "" {
		return nil, fmt.Errorf("placing a topic: it has no name")
	}
	if _, ok := findTopic(c, req.Topic); ok {
		return nil, fmt.Errorf("placing topic %s: cluster %s has it already; add partitions or rebalance it instead", req.Topic, c.Name)
	}
	if req.Partitions < 1 || req.Partitions > maxPartitions || req.ReplicationFactor < 1 {
		return nil, fmt.Errorf("placing topic %s: %d partitions with replication factor %d cannot be; give 1 to %d partitions and a factor of at least 1",
			req.Topic, req.Partitions, req.ReplicationFactor, maxPartitions)
	}
	group, err := groupIndex(c, req.Group)
	if err != nil {
		return nil, fmt.Errorf("placing topic %s: %w", req.Topic, err)
	}
	n := int64(req.Partitions)
	j := job{
		c: c, o: &req.Options, topic: req.Topic, group: group, add: req.Partitions, rf: req.ReplicationFactor,
		each: Load{In: ceilDiv(req.Load.In, n), Out: ceilDiv(req.Load.Out, n), Bytes: ceilDiv(req.Load.Bytes, n)},
		out:  &plan.Plan{Operation: plan.Place, Cluster: c.Name, SnapshotHash: c.Hash()},
	}
	j.run()
	return j.out, nil
}

// AddPartitions plans n more partitions for a topic, beside those it has. The
// topic as a whole becomes as even as it can without moving any of them. Every
// new partition is expected to carry what the existing ones do on average.
func AddPartitions(c *model.Cluster, topic string, n int, o Options) (*plan.Plan, error) {
	t, ok := findTopic(c, topic)
	if !ok {
		return nil, fmt.Errorf("adding partitions to topic %s: cluster %s does not have it", topic, c.Name)
	}
	if n < 1 || n > maxPartitions {
		return nil, fmt.Errorf("adding partitions to topic %s: cannot add %d; give 1 to %d", topic, n, maxPartitions)
	}
	j := job{
		c: c, o: &o, topic: topic, group: c.Topics[t].Group, add: n,
		out: &plan.Plan{Operation: plan.AddParts, Cluster: c.Name, SnapshotHash: c.Hash()},
	}
	from, to := partitionsOf(c, t)
	if from == to {
		return nil, fmt.Errorf("adding partitions to topic %s: the cluster's state lists none of its partitions; read it again", topic)
	}
	j.rf = topicRF(c, t, from, to)
	for p := from; p < to; p++ {
		s := c.Off[p]
		if c.Leader[p] != model.None {
			s = c.Leader[p]
		}
		j.each.In += c.InRate[s]
		j.each.Out += c.OutRate[p]
		j.each.Bytes += c.Size[s]
		j.first = max(j.first, c.ID[p]+1)
	}
	k := int64(to - from)
	j.each = Load{In: j.each.In / k, Out: j.each.Out / k, Bytes: j.each.Bytes / k}
	j.oldFrom, j.oldTo = from, to
	j.run()
	return j.out, nil
}

// topicRF is the topic's replication factor: what it says, otherwise what most
// of its partitions have.
func topicRF(c *model.Cluster, t int32, from, to int) int {
	if rf := int(c.Topics[t].ReplicationFactor); rf > 0 {
		return rf
	}
	count, best := map[int]int{}, 0
	for p := from; p < to; p++ {
		count[c.RF(p)]++
	}
	for p := from; p < to; p++ {
		if n := c.RF(p); count[n] > count[best] || count[n] == count[best] && n > best {
			best = n
		}
	}
	return best
}

// job is one topic's placement on its way.
type job struct {
	c     *model.Cluster
	o     *Options
	topic string
	group int32
	// add partitions, the first with this id, with rf replicas each.
	add   int
	first int32
	rf    int
	// each is what one partition carries.
	each Load
	// oldFrom to oldTo are the topic's existing partitions.
	oldFrom, oldTo int
	out            *plan.Plan
}

func (j *job) run() {
	sc := newScope(j.c, j.o, j.group)
	if r, ok := sc.refuse(j.rf, j.o.Strict); ok {
		j.refuse(r)
		return
	}
	if w := sc.rackWarning(j.topic, j.rf); w != "" {
		j.out.Warnings = append(j.out.Warnings, w)
	}
	rm := newRoom(j.c, j.o, sc)
	g := newGrid(sc, j.add, j.rf)
	for p := j.oldFrom; p < j.oldTo; p++ {
		g.count(j.c, p)
	}
	g.limit(rm, j.each)
	if !g.leaders() || !g.followers() {
		j.refuse(g.short(rm, j.each))
		return
	}
	g.fill()
	if !g.repair() {
		j.refuse(g.short(rm, j.each))
		return
	}
	g.arrange()
	if j.oldTo > j.oldFrom {
		g.polish()
	}
	if w := g.unevenness(j.topic); w != "" {
		j.out.Warnings = append(j.out.Warnings, w)
	}
	j.emit(g, rm)
}

// refuse refuses every partition of the job with the same reason.
func (j *job) refuse(r plan.Refusal) {
	r.Topic = j.topic
	for i := range j.add {
		r.Partition = j.first + int32(i)
		j.out.Refusals = append(j.out.Refusals, r)
	}
	summarise(j.c, j.out, j.group, j.each)
}

// emit writes the grid down as changes and chooses log directories.
func (j *job) emit(g *grid, rm *room) {
	sc := g.sc
	for p := range j.add {
		ch := plan.Change{Topic: j.topic, Partition: j.first + int32(p), From: []plan.Replica{}, OldLeader: model.None}
		for k := range j.rf {
			i := g.at(p, k)
			b := sc.ring[i]
			ch.To = append(ch.To, plan.Replica{Broker: j.c.Brokers[b].ID, Dir: rm.take(i, j.each.Bytes, j.each.In)})
		}
		ch.NewLeader = ch.To[0].Broker
		ch.Why = g.why(p)
		j.out.Changes = append(j.out.Changes, ch)
	}
	summarise(j.c, j.out, j.group, j.each)
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
