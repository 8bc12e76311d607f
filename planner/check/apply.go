package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// Apply returns the cluster after changes; c stays as it is. The replicas come
// in the order of To, with figures as the package comment says. Changes that do
// not fit the cluster are an error that names all of them. Topics to be created
// have no resource group. O(replicas + changes·log partitions).
func Apply(c *model.Cluster, changes []plan.Change) (*model.Cluster, error) {
	rs, problems := resolve(c, changes, "")
	if err := model.JoinProblems(problems); err != nil {
		return nil, fmt.Errorf("the changes do not fit cluster %s: %w", c.Name, err)
	}
	return apply(c, rs), nil
}

func apply(c *model.Cluster, changes []resolved) *model.Cluster {
	byPart := make([]int32, c.NumPartitions())
	for i := range byPart {
		byPart[i] = model.None
	}
	var created []*resolved
	for i := range changes {
		if p := changes[i].part; p != model.None {
			byPart[p] = int32(i)
		} else {
			created = append(created, &changes[i])
		}
	}
	slices.SortFunc(created, func(x, y *resolved) int {
		return cmp.Or(cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Partition, y.Partition))
	})
	a := &applier{c: c, out: &model.Cluster{
		Name: c.Name, Groups: c.Groups, Brokers: slices.Clone(c.Brokers), Racks: c.Racks, RackOf: c.RackOf,
	}}
	a.topics(created)
	for p := range c.Topic {
		for len(created) > 0 && before(created[0], c, p) {
			a.add(created[0])
			created = created[1:]
		}
		if i := byPart[p]; i != model.None {
			a.add(&changes[i])
		} else {
			a.keep(p)
		}
	}
	for _, r := range created {
		a.add(r)
	}
	a.out.Off = append(a.out.Off, int32(len(a.out.Broker)))
	return a.out
}

// before tells whether a partition to be created comes before partition p.
func before(r *resolved, c *model.Cluster, p int) bool {
	return cmp.Or(cmp.Compare(r.Topic, c.Topics[c.Topic[p]].Name), cmp.Compare(r.Partition, c.ID[p])) < 0
}

type applier struct {
	c, out *model.Cluster
}

// topics lists the old and the new topics. New ones have no partitions yet.
func (a *applier) topics(created []*resolved) {
	a.out.Topics = slices.Clone(a.c.Topics)
	last := ""
	for _, r := range created {
		if r.topic == model.None && r.Topic != last {
			a.out.Topics = append(a.out.Topics, model.Topic{Name: r.Topic, Group: r.group, ReplicationFactor: int32(len(r.To))})
			last = r.Topic
		}
	}
	slices.SortFunc(a.out.Topics, func(x, y model.Topic) int { return cmp.Compare(x.Name, y.Name) })
}

func (a *applier) head(topic string, id int32) {
	t := int32(0)
	if n := len(a.out.Topic); n > 0 {
		t = a.out.Topic[n-1]
	}
	for a.out.Topics[t].Name != topic {
		t++
	}
	a.out.Topic, a.out.ID = append(a.out.Topic, t), append(a.out.ID, id)
	a.out.Off = append(a.out.Off, int32(len(a.out.Broker)))
}

// keep copies a partition.
func (a *applier) keep(p int) {
	c, o := a.c, a.out
	a.head(c.Topics[c.Topic[p]].Name, c.ID[p])
	from, to := c.Slots(p)
	leader := c.Leader[p]
	if leader != model.None {
		leader += int32(len(o.Broker)) - from
	}
	o.Leader = append(o.Leader, leader)
	o.OutRate, o.LeadCPU, o.Moving = append(o.OutRate, c.OutRate[p]), append(o.LeadCPU, c.LeadCPU[p]), append(o.Moving, c.Moving[p])
	o.Broker, o.Dir = append(o.Broker, c.Broker[from:to]...), append(o.Dir, c.Dir[from:to]...)
	o.Size, o.InRate, o.CPU = append(o.Size, c.Size[from:to]...), append(o.InRate, c.InRate[from:to]...), append(o.CPU, c.CPU[from:to]...)
}

// add puts a partition as its change wants it.
func (a *applier) add(r *resolved) {
	c, o := a.c, a.out
	a.head(r.Topic, r.Partition)
	leader := model.None
	if i := r.leaderSlot(); i >= 0 {
		leader = int32(len(o.Broker) + i)
	}
	o.Leader = append(o.Leader, leader)
	var out, cpu int64
	moving := false
	if r.part != model.None {
		out, cpu, moving = c.OutRate[r.part], c.LeadCPU[r.part], c.Moving[r.part]
	}
	o.OutRate, o.LeadCPU, o.Moving = append(o.OutRate, out), append(o.LeadCPU, cpu), append(o.Moving, moving)
	for i := range r.to {
		v := model.Vector{}
		if s := r.to[i].slot; s != model.None {
			v = model.Vector{model.Disk: c.Size[s], model.In: c.InRate[s], model.CPU: c.CPU[s]}
		}
		o.Broker, o.Dir = append(o.Broker, r.to[i].broker), append(o.Dir, r.to[i].dir)
		o.Size, o.InRate, o.CPU = append(o.Size, v[model.Disk]), append(o.InRate, v[model.In]), append(o.CPU, v[model.CPU])
	}
}
