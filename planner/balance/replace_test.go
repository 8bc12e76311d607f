package balance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"github.com/kafka-steward/kafka-steward/planner/plan"
	"pgregory.net/rapid"
)

func TestReplaceProperties(t *testing.T) {
	inPlace, elsewhere := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Hostile).Draw(t, "cluster")
		o := drawOptions(t, c)
		ids := drawBrokers(t, c, "brokers", len(c.Brokers))
		if len(ids) < 2 {
			return
		}
		pairs := []balance.Pair{{Old: ids[0], New: ids[1]}}
		if len(ids) >= 4 && rapid.Bool().Draw(t, "two") {
			pairs = append(pairs, balance.Pair{Old: ids[2], New: ids[3]})
		}
		var old []int32
		dead := false
		for _, x := range pairs {
			old = append(old, x.Old)
			b, _ := c.BrokerIndex(x.New)
			dead = dead || c.Brokers[b].Dead
		}
		p, err := balance.Replace(c, pairs, o)
		if dead {
			if err == nil || !strings.Contains(err.Error(), "dead") {
				t.Fatalf("a dead broker takes a place: %v", err)
			}
			return
		}
		must(t)(p, err)
		judge(t, c, p, o, asked{drain: old})
		after := apply(t, c, p.Changes)
		emptied(t, c, after, p, old)
		if again := must(t)(balance.Replace(after, pairs, o)); len(p.Refusals) == 0 && again.Summary.ReplicaMoves > 0 {
			t.Fatalf("the brokers are empty, and %d replicas move when they are replaced again", again.Summary.ReplicaMoves)
		}
		prefixes(t, c, p, o, asked{drain: old})
		sameBytes(t, "planned twice", p, must(t)(balance.Replace(c, pairs, o)))
		slices.Reverse(pairs)
		sameBytes(t, "shuffled input", p, must(t)(balance.Replace(modeltest.Shuffled(c, 5), pairs, o)))
		for i := range p.Changes {
			in, out := positions(t, &p.Changes[i], pairs)
			inPlace += in
			elsewhere += out
		}
	})
	t.Logf("%d replicas took the place, %d went elsewhere", inPlace, elsewhere)
	if !testing.Short() && (inPlace == 0 || elsewhere == 0) {
		t.Error("the property saw only one kind of move")
	}
}

// positions checks that a list keeps its order: what does not lie on an old
// broker stays where it stands. The exception is a list whose leader was on a
// broker that cannot hand it over.
func positions(t rapid.TB, ch *plan.Change, pairs []balance.Pair) (inPlace, elsewhere int) {
	t.Helper()
	to := map[int32]int32{}
	for _, x := range pairs {
		to[x.Old] = x.New
	}
	want := make([]int32, len(ch.From))
	for i, r := range ch.From {
		want[i] = r.Broker
		if n, ok := to[r.Broker]; ok {
			want[i] = n
		}
	}
	got := make([]int32, len(ch.To))
	for i, r := range ch.To {
		got[i] = r.Broker
	}
	_, leaderLeft := to[ch.OldLeader]
	for i := range got {
		_, replaced := to[ch.From[i].Broker]
		switch {
		case replaced && got[i] == want[i]:
			inPlace++
		case replaced:
			elsewhere++
		case got[i] != want[i] && !leaderLeft:
			t.Fatalf("%s-%d: position %d was %d and is %d although nobody left it: %+v", ch.Topic, ch.Partition, i, want[i], got[i], ch)
		}
	}
	return inPlace, elsewhere
}

func TestReplaceKeepsPositions(t *testing.T) {
	s := simple{
		brokers: []model.Broker{broker(1, "a"), broker(2, "b"), broker(3, "c"), broker(4, "a")},
		parts: map[string][][]int32{
			"t": {{1, 2, 3}, {2, 3, 1}, {3, 1, 2}, {2, 1, 3}},
			// Led by its second replica, and nothing of it on broker 1.
			"u": {{2, 3}},
		},
		size: map[string]int64{"t": 100, "u": 100}, in: map[string]int64{"t": 10, "u": 10},
		edit: func(topic string, p *model.PartitionSpec) {
			if topic == "u" {
				p.Leader = 3
			}
		},
	}
	for _, dead := range []bool{false, true} {
		s.brokers[0].Dead = dead
		if dead {
			s.edit = func(topic string, p *model.PartitionSpec) {
				switch {
				case topic == "u":
					p.Leader = 3
				case p.Leader == 1: // as Kafka does when broker 1 dies
					p.Leader = p.Replicas[1].Broker
				}
			}
		}
		c := s.build(t)
		o := balance.Defaults()
		p := must(t)(balance.Replace(c, []balance.Pair{{Old: 1, New: 4}}, o))
		judge(t, c, p, o, asked{drain: []int32{1}})
		got := lists(apply(t, c, p.Changes))
		want := map[string][]int32{"t-0": {4, 2, 3}, "t-1": {2, 3, 4}, "t-2": {3, 4, 2}, "t-3": {2, 4, 3}, "u-0": {2, 3}}
		for name, w := range want {
			if !slices.Equal(got[name], w) {
				t.Errorf("dead=%t: %s is %v, want %v", dead, name, got[name], w)
			}
		}
		if len(p.Changes) != 4 || p.Summary.ReplicaMoves != 4 || p.Summary.Bytes != 400 {
			t.Errorf("dead=%t: %d changes, %+v", dead, len(p.Changes), p.Summary)
		}
	}
}

func TestReplaceErrors(t *testing.T) {
	c := simple{brokers: []model.Broker{broker(1, "a"), broker(2, "b"), broker(3, "c")}, parts: map[string][][]int32{"t": {{1, 2}}}}.build(t)
	for _, x := range []struct {
		pairs []balance.Pair
		want  string
	}{
		{[]balance.Pair{{Old: 9, New: 1}}, "broker 9, to be replaced"},
		{[]balance.Pair{{Old: 1, New: 9}}, "broker 9, to take its place"},
		{[]balance.Pair{{Old: 1, New: 3}, {Old: 1, New: 2}}, "twice"},
		{[]balance.Pair{{Old: 1, New: 2}, {Old: 2, New: 3}}, "both"},
		{[]balance.Pair{{Old: 1, New: 1}}, "both"},
		{nil, "no broker"},
	} {
		if _, err := balance.Replace(c, x.pairs, balance.Defaults()); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("replace %v: %v, want an error with %q", x.pairs, err, x.want)
		}
	}
}
