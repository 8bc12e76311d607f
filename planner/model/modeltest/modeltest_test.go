package modeltest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"pgregory.net/rapid"
)

var sameCluster = cmpopts.IgnoreUnexported(model.Broker{})

func TestClusterIsValidAndShuffles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cluster(Hostile).Draw(t, "cluster")
		if ps := c.Validate(); len(ps) > 0 {
			t.Fatalf("not valid: %v", ps)
		}
		s := Shuffled(c, rapid.Uint64().Draw(t, "seed"))
		if d := cmp.Diff(c, s, sameCluster); d != "" {
			t.Fatalf("another order of the parts gives another cluster:\n%s", d)
		}
	})
}

// TestEverythingOccurs guards the generator: a property test that never sees a
// dead broker proves nothing about dead brokers.
func TestEverythingOccurs(t *testing.T) {
	seen := map[string]int{}
	g := Cluster(Hostile)
	for i := range 400 {
		c := g.Example(i)
		count := func(what string, yes bool) {
			if yes {
				seen[what]++
			}
		}
		for b := range c.Brokers {
			count("dead broker", c.Brokers[b].Dead)
			for i, d := range c.Brokers[b].Dirs {
				count("offline dir", d.Offline)
				count("shared volume", i > 0 && d.Volume == c.Brokers[b].Dirs[i-1].Volume)
			}
			count("tight broker", c.Brokers[b].Capacity[model.Disk] < 10_000)
		}
		count("groups", len(c.Groups) > 1)
		count("one rack", len(c.Racks) == 1)
		count("three racks", len(c.Racks) == 3)
		for p := range c.NumPartitions() {
			rf := c.RF(p)
			count("moving", c.Moving[p])
			count("leaderless", c.Leader[p] == model.None)
			count("not preferred", c.Leader[p] > c.Off[p])
			count("rf differs", rf != int(c.Topics[c.Topic[p]].ReplicationFactor))
			count("more replicas than racks", rf > len(c.Racks))
			count("idle", c.OutRate[p] == 0)
		}
	}
	for _, what := range []string{
		"dead broker", "offline dir", "shared volume", "tight broker", "groups", "one rack", "three racks",
		"moving", "leaderless", "not preferred", "rf differs", "more replicas than racks", "idle",
	} {
		if seen[what] == 0 {
			t.Errorf("no %s in 400 clusters", what)
		}
	}
	t.Logf("seen: %v", seen)
}
