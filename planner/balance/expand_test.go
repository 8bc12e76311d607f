package balance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"github.com/kafka-steward/kafka-steward/planner/plan"
	"pgregory.net/rapid"
)

// onlyToNew checks that replicas and leaders go to new brokers only.
func onlyToNew(t rapid.TB, p *plan.Plan, fresh map[int32]bool) {
	t.Helper()
	for i := range p.Changes {
		ch := &p.Changes[i]
		had := map[int32]bool{}
		for _, r := range ch.From {
			had[r.Broker] = true
		}
		gets := false
		for _, r := range ch.To {
			if !had[r.Broker] && !fresh[r.Broker] {
				t.Fatalf("%s-%d moves to broker %d, which is not new: %+v", ch.Topic, ch.Partition, r.Broker, ch)
			}
			gets = gets || fresh[r.Broker]
		}
		if !gets || ch.NewLeader != ch.OldLeader && !fresh[ch.NewLeader] {
			t.Fatalf("%s-%d changes among old brokers: %+v", ch.Topic, ch.Partition, ch)
		}
	}
}

func TestExpandProperties(t *testing.T) {
	changes := 0
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Hostile).Draw(t, "cluster")
		o := drawOptions(t, c)
		fresh := drawBrokers(t, c, "new", 2)
		p, err := balance.Expand(c, fresh, o)
		for _, id := range fresh {
			if b, _ := c.BrokerIndex(id); c.Brokers[b].Dead {
				if err == nil || !strings.Contains(err.Error(), "is dead") {
					t.Fatalf("expansion onto dead broker %d: %v", id, err)
				}
				return
			}
		}
		must(t)(p, err)
		judge(t, c, p, o, asked{fresh: fresh})
		onlyToNew(t, p, set(fresh))
		prefixes(t, c, p, o, asked{})
		sameBytes(t, "planned twice", p, must(t)(balance.Expand(c, fresh, o)))
		sameBytes(t, "shuffled input", p, must(t)(balance.Expand(modeltest.Shuffled(c, 9), fresh, o)))
		changes += len(p.Changes)
	})
	t.Logf("%d changes", changes)
	if !testing.Short() && changes == 0 {
		t.Error("the property saw no change")
	}
}

// grown is a cluster of old brokers that are full and even, and two new ones.
// Topic hot has most of the traffic, two leaders on every old broker.
func grown(t *testing.T, seed uint64) (*model.Cluster, []int32) {
	t.Helper()
	s := simple{parts: map[string][][]int32{}, size: map[string]int64{}, in: map[string]int64{}, out: map[string]int64{}}
	for i := range int32(6) {
		s.brokers = append(s.brokers, broker(i+1, string('a'+i%3)))
	}
	add := func(name string, n int32, in int64) {
		s.in[name], s.out[name], s.size[name] = in, 3*in, 1000*in
		for i := range n {
			s.parts[name] = append(s.parts[name], []int32{1 + (i+int32(seed))%6, 1 + (i+1+int32(seed))%6, 1 + (i+2+int32(seed))%6})
		}
	}
	add("hot", 12, 10_000)
	for i := range 20 {
		add(fmt.Sprintf("cold-%02d", i), 6, 100)
	}
	s.brokers = append(s.brokers, broker(7, "a"), broker(8, "b"))
	return s.build(t), []int32{7, 8}
}

func TestExpandTakesBusyLeadersFirst(t *testing.T) {
	c, fresh := grown(t, 0)
	o := balance.Defaults()
	p := must(t)(balance.Expand(c, fresh, o))
	judge(t, c, p, o, asked{fresh: fresh})
	onlyToNew(t, p, set(fresh))
	taken, firstCold := map[int32]int{}, -1
	for i, ch := range p.Changes {
		if ch.Topic == "hot" && set(fresh)[ch.NewLeader] {
			taken[ch.OldLeader]++
			if firstCold >= 0 {
				t.Errorf("change %d takes a leader of the busy topic after change %d of an idle one", i, firstCold)
			}
		} else if ch.Topic != "hot" && firstCold < 0 {
			firstCold = i
		}
	}
	// Twelve leaders on six brokers, eight brokers then: three go, each from
	// another broker, since each old one then leads one or two.
	if n := len(taken); n < 2 || n > 4 {
		t.Errorf("leaders of the busy topic taken by broker: %v", taken)
	}
	for id, n := range taken {
		if n > 1 {
			t.Errorf("broker %d loses %d of its 2 leaders of the busy topic", id, n)
		}
	}
	after := apply(t, c, p.Changes)
	x, y := objective(c, c, o, nil), objective(c, after, o, nil)
	t.Logf("objective %.4f → %.4f, %d changes", x, y, len(p.Changes))
	if y > 0.15*x { // two or one leaders of hot each: that is as even as it gets
		t.Errorf("the new brokers are hardly used: objective %.4f → %.4f", x, y)
	}
}

func TestExpandErrors(t *testing.T) {
	c, _ := grown(t, 0)
	for _, ids := range [][]int32{nil, {99}} {
		if _, err := balance.Expand(c, ids, balance.Defaults()); err == nil {
			t.Errorf("expansion onto %v is no error", ids)
		} else if len(ids) > 0 && !strings.Contains(err.Error(), "99") {
			t.Errorf("the error does not name the broker: %v", err)
		}
	}
}
