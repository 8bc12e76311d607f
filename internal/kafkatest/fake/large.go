package fake

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
)

// LargeSpec describes a simulated big cluster. A zero for Brokers, Topics,
// Partitions, ReplicationFactor or LogDirs is replaced by the value of
// DefaultLargeSpec; of the rest, 0 means none.
type LargeSpec struct {
	Seed              uint64
	Brokers           int
	Topics            int
	Partitions        int // in total, spread unevenly over the topics
	ReplicationFactor int
	Groups            int
	Commits           int // (group, topic, partition) triples in total
	MembersPerGroup   int
	LogDirs           int // per broker
	ConsumerPercent   int // share of groups of the KIP-848 type, 0 to 100

	// Faults, off by default.
	Leaderless      int // partitions without leader
	UnderReplicated int // partitions with one replica out of the ISR
	OfflineLogDirs  int // brokers whose last log directory is offline
	Reassigning     int // partitions that are being moved
	OrphanedCommits int // commits for a topic that does not exist, on top of Commits
}

// DefaultLargeSpec is the cluster that the exporter's goals are stated for:
// 100 brokers, 1,000 topics, 50,000 partitions of three replicas, 5,000 groups
// of 4 members with 200,000 committed offsets, two log directories a broker,
// a fifth of the groups of the KIP-848 type. Its state keeps about 36 MiB of heap
// (see MemoryOfLarge); the response cache of a frozen cluster comes to about
// 30 MiB more (see CacheStats).
func DefaultLargeSpec() LargeSpec {
	return LargeSpec{
		Seed: 1, Brokers: 100, Topics: 1000, Partitions: 50_000, ReplicationFactor: 3,
		Groups: 5000, Commits: 200_000, MembersPerGroup: 4, LogDirs: 2, ConsumerPercent: 20,
	}
}

func (s *LargeSpec) setDefaults() {
	d := DefaultLargeSpec()
	for _, f := range []struct{ v, def *int }{
		{&s.Brokers, &d.Brokers},
		{&s.Topics, &d.Topics},
		{&s.Partitions, &d.Partitions},
		{&s.ReplicationFactor, &d.ReplicationFactor},
		{&s.LogDirs, &d.LogDirs},
	} {
		if *f.v == 0 {
			*f.v = *f.def
		}
	}
	s.Partitions = max(s.Partitions, s.Topics)
	s.ReplicationFactor = min(s.ReplicationFactor, s.Brokers)
}

// Large builds the state of a simulated cluster: the same spec gives the same
// state. It fails when the commits do not fit into groups × partitions.
func Large(spec LargeSpec) (*State, error) {
	spec.setDefaults()
	if spec.Commits > spec.Groups*spec.Partitions {
		return nil, fmt.Errorf("fake: large state: %d commits do not fit into %d groups × %d partitions", spec.Commits, spec.Groups, spec.Partitions)
	}
	b := builder{spec: spec, rnd: rand.New(rand.NewPCG(spec.Seed, 0x5eed)), s: NewState(spec.Brokers)}
	b.brokers()
	b.topics()
	b.groups()
	b.faults()
	return b.s, nil
}

type builder struct {
	spec   LargeSpec
	rnd    *rand.Rand
	s      *State
	topic  []*Topic
	groupL []*Group
}

func (b *builder) brokers() {
	perDir := b.spec.Partitions*b.spec.ReplicationFactor/(b.spec.Brokers*b.spec.LogDirs) + 16
	for _, br := range b.s.Brokers {
		br.LogDirs = nil
		for d := range b.spec.LogDirs {
			br.LogDirs = append(br.LogDirs, &LogDir{
				Path: fmt.Sprintf("/data/%d", d), Total: 4 << 40, Usable: 2 << 40, Replicas: make([]Replica, 0, perDir),
			})
		}
	}
}

// topics gives every topic one partition and spreads the rest so that few
// topics have many, as in real clusters.
func (b *builder) topics() {
	sizes := make([]int, b.spec.Topics)
	for i := range sizes {
		sizes[i] = 1
	}
	for range b.spec.Partitions - b.spec.Topics {
		f := b.rnd.Float64()
		sizes[int(f*f*float64(len(sizes)))]++
	}
	const year2026 = 1_767_225_600_000
	for i, n := range sizes {
		t := &Topic{Name: fmt.Sprintf("topic-%05d.events", i), Partitions: make([]Partition, n)}
		t.ID = TopicID(t.Name)
		// One array for all replica lists of the topic; ISR shares it.
		rf := b.spec.ReplicationFactor
		all := make([]int32, n*rf)
		for p := range t.Partitions {
			replicas := all[p*rf : (p+1)*rf : (p+1)*rf]
			first := b.rnd.IntN(b.spec.Brokers)
			for r := range replicas {
				replicas[r] = int32((first+r)%b.spec.Brokers) + 1
				b.place(replicas[r], t.Name, int32(p))
			}
			end := b.rnd.Int64N(1 << 40)
			t.Partitions[p] = Partition{
				Leader: replicas[0], LeaderEpoch: int32(b.rnd.IntN(50)), Replicas: replicas, ISR: replicas,
				FirstTimestamp: year2026 - 604_800_000, MaxTimestamp: year2026 + b.rnd.Int64N(1000),
			}
			t.Partitions[p].SetOffsets(end/2, end)
		}
		b.s.Topics[t.Name] = t
		b.topic = append(b.topic, t)
	}
}

func (b *builder) place(broker int32, topic string, partition int32) {
	dirs := b.s.Brokers[broker].LogDirs
	d := dirs[int(partition)%len(dirs)]
	d.Replicas = append(d.Replicas, Replica{Topic: topic, Partition: partition, Size: b.rnd.Int64N(8 << 30)})
}

// groups spreads the commits evenly: each group takes whole topics, beginning
// at a random one, until it has its share.
func (b *builder) groups() {
	for i := range b.spec.Groups {
		typ := Classic
		if b.rnd.IntN(100) < b.spec.ConsumerPercent {
			typ = Consumer
		}
		g := b.s.AddGroup(fmt.Sprintf("group-%05d", i), typ)
		b.groupL = append(b.groupL, g)
		share := b.spec.Commits / b.spec.Groups
		if i < b.spec.Commits%b.spec.Groups {
			share++
		}
		b.commit(g, share)
		b.members(g, i)
	}
}

func (b *builder) commit(g *Group, share int) {
	for at := b.rnd.IntN(len(b.topic)); share > 0; at = (at + 1) % len(b.topic) {
		t := b.topic[at]
		n := min(share, len(t.Partitions))
		share -= n
		tc := TopicCommits{Topic: t.Name, Partitions: make([]Commit, n)}
		for p := range tc.Partitions {
			end := t.Partitions[p].End
			tc.Partitions[p] = Commit{Partition: int32(p), LeaderEpoch: -1, Offset: max(end-b.rnd.Int64N(10_000), t.Partitions[p].Start)}
		}
		g.Commits = append(g.Commits, tc)
	}
	slices.SortFunc(g.Commits, func(x, y TopicCommits) int {
		if x.Topic < y.Topic {
			return -1
		}
		return 1 // topics are distinct
	})
}

// members deals the committed partitions of a group out to its members.
func (b *builder) members(g *Group, n int) {
	if b.spec.MembersPerGroup == 0 {
		g.State = "Empty"
		return
	}
	for m := range b.spec.MembersPerGroup {
		var assigned []TopicPartitions
		for _, tc := range g.Commits {
			var ps []int32
			for i := m; i < len(tc.Partitions); i += b.spec.MembersPerGroup {
				ps = append(ps, tc.Partitions[i].Partition)
			}
			if ps != nil {
				assigned = append(assigned, TopicPartitions{tc.Topic, ps})
			}
		}
		client := fmt.Sprintf("app-%05d", n)
		g.AddMember(fmt.Sprintf("%s-%d-6c1d0f7a", client, m), client, fmt.Sprintf("/10.%d.%d.%d", n>>8&255, n&255, m), assigned...)
	}
}

func (b *builder) faults() {
	each := func(n int, fn func(*Partition)) {
		for range n {
			t := b.topic[b.rnd.IntN(len(b.topic))]
			fn(&t.Partitions[b.rnd.IntN(len(t.Partitions))])
		}
	}
	each(b.spec.Leaderless, func(p *Partition) { p.Leader, p.ISR = -1, p.Replicas[:1] })
	each(b.spec.UnderReplicated, func(p *Partition) { p.ISR = p.ISR[:max(1, len(p.ISR)-1)] })
	each(b.spec.Reassigning, func(p *Partition) {
		to := p.Replicas[len(p.Replicas)-1]%int32(b.spec.Brokers) + 1
		if len(p.Adding) == 0 && !slices.Contains(p.Replicas, to) {
			p.Adding, p.Removing = []int32{to}, []int32{p.Replicas[0]}
			p.Replicas = append(slices.Clip(p.Replicas), to)
		}
	})
	for id := int32(1); id <= int32(min(b.spec.OfflineLogDirs, b.spec.Brokers)); id++ {
		dirs := b.s.Brokers[id].LogDirs
		dirs[len(dirs)-1].Err = errStorage
	}
	for i := range b.spec.OrphanedCommits {
		if len(b.groupL) > 0 {
			b.groupL[i%len(b.groupL)].SetCommit(fmt.Sprintf("deleted-%05d", i/len(b.groupL)), 0, 1)
		}
	}
}

// MemoryOfLarge builds a large state and returns it with the bytes of heap
// that it keeps alive. Nothing else may allocate meanwhile.
func MemoryOfLarge(spec LargeSpec) (*State, uint64, error) {
	before := liveHeap()
	s, err := Large(spec)
	after := liveHeap()
	return s, after - min(before, after), err
}

// liveHeap returns the bytes of heap in use after a garbage collection.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
