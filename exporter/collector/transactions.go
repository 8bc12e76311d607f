package collector

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

func transactionsSubject() Subject {
	const which = "partitions with an open transaction"
	return Subject{
		Title: "Transactions",
		Families: []family{
			requires("Kafka ≥ 3.0 (KIP-664)", gauge(transactions, "kafka_transactions",
				"Transactional ids by the state of their last transaction. From ListTransactions.",
				sum, labels("state"), renderTransactionStates)),
			requires("Kafka ≥ 2.8 (KIP-664)", sparse(which, gauge(transactions, "kafka_partition_open_transactions",
				"Producers with an open transaction in a partition. From DescribeProducers.",
				sum, byPartition, openTransactions(func(t *snapshot.OpenTransaction) int64 { return int64(t.Producers) })))),
			requires("Kafka ≥ 3.0 (KIP-664)", sparse(which, gauge(transactions, "kafka_partition_hanging_transactions",
				"Producers with an open transaction in a partition that no coordinator knows as ongoing: it never ends by itself, and consumers that read committed records wait for ever. From DescribeProducers and ListTransactions.",
				sum, byPartition, openTransactions(func(t *snapshot.OpenTransaction) int64 { return int64(t.Hanging) })))),
			requires("Kafka ≥ 2.8 (KIP-664)", sparse(which, gauge(transactions, "kafka_partition_oldest_open_transaction_timestamp_seconds",
				"Unix time at which the producer that has been silent longest, of those with an open transaction in a partition, last wrote to it. From DescribeProducers.",
				min1, byPartition, renderOldest))),
		},
	}
}

// transactionStates are shown with 0 too.
var transactionStates = []string{
	"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "PrepareEpochFence", "Dead",
}

func renderTransactionStates(c *cluster, e *emitter) {
	if c.Transactions == nil {
		return
	}
	for _, s := range transactionStates {
		e.Int(int64(c.Transactions.ByState[s]), s)
	}
	for _, s := range slices.Sorted(maps.Keys(c.Transactions.ByState)) {
		if !slices.Contains(transactionStates, s) {
			e.Int(int64(c.Transactions.ByState[s]), s)
		}
	}
}

// openTransactions emits a value per partition with an open transaction.
func openTransactions(value func(*snapshot.OpenTransaction) int64) render {
	return func(c *cluster, e *emitter) {
		if c.Transactions == nil {
			return
		}
		for i := range c.Transactions.Partitions {
			t := &c.Transactions.Partitions[i]
			e.Int(value(t), t.Topic, exposition.Itoa(t.Partition))
		}
	}
}

func renderOldest(c *cluster, e *emitter) {
	if c.Transactions == nil {
		return
	}
	for i := range c.Transactions.Partitions {
		if t := &c.Transactions.Partitions[i]; t.OldestTimestamp >= 0 {
			e.Millis(t.OldestTimestamp, t.Topic, exposition.Itoa(t.Partition))
		}
	}
}

func aclsSubject() Subject {
	return Subject{Title: "Access control", Families: []family{
		gauge(acls, "kafka_acls",
			"Access control entries by resource type, pattern type and permission. From DescribeAcls.",
			sum, labels("resource_type", "pattern_type", "permission"), func(c *cluster, e *emitter) {
				if c.ACLs == nil {
					return
				}
				for _, k := range slices.SortedFunc(maps.Keys(c.ACLs.Counts), compareACLs) {
					e.Int(int64(c.ACLs.Counts[k]), k.ResourceType, k.PatternType, k.Permission)
				}
			}),
		gauge(acls, "kafka_authorizer_enabled",
			"0 if the brokers run without an authorizer: everybody may do everything. From DescribeAcls.",
			min1, nil, func(c *cluster, e *emitter) {
				if c.ACLs != nil {
					e.Bool(!c.ACLs.AuthorizerOff)
				}
			}),
	}}
}

func compareACLs(a, b snapshot.ACLKey) int {
	return cmp.Or(
		cmp.Compare(a.ResourceType, b.ResourceType),
		cmp.Compare(a.PatternType, b.PatternType),
		cmp.Compare(a.Permission, b.Permission),
	)
}
