package balance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"pgregory.net/rapid"
)

// TestExplain: every other broker is either possible or rejected with a reason,
// never both.
func TestExplain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Hostile).Draw(t, "cluster")
		if live(c, nil) == 0 {
			return
		}
		p := rapid.IntRange(0, c.NumPartitions()-1).Draw(t, "partition")
		list, err := balance.Explain(c, balance.Defaults(), c.Topics[c.Topic[p]].Name, c.ID[p])
		if err != nil || len(list) != c.RF(p) {
			t.Fatalf("%d replicas explained of %d: %v", len(list), c.RF(p), err)
		}
		for i, x := range list {
			seen := map[int32]int{x.Broker: 1}
			if want := c.Brokers[c.Broker[c.Off[p]+int32(i)]].ID; x.Broker != want {
				t.Fatalf("replica %d is said to be on %d, it is on %d", i, x.Broker, want)
			}
			for _, b := range x.Possible {
				seen[b.Broker]++
			}
			for _, b := range x.Rejected {
				seen[b.Broker]++
				if b.Reason == "" {
					t.Fatalf("broker %d is rejected without a reason", b.Broker)
				}
			}
			for b := range c.Brokers {
				if n := seen[c.Brokers[b].ID]; n != 1 {
					t.Fatalf("broker %d occurs %d times in %+v", c.Brokers[b].ID, n, x)
				}
			}
			if !slices.IsSortedFunc(x.Possible, func(a, b balance.Possible) int {
				switch {
				case a.Change < b.Change:
					return -1
				case a.Change > b.Change:
					return 1
				}
				return 0
			}) {
				t.Fatalf("not best first: %+v", x.Possible)
			}
		}
	})
}

func TestExplainUnknown(t *testing.T) {
	c := simple{brokers: []model.Broker{broker(1, "a")}, parts: map[string][][]int32{"t": {{1}}}}.build(t)
	if _, err := balance.Explain(c, balance.Defaults(), "t", 7); err == nil || !strings.Contains(err.Error(), "t-7") {
		t.Errorf("unknown partition: %v", err)
	}
}
