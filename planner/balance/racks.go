package balance

import (
	"fmt"
	"strings"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// rackLimits knows how many copies of a partition a rack has to hold.
type rackLimits struct {
	// brokers[group+1][rack] counts the brokers that a group's topics may use;
	// index 0 is for topics without a group.
	brokers [][]int
	known   [][]int // group+1 → copies → limit, 0 where not known yet
}

func newRackLimits(c *model.Cluster, member func(b int) bool) *rackLimits {
	l := &rackLimits{brokers: make([][]int, len(c.Groups)+1), known: make([][]int, len(c.Groups)+1)}
	for g := range l.brokers {
		l.brokers[g] = make([]int, len(c.Racks))
	}
	for b := range c.Brokers {
		if !member(b) {
			continue
		}
		l.brokers[0][c.RackOf[b]]++
		if g := c.Brokers[b].Group; g != model.None {
			l.brokers[g+1][c.RackOf[b]]++
		}
	}
	return l
}

// limit is the least number such that racks that hold at most so many copies,
// and no more than they have brokers, hold all of them. Where even all brokers
// do not suffice, nothing is forbidden.
func (l *rackLimits) limit(group int32, copies int) int {
	known := &l.known[group+1]
	for len(*known) <= copies {
		*known = append(*known, 0)
	}
	if (*known)[copies] == 0 {
		(*known)[copies] = l.find(l.brokers[group+1], copies)
	}
	return (*known)[copies]
}

func (l *rackLimits) find(brokers []int, copies int) int {
	for n := 1; n < copies; n++ {
		room := 0
		for _, b := range brokers {
			room += min(b, n)
		}
		if room >= copies {
			return n
		}
	}
	return max(copies, 1)
}

// racks counts the racks that a group's topics may use.
func (l *rackLimits) racks(group int32) int {
	n := 0
	for _, b := range l.brokers[group+1] {
		if b > 0 {
			n++
		}
	}
	return n
}

// rackLimit is how many copies of a partition a rack may hold: as few as the
// racks allow.
func (s *state) rackLimit(p int32) int {
	return s.o.rackLimits.limit(s.c.Topics[s.c.Topic[p]].Group, int(s.c.Off[p+1]-s.c.Off[p]))
}

// crowded lists the topics with more copies than racks to hold them, and the
// most copies of a partition that one rack then holds.
func (l *rackLimits) crowded(c *model.Cluster) (topics []string, most int) {
	last := model.None
	for p := range c.Topic {
		t := c.Topic[p]
		g := c.Topics[t].Group
		n := max(c.RF(p), int(c.Topics[t].ReplicationFactor))
		if n <= l.racks(g) {
			continue
		}
		if t != last {
			topics, last = append(topics, c.Topics[t].Name), t
		}
		most = max(most, l.limit(g, n))
	}
	return topics, most
}

// strictRacks refuses partitions whose copies the racks cannot hold apart.
func strictRacks(c *model.Cluster, s *settings) error {
	if !s.StrictRacks {
		return nil
	}
	topics, most := s.rackLimits.crowded(c)
	if len(topics) == 0 {
		return nil
	}
	return fmt.Errorf("%d live racks cannot hold the copies of %s apart: losing a rack takes up to %d copies of a partition; add racks, lower the replication factor or do without strict racks",
		s.racks, strings.Join(topics, ", "), most)
}

// rackWarnings tells where more copies than one share a rack of necessity.
func (s *state) rackWarnings() (out []string) {
	topics, most := s.o.rackLimits.crowded(s.c)
	if len(topics) == 0 {
		return nil
	}
	const shown = 10
	list := strings.Join(topics[:min(shown, len(topics))], ", ")
	if len(topics) > shown {
		list += " …"
	}
	return append(out, fmt.Sprintf("%d topics (%s) have more copies than the %d live racks: losing a rack takes up to %d copies of a partition", len(topics), list, s.o.racks, most))
}
