package live

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kafka-steward/kafka-steward/internal/kafka"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

// Convert makes a snapshot of what a cluster answered; the same answers in any
// order give the same snapshot. O(replicas).
func Convert(raw *Raw, o Options) (*model.Snapshot, error) {
	c := &converter{
		raw: raw, o: o, b: model.NewBuilder(o.Name), s: &model.Snapshot{ClusterID: raw.Metadata.ClusterID},
		moves: map[topicPartition]*kafka.Reassignment{}, alive: map[int32]bool{}, dead: map[int32]bool{},
	}
	c.listMoves()
	for i := range raw.Metadata.Brokers {
		c.alive[raw.Metadata.Brokers[i].ID] = true
	}
	c.disks = newDisks(raw.LogDirs, c.alive, o.Capacities)
	for i := range raw.Metadata.Topics {
		if err := c.topic(&raw.Metadata.Topics[i]); err != nil {
			return nil, fmt.Errorf("cluster %s: %w", o.Name, err)
		}
	}
	if err := c.brokers(); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", o.Name, err)
	}
	cluster, problems := c.b.Build()
	if err := model.JoinProblems(problems); err != nil {
		return nil, fmt.Errorf("what cluster %s told is not consistent: %w", o.Name, err)
	}
	c.s.Cluster = cluster
	c.finish()
	return c.s, nil
}

type topicPartition struct {
	topic string
	id    int32
}

type converter struct {
	raw   *Raw
	o     Options
	b     *model.Builder
	s     *model.Snapshot
	moves map[topicPartition]*kafka.Reassignment
	disks *disks
	alive map[int32]bool
	// dead brokers are in replica lists and not in Metadata.
	dead map[int32]bool

	moving, otherRF, skipped, unsized list
}

func (c *converter) warn(format string, args ...any) {
	c.s.Warnings = append(c.s.Warnings, fmt.Sprintf(format, args...))
}

// listMoves takes the later of two answers about a partition. One that is only
// in the first has just ended: Metadata may show either state.
func (c *converter) listMoves() {
	for _, moves := range [][]kafka.Reassignment{c.raw.Moves, c.raw.Moves2} {
		for i := range moves {
			c.moves[topicPartition{moves[i].Topic, moves[i].Partition}] = &moves[i]
		}
	}
}

func (c *converter) topic(t *kafka.Topic) error {
	if t.Err != nil {
		c.skipped.add(fmt.Sprintf("%s (%v)", t.Name, t.Err))
		return nil
	}
	group, err := c.o.Groups.ofTopic(t.Name)
	if err != nil {
		return err
	}
	specs := make([]model.PartitionSpec, 0, len(t.Partitions))
	counts := map[int]int{}
	for i := range t.Partitions {
		s := c.partition(t.Name, &t.Partitions[i])
		if len(s.Replicas) == 0 {
			c.skipped.add(fmt.Sprintf("%s-%d (no replicas)", t.Name, s.ID))
			continue
		}
		counts[len(s.Replicas)]++
		specs = append(specs, s)
	}
	if len(specs) == 0 {
		return nil
	}
	rf, wanted := c.o.ReplicationFactor[t.Name]
	if !wanted {
		// Most partitions have it; of two that are as frequent, the larger, since
		// losing copies is worse than having some too many.
		for n, count := range counts {
			if count > counts[rf] || count == counts[rf] && n > rf {
				rf = n
			}
		}
	}
	c.b.Topic(model.Topic{Name: t.Name, ReplicationFactor: int32(rf), Internal: t.Internal}, group)
	for _, s := range specs {
		if n := len(s.Replicas); n != rf {
			c.otherRF.add(fmt.Sprintf("%s-%d: RF %d ≠ %d of the topic", t.Name, s.ID, n, rf))
		}
		c.b.Partition(t.Name, s)
	}
	return nil
}

// partition describes a partition; one that is moving by the replicas that it
// will have.
func (c *converter) partition(topic string, p *kafka.Partition) model.PartitionSpec {
	s := model.PartitionSpec{ID: p.ID, Leader: model.None}
	replicas, adding := p.Replicas, []int32(nil)
	if m := c.moves[topicPartition{topic, p.ID}]; m != nil {
		replicas = slices.DeleteFunc(slices.Clone(m.Replicas), func(b int32) bool { return slices.Contains(m.Removing, b) })
		adding, s.Moving = m.Adding, true
	}
	places := c.disks.places(topic, p.ID)
	size := sizeOf(places, p.Leader)
	for _, id := range replicas {
		if !c.alive[id] {
			c.dead[id] = true
		}
		r := model.ReplicaSpec{Broker: id, Dir: model.None, Size: size}
		i := slices.IndexFunc(places, func(at place) bool { return at.broker == id })
		switch {
		case i >= 0:
			at := places[i]
			r.Dir, r.Size = at.dir, at.size
			s.Moving = s.Moving || at.moving
			// A copy on its way is going to be as big as what it is made of.
			if slices.Contains(adding, id) {
				r.Size = max(r.Size, size)
			}
		case c.alive[id] && !slices.Contains(adding, id):
			c.unsized.add(fmt.Sprintf("%s-%d on broker %d", topic, p.ID, id))
		}
		s.Replicas = append(s.Replicas, r)
	}
	s.Leader = c.leader(p.Leader, replicas, s.Moving)
	if s.Moving {
		c.moving.add(fmt.Sprintf("%s-%d", topic, p.ID))
	}
	return s
}

// sizeOf is the size of the leader's copy, or the largest where that is not
// known: the measure of copies that are not known or not complete.
func sizeOf(places []place, leader int32) int64 {
	size := int64(0)
	for _, at := range places {
		if at.broker == leader {
			return at.size
		}
		size = max(size, at.size)
	}
	return size
}

// leader is the leading broker. A move may be about to take the leader away:
// then the first live one of those who stay leads.
func (c *converter) leader(leader int32, replicas []int32, moving bool) int32 {
	if leader < 0 || slices.Contains(replicas, leader) || !moving {
		return max(leader, model.None)
	}
	for _, id := range replicas {
		if c.alive[id] {
			return id
		}
	}
	return model.None
}

func (c *converter) brokers() error {
	named := map[int32]bool{}
	add := func(b model.Broker) {
		user := c.o.Capacities.of(b.ID)
		b.Capacity = user.vector()
		if user.Disk == nil {
			b.Capacity[model.Disk] = diskCapacity(b.Dirs)
		}
		named[b.ID] = true
		c.b.Broker(b, c.o.Groups.ofBroker(b.ID))
	}
	for i := range c.raw.Metadata.Brokers {
		m := &c.raw.Metadata.Brokers[i]
		add(model.Broker{ID: m.ID, Rack: m.Rack, Host: m.Addr, Dirs: c.disks.dirs(m.ID)})
	}
	for id := range c.dead {
		add(model.Broker{ID: id, Dead: true})
	}
	var errs []error
	if x := c.o.Capacities; x != nil {
		for i := range x.Brokers {
			for _, id := range x.Brokers[i].IDs {
				if !named[id] {
					errs = append(errs, fmt.Errorf("the capacities name broker %d, which the cluster does not list", id))
				}
				if err := c.disks.unknownDir(id, x.Brokers[i].Dirs); err != nil {
					errs = append(errs, err)
				}
			}
		}
	}
	// A group may name brokers that are still to come: that harms nothing.
	return errors.Join(errs...)
}

// finish writes the warnings, in an order that does not depend on the answers'.
func (c *converter) finish() {
	if c.raw.MovesUnsupported {
		c.warn("the brokers cannot list reassignments in flight (Kafka before 2.4): make sure that there are none")
	}
	for i := range c.s.Cluster.Brokers {
		b := &c.s.Cluster.Brokers[i]
		if b.Dead {
			c.warn("broker %d is dead: replica lists name it, the cluster does not list it; its rack and log dirs are not known", b.ID)
		} else if err := c.raw.LogDirsFailed[b.ID]; err != nil {
			c.warn("broker %d did not tell its log dirs, so sizes on it are taken from other replicas: %v", b.ID, err)
		}
	}
	c.s.Warnings = append(c.s.Warnings, c.disks.warnings...)
	c.skipped.warn(c, "not readable and left out: %s")
	c.moving.warn(c, "moving, shown as they will be: %s")
	c.otherRF.warn(c, "with another replication factor than their topic's: %s")
	c.unsized.warn(c, "in no log dir that was told, so the size is taken from other replicas: %s")
}

// list is what a warning names: a number and the first few by name.
type list struct{ items []string }

func (l *list) add(s string) { l.items = append(l.items, s) }

// shown is how many items a warning names.
const shown = 10

func (l *list) warn(c *converter, format string) {
	if len(l.items) == 0 {
		return
	}
	slices.SortFunc(l.items, cmp.Compare)
	text := strings.Join(l.items[:min(shown, len(l.items))], ", ")
	if more := len(l.items) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	c.warn("%d "+format, len(l.items), text)
}
