package loadgen

import (
	"bytes"
	"testing"
	"time"
)

func TestPacer(t *testing.T) {
	now := time.Unix(1000, 0)
	p := pacer{rate: 30}
	total := p.due(now)
	for range 100 {
		now = now.Add(50 * time.Millisecond)
		total += p.due(now)
	}
	if total < 149 || total > 150 {
		t.Errorf("%d in 5 s at 30 per second", total)
	}
	if n := p.due(now.Add(time.Hour)); n > 30 {
		t.Errorf("a burst of %d after a pause", n)
	}
	slow := pacer{rate: 0.5}
	slow.due(now)
	if n := slow.due(now.Add(2 * time.Second)); n != 1 {
		t.Errorf("%d in 2 s at 0.5 per second", n)
	}
}

func TestSeedRepeatsTheRecords(t *testing.T) {
	take := func(seed uint64) (partitions []int32, values []byte) {
		l := &Load{opts: Options{Seed: seed}.withDefaults()}
		s := newSource(l.random("checkout-1"), "orders", 1.3, 0, 100)
		for range 50 {
			r := s.record()
			partitions = append(partitions, r.Partition)
			values = append(values, r.Value...)
		}
		return partitions, values
	}
	_, one := take(7)
	_, again := take(7)
	_, other := take(8)
	if !bytes.Equal(one, again) {
		t.Error("the same seed made other records")
	}
	if bytes.Equal(one, other) {
		t.Error("another seed made the same records")
	}
}

func TestSkew(t *testing.T) {
	l := &Load{opts: Options{Seed: 1}.withDefaults()}
	count := func(s *source) []int {
		n := make([]int, s.partitions)
		for range 5000 {
			n[s.record().Partition]++
		}
		return n
	}
	if n := count(newSource(l.random("a"), "orders", 1.3, 0, 10)); n[0] < 4*n[len(n)-1] {
		t.Errorf("not skewed: %v", n)
	}
	if n := count(newSource(l.random("b"), "page-views", 0, 0, 10)); n[0] > 2*n[len(n)-1] || n[len(n)-1] > 2*n[0] {
		t.Errorf("not even: %v", n)
	}
	s := newSource(l.random("c"), "customers", 0, 10, 10)
	where := map[string]int32{}
	for range 500 {
		r := s.record()
		if p, seen := where[string(r.Key)]; seen && p != r.Partition {
			t.Fatalf("%s is in two partitions", r.Key)
		}
		where[string(r.Key)] = r.Partition
	}
	if len(where) != 10 {
		t.Errorf("%d keys, not 10", len(where))
	}
}

// TestScenario holds the tables together.
func TestScenario(t *testing.T) {
	total := 0.0
	written, ids := map[string]bool{}, map[string]bool{}
	for _, p := range producers {
		total += p.share
		written[p.topic] = true
		if ids[p.clientID] {
			t.Errorf("client id %s twice", p.clientID)
		}
		ids[p.clientID] = true
	}
	if total < 0.9 || total > 1 {
		t.Errorf("the producers' shares sum to %v; the transactions make the rest", total)
	}
	for _, c := range consumers {
		for _, topic := range c.topics {
			if !written[topic] {
				t.Errorf("group %s reads %s, which nobody writes", c.group, topic)
			}
		}
	}
	if written["legacy-imports"] || written["campaign-2019"] {
		t.Error("an idle topic is written to")
	}
	if partitionsOf(movedTopic) == 0 {
		t.Errorf("%s has no partitions", movedTopic)
	}
}
