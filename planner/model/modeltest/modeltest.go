// Package modeltest draws small, hostile clusters for property tests
// (pgregory.net/rapid): gaps in ids, one rack or none, more replicas than
// racks, partitions of one topic with different replication factors, no leader,
// dead brokers, loads that are zero, equal or huge, capacities that do not
// suffice.
package modeltest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"pgregory.net/rapid"
)

// Options say what may occur in a drawn cluster. The zero value gives live
// brokers without directories and groups, and no moves in flight.
type Options struct {
	// MaxBrokers is from 2; 0 is 6.
	MaxBrokers int
	// MaxTopics and MaxPartitions bound the size; 0 is 4 topics of 6 partitions.
	MaxTopics, MaxPartitions int
	Dead, Moving             bool
	// Dirs gives brokers one to three log directories, some sharing a volume;
	// Offline lets some of them have failed.
	Dirs, Offline bool
	// Groups puts brokers and topics in up to two resource groups. Topics start
	// on brokers of their group.
	Groups bool
	// Tight makes capacities that may be too small for what is there.
	Tight bool
	// SameRF gives all partitions of a topic the topic's replication factor.
	SameRF bool
	// RackSafe places no two replicas in one rack while racks suffice.
	RackSafe bool
	// CPU gives CPU loads too.
	CPU bool
}

// Hostile allows everything.
var Hostile = Options{Dead: true, Moving: true, Dirs: true, Offline: true, Groups: true, Tight: true, CPU: true}

// Cluster draws valid clusters.
func Cluster(o Options) *rapid.Generator[*model.Cluster] {
	o.MaxBrokers = defaulted(o.MaxBrokers, 6)
	o.MaxTopics = defaulted(o.MaxTopics, 4)
	o.MaxPartitions = defaulted(o.MaxPartitions, 6)
	return rapid.Custom(func(t *rapid.T) *model.Cluster {
		d := &draw{T: t, o: o}
		return d.cluster()
	})
}

func defaulted(v, otherwise int) int {
	if v > 0 {
		return v
	}
	return otherwise
}

type draw struct {
	*rapid.T
	o       Options
	brokers []model.Broker
	group   []string
}

func (d *draw) cluster() *model.Cluster {
	b := model.NewBuilder("tiny")
	d.drawBrokers()
	for i := range d.brokers {
		b.Broker(d.brokers[i], d.group[i])
	}
	for n := range rapid.IntRange(1, d.o.MaxTopics).Draw(d.T, "topics") {
		d.topic(b, fmt.Sprintf("t%d", n))
	}
	c, problems := b.Build()
	if len(problems) > 0 {
		d.Fatalf("modeltest drew a cluster that is not valid: %v", problems)
	}
	return c
}

func (d *draw) chance(name string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(d.T, name) >= 100-percent
}

func (d *draw) drawBrokers() {
	n := rapid.IntRange(2, d.o.MaxBrokers).Draw(d.T, "brokers")
	racks := rapid.IntRange(1, 3).Draw(d.T, "racks")
	noRacks := d.chance("no racks", 15)
	groups := 0
	if d.o.Groups && n >= 2 {
		groups = rapid.IntRange(0, 2).Draw(d.T, "groups")
	}
	id, alive := int32(0), 0
	for i := range n {
		id += int32(rapid.IntRange(1, 3).Draw(d.T, "id step"))
		b := model.Broker{ID: id, Host: fmt.Sprintf("h%d", id), Capacity: d.capacity()}
		if !noRacks {
			b.Rack = string(rune('a' + rapid.IntRange(0, racks-1).Draw(d.T, "rack")))
		}
		if d.o.Dead && (alive > 0 || i+1 < n) && d.chance("dead", 20) {
			b.Dead = true
		} else {
			alive++
		}
		group := ""
		if groups > 0 {
			group = fmt.Sprintf("g%d", i%groups)
		}
		d.drawDirs(&b)
		d.brokers, d.group = append(d.brokers, b), append(d.group, group)
	}
}

// capacity is unlimited, ample, mixed or (Tight) perhaps too small.
func (d *draw) capacity() model.Vector {
	var v model.Vector
	for k := range v {
		v[k] = model.Unlimited
	}
	unit := int64(100_000)
	choices := []int64{1, 1, 2, 4}
	if d.o.Tight {
		choices = append(choices, 0)
	}
	if d.chance("capacities", 70) {
		f := rapid.SampledFrom(choices).Draw(d.T, "capacity")
		if f == 0 {
			unit, f = rapid.Int64Range(0, 3000).Draw(d.T, "tight capacity"), 1
		}
		for _, k := range []model.Resource{model.In, model.Out, model.Disk, model.CPU, model.LeaderIn} {
			v[k] = unit * f
		}
	}
	return v
}

func (d *draw) drawDirs(b *model.Broker) {
	if !d.o.Dirs || d.chance("dirs unknown", 20) {
		return
	}
	n := rapid.IntRange(1, 3).Draw(d.T, "dirs")
	volume := int32(0)
	for i := range n {
		if i > 0 && !d.chance("same volume", 25) {
			volume++
		}
		dir := model.LogDir{Path: fmt.Sprintf("/d%d", i), Volume: volume, Capacity: model.Unlimited}
		if i > 0 && b.Dirs[i-1].Volume == volume {
			dir.Capacity = b.Dirs[i-1].Capacity
		} else if b.Capacity[model.Disk] != model.Unlimited {
			dir.Capacity = b.Capacity[model.Disk] / int64(n)
		}
		dir.Offline = d.o.Offline && i > 0 && d.chance("offline", 15)
		b.Dirs = append(b.Dirs, dir)
	}
	if b.Capacity[model.Disk] == model.Unlimited {
		return
	}
	// What the broker can hold is the sum of its volumes.
	b.Capacity[model.Disk] = 0
	for i, dir := range b.Dirs {
		if i == 0 || b.Dirs[i-1].Volume != dir.Volume {
			b.Capacity[model.Disk] += dir.Capacity
		}
	}
}

func (d *draw) topic(b *model.Builder, name string) {
	group := ""
	if named := slices.DeleteFunc(slices.Clone(d.group), func(g string) bool { return g == "" }); len(named) > 0 && !d.chance("no group", 25) {
		group = rapid.SampledFrom(named).Draw(d.T, "topic group")
	}
	var eligible []int
	for i := range d.brokers {
		if group == "" || d.group[i] == group {
			eligible = append(eligible, i)
		}
	}
	rf := rapid.IntRange(1, min(4, len(eligible))).Draw(d.T, "rf")
	b.Topic(model.Topic{Name: name, ReplicationFactor: int32(rf), Internal: d.chance("internal", 10)}, group)
	loads := rapid.SampledFrom([]string{"idle", "equal", "varied", "huge"}).Draw(d.T, "loads")
	id := int32(0)
	for range rapid.IntRange(1, d.o.MaxPartitions).Draw(d.T, "partitions") {
		n := rf
		if !d.o.SameRF && d.chance("other rf", 10) {
			n = rapid.IntRange(1, min(4, len(eligible))).Draw(d.T, "partition rf")
		}
		b.Partition(name, d.partition(id, n, eligible, loads))
		id++
	}
}

func (d *draw) partition(id int32, rf int, eligible []int, loads string) model.PartitionSpec {
	at := rapid.Permutation(eligible).Draw(d.T, "replicas")
	if d.o.RackSafe {
		at = d.racksFirst(at)
	}
	in, size, out := d.loads(loads)
	p := model.PartitionSpec{ID: id, Leader: model.None, Out: out, Moving: d.o.Moving && d.chance("moving", 10)}
	if d.o.CPU {
		p.LeadCPU = out / 3
	}
	for _, i := range at[:rf] {
		r := model.ReplicaSpec{Broker: d.brokers[i].ID, Dir: model.None, In: in, Size: size}
		if d.o.CPU {
			r.CPU = in / 4
		}
		if size > 0 && d.chance("own size", 30) {
			r.Size += rapid.Int64Range(0, size/10+1).Draw(d.T, "more")
		}
		if n := len(d.brokers[i].Dirs); n > 0 && !d.brokers[i].Dead {
			r.Dir = int32(rapid.IntRange(0, n-1).Draw(d.T, "dir"))
		}
		p.Replicas = append(p.Replicas, r)
	}
	// Any live replica may lead; sometimes none does.
	if !d.chance("leaderless", 5) {
		start := 0
		if d.chance("not preferred", 20) {
			start = rapid.IntRange(0, rf-1).Draw(d.T, "leader")
		}
		for r := range rf {
			if i := at[(start+r)%rf]; !d.brokers[i].Dead {
				p.Leader = d.brokers[i].ID
				break
			}
		}
	}
	return p
}

// racksFirst puts brokers of distinct racks in front.
func (d *draw) racksFirst(at []int) []int {
	var out, rest []int
	used := map[string]bool{}
	for len(at) > 0 {
		clear(used)
		rest = nil
		for _, i := range at {
			if used[d.brokers[i].Rack] {
				rest = append(rest, i)
				continue
			}
			used[d.brokers[i].Rack] = true
			out = append(out, i)
		}
		at = rest
	}
	return out
}

func (d *draw) loads(kind string) (in, size, out int64) {
	switch kind {
	case "idle":
		return 0, rapid.SampledFrom([]int64{0, 0, 50}).Draw(d.T, "idle size"), 0
	case "equal":
		return 100, 1000, 200
	case "huge":
		in = rapid.Int64Range(0, 1_000_000_000_000).Draw(d.T, "in")
		return in, in * rapid.Int64Range(0, 1000).Draw(d.T, "retention"), in * rapid.Int64Range(0, 5).Draw(d.T, "fan-out")
	}
	in = rapid.Int64Range(0, 2000).Draw(d.T, "in")
	return in, in * rapid.Int64Range(0, 20).Draw(d.T, "retention"), in * rapid.Int64Range(0, 5).Draw(d.T, "fan-out")
}

// Shuffled gives a cluster's parts to a Builder in another order. Whatever
// plans on the result must plan as on c.
func Shuffled(c *model.Cluster, seed uint64) *model.Cluster {
	rnd := rand.New(rand.NewPCG(seed, 1))
	group := func(i int32) string {
		if i == model.None {
			return ""
		}
		return c.Groups[i]
	}
	b := model.NewBuilder(c.Name)
	for _, i := range rnd.Perm(len(c.Topics)) {
		b.Topic(c.Topics[i], group(c.Topics[i].Group))
	}
	for _, p := range rnd.Perm(c.NumPartitions()) {
		b.Partition(c.Topics[c.Topic[p]].Name, Spec(c, p))
	}
	for _, i := range rnd.Perm(len(c.Brokers)) {
		b.Broker(c.Brokers[i], group(c.Brokers[i].Group))
	}
	out, problems := b.Build()
	if len(problems) > 0 {
		panic(fmt.Sprintf("shuffling a cluster: %v", problems[0]))
	}
	return out
}

// Spec is partition p as a Builder takes it.
func Spec(c *model.Cluster, p int) model.PartitionSpec {
	s := model.PartitionSpec{ID: c.ID[p], Leader: model.None, Out: c.OutRate[p], LeadCPU: c.LeadCPU[p], Moving: c.Moving[p]}
	from, to := c.Slots(p)
	for r := from; r < to; r++ {
		s.Replicas = append(s.Replicas, model.ReplicaSpec{
			Broker: c.Brokers[c.Broker[r]].ID, Dir: c.Dir[r], Size: c.Size[r], In: c.InRate[r], CPU: c.CPU[r],
		})
		if c.Leader[p] == r {
			s.Leader = c.Brokers[c.Broker[r]].ID
		}
	}
	return s
}
