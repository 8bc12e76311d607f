package snapshot

import (
	"sort"
	"time"
)

// TopicID is Kafka's topic id (KIP-516); zero where the broker has none.
type TopicID [16]byte

// Topology is the cluster's shape, from Metadata.
type Topology struct {
	ReadAt    time.Time
	ClusterID string
	// Mode is "kraft", "zookeeper", or "" while unknown.
	Mode string
	// ControllerID is the active controller's broker (ZooKeeper mode). In KRaft
	// mode brokers answer Metadata with a random broker, so it is -1 here and
	// Quorum.LeaderID tells.
	ControllerID int32
	// ControllerChanges counts changes of the active controller seen since the
	// process started.
	ControllerChanges uint64
	// Brokers is sorted by id. It holds every broker that is registered and
	// alive, and every broker that is only known from a replica list (Up false).
	Brokers []Broker
	// Topics is sorted by name; filtered topics are absent.
	Topics []Topic
	// Denied lists topics that the configuration names and the ACLs refuse.
	DeniedTopics []string
}

// Broker is one broker.
type Broker struct {
	ID   int32
	Host string
	Port int32
	// IP is Host resolved, "" if it cannot be.
	IP   string
	Rack string
	// ResourceGroup is the policy's group of this broker, "" if none.
	ResourceGroup string
	// Up tells whether the cluster lists the broker as alive.
	Up bool
	// Reachable tells whether the last requests of this process to it were
	// answered; false for a broker that is not Up.
	Reachable bool
	// Counts over all partitions of the cluster (also filtered ones).
	Leaders, PreferredLeaders, Replicas int
}

// Topic is one topic.
type Topic struct {
	Name     string
	ID       TopicID
	Internal bool
	// Err is Kafka's error name for the topic ("" if none).
	Err string
	// Partitions is sorted by ID.
	Partitions []Partition
}

// Partition is one partition.
type Partition struct {
	ID int32
	// Leader is the leading broker, -1 if there is none.
	Leader      int32
	LeaderEpoch int32
	// Replicas is the assignment in preference order (the first is the
	// preferred leader), adding and removing ones included.
	Replicas []int32
	ISR      []int32
	// Offline holds the replicas on dead brokers or failed log dirs.
	Offline []int32
	// Adding and Removing come from a reassignment in flight (KIP-455).
	Adding, Removing []int32
}

// Reassigning tells whether a reassignment of the partition is in flight.
func (p *Partition) Reassigning() bool { return len(p.Adding) > 0 || len(p.Removing) > 0 }

// ReplicationFactor is the number of replicas the partition is meant to have:
// the target's while it is being reassigned.
func (p *Partition) ReplicationFactor() int {
	return len(p.Replicas) - len(p.Removing)
}

// UnderReplicated follows KIP-352: while a partition is being reassigned the
// replicas being added do not count as missing.
func (p *Partition) UnderReplicated() bool {
	inSync := 0
	for _, r := range p.ISR {
		if !contains(p.Adding, r) {
			inSync++
		}
	}
	return inSync < len(p.Replicas)-len(p.Adding)
}

// PreferredLeader is the broker that leads when all is well, -1 if unknown.
func (p *Partition) PreferredLeader() int32 {
	if len(p.Replicas) == 0 {
		return -1
	}
	return p.Replicas[0]
}

// Topic finds a topic by name, nil if it is not there. O(log topics).
func (t *Topology) Topic(name string) *Topic {
	if t == nil {
		return nil
	}
	i := sort.Search(len(t.Topics), func(i int) bool { return t.Topics[i].Name >= name })
	if i < len(t.Topics) && t.Topics[i].Name == name {
		return &t.Topics[i]
	}
	return nil
}

// Partition finds a partition by id, nil if it is not there.
func (t *Topic) Partition(id int32) *Partition {
	if t == nil {
		return nil
	}
	// Ids are dense in practice: try the obvious place first.
	if int(id) < len(t.Partitions) && id >= 0 && t.Partitions[id].ID == id {
		return &t.Partitions[id]
	}
	i := sort.Search(len(t.Partitions), func(i int) bool { return t.Partitions[i].ID >= id })
	if i < len(t.Partitions) && t.Partitions[i].ID == id {
		return &t.Partitions[i]
	}
	return nil
}

// PartitionCount is the number of partitions of all topics.
func (t *Topology) PartitionCount() int {
	n := 0
	for i := range t.Topics {
		n += len(t.Topics[i].Partitions)
	}
	return n
}

func contains(s []int32, x int32) bool {
	for _, y := range s {
		if y == x {
			return true
		}
	}
	return false
}

// Quorum is the KRaft metadata quorum, from DescribeQuorum. Nil in ZooKeeper mode.
type Quorum struct {
	ReadAt        time.Time
	LeaderID      int32
	LeaderEpoch   int32
	HighWatermark int64
	// LeaderChanges counts changes of leader or epoch seen since the process started.
	LeaderChanges uint64
	Voters        []QuorumReplica
	Observers     []QuorumReplica
}

// QuorumReplica is a voter or observer of the metadata log.
type QuorumReplica struct {
	ID           int32
	LogEndOffset int64
	// Times are Unix milliseconds, Unknown if the broker does not say.
	LastFetch, LastCaughtUp int64
}
