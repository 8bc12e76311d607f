package model

import (
	"cmp"
	"fmt"
	"slices"
)

// Builder puts a Cluster together from parts in any order. The same parts give
// the same Cluster whatever the order they were added in.
type Builder struct {
	name    string
	brokers []Broker
	groups  map[string]bool
	topics  map[string]*builderTopic
	problem []Problem
}

type builderTopic struct {
	Topic
	group string
	parts []PartitionSpec
}

// PartitionSpec describes a partition to a Builder.
type PartitionSpec struct {
	ID int32
	// Leader is the leading broker's id, None if there is none.
	Leader int32
	// Out is what the leader sends, bytes/s; LeadCPU what leading costs on top
	// of following, millionths of a percent.
	Out, LeadCPU int64
	Moving       bool
	// Replicas in order of preference.
	Replicas []ReplicaSpec
}

// ReplicaSpec describes a replica to a Builder.
type ReplicaSpec struct {
	Broker int32
	// Dir is the index of the broker's log directory, None if not known.
	Dir  int32
	Size int64
	// In is what is written on this broker, bytes/s; CPU the cost of following.
	In, CPU int64
}

// Problem is one thing that is wrong with a cluster or a plan, and where.
type Problem struct {
	// Where names the topic-partition or broker.
	Where  string
	Reason string
}

func (p Problem) Error() string { return p.Where + ": " + p.Reason }

// NewBuilder starts a cluster.
func NewBuilder(name string) *Builder {
	return &Builder{name: name, groups: map[string]bool{}, topics: map[string]*builderTopic{}}
}

// Broker adds a broker; group is its resource group, "" for none.
func (b *Builder) Broker(br Broker, group string) {
	if group != "" {
		b.groups[group] = true
	}
	br.groupName = group
	b.brokers = append(b.brokers, br)
}

// Topic adds a topic; group is its resource group, "" for none.
func (b *Builder) Topic(t Topic, group string) {
	if group != "" {
		b.groups[group] = true
	}
	if b.topics[t.Name] != nil {
		b.problem = append(b.problem, Problem{"topic " + t.Name, "is listed twice"})
		return
	}
	b.topics[t.Name] = &builderTopic{Topic: t, group: group}
}

// Partition adds a partition of a topic that was added before.
func (b *Builder) Partition(topic string, p PartitionSpec) {
	t := b.topics[topic]
	if t == nil {
		b.problem = append(b.problem, Problem{fmt.Sprintf("%s-%d", topic, p.ID), "its topic is not listed"})
		return
	}
	t.parts = append(t.parts, p)
}

// Build returns the cluster, or every problem found.
func (b *Builder) Build() (*Cluster, []Problem) {
	c := &Cluster{Name: b.name}
	for g := range b.groups {
		c.Groups = append(c.Groups, g)
	}
	slices.Sort(c.Groups)
	group := func(name string) int32 {
		if name == "" {
			return None
		}
		i, _ := slices.BinarySearch(c.Groups, name)
		return int32(i)
	}
	c.Brokers = slices.Clone(b.brokers)
	slices.SortFunc(c.Brokers, func(x, y Broker) int { return cmp.Compare(x.ID, y.ID) })
	for i := range c.Brokers {
		c.Brokers[i].Group = group(c.Brokers[i].groupName)
		c.Racks = append(c.Racks, c.Brokers[i].Rack)
		if i > 0 && c.Brokers[i].ID == c.Brokers[i-1].ID {
			b.problem = append(b.problem, Problem{fmt.Sprintf("broker %d", c.Brokers[i].ID), "is listed twice"})
		}
	}
	slices.Sort(c.Racks)
	c.Racks = slices.Compact(c.Racks)
	for i := range c.Brokers {
		r, _ := slices.BinarySearch(c.Racks, c.Brokers[i].Rack)
		c.RackOf = append(c.RackOf, int32(r))
	}
	names := make([]string, 0, len(b.topics))
	for n := range b.topics {
		names = append(names, n)
	}
	slices.Sort(names)
	for i, n := range names {
		t := b.topics[n]
		t.Group = group(t.group)
		c.Topics = append(c.Topics, t.Topic)
		slices.SortFunc(t.parts, func(x, y PartitionSpec) int { return cmp.Compare(x.ID, y.ID) })
		for j := range t.parts {
			if j > 0 && t.parts[j].ID == t.parts[j-1].ID {
				b.problem = append(b.problem, Problem{fmt.Sprintf("%s-%d", n, t.parts[j].ID), "is listed twice"})
				continue
			}
			b.addPartition(c, int32(i), &t.parts[j])
		}
	}
	c.Off = append(c.Off, int32(len(c.Broker)))
	b.problem = append(b.problem, c.Validate()...)
	return c, b.problem
}

func (b *Builder) addPartition(c *Cluster, topic int32, p *PartitionSpec) {
	where := fmt.Sprintf("%s-%d", c.Topics[topic].Name, p.ID)
	c.Topic, c.ID = append(c.Topic, topic), append(c.ID, p.ID)
	c.Off = append(c.Off, int32(len(c.Broker)))
	c.OutRate, c.LeadCPU, c.Moving = append(c.OutRate, p.Out), append(c.LeadCPU, p.LeadCPU), append(c.Moving, p.Moving)
	leader := None
	for _, r := range p.Replicas {
		i, ok := c.BrokerIndex(r.Broker)
		if !ok {
			b.problem = append(b.problem, Problem{where, fmt.Sprintf("has a replica on broker %d, which is not listed", r.Broker)})
			continue
		}
		if r.Broker == p.Leader && p.Leader != None {
			leader = int32(len(c.Broker))
		}
		c.Broker, c.Dir = append(c.Broker, i), append(c.Dir, r.Dir)
		c.Size, c.InRate, c.CPU = append(c.Size, r.Size), append(c.InRate, r.In), append(c.CPU, r.CPU)
	}
	if leader == None && p.Leader != None {
		b.problem = append(b.problem, Problem{where, fmt.Sprintf("is led by broker %d, which has no replica of it", p.Leader)})
	}
	c.Leader = append(c.Leader, leader)
}
