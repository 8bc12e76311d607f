package balance_test

import (
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/bounds"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"pgregory.net/rapid"
)

// drawOptions draws what a user may ask for.
func drawOptions(t *rapid.T, c *model.Cluster) balance.Options {
	o := balance.Defaults()
	chance := func(name string, percent int) bool { return rapid.IntRange(0, 99).Draw(t, name) >= 100-percent }
	o.LeaveIdle, o.LeaveEven = chance("leave idle", 50), chance("leave even", 50)
	o.Light = chance("light", 20)
	o.CountsFollowDisk = chance("counts follow disk", 20)
	if chance("no dirs", 30) {
		o.DirBand = 0
	}
	if chance("exclude", 30) {
		o.Exclude = map[string]bool{rapid.SampledFrom(c.Topics).Draw(t, "excluded").Name: true}
	}
	if chance("cordon", 30) {
		o.Cordon = map[int32]bool{rapid.SampledFrom(c.Brokers).Draw(t, "cordoned").ID: true}
	}
	o.Band = rapid.SampledFrom([]float64{.05, .05, .02, .3}).Draw(t, "band")
	return o
}

func live(c *model.Cluster, drain []int32) int {
	n, leaves := 0, set(drain)
	for b := range c.Brokers {
		if !c.Brokers[b].Dead && !leaves[c.Brokers[b].ID] {
			n++
		}
	}
	return n
}

func TestRebalanceProperties(t *testing.T) {
	changed, kept := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Hostile).Draw(t, "cluster")
		o := drawOptions(t, c)
		if live(c, nil) == 0 {
			return
		}
		p := must(t)(balance.Rebalance(c, o))
		judge(t, c, p, o, asked{})
		after := apply(t, c, p.Changes)
		racksNoWorse(t, c, after, nil)
		prefixes(t, c, p, o, asked{})
		sameBytes(t, "planned twice", p, must(t)(balance.Rebalance(c, o)))
		sameBytes(t, "shuffled input", p, must(t)(balance.Rebalance(modeltest.Shuffled(c, 7), o)))
		again := must(t)(balance.Rebalance(after, o))
		if !again.Empty() {
			t.Fatalf("the plan of the result has %d changes, %+v\nthe plan was %+v", len(again.Changes), again.Changes, p.Changes)
		}
		if p.Empty() {
			kept++
		} else {
			changed++
		}
	})
	t.Logf("%d plans with changes, %d without", changed, kept)
	if !testing.Short() && (changed == 0 || kept == 0) {
		t.Error("the property saw only one kind of plan")
	}
}

// TestRacksGetRepaired: where capacity does not bind, no partition that may be
// changed keeps more copies in a rack than the racks force.
func TestRacksGetRepaired(t *testing.T) {
	repaired := 0
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Options{MaxBrokers: 8, Moving: true, Groups: true, SameRF: true}).Draw(t, "cluster")
		o := drawOptions(t, c)
		o.Cordon = nil
		for k := range o.CapacityShare {
			o.CapacityShare[k] = 1e15
		}
		p := must(t)(balance.Rebalance(c, o))
		after := apply(t, c, p.Changes)
		for q := range c.Topic {
			least := forcedInRack(c, c.Topics[c.Topic[q]].Group, c.RF(q), nil)
			frozen := c.Moving[q] || o.Exclude[c.Topics[c.Topic[q]].Name]
			for s := c.Off[q]; s < c.Off[q+1]; s++ {
				frozen = frozen || c.Brokers[c.Broker[s]].Dead
			}
			if n := mostInRack(after, q); n > least && !frozen {
				t.Fatalf("%s keeps %d copies in one rack, %d would do: %v", c.PartitionName(q), n, least, lists(after)[c.PartitionName(q)])
			} else if n < mostInRack(c, q) {
				repaired++
			}
		}
	})
	t.Logf("%d partitions were repaired", repaired)
	if !testing.Short() && repaired == 0 {
		t.Error("nothing was repaired")
	}
}

func TestRebalanceBudgets(t *testing.T) {
	cut := 0
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Options{MaxBrokers: 8, MaxPartitions: 12, Dirs: true, Tight: true}).Draw(t, "cluster")
		o := drawOptions(t, c)
		full := must(t)(balance.Rebalance(c, o))
		if full.Summary.ReplicaMoves < 2 {
			return
		}
		if rapid.Bool().Draw(t, "bytes") {
			o.MaxBytes = max(1, rapid.Int64Range(0, full.Summary.Bytes).Draw(t, "max bytes"))
		} else {
			o.MaxMoves = rapid.IntRange(1, full.Summary.ReplicaMoves).Draw(t, "max moves")
		}
		p := must(t)(balance.Rebalance(c, o))
		judge(t, c, p, o, asked{})
		prefixes(t, c, p, o, asked{})
		if p.Summary.Bytes < full.Summary.Bytes {
			cut++
		}
	})
	t.Logf("%d budgets were binding", cut)
	if !testing.Short() && cut == 0 {
		t.Error("no budget was binding")
	}
}

// TestRebalanceBytesBound compares with what no plan can beat, where the plan
// gets everybody into the band.
func TestRebalanceBytesBound(t *testing.T) {
	reached := 0
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Options{MaxBrokers: 5, MaxPartitions: 20, SameRF: true}).Draw(t, "cluster")
		o := balance.Defaults()
		o.Band = rapid.SampledFrom([]float64{.05, .2, .4}).Draw(t, "band")
		p := must(t)(balance.Rebalance(c, o))
		after := apply(t, c, p.Changes)
		share := fair(c, o, nil)
		for b, load := range after.BrokerLoads() {
			for _, k := range []model.Resource{model.In, model.Disk} {
				if s := share[b][k]; s > 0 && (float64(load[k]) > s*(1+o.Band) || float64(load[k]) < s*(1-o.Band)) {
					return
				}
			}
		}
		for p := range c.Topic {
			if mostInRack(after, p) > forcedInRack(c, model.None, c.RF(p), nil) {
				return
			}
		}
		reached++
		if least := bounds.Bytes(c, o.Band, bounds.Options{}); p.Summary.Bytes < least {
			t.Fatalf("copies %d bytes, bounds says at least %d: one of the two is wrong", p.Summary.Bytes, least)
		}
	})
	t.Logf("%d plans reached the band", reached)
	if !testing.Short() && reached == 0 {
		t.Error("no plan reached the band")
	}
}
