package main

import (
	"fmt"
	"math"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// The neutral rules, the same for every planner: fair shares are proportional to
// capacity (even for counts); a plan is a list of partitions with their brokers,
// the leader first; a broker that stays keeps its copy, the copies of those that
// leave go to those that come, in order; a rack is violated by more than
// ceil(replicas/racks) copies of a partition.

// scores are one placement's figures.
type scores struct {
	max, min, cv, in10 [model.NumResources]float64
	rackViolations     int
	// topicOver sums replicas of topics above ceil(average)+1 on a broker.
	topicOver int
	// of the plan
	bytes           int64
	replicas, leads int
	maxIn, maxOut   int64
	duplicates      int
}

type scorer struct {
	c       *model.Cluster
	brokers []int32 // by slot
	leader  []int32 // slot by partition
	topic   map[string][2]int
}

func newScorer(c *model.Cluster) *scorer {
	s := &scorer{c: c, topic: map[string][2]int{}}
	for first := 0; first < len(c.Topic); {
		last := first
		for last < len(c.Topic) && c.Topic[last] == c.Topic[first] {
			last++
		}
		s.topic[c.Topics[c.Topic[first]].Name] = [2]int{first, last}
		first = last
	}
	s.reset()
	return s
}

func (s *scorer) reset() {
	s.brokers, s.leader = append([]int32(nil), s.c.Broker...), append([]int32(nil), s.c.Leader...)
}

func (s *scorer) partition(m *move) (int, error) {
	r, ok := s.topic[m.Topic]
	for p := r[0]; ok && p < r[1]; p++ {
		if s.c.ID[p] == m.Partition {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%s-%d is not in the model", m.Topic, m.Partition)
}

// score applies a plan and returns the figures after it; no plan gives those
// before.
func (s *scorer) score(moves []move) (*scores, error) {
	s.reset()
	out := &scores{}
	in, sent := make([]int64, len(s.c.Brokers)), make([]int64, len(s.c.Brokers))
	for i := range moves {
		if err := s.apply(&moves[i], out, in, sent); err != nil {
			return nil, err
		}
	}
	for b := range in {
		out.maxIn, out.maxOut = max(out.maxIn, in[b]), max(out.maxOut, sent[b])
	}
	s.spread(out)
	s.racks(out)
	s.topics(out)
	return out, nil
}

func (s *scorer) apply(m *move, out *scores, in, sent []int64) error {
	p, err := s.partition(m)
	if err != nil {
		return err
	}
	from, to := s.c.Slots(p)
	if len(m.New) != int(to-from) {
		return fmt.Errorf("%s-%d gets %d replicas instead of %d", m.Topic, m.Partition, len(m.New), to-from)
	}
	had, stays := map[int32]bool{}, map[int32]bool{}
	for _, b := range s.brokers[from:to] {
		had[b] = true
	}
	var coming []int32
	for _, id := range m.New {
		b, ok := s.c.BrokerIndex(id)
		switch {
		case !ok:
			return fmt.Errorf("%s-%d goes to broker %d, which does not exist", m.Topic, m.Partition, id)
		case had[b]:
			stays[b] = true
		default:
			coming = append(coming, b)
		}
	}
	old := s.brokers[s.leader[p]]
	for slot := from; slot < to && len(coming) > 0; slot++ {
		if stays[s.brokers[slot]] {
			continue
		}
		b := coming[0]
		coming = coming[1:]
		s.brokers[slot] = b
		out.bytes += s.c.Size[slot]
		in[b] += s.c.Size[slot]
		sent[old] += s.c.Size[slot]
		out.replicas++
	}
	first, _ := s.c.BrokerIndex(m.New[0])
	for slot := from; slot < to; slot++ {
		if s.brokers[slot] == first {
			s.leader[p] = slot
		}
	}
	if first != old {
		out.leads++
	}
	return nil
}

func (s *scorer) spread(out *scores) {
	loads := make([][model.NumResources]float64, len(s.c.Brokers))
	var total, capacity [model.NumResources]float64
	for p := range s.c.Topic {
		from, to := s.c.Slots(p)
		for slot := from; slot < to; slot++ {
			v := s.c.Load(p, slot, s.leader[p] == slot)
			for k, x := range v {
				loads[s.brokers[slot]][k] += float64(x)
				total[k] += float64(x)
			}
		}
	}
	for b := range s.c.Brokers {
		for k := range capacity {
			capacity[k] += s.weight(b, model.Resource(k))
		}
	}
	for k := range total {
		out.min[k] = math.Inf(1)
		squares, in := 0.0, 0
		for b := range loads {
			x := loads[b][k] / (total[k] * s.weight(b, model.Resource(k)) / capacity[k])
			out.max[k], out.min[k] = max(out.max[k], x), min(out.min[k], x)
			squares += (x - 1) * (x - 1)
			if x >= 0.9 && x <= 1.1 {
				in++
			}
		}
		n := float64(len(loads))
		out.cv[k], out.in10[k] = math.Sqrt(squares/n), float64(in)/n
	}
}

// weight is a broker's part in the fair shares.
func (s *scorer) weight(b int, k model.Resource) float64 {
	switch k {
	case model.Replicas, model.Leaders:
		return 1
	case model.LeaderIn:
		k = model.In
	}
	return float64(s.c.Brokers[b].Capacity[k])
}

func (s *scorer) racks(out *scores) {
	inRack := make([]int, len(s.c.Racks))
	for p := range s.c.Topic {
		from, to := s.c.Slots(p)
		limit, n := (int(to-from)+len(s.c.Racks)-1)/len(s.c.Racks), 0
		seen := map[int32]bool{}
		for _, b := range s.brokers[from:to] {
			inRack[s.c.RackOf[b]]++
			n = max(n, inRack[s.c.RackOf[b]])
			if seen[b] {
				out.duplicates++
			}
			seen[b] = true
		}
		for _, b := range s.brokers[from:to] {
			inRack[s.c.RackOf[b]] = 0
		}
		if n > limit {
			out.rackViolations++
		}
	}
}

func (s *scorer) topics(out *scores) {
	count := make([]int, len(s.c.Brokers))
	for first := 0; first < len(s.c.Topic); {
		last := s.topic[s.c.Topics[s.c.Topic[first]].Name][1]
		slots := s.brokers[s.c.Off[first]:s.c.Off[last]]
		top := (len(slots)+len(count)-1)/len(count) + 1
		for _, b := range slots {
			count[b]++
		}
		for b, n := range count {
			out.topicOver += max(0, n-top)
			count[b] = 0
		}
		first = last
	}
}
