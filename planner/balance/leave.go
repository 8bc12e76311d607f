package balance

import (
	"cmp"
	"math"
	"slices"
)

// leaveAlone fixes what need not move: topics without traffic and topics that
// already lie evenly, leaders and replicas, on the brokers that may hold them.
func (s *state) leaveAlone(idle, even bool) (nIdle, nEven int) {
	for _, t := range s.topics() {
		isIdle := idle && t.traffic == 0
		isEven := even && !isIdle && s.isEven(t.topic, t.first, t.last)
		if !isIdle && !isEven {
			continue
		}
		for p := t.first; p < t.last; p++ {
			s.fixed[p] = true
		}
		if isIdle {
			nIdle++
		} else {
			nEven++
		}
	}
	return nIdle, nEven
}

func (s *state) isEven(t, first, last int) bool {
	reps, leads := make([]int, s.B), make([]int, s.B)
	brokers := 0
	for b := range s.B {
		if s.member[b] && s.inGroup(t, b) {
			brokers++
		}
	}
	n := 0
	for p := first; p < last; p++ {
		if s.lead[p] >= 0 {
			leads[s.rep[s.lead[p]].at]++
		}
		for r := s.c.Off[p]; r < s.c.Off[p+1]; r++ {
			reps[s.rep[r].at]++
			n++
		}
	}
	if last-first < brokers { // fewer partitions than brokers: nothing to be even about
		return false
	}
	for b := range s.B {
		if !s.member[b] || !s.inGroup(t, b) {
			if reps[b] > 0 {
				return false
			}
			continue
		}
		if !near(reps[b], s.expected(t, b, n)) || !near(leads[b], s.expected(t, b, last-first)) {
			return false
		}
	}
	return true
}

// near tells whether a count is an expected one, rounded up or down.
func near(n int, expected float64) bool {
	return float64(n) >= math.Floor(expected+1e-9) && float64(n) <= math.Ceil(expected-1e-9)
}

// topicRange is a topic's partitions and what they carry.
type topicRange struct {
	topic, first, last int
	traffic            float64
}

// topics lists every topic with partitions.
func (s *state) topics() []topicRange {
	var out []topicRange
	for p := range s.P {
		t := int(s.c.Topic[p])
		if n := len(out); n == 0 || out[n-1].topic != t {
			out = append(out, topicRange{topic: t, first: p, last: p})
		}
		x := &out[len(out)-1]
		x.last = p + 1
		x.traffic += s.out[p]
		for r := s.c.Off[p]; r < s.c.Off[p+1]; r++ {
			x.traffic += s.rep[r].in
		}
	}
	return out
}

// busyTopics lists the topics with more than the average traffic, busiest first.
func (s *state) busyTopics() []topicRange {
	all := s.topics()
	sum := 0.0
	for _, t := range all {
		sum += t.traffic
	}
	busy := slices.DeleteFunc(all, func(t topicRange) bool { return t.traffic*float64(len(all)) <= sum })
	slices.SortFunc(busy, func(a, b topicRange) int {
		return cmp.Or(cmp.Compare(b.traffic, a.traffic), cmp.Compare(a.topic, b.topic))
	})
	return busy
}
