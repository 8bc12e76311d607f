package placement

import (
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// table lists partitions with their copies, before or after a plan.
type table struct {
	rows []row
	// groups and topics are by the topic number of a row; new topics come last.
	groups []int32
}

type row struct {
	topic    int32
	leader   int // index into copies, -1 without
	out, cpu int64
	copies   []copyAt
}

// copyAt is a copy on a broker, by indexes, with its figures.
type copyAt struct {
	broker, dir   int32
	size, in, cpu int64
}

// before lists a cluster's partitions.
func before(c *model.Cluster) *table {
	t := &table{}
	for i := range c.Topics {
		t.groups = append(t.groups, c.Topics[i].Group)
	}
	for p := range c.Topic {
		from, to := c.Slots(p)
		r := row{topic: c.Topic[p], leader: -1, out: c.OutRate[p], cpu: c.LeadCPU[p]}
		for s := from; s < to; s++ {
			if s == c.Leader[p] {
				r.leader = int(s - from)
			}
			r.copies = append(r.copies, copyAt{c.Broker[s], c.Dir[s], c.Size[s], c.InRate[s], c.CPU[s]})
		}
		t.rows = append(t.rows, r)
	}
	return t
}

// with lists the partitions after changes. group is that of a new topic, each
// what a partition to be created carries.
func (t *table) with(c *model.Cluster, changes []plan.Change, group int32, each Load) *table {
	out := &table{rows: slices.Clone(t.rows), groups: append(slices.Clone(t.groups), group)}
	for i := range changes {
		ch := &changes[i]
		if len(ch.From) > 0 {
			p, _ := c.PartitionIndex(ch.Topic, ch.Partition)
			out.rows[p] = t.rows[p].changed(c, ch)
			continue
		}
		topic, ok := findTopic(c, ch.Topic)
		if !ok {
			topic = int32(len(t.groups))
		}
		r := row{topic: topic, out: each.Out}
		for _, x := range ch.To {
			at := placeOf(c, x)
			at.size, at.in = each.Bytes, each.In
			r.copies = append(r.copies, at)
		}
		out.rows = append(out.rows, r)
	}
	return out
}

// changed is a partition after a change. A broker that stays keeps its own
// copy, new ones take over the figures of those that leave, in order, and
// further ones those of the leader.
func (r row) changed(c *model.Cluster, ch *plan.Change) row {
	out := row{topic: r.topic, out: r.out, cpu: r.cpu}
	var gone []copyAt
	for _, x := range r.copies {
		if !slices.ContainsFunc(ch.To, func(y plan.Replica) bool { return y.Broker == c.Brokers[x.broker].ID }) {
			gone = append(gone, x)
		}
	}
	for _, y := range ch.To {
		at := placeOf(c, y)
		if i := slices.IndexFunc(r.copies, func(x copyAt) bool { return x.broker == at.broker }); i >= 0 {
			old := r.copies[i]
			if y.Dir != "" {
				old.dir = at.dir
			}
			out.copies = append(out.copies, old)
			continue
		}
		src := r.copies[max(0, r.leader)]
		if len(gone) > 0 {
			src, gone = gone[0], gone[1:]
		}
		src.broker, src.dir = at.broker, at.dir
		out.copies = append(out.copies, src)
	}
	return out
}

// placeOf turns a plan's replica into indexes.
func placeOf(c *model.Cluster, r plan.Replica) copyAt {
	b, _ := c.BrokerIndex(r.Broker)
	at := copyAt{broker: b, dir: model.None}
	dirs := c.Brokers[b].Dirs
	if r.Dir == "" && len(dirs) == 1 {
		at.dir = 0
	}
	if i := slices.IndexFunc(dirs, func(d model.LogDir) bool { return d.Path == r.Dir }); i >= 0 {
		at.dir = int32(i)
	}
	return at
}

// bytes is what a change copies between brokers.
func bytes(c *model.Cluster, p int, ch *plan.Change) (sum int64) {
	t := row{leader: -1}
	from, to := c.Slots(p)
	for s := from; s < to; s++ {
		if s == c.Leader[p] {
			t.leader = int(s - from)
		}
		t.copies = append(t.copies, copyAt{broker: c.Broker[s], size: c.Size[s]})
	}
	had := len(t.copies)
	for _, x := range t.changed(c, ch).copies {
		if !slices.ContainsFunc(t.copies[:had], func(y copyAt) bool { return y.broker == x.broker }) {
			sum += x.size
		}
	}
	return sum
}

// loads sums what every broker carries.
func (t *table) loads(n int) []model.Vector {
	loads := make([]model.Vector, n)
	for i := range t.rows {
		r := &t.rows[i]
		for k, x := range r.copies {
			v := &loads[x.broker]
			v[model.In] += x.in
			v[model.Disk] += x.size
			v[model.CPU] += x.cpu
			v[model.Replicas]++
			if k == r.leader {
				v[model.Out] += r.out
				v[model.CPU] += r.cpu
				v[model.Leaders]++
				v[model.LeaderIn] += x.in
			}
		}
	}
	return loads
}
