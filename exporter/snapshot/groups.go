package snapshot

import "time"

// Groups are the groups of every kind and what they committed.
type Groups struct {
	ReadAt time.Time
	// Groups is sorted by ID.
	Groups []Group
	// RenamedLabels counts, by kind (group, client_id, …), names that are not
	// valid UTF-8 and were made visible.
	RenamedLabels map[string]int
}

// Group kinds as ListGroups names them (KIP-848, KIP-932, KIP-1071).
const (
	GroupClassic  = "classic"
	GroupConsumer = "consumer"
	GroupShare    = "share"
	GroupStreams  = "streams"
	GroupUnknown  = "unknown"
)

// Group is one group.
type Group struct {
	// Name is the label; equal to ID unless ID is not valid UTF-8.
	Name string
	// ID is the group id byte for byte.
	ID string
	// Type is one of the Group… constants.
	Type string
	// State as Kafka spells it: Stable, Empty, PreparingRebalance,
	// CompletingRebalance, Assigning, Reconciling, Dead, Unknown.
	State string
	// ProtocolType is "consumer" for consumers; Connect and others differ.
	ProtocolType string
	// Assignor is the partition assignor, "" if none.
	Assignor    string
	Coordinator int32
	// Epoch is the group epoch of KIP-848 groups, -1 for others.
	Epoch int32
	// Members is nil while MembersKnown is false.
	Members      []Member
	MembersKnown bool
	// Commits is sorted by topic; meaningless while CommitsKnown is false.
	Commits      []TopicCommits
	CommitsKnown bool
	// Stale marks a group whose coordinator did not answer in this round: what
	// is shown was read at ReadAt. ReadAt is zero for groups that are not stale.
	Stale  bool
	ReadAt time.Time
}

// Active tells whether the group has members.
func (g *Group) Active() bool { return g.MembersKnown && len(g.Members) > 0 }

// Member is one member of a group.
type Member struct {
	// ID is the member id; InstanceID the static group.instance.id or "".
	ID, InstanceID string
	ClientID       string
	// ClientIP is the member's address as the broker saw it.
	ClientIP string
	Rack     string
	// Assigned is sorted by topic.
	Assigned []TopicPartitions
}

// TopicPartitions is a set of partitions of one topic.
type TopicPartitions struct {
	Topic      string
	Partitions []int32
}

// TopicCommits are a group's committed offsets in one topic, sorted by partition.
type TopicCommits struct {
	Topic      string
	Partitions []Commit
}

// Commit is one committed offset.
type Commit struct {
	Offset    int64
	Partition int32
}

// Lag is what follows from commits and offsets; its Groups run parallel to
// Groups.Groups of the same snapshot.
type Lag struct {
	ComputedAt time.Time
	Groups     []GroupLag
}

// GroupLag is one group's lag.
type GroupLag struct {
	// Topics is sorted by topic: every topic with a commit of a partition that
	// exists, or with an assigned partition.
	Topics []TopicLag
	// Orphaned counts commits whose topic or partition does not exist (any more).
	Orphaned int
	Verdict  Verdict
}

// TopicLag is a group's lag in one topic.
type TopicLag struct {
	Topic string
	// Partitions is sorted by partition and holds the committed ones.
	Partitions []PartitionLag
	// Uncommitted counts partitions of the topic without a commit.
	Uncommitted int
	// UncommittedRecords is what lies in those partitions from the log start to
	// the end; Unknown unless asked for.
	UncommittedRecords int64
	// UnknownEnd counts committed partitions whose end offset is not known (no
	// leader, broker unreachable): sums over the topic lack them.
	UnknownEnd int
	// Assigned tells whether a member has a partition of the topic assigned.
	Assigned bool
	// AssignedPartitions counts partitions assigned to members.
	AssignedPartitions int
	// Lost counts records that retention removed before the group read them,
	// seen since the process started (and what was missing already then).
	Lost uint64
	// LastCommit is when a committed offset of the topic was last seen to
	// change, Unix milliseconds, Unknown if it has not been.
	LastCommit int64
	Verdict    Verdict
}

// PartitionLag is a group's lag in one partition.
type PartitionLag struct {
	Committed int64
	// Lag in records against the end offset, never negative; Unknown if the end is.
	Lag int64
	// StableLag against the last stable offset; Unknown if that is.
	StableLag int64
	// Seconds since the first unread record was written; 0 when drained,
	// negative when unknown.
	Seconds   float64
	Partition int32
	Verdict   Verdict
	// Truncated: the commit is older than the time history reaches, Seconds is
	// a lower bound.
	Truncated bool
	// Exact: Seconds was read from the record itself.
	Exact bool
	// Clamped: the commit was beyond the end offset; Lag was set to 0.
	Clamped bool
}

// Verdict is a judgement without thresholds on how a group does.
type Verdict uint8

// Verdicts from best to worst.
const (
	// VerdictUnknown: nothing committed, or not enough seen yet.
	VerdictUnknown Verdict = iota
	// VerdictOK: drained within the window, or catching up.
	VerdictOK
	// VerdictWarning: commits advance but lag did not shrink over the window.
	VerdictWarning
	// VerdictRewound: a committed offset went back within the window.
	VerdictRewound
	// VerdictStalled: members are there, but the committed offset stands still with lag.
	VerdictStalled
	// VerdictStopped: nobody is there, and records wait.
	VerdictStopped
)

// VerdictNames lists the label values in order of the constants.
var VerdictNames = [...]string{"unknown", "ok", "warning", "rewound", "stalled", "stopped"}

func (v Verdict) String() string { return VerdictNames[v] }
