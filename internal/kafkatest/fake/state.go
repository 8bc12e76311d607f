package fake

import (
	"crypto/sha256"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// State is what the default handlers answer from. Change it only inside
// [Cluster.Update] once it belongs to a Cluster.
type State struct {
	ClusterID  string
	Controller int32 // broker id, -1 = none
	Brokers    map[int32]*Broker
	Topics     map[string]*Topic
	Groups     map[string]*Group // by raw group id; any bytes are allowed

	// DefaultBrokerConfigs are the cluster-wide dynamic broker configs
	// (resource name "").
	DefaultBrokerConfigs map[string]Config

	Quotas       []Quota
	ACLs         []ACL
	Transactions map[string]*Transaction // by transactional id
	Quorum       *Quorum                 // nil = not a KRaft cluster: DescribeQuorum answers error 35

	index index
}

// Broker is one broker as the cluster sees it.
type Broker struct {
	ID   int32
	Host string // advertised; set by New, may be overwritten
	Port int32  // advertised; set by New, may be overwritten
	Rack string // "" = none

	// Alive is whether metadata lists the broker. It is independent of
	// whether its listener answers: see Cluster.StopBroker.
	Alive bool

	LogDirs []*LogDir
	Configs map[string]Config // dynamic per-broker configs
}

// LogDir is one log directory of a broker.
type LogDir struct {
	Path     string
	Err      int16 // 56 (KAFKA_STORAGE_ERROR) = offline; then totals are answered as -1 and no replicas
	Total    int64 // bytes, -1 = unknown
	Usable   int64 // bytes, -1 = unknown
	Cordoned bool
	Replicas []Replica
}

// Replica is a partition's log in a log directory.
type Replica struct {
	Topic     string
	Partition int32
	Size      int64 // bytes
	Lag       int64 // records behind the leader, or behind the current replica when Future
	Future    bool
}

// Topic is a topic; the index into Partitions is the partition number.
type Topic struct {
	Name       string
	ID         [16]byte
	Internal   bool
	Err        int16 // answered in Metadata, DescribeConfigs and, per partition, ListOffsets and Fetch; with 29 the topic is not listed among all
	Partitions []Partition
	Configs    map[string]Config // overrides on top of Kafka's defaults
}

// Partition is a partition of a topic.
type Partition struct {
	Leader      int32 // -1 = none: Metadata answers error 5, ListOffsets error 6
	LeaderEpoch int32
	Replicas    []int32
	ISR         []int32
	Offline     []int32 // besides the replicas on brokers that are not alive
	Adding      []int32
	Removing    []int32

	Err            int16 // answered for the partition in Metadata, in place of what Leader implies
	ListOffsetsErr int16 // answered for the partition in ListOffsets and Fetch

	Start, End int64 // log start offset and high watermark
	Stable     int64 // last stable offset; SetOffsets sets it to End

	// FirstTimestamp and MaxTimestamp are the times (ms since the epoch) of
	// the first and the last record; those between are interpolated.
	FirstTimestamp, MaxTimestamp int64

	Producers []Producer
}

// SetOffsets sets start, end and (equal to end) stable offset.
func (p *Partition) SetOffsets(start, end int64) { p.Start, p.End, p.Stable = start, end, end }

// Producer is an active producer of a partition, as DescribeProducers shows it.
type Producer struct {
	ID               int64
	Epoch            int32
	LastSequence     int32
	LastTimestamp    int64 // ms
	CoordinatorEpoch int32
	TxnStartOffset   int64 // -1 = no open transaction
}

// Config is one configuration value.
type Config struct {
	Value     *string // nil = no value, or sensitive
	Sensitive bool
	ReadOnly  bool
	Source    kmsg.ConfigSource // 0 = chosen by where the config stands
}

// Value returns a plain [Config] with value v.
func Value(v string) Config { return Config{Value: &v} }

// Quota is the quota of one entity. The keys of Entity are "user",
// "client-id" and "ip"; a nil name is the default entity.
type Quota struct {
	Entity map[string]*string
	Values map[string]float64
}

// ACL is one access control entry.
type ACL struct {
	ResourceType kmsg.ACLResourceType
	ResourceName string
	PatternType  kmsg.ACLResourcePatternType
	Principal    string
	Host         string
	Operation    kmsg.ACLOperation
	Permission   kmsg.ACLPermissionType
}

// Transaction is one transactional id's state at its coordinator.
type Transaction struct {
	ID            string
	Coordinator   int32
	State         string // "Ongoing", "Empty", "CompleteCommit" …
	ProducerID    int64
	ProducerEpoch int16
	TimeoutMillis int32
	StartMillis   int64 // -1 = not started
	Partitions    []TopicPartitions
	Err           int16
}

// TopicPartitions names partitions of one topic.
type TopicPartitions struct {
	Topic      string
	Partitions []int32
}

// Quorum is the KRaft metadata quorum.
type Quorum struct {
	Leader        int32
	LeaderEpoch   int32
	HighWatermark int64
	Voters        []QuorumReplica
	Observers     []QuorumReplica
}

// QuorumReplica is a voter or observer of the metadata quorum.
type QuorumReplica struct {
	ID                              int32
	LogEndOffset                    int64
	LastFetchMillis, CaughtUpMillis int64 // ms since the epoch, -1 = unknown
}

// NewState returns a cluster of n brokers (ids 1..n, all alive, rack "r1",
// "r2", "r3" in turn, one healthy log directory each), broker 1 being the
// controller and KRaft leader, without topics and groups.
func NewState(n int) *State {
	s := &State{
		ClusterID: "fake-cluster-0000000000", Controller: 1,
		Brokers: make(map[int32]*Broker, n), Topics: map[string]*Topic{}, Groups: map[string]*Group{},
		Transactions: map[string]*Transaction{}, DefaultBrokerConfigs: map[string]Config{},
		Quorum: &Quorum{Leader: 1, LeaderEpoch: 1},
	}
	for id := int32(1); id <= int32(n); id++ {
		s.Brokers[id] = &Broker{
			ID: id, Rack: "r" + string(rune('1'+(id-1)%3)), Alive: true,
			LogDirs: []*LogDir{{Path: "/data/0", Total: 1 << 40, Usable: 1 << 39}},
			Configs: map[string]Config{},
		}
		s.Quorum.Voters = append(s.Quorum.Voters, QuorumReplica{ID: id, LastFetchMillis: -1, CaughtUpMillis: -1})
	}
	return s
}

// AddTopic adds a topic with empty partitions, their replicas placed round
// robin over all brokers; each replica also appears in its broker's first
// log directory. It replaces a topic of that name.
func (s *State) AddTopic(name string, partitions, replicationFactor int) *Topic {
	ids := s.BrokerIDs()
	rf := min(replicationFactor, len(ids))
	t := &Topic{Name: name, ID: TopicID(name), Partitions: make([]Partition, partitions)}
	for p := range t.Partitions {
		replicas := make([]int32, rf)
		for r := range replicas {
			replicas[r] = ids[(p+r)%len(ids)]
			if dirs := s.Brokers[replicas[r]].LogDirs; len(dirs) > 0 {
				dirs[0].Replicas = append(dirs[0].Replicas, Replica{Topic: name, Partition: int32(p)})
			}
		}
		t.Partitions[p] = Partition{
			Leader: replicas[0], Replicas: replicas, ISR: slices.Clone(replicas),
			FirstTimestamp: -1, MaxTimestamp: -1,
		}
	}
	s.Topics[name] = t
	return t
}

// Partition returns a topic's partition, or nil.
func (s *State) Partition(topic string, partition int32) *Partition {
	t := s.Topics[topic]
	if t == nil || partition < 0 || int(partition) >= len(t.Partitions) {
		return nil
	}
	return &t.Partitions[partition]
}

// SetReplicaSize sets the size in bytes of a partition's current (not future)
// log on a broker and reports whether it was found there.
func (s *State) SetReplicaSize(broker int32, topic string, partition int32, size int64) bool {
	b := s.Brokers[broker]
	if b == nil {
		return false
	}
	for _, d := range b.LogDirs {
		for i := range d.Replicas {
			r := &d.Replicas[i]
			if r.Topic == topic && r.Partition == partition && !r.Future {
				r.Size = size
				return true
			}
		}
	}
	return false
}

// BrokerIDs returns all broker ids, dead ones too, ascending.
func (s *State) BrokerIDs() []int32 { return slices.Sorted(maps.Keys(s.Brokers)) }

// KillBroker does to the state what a controller does when a broker dies:
// the broker is no longer alive and in no ISR of several, another in-sync
// replica leads (or none: -1), and controller and coordinators move. The
// listener is left as it is; see [Cluster.StopBroker] and [Cluster.BlackHole].
func (s *State) KillBroker(id int32) {
	if b := s.Brokers[id]; b != nil {
		b.Alive = false
	}
	for _, t := range s.Topics {
		for i := range t.Partitions {
			s.dropReplica(&t.Partitions[i], id)
		}
	}
	if s.Controller == id {
		s.Controller = s.coordinatorFor("controller")
	}
	for _, g := range s.Groups {
		if g.Coordinator == id {
			g.Coordinator = s.coordinatorFor(g.ID)
		}
	}
	for _, t := range s.Transactions {
		if t.Coordinator == id {
			t.Coordinator = s.coordinatorFor(t.ID)
		}
	}
}

func (s *State) dropReplica(p *Partition, id int32) {
	// The last in-sync replica stays in the ISR of a leaderless partition.
	if len(p.ISR) > 1 {
		p.ISR = slices.DeleteFunc(slices.Clone(p.ISR), func(r int32) bool { return r == id })
	}
	if p.Leader != id {
		return
	}
	p.Leader = -1
	p.LeaderEpoch++
	for _, r := range p.ISR {
		if b := s.Brokers[r]; b != nil && b.Alive {
			p.Leader = r
			return
		}
	}
}

// coordinatorFor spreads names over the live brokers; -1 when none lives.
func (s *State) coordinatorFor(name string) int32 {
	live := slices.DeleteFunc(s.BrokerIDs(), func(id int32) bool { return !s.Brokers[id].Alive })
	if len(live) == 0 {
		return -1
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return live[h.Sum32()%uint32(len(live))]
}

// TopicID is the id that AddTopic gives a topic: derived from the name, so
// that it is the same in every run.
func TopicID(name string) [16]byte {
	sum := sha256.Sum256([]byte("topic:" + name))
	id := [16]byte(sum[:16])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// index holds what handlers would otherwise sort or search on each request.
// It is rebuilt under the write lock after each Update.
type index struct {
	brokers []int32
	topics  []string
	groups  []string
	byID    map[[16]byte]*Topic
}

func (s *State) reindex() {
	s.index = index{
		brokers: s.BrokerIDs(),
		topics:  slices.Sorted(maps.Keys(s.Topics)),
		groups:  slices.Sorted(maps.Keys(s.Groups)),
		byID:    make(map[[16]byte]*Topic, len(s.Topics)),
	}
	for _, t := range s.Topics {
		s.index.byID[t.ID] = t
	}
}
