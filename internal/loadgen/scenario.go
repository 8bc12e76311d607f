package loadgen

import "time"

// Users that log in; the empty name stands for a client that does not.
const (
	alice = "alice"
	bob   = "bob"
)

// topicSpec is a topic to create.
type topicSpec struct {
	name        string
	partitions  int32
	replication int16 // fewer on smaller clusters
	compacted   bool
}

var topics = []topicSpec{
	{name: "orders", partitions: 12, replication: 3},
	{name: "payments", partitions: 6, replication: 3},
	{name: "page-views", partitions: 6, replication: 2},
	{name: "customers", partitions: 3, replication: 3, compacted: true},
	{name: "audit-log", partitions: 1, replication: 3},
	// Nobody writes to these.
	{name: "legacy-imports", partitions: 4, replication: 3},
	{name: "campaign-2019", partitions: 2, replication: 2},
}

// movedTopic is the one whose partitions are reassigned: it has fewer replicas
// than there are brokers.
const movedTopic = "page-views"

// producerSpec is one producing client.
type producerSpec struct {
	user, clientID, topic string
	share                 float64 // of Options.Rate
	skew                  float64 // 0: even over the partitions; from 1 up: the more, the hotter the first ones
	keys                  int     // distinct keys, 0: records have none
	size                  int     // mean bytes of a value
}

var producers = []producerSpec{
	{user: alice, clientID: "checkout-1", topic: "orders", share: 0.34, skew: 1.3, size: 400},
	{user: alice, clientID: "checkout-2", topic: "orders", share: 0.20, skew: 1.3, size: 400},
	{user: alice, clientID: "crm-sync", topic: "customers", share: 0.06, keys: 500, size: 800},
	{clientID: "web-frontend", topic: "page-views", share: 0.28, size: 600},
	{clientID: "auditor", topic: "audit-log", share: 0.02, size: 200},
	{user: bob, clientID: "payments-import", topic: "payments", share: 0.05, skew: 1.1, size: 300},
}

// transactorSpec is one client that produces in transactions.
type transactorSpec struct {
	user, id, topic string
	records         int           // in each transaction
	hold            time.Duration // how long a transaction stays open
	pause           time.Duration // between two transactions
	abortEvery      int           // one in so many is aborted, 0: none
}

var transactors = []transactorSpec{
	{user: bob, id: "payments-api", topic: "payments", records: 10, hold: 200 * time.Millisecond, pause: 500 * time.Millisecond, abortEvery: 10},
	// Readers of committed records cannot pass its first record meanwhile.
	{user: bob, id: "payments-settlement", topic: "payments", records: 1, hold: 40 * time.Second, pause: 30 * time.Second},
}

// groupKind says by which protocol a group is run.
type groupKind string

const (
	classic groupKind = "classic"
	next    groupKind = "consumer" // KIP-848
	share   groupKind = "share"    // KIP-932
)

// behaviour says what a consumer does with what it reads.
type behaviour int

const (
	follows behaviour = iota // reads and commits
	stalls                   // after a while commits the same offsets again and again
	stops                    // after a while leaves for good
)

// goodTime is how long consumers that stall or stop behave before they do.
const goodTime = 20 * time.Second

// consumerSpec is one group.
type consumerSpec struct {
	user, group string
	clientIDs   []string // one member each
	topics      []string
	kind        groupKind
	behaviour   behaviour
	share       float64 // of Options.Rate that each member can handle, 0: all it gets
	committed   bool    // reads committed records only
	static      bool    // members have a group.instance.id
}

var consumers = []consumerSpec{
	{user: alice, group: "orders-fulfilment", clientIDs: []string{"fulfilment-1", "fulfilment-2"}, topics: []string{"orders"}, kind: classic, static: true},
	{user: alice, group: "orders-fraud-detection", clientIDs: []string{"fraud-1"}, topics: []string{"orders"}, kind: classic, share: 0.42},
	{user: alice, group: "orders-search-index", clientIDs: []string{"indexer-1"}, topics: []string{"orders", "customers"}, kind: classic, behaviour: stalls},
	{user: bob, group: "payments-ledger", clientIDs: []string{"ledger-1"}, topics: []string{"payments"}, kind: classic, committed: true},
	{user: bob, group: "payments-export", clientIDs: []string{"export-1"}, topics: []string{"payments"}, kind: classic, behaviour: stops},
	{group: "analytics", clientIDs: []string{"analytics-1", "analytics-2"}, topics: []string{"page-views", "audit-log"}, kind: next},
	{group: "thumbnails", clientIDs: []string{"thumbnails-1"}, topics: []string{"page-views"}, kind: share},
}
