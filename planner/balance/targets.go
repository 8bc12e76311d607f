package balance

import (
	"math"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// setTargets gives every broker its fair share: proportional to capacity among
// the members of a resource group. Topics tie loads to
// groups, so each group has targets of its own.
func (s *state) setTargets() {
	for b := range s.B {
		s.member[b] = s.o.member(s.c, b)
		s.receive[b] = s.member[b] && s.o.mayReceive(s.c, b)
		s.leadsOK[b] = s.member[b] && s.o.mayLead(s.c, b)
	}
	for _, g := range s.groups() {
		var total, capacity vec
		basis := s.basis(g)
		for b := range s.B {
			if s.c.Brokers[b].Group != g {
				continue
			}
			for k := range K {
				total[k] += s.load[b][k]
				if s.member[b] {
					capacity[k] += s.share(b, basis[k])
				}
			}
		}
		for b := range s.B {
			if s.c.Brokers[b].Group != g {
				continue
			}
			for k := range K {
				s.limK[b][k] = s.limit(b, k)
				if t := total[k] * s.share(b, basis[k]) / capacity[k]; s.member[b] && t > 0 {
					s.inv[b][k] = 1 / t
				}
			}
		}
	}
	for b := range s.B {
		s.rate(int32(b))
		s.keeps[b] = s.o.Light && s.member[b] && s.pen[b] <= tiny
	}
	s.setBulk()
	s.setTopicLimits()
}

func (s *state) groups() []int32 {
	seen := map[int32]bool{}
	var out []int32
	for b := range s.B {
		if g := s.c.Brokers[b].Group; !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}
	return out
}

// evenly divides a load in equal parts.
const evenly = -1

// basis is the capacity by which a group's loads are divided: the resource's
// own where all of the group's members have one, else equal parts (a broker
// without one cannot be compared). Counts have none as a rule; they follow the
// disks if asked to.
func (s *state) basis(group int32) (out [K]int) {
	known := func(k int) bool {
		for b := range s.B {
			if v := s.c.Brokers[b].Capacity[k]; s.member[b] && s.c.Brokers[b].Group == group && (v == model.Unlimited || v <= 0) {
				return false
			}
		}
		return true
	}
	for k := range K {
		switch counts := k == int(model.Replicas) || k == int(model.Leaders); {
		case known(k):
			out[k] = k
		case counts && s.o.CountsFollowDisk && known(int(model.Disk)):
			out[k] = int(model.Disk)
		default:
			out[k] = evenly
		}
	}
	return out
}

// share is a broker's weight when a load is divided.
func (s *state) share(b, basis int) float64 {
	if basis == evenly {
		return 1
	}
	return float64(s.c.Brokers[b].Capacity[basis])
}

// limit is what a broker may carry: a share of its capacity.
func (s *state) limit(b, k int) float64 {
	v := s.c.Brokers[b].Capacity[k]
	if v == model.Unlimited {
		return math.Inf(1)
	}
	return float64(v) * s.o.CapacityShare[k]
}

// setBulk measures brokers, to tell how many replicas of a topic each should
// have.
func (s *state) setBulk() {
	s.bulk, s.bulkSum = make([]float64, s.B), make([]float64, len(s.c.Groups)+1)
	known := func(k model.Resource) bool {
		for b := range s.B {
			if v := s.c.Brokers[b].Capacity[k]; s.member[b] && (v == model.Unlimited || v <= 0) {
				return false
			}
		}
		return true
	}
	basis := evenly
	for _, k := range []model.Resource{model.In, model.Disk} {
		if known(k) {
			basis = int(k)
			break
		}
	}
	for b := range s.B {
		if !s.member[b] {
			continue
		}
		s.bulk[b] = s.share(b, basis)
		s.bulkSum[0] += s.bulk[b]
		if g := s.c.Brokers[b].Group; g != model.None {
			s.bulkSum[g+1] += s.bulk[b]
		}
	}
}

// expected is how many of n replicas of a topic a broker of its group should
// have.
func (s *state) expected(topic, b, n int) float64 {
	return float64(n) * s.bulk[b] / s.bulkSum[s.c.Topics[topic].Group+1]
}

// topOn is the most replicas of a topic that a broker should have: on big
// brokers more than the average and one.
func (s *state) topOn(topic int, b int32) int {
	n := int(s.c.Off[s.topicEnd[topic]] - s.c.Off[s.topicStart[topic]])
	return max(int(s.top[topic]), int(math.Ceil(s.expected(topic, int(b), n)-1e-9))+1)
}

// setTopicLimits finds for every topic the most replicas one broker should have.
func (s *state) setTopicLimits() {
	s.topicStart, s.topicEnd = make([]int32, len(s.c.Topics)), make([]int32, len(s.c.Topics))
	for p := s.P - 1; p >= 0; p-- {
		t := s.c.Topic[p]
		if s.topicEnd[t] == 0 {
			s.topicEnd[t] = int32(p) + 1
		}
		s.topicStart[t] = int32(p)
	}
	for t := range s.c.Topics {
		n, brokers := 0, 0
		for b := range s.B {
			n += int(s.cnt[t*s.B+b])
			if s.member[b] && s.inGroup(t, b) {
				brokers++
			}
		}
		s.top[t] = math.MaxUint16 // nothing may receive it: nothing is too much
		if brokers > 0 {
			s.top[t] = uint16(min((n+brokers-1)/brokers+1, math.MaxUint16))
		}
	}
}

func (s *state) inGroup(topic, b int) bool {
	g := s.c.Topics[topic].Group
	return g == model.None || s.group[b] == g
}
