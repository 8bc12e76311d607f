package model_test

import (
	"slices"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"pgregory.net/rapid"
)

func TestHashIgnoresOrderAndLoads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Hostile).Draw(t, "cluster")
		want := c.Hash()
		s := modeltest.Shuffled(c, rapid.Uint64().Draw(t, "seed"))
		s.Name = "other"
		for i := range s.Size {
			s.Size[i]++
			s.InRate[i] += 5
		}
		for p := range s.OutRate {
			s.OutRate[p]++
			s.Moving[p] = !s.Moving[p]
		}
		s.Brokers[0].Host, s.Brokers[0].Capacity[model.In] = "elsewhere", 1
		if s.Hash() != want {
			t.Fatal("order, loads or names change the hash")
		}
	})
}

// TestHashSeesTopology changes one thing of the topology at a time.
func TestHashSeesTopology(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Options{Dirs: true, Dead: true, Groups: true}).Draw(t, "cluster")
		p := rapid.IntRange(0, c.NumPartitions()-1).Draw(t, "partition")
		from, to := c.Slots(p)
		seen := map[string]string{c.Hash(): "nothing"}
		try := func(what string, change func(*model.Cluster)) {
			x := modeltest.Shuffled(c, 1)
			change(x)
			if other := seen[x.Hash()]; other != "" {
				t.Fatalf("%s gives the same hash as %s", what, other)
			}
			seen[x.Hash()] = what
		}
		for b := range c.Brokers {
			if !slices.Contains(c.Broker[from:to], int32(b)) {
				try("another broker", func(x *model.Cluster) { x.Broker[from] = int32(b); x.Dir[from] = model.None })
				break
			}
		}
		if to-from > 1 {
			try("another order", func(x *model.Cluster) {
				x.Broker[from], x.Broker[from+1] = x.Broker[from+1], x.Broker[from]
				x.Dir[from], x.Dir[from+1] = x.Dir[from+1], x.Dir[from]
				// The leader stays the same broker.
				switch x.Leader[p] {
				case from:
					x.Leader[p] = from + 1
				case from + 1:
					x.Leader[p] = from
				}
			})
		}
		for s := from; s < to; s++ {
			if c.Leader[p] != s {
				try("another leader", func(x *model.Cluster) { x.Leader[p] = s })
				break
			}
		}
		if b := &c.Brokers[c.Broker[from]]; len(b.Dirs) > 1 && c.Dir[from] != model.None {
			try("another directory", func(x *model.Cluster) { x.Dir[from] = (x.Dir[from] + 1) % int32(len(b.Dirs)) })
		}
		try("a broker that changes between alive and dead", func(x *model.Cluster) { x.Brokers[0].Dead = !x.Brokers[0].Dead })
		try("another rack", func(x *model.Cluster) { x.Brokers[0].Rack += "x" })
		try("another partition", func(x *model.Cluster) { x.ID[p] += 100 })
		try("another topic", func(x *model.Cluster) { x.Topics[x.Topic[p]].Name += "x" })
	})
}

// TestHashIsStable pins the stream: hashes in saved plans must stay comparable.
func TestHashIsStable(t *testing.T) {
	b := model.NewBuilder("x")
	b.Broker(model.Broker{ID: 1, Rack: "a", Dirs: []model.LogDir{{Path: "/d"}}}, "")
	b.Broker(model.Broker{ID: 7, Rack: "b", Dead: true}, "")
	b.Topic(model.Topic{Name: "t", ReplicationFactor: 2}, "")
	b.Partition("t", model.PartitionSpec{ID: 4, Leader: 1, Replicas: []model.ReplicaSpec{{Broker: 7, Dir: model.None}, {Broker: 1, Dir: 0}}})
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	const want = "6257562b5753a9d90e82a0e4ca974970d265a3cd8a8f468c9fd6435706d1c835"
	if got := c.Hash(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
