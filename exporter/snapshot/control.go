package snapshot

import "time"

// Quotas are the client quotas of every entity.
type Quotas struct {
	ReadAt time.Time
	// Quotas is sorted by entity.
	Quotas []Quota
}

// QuotaPart is one side of a quota's entity.
type QuotaPart struct {
	// Set tells whether the entity has this part at all.
	Set bool
	// Default tells the default entity from a name that looks like it.
	Default bool
	Name    string
}

// Quota is one limit of one entity.
type Quota struct {
	User, ClientID, IP QuotaPart
	// Key is Kafka's name: producer_byte_rate, consumer_byte_rate,
	// request_percentage, controller_mutation_rate, connection_creation_rate.
	Key   string
	Value float64
}

// Transactions are what the transaction coordinators and leaders tell.
type Transactions struct {
	ReadAt time.Time
	// ByState counts transactional ids by coordinator state (Empty, Ongoing …).
	ByState map[string]int
	// Partitions lists partitions with an open transaction, sorted by topic
	// then partition.
	Partitions []OpenTransaction
}

// OpenTransaction describes the open transactions of one partition.
type OpenTransaction struct {
	Topic     string
	Partition int32
	// Producers counts producers with an open transaction.
	Producers int
	// Hanging counts those that no coordinator knows as ongoing: nothing will
	// ever end them, and read_committed consumers wait for ever.
	Hanging int
	// OldestTimestamp is the last time, in Unix milliseconds, that the least
	// recently active of these producers wrote.
	OldestTimestamp int64
}

// ACLs counts access control entries.
type ACLs struct {
	ReadAt time.Time
	// Counts is keyed by resource type (TOPIC, GROUP, …), pattern (LITERAL,
	// PREFIXED) and permission (ALLOW, DENY).
	Counts map[ACLKey]int
	// AuthorizerOff is true when the brokers run without an authorizer.
	AuthorizerOff bool
}

// ACLKey groups access control entries.
type ACLKey struct{ ResourceType, PatternType, Permission string }
