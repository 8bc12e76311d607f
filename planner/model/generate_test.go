package model

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var sameCluster = cmpopts.IgnoreUnexported(Broker{})

func TestGenerateIsSeeded(t *testing.T) {
	o := GenerateDefaults(7, 40, 4, 5000)
	o.Groups, o.DirsPerBroker, o.SharedVolumes, o.Mixed, o.Dead, o.Moving = 2, 4, 0.3, true, 2, 9
	a, b := Generate(o), Generate(o)
	if d := cmp.Diff(a, b, sameCluster); d != "" {
		t.Fatalf("the same options give two clusters:\n%s", d)
	}
	o.Seed = 8
	if cmp.Equal(a, Generate(o), sameCluster) {
		t.Fatal("another seed gives the same cluster")
	}
}

func TestGenerateHasWhatWasAskedFor(t *testing.T) {
	o := GenerateDefaults(3, 45, 3, 20_000)
	o.Groups, o.DirsPerBroker, o.SharedVolumes, o.Mixed, o.Dead, o.Moving = 3, 4, 0.5, true, 3, 25
	c := Generate(o)
	dead, moving, capacities, shared := 0, 0, map[int64]bool{}, 0
	for i := range c.Brokers {
		b := &c.Brokers[i]
		if b.Dead {
			dead++
		}
		capacities[b.Capacity[In]] = true
		if len(b.Dirs) != 4 {
			t.Errorf("broker %d has %d directories", b.ID, len(b.Dirs))
		}
		if b.Dirs[0].Volume == b.Dirs[1].Volume {
			shared++
		}
	}
	idle, rf2, preferred, deadLed, blind := 0, 0, 0, 0, 0
	for p := range c.NumPartitions() {
		if c.Moving[p] {
			moving++
		}
		if c.OutRate[p] == 0 {
			idle++
		}
		if c.RF(p) == 2 {
			rf2++
		}
		if c.Leader[p] == c.Off[p] {
			preferred++
		}
		if l := c.Leader[p]; l != None && c.Brokers[c.Broker[l]].Dead {
			deadLed++
		}
		racks := map[int32]bool{}
		for s := c.Off[p]; s < c.Off[p+1]; s++ {
			racks[c.RackOf[c.Broker[s]]] = true
			if g := c.Topics[c.Topic[p]].Group; g != None && c.Brokers[c.Broker[s]].Group != g {
				t.Fatalf("%s is outside of its group", c.PartitionName(p))
			}
		}
		if len(racks) < c.RF(p) {
			blind++
		}
	}
	n := c.NumPartitions()
	if dead != 3 || moving != 25 || len(capacities) != 3 || shared == 0 || shared == 45 || deadLed != 0 {
		t.Errorf("dead %d, moving %d, kinds of hardware %d, shared volumes %d, led by dead brokers %d", dead, moving, len(capacities), shared, deadLed)
	}
	if r := c.NumReplicas(); r < 20_000 || r > 20_003 {
		t.Errorf("%d replicas", r)
	}
	for what, share := range map[string][3]float64{
		"idle": {float64(idle) / float64(n), 0.2, 0.6}, "two replicas": {float64(rf2) / float64(n), 0.1, 0.3},
		"preferred": {float64(preferred) / float64(n), 0.85, 0.97}, "racks violated": {float64(blind) / float64(n), 0.005, 0.12},
	} {
		if share[0] < share[1] || share[0] > share[2] {
			t.Errorf("%s: %.3f, not within %.2f to %.2f", what, share[0], share[1], share[2])
		}
	}
	var total, capacity Vector
	for i, v := range c.BrokerLoads() {
		total.Add(&v)
		for _, k := range []Resource{In, Out, Disk, CPU} {
			capacity[k] += c.Brokers[i].Capacity[k]
		}
	}
	// HotCap takes something off the mean.
	if use := float64(total[In]) / float64(capacity[In]); use < 0.15 || use > 0.31 {
		t.Errorf("in use: %.2f of what can be written", use)
	}
	if use := float64(total[Disk]) / float64(capacity[Disk]); use < 0.2 || use > 0.47 {
		t.Errorf("in use: %.2f of the disks", use)
	}
	for _, k := range []Resource{Out, CPU} {
		if total[k] <= 0 || total[k] > capacity[k] {
			t.Errorf("%s: %d of %d", k, total[k], capacity[k])
		}
	}
}

func TestGenerateKeepsRacksApart(t *testing.T) {
	for _, racks := range []int{3, 4, 5} {
		o := GenerateDefaults(9, racks*7+1, racks, 9000)
		o.RackBlind, o.Groups = 0, 2
		c := Generate(o)
		for p := range c.NumPartitions() {
			seen := map[int32]bool{}
			for s := c.Off[p]; s < c.Off[p+1]; s++ {
				seen[c.RackOf[c.Broker[s]]] = true
			}
			if len(seen) != c.RF(p) {
				t.Fatalf("%s has %d replicas in %d racks", c.PartitionName(p), c.RF(p), len(seen))
			}
		}
	}
}

func TestGenerateSmallClusters(t *testing.T) {
	for brokers := 1; brokers <= 7; brokers++ {
		for racks := 0; racks <= 4; racks++ {
			o := GenerateDefaults(uint64(brokers*10+racks), brokers, racks, 100)
			o.Groups, o.Dead, o.Moving, o.DirsPerBroker = racks, brokers-1, 200, racks
			if c := Generate(o); len(c.Brokers) != brokers || c.NumReplicas() < 100 {
				t.Errorf("%d brokers, %d replicas", len(c.Brokers), c.NumReplicas())
			}
		}
	}
}

func TestGenerateMillion(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a million replicas")
	}
	start := time.Now()
	c := Generate(GenerateDefaults(1, 1000, 10, 1_000_000))
	t.Logf("%d topics, %d partitions, %d replicas in %v", len(c.Topics), c.NumPartitions(), c.NumReplicas(), time.Since(start))
}
