package check

import (
	"math"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// rackViolations counts partitions that could have fewer copies in their
// fullest rack, by trying every set of brokers.
func (f *fixture) rackViolations(bs books) (n int) {
	for tp, l := range bs {
		var brokers []int32
		for _, x := range l {
			brokers = append(brokers, x.broker)
		}
		if f.fullest(brokers) > f.leastFull(f.topicGroup(tp.Topic), len(l)) {
			n++
		}
	}
	return n
}

func (f *fixture) topicGroup(topic string) int32 {
	if t, ok := findTopic(f.c, topic); ok {
		return f.c.Topics[t].Group
	}
	return model.None
}

func (f *fixture) fullest(brokers []int32) int {
	seen := map[int32]map[int32]bool{}
	most := 0
	for _, id := range brokers {
		b, _ := f.c.BrokerIndex(id)
		r := f.c.RackOf[b]
		if seen[r] == nil {
			seen[r] = map[int32]bool{}
		}
		seen[r][id] = true
		most = max(most, len(seen[r]))
	}
	return most
}

func (f *fixture) leastFull(group int32, copies int) int {
	best := copies
	for set := range 1 << len(f.c.Brokers) {
		var brokers []int32
		for i := range f.c.Brokers {
			if set>>i&1 == 1 && f.takesPart(&f.c.Brokers[i]) && (group == model.None || f.c.Brokers[i].Group == group) {
				brokers = append(brokers, f.c.Brokers[i].ID)
			}
		}
		if len(brokers) == copies {
			best = min(best, f.fullest(brokers))
		}
	}
	return best
}

func (f *fixture) excess(bs books) (n int) {
	count := map[string]map[int32]int{}
	total := map[string]int{}
	for tp, l := range bs {
		if count[tp.Topic] == nil {
			count[tp.Topic] = map[int32]int{}
		}
		for _, x := range l {
			count[tp.Topic][x.broker]++
			total[tp.Topic]++
		}
	}
	for topic, by := range count {
		brokers := 0.0
		for i := range f.c.Brokers {
			if g := f.topicGroup(topic); f.takesPart(&f.c.Brokers[i]) && (g == model.None || f.c.Brokers[i].Group == g) {
				brokers++
			}
		}
		if brokers == 0 {
			continue
		}
		for _, have := range by {
			n += max(0, have-int(math.Ceil(float64(total[topic])/brokers))-1)
		}
	}
	return n
}
