package model

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// GenerateOptions describe a made-up cluster. Start from GenerateDefaults.
type GenerateOptions struct {
	Seed uint64
	// Brokers and Racks are counts; brokers are spread evenly over racks.
	Brokers, Racks int
	// Replicas is about how many replicas the cluster holds.
	Replicas int
	// PartitionsPerTopic is the mean; topics differ widely around it.
	PartitionsPerTopic int
	// Groups is the number of resource groups, 0 for none. Every broker is in
	// one; internal topics are in none.
	Groups int
	// DirsPerBroker is the number of log directories, 0 for unknown ones.
	// SharedVolumes is the share of brokers whose first two directories lie on
	// one volume.
	DirsPerBroker int
	SharedVolumes float64
	// Grown is the share of brokers that were there from the start. Old topics
	// lie on the old brokers only.
	Grown float64
	// Idle is the share of topics without traffic, TwoReplicas that of topics
	// with two replicas instead of three.
	Idle, TwoReplicas float64
	// RackBlind is the share of topics that were placed without regard to racks,
	// NotPreferred that of partitions led by another than their first replica.
	RackBlind, NotPreferred float64
	// Tail is the exponent of the rates' distribution: the smaller, the heavier
	// the biggest topics. HotCap bounds a partition's rate as a share of what a
	// broker can write; 0 is no bound.
	Tail, HotCap float64
	// InUse and DiskUse are the mean shares in use of what brokers can write and
	// hold.
	InUse, DiskUse float64
	// Mixed makes three kinds of hardware of 1, 2 and 4 times the capacity.
	Mixed bool
	// Dead and Moving count dead brokers and partitions being reassigned.
	Dead, Moving int
}

// GenerateDefaults are the options of an ordinary cluster that has grown.
func GenerateDefaults(seed uint64, brokers, racks, replicas int) GenerateOptions {
	return GenerateOptions{
		Seed: seed, Brokers: brokers, Racks: racks, Replicas: replicas, PartitionsPerTopic: 18,
		Grown: 0.6, Idle: 0.3, TwoReplicas: 0.2, RackBlind: 0.05, NotPreferred: 0.08,
		Tail: 1.25, HotCap: 0.25, InUse: 0.3, DiskUse: 0.45,
	}
}

// Capacities of the smallest kind of hardware.
const (
	generatedIn   = 400_000_000         // bytes/s
	generatedOut  = 1_000_000_000       // bytes/s
	generatedDisk = 4_000_000_000_000   // bytes
	generatedCPU  = 100 * 8 * 1_000_000 // millionths of a percent: eight cores
	cpuPerByte    = 0.6                 // millionths of a percent for each byte/s followed
	cpuPerSent    = 0.15                // and for each byte/s sent
)

// Generate makes a cluster up. The same options give the same cluster on the
// same machine architecture. O(replicas × log brokers).
func Generate(o GenerateOptions) *Cluster {
	g := &generator{o: o, rnd: rand.New(rand.NewPCG(o.Seed, 0x6b61666b61)), b: NewBuilder(fmt.Sprintf("generated-%d", o.Seed))}
	g.makeBrokers()
	g.makeTopics()
	g.scaleLoads()
	g.emit()
	c, problems := g.b.Build()
	if len(problems) > 0 {
		// Options that cannot be met (no brokers) or a defect here: both are the
		// caller's programming errors, like an index out of range.
		panic(fmt.Sprintf("generating a cluster with %+v: %v", o, problems[0]))
	}
	return c
}

type generator struct {
	o       GenerateOptions
	rnd     *rand.Rand
	b       *Builder
	brokers []genBroker
	parts   []genPartition
	topics  []genTopic
}

type genBroker struct {
	Broker
	group string
	rack  int
	// perDir counts replicas by directory.
	perDir []int
}

type genTopic struct {
	Topic
	group string
	first int // index of its first partition
}

type genPartition struct {
	topic   int
	id      int32
	in      float64 // relative until scaleLoads
	size    float64
	fanOut  float64
	brokers []int
}

func (g *generator) makeBrokers() {
	racks := max(1, g.o.Racks)
	for i := range g.o.Brokers {
		kind := 1.0
		if g.o.Mixed {
			kind = []float64{1, 1, 2, 4}[g.rnd.IntN(4)]
		}
		b := genBroker{rack: i % racks}
		b.Broker = Broker{ID: int32(i + 1), Rack: fmt.Sprintf("rack-%02d", i%racks), Host: fmt.Sprintf("kafka-%04d", i+1)}
		b.Capacity = Vector{
			In: int64(generatedIn * kind), Out: int64(generatedOut * kind), Disk: int64(generatedDisk * kind),
			CPU: int64(generatedCPU * kind), Replicas: Unlimited, Leaders: Unlimited, LeaderIn: int64(generatedIn * kind),
		}
		if g.o.Groups > 0 {
			b.group = fmt.Sprintf("group-%d", i/racks%g.o.Groups)
		}
		g.addDirs(&b)
		g.brokers = append(g.brokers, b)
	}
	for _, i := range g.rnd.Perm(g.o.Brokers)[:min(g.o.Dead, g.o.Brokers)] {
		g.brokers[i].Dead = true
	}
}

func (g *generator) addDirs(b *genBroker) {
	n := g.o.DirsPerBroker
	if n <= 0 {
		return
	}
	shared := n > 1 && g.rnd.Float64() < g.o.SharedVolumes
	volumes := n
	if shared {
		volumes--
	}
	each := b.Capacity[Disk] / int64(volumes)
	b.Capacity[Disk] = each * int64(volumes)
	for d := range n {
		volume := d
		if shared {
			volume = max(0, d-1)
		}
		b.Dirs = append(b.Dirs, LogDir{Path: fmt.Sprintf("/data/%d/kafka", d+1), Capacity: each, Volume: int32(volume)})
	}
	b.perDir = make([]int, n)
}

// retentions in days, common ones several times.
var retentions = []float64{0.25, 1, 1, 3, 3, 7, 7, 7, 30}

// fanOuts are how many consumer groups read a topic.
var fanOuts = []float64{0, 0.2, 1, 1, 1, 2, 2, 3, 6}

func (g *generator) makeTopics() {
	for n, replicas := 0, 0; replicas < g.o.Replicas; n++ {
		t := genTopic{Topic: Topic{Name: fmt.Sprintf("topic-%05d", n), ReplicationFactor: 3}, first: len(g.parts)}
		if n == 0 {
			t.Name, t.Internal = "__consumer_offsets", true
		} else if g.rnd.Float64() < g.o.TwoReplicas {
			t.ReplicationFactor = 2
		}
		if g.o.Groups > 0 && !t.Internal {
			t.group = fmt.Sprintf("group-%d", g.rnd.IntN(min(g.o.Groups, max(1, (g.o.Brokers+max(1, g.o.Racks)-1)/max(1, g.o.Racks)))))
		}
		// The share of the cluster that was there when the topic was created.
		age := g.o.Grown + (1-g.o.Grown)*g.rnd.Float64()
		blind := g.rnd.Float64() < g.o.RackBlind
		ring := g.ring(t.group, age, blind)
		t.ReplicationFactor = int32(min(int(t.ReplicationFactor), len(ring)))
		want := max(1, (g.o.Replicas-replicas+int(t.ReplicationFactor)-1)/int(t.ReplicationFactor))
		parts := min(want, g.partitionCount())
		g.addPartitions(len(g.topics), parts, ring, int(t.ReplicationFactor), blind)
		g.topics = append(g.topics, t)
		replicas += parts * int(t.ReplicationFactor)
	}
}

func (g *generator) partitionCount() int {
	mean := float64(max(1, g.o.PartitionsPerTopic))
	return max(1, int(mean*math.Exp(0.9*g.rnd.NormFloat64()-0.4)))
}

// ring lists the brokers that a topic is placed over, so that neighbours are in
// different racks.
func (g *generator) ring(group string, age float64, blind bool) []int {
	upTo := int(math.Ceil(age * float64(g.o.Brokers)))
	var ring []int
	for i := range g.brokers {
		if group == "" || g.brokers[i].group == group {
			if i < upTo || len(ring) < 3 {
				ring = append(ring, i)
			}
		}
	}
	if blind {
		g.rnd.Shuffle(len(ring), func(i, j int) { ring[i], ring[j] = ring[j], ring[i] })
	}
	return ring
}

func (g *generator) addPartitions(topic, n int, ring []int, rf int, blind bool) {
	rate, retention, fanOut := 0.0, retentions[g.rnd.IntN(len(retentions))], fanOuts[g.rnd.IntN(len(fanOuts))]
	if g.rnd.Float64() >= g.o.Idle {
		rate = math.Pow(1-g.rnd.Float64(), -1/g.o.Tail)
	}
	skew := 0.1
	if g.rnd.IntN(5) == 0 {
		skew = 0.8 // keyed by something lopsided
	}
	left := 20 * g.rnd.Float64() * float64(g.rnd.IntN(2)) // what an idle topic may still hold
	start := g.rnd.IntN(len(ring))
	for i := range n {
		p := genPartition{topic: topic, id: int32(i), fanOut: fanOut, brokers: make([]int, rf)}
		p.in = rate * math.Exp(skew*g.rnd.NormFloat64())
		p.size = p.in*retention + left*g.rnd.Float64()*0.01
		g.place(p.brokers, ring, start+i, i/len(ring), blind)
		g.parts = append(g.parts, p)
	}
}

// place fills brokers from a ring: the leader in turn, followers behind it in
// racks that the partition does not use yet, while there are any. Every lap
// shifts the followers, so that a broker's followers lie on many others.
func (g *generator) place(brokers, ring []int, at, lap int, blind bool) {
	fits := func(b, placed int, newRack bool) bool {
		for _, other := range brokers[:placed] {
			if other == b || newRack && g.brokers[other].rack == g.brokers[b].rack {
				return false
			}
		}
		return true
	}
	for r := range brokers {
		if r > 0 {
			at++
		}
		if r == 1 {
			at += lap * max(1, g.o.Racks)
		}
		newRack := !blind && r < max(1, g.o.Racks)
		tried := 0
		for !fits(ring[at%len(ring)], r, newRack) {
			at++
			// A young group may have too few racks.
			if tried++; tried > len(ring) {
				newRack = false
			}
		}
		brokers[r] = ring[at%len(ring)]
	}
}

// scaleLoads turns relative loads into bytes, so that the means are as asked.
func (g *generator) scaleLoads() {
	var in, size float64
	for i := range g.parts {
		in += g.parts[i].in * float64(len(g.parts[i].brokers))
		size += g.parts[i].size * float64(len(g.parts[i].brokers))
	}
	var capIn, capDisk float64
	for i := range g.brokers {
		capIn += float64(g.brokers[i].Capacity[In])
		capDisk += float64(g.brokers[i].Capacity[Disk])
	}
	for i := range g.parts {
		p := &g.parts[i]
		if in > 0 {
			p.in *= capIn * g.o.InUse / in
		}
		if size > 0 {
			p.size *= capDisk * g.o.DiskUse / size
		}
		if g.o.HotCap > 0 && p.in > generatedIn*g.o.HotCap {
			p.size *= generatedIn * g.o.HotCap / p.in
			p.in = generatedIn * g.o.HotCap
		}
	}
}

func (g *generator) emit() {
	for i := range g.topics {
		g.b.Topic(g.topics[i].Topic, g.topics[i].group)
	}
	moving := map[int]bool{}
	for range min(g.o.Moving, len(g.parts)) {
		i := g.rnd.IntN(len(g.parts))
		for moving[i] {
			i = (i + 1) % len(g.parts)
		}
		moving[i] = true
	}
	for i := range g.parts {
		p := &g.parts[i]
		spec := g.spec(p)
		spec.Moving = moving[i]
		g.b.Partition(g.topics[p.topic].Name, spec)
	}
	for i := range g.brokers {
		g.b.Broker(g.brokers[i].Broker, g.brokers[i].group)
	}
}

func (g *generator) spec(p *genPartition) PartitionSpec {
	rf := len(p.brokers)
	s := PartitionSpec{ID: p.id, Leader: None, Replicas: make([]ReplicaSpec, rf)}
	s.Out = int64(p.in * (p.fanOut + float64(rf-1)))
	s.LeadCPU = int64(float64(s.Out) * cpuPerSent)
	start := 0
	if g.rnd.Float64() < g.o.NotPreferred {
		start = g.rnd.IntN(rf)
	}
	for r, b := range p.brokers {
		// Copies differ a little: segments are deleted at different moments.
		s.Replicas[r] = ReplicaSpec{
			Broker: g.brokers[b].ID, Dir: g.dir(b), In: int64(p.in), CPU: int64(p.in * cpuPerByte),
			Size: int64(p.size * (1 + 0.02*g.rnd.Float64())),
		}
	}
	for r := range rf {
		if b := p.brokers[(start+r)%rf]; !g.brokers[b].Dead {
			s.Leader = g.brokers[b].ID
			break
		}
	}
	return s
}

// dir chooses a directory as Kafka does: the one with the fewest replicas. The
// directories of dead brokers are not known.
func (g *generator) dir(b int) int32 {
	if g.brokers[b].Dead || len(g.brokers[b].perDir) == 0 {
		return None
	}
	best := 0
	for d, n := range g.brokers[b].perDir {
		if n < g.brokers[b].perDir[best] {
			best = d
		}
	}
	g.brokers[b].perDir[best]++
	return int32(best)
}
