package balance_test

import (
	"math"
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

// jbod is one broker's worth of directories on each of three brokers: parts
// replicas of the given sizes on directory at(i) of n.
func jbod(t *testing.T, n int, capacity int64, sizes []int64, at func(i int) int) *model.Cluster {
	t.Helper()
	s := simple{parts: map[string][][]int32{}, in: map[string]int64{}}
	for i := range int32(3) {
		b := model.Broker{ID: i + 1, Rack: string('a' + i), Capacity: disk(int64(n) * capacity)}
		for range n {
			b.Dirs = dirsOf(append(make([]int64, 0, n), repeated(capacity, n)...)...)
		}
		s.brokers = append(s.brokers, b)
	}
	for i := range sizes {
		s.parts["t"] = append(s.parts["t"], []int32{int32(i)%3 + 1, int32(i+1)%3 + 1, int32(i+2)%3 + 1})
	}
	s.edit = func(_ string, p *model.PartitionSpec) {
		for i := range p.Replicas {
			p.Replicas[i].Size, p.Replicas[i].In, p.Replicas[i].Dir = sizes[p.ID], sizes[p.ID]/100, int32(at(int(p.ID)))
		}
		p.Out = 10
	}
	return s.build(t)
}

func repeated(x int64, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// fills are the volumes' loads in shares of what an equal part would be.
func fills(c *model.Cluster, b int) []float64 {
	n := len(c.Brokers[b].Dirs)
	out := make([]float64, n)
	sum := 0.0
	for s, at := range c.Broker {
		if int(at) == b && c.Dir[s] != model.None {
			out[c.Dir[s]] += float64(c.Size[s])
			sum += float64(c.Size[s])
		}
	}
	for i := range out {
		out[i] *= float64(n) / sum
	}
	return out
}

func TestDirsGetEven(t *testing.T) {
	sizes := repeated(1000, 60)
	for i := range sizes {
		sizes[i] += int64(i * 7 % 40)
	}
	for name, at := range map[string]func(int) int{
		"all on the first":   func(int) int { return 0 },
		"one is empty":       func(i int) int { return i % 3 },
		"one holds too much": func(i int) int { return max(0, i%8-4) },
	} {
		c := jbod(t, 4, 1_000_000, sizes, at)
		o := balance.Defaults()
		p := must(t)(balance.Rebalance(c, o))
		judge(t, c, p, o, asked{})
		prefixes(t, c, p, o, asked{})
		after := apply(t, c, p.Changes)
		for b := range c.Brokers {
			for d, f := range fills(after, b) {
				if math.Abs(f-1) > o.DirBand+1e-9 {
					t.Errorf("%s: directory %d of broker %d carries %.3f of its share", name, d, b+1, f)
				}
			}
		}
		if p.Summary.ReplicaMoves != 0 || p.Summary.DirMoves == 0 || p.Summary.DirBytes == 0 || p.Summary.Bytes != 0 {
			t.Errorf("%s: %d moves between brokers, %d between directories of %d bytes", name, p.Summary.ReplicaMoves, p.Summary.DirMoves, p.Summary.DirBytes)
		}
		for _, ch := range p.Changes {
			moved := int64(0)
			for i := range ch.To {
				for j := range ch.From {
					if ch.From[j].Broker == ch.To[i].Broker && ch.From[j].Dir != ch.To[i].Dir {
						moved += c.Size[c.Off[partitionOf(t, c, &ch)]+int32(j)]
					}
				}
			}
			if moved != ch.DirBytes || moved == 0 || !strings.Contains(ch.Why, "/d") {
				t.Errorf("%s: change says %d bytes between directories, it is %d: %+v", name, ch.DirBytes, moved, ch)
			}
		}
		if again := must(t)(balance.Rebalance(after, o)); !again.Empty() {
			t.Errorf("%s: the plan of the result moves %d", name, len(again.Changes))
		}
		o.DirBand = 0
		if p := must(t)(balance.Rebalance(c, o)); !p.Empty() {
			t.Errorf("%s: %d changes although directories are to be left", name, len(p.Changes))
		}
	}
}

func TestDirsInsideBand(t *testing.T) {
	c := jbod(t, 4, 1_000_000, repeated(1000, 60), func(i int) int { return i % 4 })
	p := must(t)(balance.Rebalance(c, balance.Defaults()))
	if !p.Empty() {
		t.Errorf("%d changes inside the band, first %+v", len(p.Changes), p.Changes[0])
	}
}

// Directories of one volume are one disk: nothing moves between them.
func TestDirsOfOneVolume(t *testing.T) {
	c := jbod(t, 3, 1_000_000, repeated(1000, 30), func(i int) int { return i % 2 * 2 })
	for b := range c.Brokers {
		c.Brokers[b].Dirs[1].Volume = 0 // two directories on the first volume, both volumes hold half
	}
	p := must(t)(balance.Rebalance(c, balance.Defaults()))
	if !p.Empty() {
		t.Errorf("%d changes, first %+v", len(p.Changes), p.Changes[0])
	}
}

// Arrivals get a directory with room, at the moment they come, and no volume
// is filled above its share.
func TestDirsOfArrivals(t *testing.T) {
	for _, seed := range seeds() {
		c := generated(t, seed, func(g *model.GenerateOptions) {
			g.Brokers, g.Replicas, g.DirsPerBroker, g.SharedVolumes, g.DiskUse = 12, 1500, 4, 0.5, 0.6
		})
		o := balance.Defaults()
		p := must(t)(balance.Rebalance(c, o))
		judge(t, c, p, o, asked{})
		prefixes(t, c, p, o, asked{})
		for _, ch := range p.Changes {
			for _, r := range ch.To {
				if r.Dir == "" {
					t.Errorf("%s-%d: no directory on broker %d, whose directories are known", ch.Topic, ch.Partition, r.Broker)
				}
			}
		}
		worst := 0.0
		after := apply(t, c, p.Changes)
		before := volumeUse(c)
		for v, used := range volumeUse(after) {
			x := float64(used) / float64(v.capacity(c))
			worst = max(worst, x)
			if x > o.DirShare && used > before[v] {
				t.Errorf("volume %d of broker %d is filled to %.3f", v.volume, c.Brokers[v.broker].ID, x)
			}
		}
		t.Logf("fullest volume %.3f, %d moves, %d between directories", worst, p.Summary.ReplicaMoves, p.Summary.DirMoves)
	}
}

// A failed directory receives nothing.
func TestDirsOffline(t *testing.T) {
	c := jbod(t, 3, 1_000_000, repeated(1000, 30), func(int) int { return 0 })
	for b := range c.Brokers {
		c.Brokers[b].Dirs[2].Offline = true
	}
	o := balance.Defaults()
	p := must(t)(balance.Rebalance(c, o))
	judge(t, c, p, o, asked{})
	if p.Summary.DirMoves == 0 {
		t.Error("nothing moves")
	}
	for _, ch := range p.Changes {
		for _, r := range ch.To {
			if r.Dir == "/d3" {
				t.Fatalf("%s-%d goes to a directory that is offline", ch.Topic, ch.Partition)
			}
		}
	}
}
