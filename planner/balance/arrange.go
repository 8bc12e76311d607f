package balance

import (
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// arranged is a placement made into changes in order, with log directories.
type arranged struct {
	before *state // the cluster as it is
	s      *state // after the changes that are done
	d      *dirs
	ordered
	racks int // partitions with too many copies in a rack after it
}

// arrange finds directories and an order for a placement.
func arrange(c *model.Cluster, t task, place placement) *arranged {
	s := newState(c, prepare(c, t.opts, t.drain, t.only))
	s.fix(t)
	changes := s.changes(place)
	if t.seedLeaders {
		s.busyFirst(changes)
	}
	if t.evenDirs {
		// Topics without traffic stay where they are in their brokers too.
		s.leaveAlone(t.opts.LeaveIdle, false)
	}
	a := &arranged{before: newState(c, s.o), s: s}
	a.d, changes = newDirs(s, changes, t.evenDirs)
	a.ordered = s.order(changes, a.d)
	a.racks = s.rackViolations()
	return a
}

// busyFirst puts the changes that take leaders of busy topics first.
func (s *state) busyFirst(changes []*change) {
	busy := make([]bool, len(s.c.Topics))
	for _, t := range s.busyTopics() {
		busy[t.topic] = true
	}
	for _, ch := range changes {
		ch.first = ch.leader != s.c.Leader[ch.part] && busy[s.c.Topic[ch.part]] || // to a replica
			ch.leader != model.None && s.c.Broker[ch.leader] != ch.brokers[0] && busy[s.c.Topic[ch.part]] // with it
	}
}

// unchanged is the placement as it is.
func (a *arranged) unchanged() placement { return a.before.placement() }

// worth tells whether the changes gain enough to act on.
func (a *arranged) worth(c *model.Cluster, opts Options) bool {
	return a.racks < a.before.rackViolations() || gains(a.before.outsideBand(), a.s.outsideBand(), opts)
}

// cluster is what the changes lead to: brokers that keep a replica keep its
// size and traffic, new ones take over those of the replica that they replace.
func (a *arranged) cluster() *model.Cluster {
	c := a.s.c
	n := *c
	n.Broker, n.Dir, n.Leader = slices.Clone(c.Broker), slices.Clone(c.Dir), slices.Clone(c.Leader)
	n.Size, n.InRate, n.CPU = slices.Clone(c.Size), slices.Clone(c.InRate), slices.Clone(c.CPU)
	for _, ch := range a.done {
		from := c.Off[ch.part]
		for i, r := range ch.slots {
			at := from + int32(i)
			n.Broker[at], n.Dir[at] = ch.brokers[i], a.d.at[r]
			n.Size[at], n.InRate[at], n.CPU[at] = c.Size[r], c.InRate[r], c.CPU[r]
		}
		if ch.leader != model.None {
			n.Leader[ch.part] = from
		}
	}
	return &n
}
