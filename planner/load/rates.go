package load

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// rates are what is known of the partitions of a cluster, by index.
type rates struct {
	c *model.Cluster
	// wanted tells which topics are asked for.
	wanted []bool
	// in is bytes/s written, read bytes/s sent to consumers.
	in, read []float64
	// known tells whether in rests on enough samples of the partition; some
	// whether on any.
	known, some []bool
	report      *Report
}

func newRates(c *model.Cluster, group, source string) (*rates, error) {
	r := &rates{
		c: c, in: make([]float64, c.NumPartitions()), read: make([]float64, c.NumPartitions()),
		known: make([]bool, c.NumPartitions()), some: make([]bool, c.NumPartitions()), report: &Report{Source: source},
	}
	var err error
	r.wanted, err = wantedTopics(c, group)
	return r, err
}

// wantedTopics are those with a replica on a broker of the group, and the
// group's own; all for "". O(replicas).
func wantedTopics(c *model.Cluster, group string) ([]bool, error) {
	wanted := make([]bool, len(c.Topics))
	if group == "" {
		for t := range wanted {
			wanted[t] = true
		}
		return wanted, nil
	}
	i, ok := slices.BinarySearch(c.Groups, group)
	if !ok {
		return nil, fmt.Errorf("resource group %q is not known; there are %q", group, c.Groups)
	}
	for t := range c.Topics {
		wanted[t] = c.Topics[t].Group == int32(i)
	}
	for p := range c.Topic {
		for s := c.Off[p]; s < c.Off[p+1]; s++ {
			if c.Brokers[c.Broker[s]].Group == int32(i) {
				wanted[c.Topic[p]] = true
			}
		}
	}
	return wanted, nil
}

// each calls f for every partition that is asked for.
func (r *rates) each(f func(p int)) {
	for p := range r.c.Topic {
		if r.wanted[r.c.Topic[p]] {
			f(p)
		}
	}
}

// nothing tells whether there are partitions, but none with a sample.
func (r *rates) nothing() bool {
	asked, found := false, false
	r.each(func(p int) { asked, found = true, found || r.some[p] })
	return asked && !found
}

// recordSizes is how many bytes a record takes in each partition: its size over
// its records, else the same of its topic, else of the cluster; 0 where nothing
// is known. records is how many each partition holds, negative if not known.
func recordSizes(c *model.Cluster, records []float64) []float64 {
	var bytes, count float64
	topicBytes, topicCount := make([]float64, len(c.Topics)), make([]float64, len(c.Topics))
	out := make([]float64, len(records))
	for p, n := range records {
		size := float64(partitionSize(c, p))
		if n <= 0 || size <= 0 {
			continue
		}
		out[p] = size / n
		t := c.Topic[p]
		bytes, count = bytes+size, count+n
		topicBytes[t], topicCount[t] = topicBytes[t]+size, topicCount[t]+n
	}
	for p := range out {
		switch t := c.Topic[p]; {
		case out[p] > 0:
		case topicCount[t] > 0:
			out[p] = topicBytes[t] / topicCount[t]
		case count > 0:
			out[p] = bytes / count
		}
	}
	return out
}

// partitionSize is the leader's size, or the biggest copy's without a leader.
func partitionSize(c *model.Cluster, p int) int64 {
	if l := c.Leader[p]; l != model.None {
		return c.Size[l]
	}
	return slices.Max(c.Size[c.Off[p]:c.Off[p+1]])
}

// fill gives partitions without enough samples the median of those of their
// topic that have; where a topic has none, what few samples there are, else 0.
func (r *rates) fill() {
	c := r.c
	var in, read []float64
	none := 0
	for p := 0; p < len(c.Topic); {
		from, t := p, c.Topic[p]
		in, read = in[:0], read[:0]
		for ; p < len(c.Topic) && c.Topic[p] == t; p++ {
			if r.known[p] {
				in, read = append(in, r.in[p]), append(read, r.read[p])
			}
		}
		if !r.wanted[t] {
			continue
		}
		r.report.Partitions += p - from
		r.report.Sampled += len(in)
		if len(in) == p-from {
			continue
		}
		filled := model.TopicPartitions{Topic: c.Topics[t].Name}
		for q := from; q < p; q++ {
			if r.known[q] {
				continue
			}
			filled.Partitions = append(filled.Partitions, c.ID[q])
			if len(in) > 0 {
				r.in[q], r.read[q] = Percentile(in, 0.5), Percentile(read, 0.5)
			} else if !r.some[q] {
				none++
			}
		}
		r.report.Filled = append(r.report.Filled, filled)
	}
	if none > 0 {
		r.report.note("%d partitions have no samples and neither has their topic: they count as idle", none)
	}
}

// apply puts the rates into the cluster: every replica is written what the
// leader is, and the leader sends it to the others besides what consumers read.
func (r *rates) apply() {
	c := r.c
	r.each(func(p int) {
		in := bytes(r.in[p])
		for s := c.Off[p]; s < c.Off[p+1]; s++ {
			c.InRate[s] = in
		}
		c.OutRate[p] = bytes(r.read[p]) + in*int64(c.RF(p)-1)
	})
}

func (r *rates) topicIndex(name string) (int32, bool) {
	t, ok := slices.BinarySearchFunc(r.c.Topics, name, func(t model.Topic, name string) int { return strings.Compare(t.Name, name) })
	return int32(t), ok
}
