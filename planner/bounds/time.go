package bounds

import (
	"fmt"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// Budget is what copying may use of a broker, bytes/s; 0 is no bound.
type Budget struct {
	// Receive and Send are network traffic, WriteDir what may be written to
	// each of its log dirs.
	Receive, Send, WriteDir int64
}

// Duration is the least time that copying takes.
type Duration struct {
	Seconds float64
	// Binds names what takes longest: "broker 3 receives", "" if nothing is
	// copied or bounded.
	Binds string
	Bytes int64
}

// Time is the least time in which changes can be carried out: the greatest,
// over brokers, of the bytes that come in, that go out from the leaders of
// before the plan, and that are written to one log dir, each divided by its
// budget. Leaders that change before the copies are made, and replicas whose
// log dir is not known, are not in it. Changes have to fit the cluster.
// O(changes).
func Time(c *model.Cluster, changes []plan.Change, budget func(broker int32) Budget) (Duration, error) {
	t := traffic{c: c, in: make([]int64, len(c.Brokers)), out: make([]int64, len(c.Brokers)), dir: make([][]int64, len(c.Brokers))}
	for b := range c.Brokers {
		t.dir[b] = make([]int64, len(c.Brokers[b].Dirs))
	}
	parts := make(map[string]int, len(c.Topics))
	for p := len(c.Topic) - 1; p >= 0; p-- {
		parts[c.Topics[c.Topic[p]].Name] = p
	}
	for i := range changes {
		if err := t.add(&changes[i], parts); err != nil {
			return Duration{}, fmt.Errorf("%s-%d: %w", changes[i].Topic, changes[i].Partition, err)
		}
	}
	var d Duration
	for b := range c.Brokers {
		id := c.Brokers[b].ID
		w := budget(id)
		d.raise(t.in[b], w.Receive, func() string { return fmt.Sprintf("broker %d receives", id) })
		d.raise(t.out[b], w.Send, func() string { return fmt.Sprintf("broker %d sends", id) })
		for i, n := range t.dir[b] {
			d.raise(n, w.WriteDir, func() string { return fmt.Sprintf("broker %d writes to %s", id, c.Brokers[b].Dirs[i].Path) })
		}
	}
	return d, nil
}

func (d *Duration) raise(bytes, rate int64, what func() string) {
	if rate > 0 && float64(bytes)/float64(rate) > d.Seconds {
		*d = Duration{float64(bytes) / float64(rate), what(), bytes}
	}
}

type traffic struct {
	c       *model.Cluster
	in, out []int64
	dir     [][]int64
}

// add counts a change. Brokers in both lists keep their copies; the others of To
// take those of the others of From in order, then the leader's.
func (t *traffic) add(ch *plan.Change, parts map[string]int) error {
	if len(ch.From) == 0 {
		return nil
	}
	p, ok := parts[ch.Topic]
	for ; ok && p < len(t.c.Topic) && t.c.ID[p] < ch.Partition && t.c.Topics[t.c.Topic[p]].Name == ch.Topic; p++ {
	}
	if !ok || p == len(t.c.Topic) || t.c.ID[p] != ch.Partition || t.c.Topics[t.c.Topic[p]].Name != ch.Topic {
		return fmt.Errorf("the plan changes it but the cluster has no such partition")
	}
	from, to := t.c.Slots(p)
	source := t.c.Leader[p]
	if source == model.None {
		source = from
	}
	var gone []int32
	stays := map[int32]int32{}
	for s := from; s < to; s++ {
		id := t.c.Brokers[t.c.Broker[s]].ID
		kept := false
		for _, x := range ch.To {
			kept = kept || x.Broker == id
		}
		if kept {
			stays[id] = s
		} else {
			gone = append(gone, s)
		}
	}
	for _, x := range ch.To {
		b, ok := t.c.BrokerIndex(x.Broker)
		if !ok {
			return fmt.Errorf("the plan puts it on broker %d, which does not exist", x.Broker)
		}
		dir := t.dirIndex(b, x.Dir)
		if s, kept := stays[x.Broker]; kept {
			if dir != model.None && t.c.Dir[s] != model.None && dir != t.c.Dir[s] {
				t.dir[b][dir] += t.c.Size[s]
			}
			continue
		}
		s := source
		if len(gone) > 0 {
			s, gone = gone[0], gone[1:]
		}
		t.in[b] += t.c.Size[s]
		if t.c.Leader[p] != model.None {
			t.out[t.c.Broker[source]] += t.c.Size[s]
		}
		if dir != model.None {
			t.dir[b][dir] += t.c.Size[s]
		}
	}
	return nil
}

func (t *traffic) dirIndex(b int32, path string) int32 {
	for i, d := range t.c.Brokers[b].Dirs {
		if d.Path == path {
			return int32(i)
		}
	}
	return model.None
}
