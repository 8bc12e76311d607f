package model

import "fmt"

// Validate returns everything that makes the cluster unfit to plan on. A
// cluster with dead brokers or moves in flight is fit.
func (c *Cluster) Validate() []Problem {
	var out []Problem
	bad := func(where, format string, args ...any) {
		out = append(out, Problem{where, fmt.Sprintf(format, args...)})
	}
	if len(c.Brokers) == 0 {
		bad("cluster "+c.Name, "has no brokers")
	}
	for i := range c.Brokers {
		b := &c.Brokers[i]
		if b.ID < 0 {
			bad(fmt.Sprintf("broker %d", b.ID), "has a negative id")
		}
		for k, v := range b.Capacity {
			if v < 0 {
				bad(fmt.Sprintf("broker %d", b.ID), "has a negative capacity of %s: %d", Resource(k), v)
			}
		}
		for j := range b.Dirs {
			if b.Dirs[j].Capacity < 0 {
				bad(fmt.Sprintf("broker %d", b.ID), "has a negative capacity of log dir %s: %d", b.Dirs[j].Path, b.Dirs[j].Capacity)
			}
		}
	}
	for p := range c.Topic {
		from, to := c.Slots(p)
		if from == to {
			bad(c.PartitionName(p), "has no replicas")
		}
		if c.OutRate[p] < 0 || c.LeadCPU[p] < 0 {
			bad(c.PartitionName(p), "has a negative load")
		}
		for s := from; s < to; s++ {
			if c.Size[s] < 0 || c.InRate[s] < 0 || c.CPU[s] < 0 {
				bad(c.PartitionName(p), "has a negative load on broker %d", c.Brokers[c.Broker[s]].ID)
			}
			for r := from; r < s; r++ {
				if c.Broker[r] == c.Broker[s] {
					bad(c.PartitionName(p), "has two replicas on broker %d", c.Brokers[c.Broker[s]].ID)
				}
			}
			if d := c.Dir[s]; d < None || d != None && int(d) >= len(c.Brokers[c.Broker[s]].Dirs) {
				bad(c.PartitionName(p), "lies in log dir %d of broker %d, which has %d", d, c.Brokers[c.Broker[s]].ID, len(c.Brokers[c.Broker[s]].Dirs))
			}
		}
	}
	return out
}

// PartitionName is topic-partition.
func (c *Cluster) PartitionName(p int) string {
	return fmt.Sprintf("%s-%d", c.Topics[c.Topic[p]].Name, c.ID[p])
}
