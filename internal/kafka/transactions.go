package kafka

import (
	"context"
	"fmt"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Transaction is a transactional id as its coordinator lists it.
type Transaction struct {
	ID         string
	ProducerID int64
	// State is Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit,
	// CompleteAbort, Dead or PrepareEpochFence.
	State       string
	Coordinator int32
}

// Transactions lists the transactional ids of every coordinator in parallel,
// one request per broker, through franz-go: sarama cannot encode version 0
// (Kafka 3.0 to 3.7) without a duration filter.
func (c *Client) Transactions(ctx context.Context, brokers []int32) ([]Transaction, map[int32]error) {
	out := make(chan []Transaction, len(brokers))
	failed := each(brokers, func(id int32) error {
		res, err := raw[*kmsg.ListTransactionsResponse](ctx, c, id, kmsg.NewPtrListTransactionsRequest())
		if err != nil {
			return err
		}
		if err := kerr.ErrorForCode(res.ErrorCode); err != nil {
			return err
		}
		ts := make([]Transaction, 0, len(res.TransactionStates))
		for _, t := range res.TransactionStates {
			ts = append(ts, Transaction{ID: t.TransactionalID, ProducerID: t.ProducerID, State: t.TransactionState, Coordinator: id})
		}
		out <- ts
		return nil
	})
	close(out)
	var all []Transaction
	for ts := range out {
		all = append(all, ts...)
	}
	return all, failed
}

// ActiveProducer is an idempotent or transactional producer that a leader
// remembers for a partition.
type ActiveProducer struct {
	Topic         string
	Partition     int32
	ProducerID    int64
	ProducerEpoch int32
	// LastTimestamp is Unix milliseconds.
	LastTimestamp int64
	// TransactionStart is the first offset of the open transaction, -1 if none.
	TransactionStart int64
}

// PartitionError is why one partition was not told about.
type PartitionError struct {
	Topic     string
	Partition int32
	Err       error
}

func (e *PartitionError) Error() string {
	return fmt.Sprintf("partition %s-%d: %v", e.Topic, e.Partition, e.Err)
}

func (e *PartitionError) Unwrap() error { return e.Err }

// ActiveProducers reads the producers that leaders remember for the given
// partitions, one request per leader (KIP-664, Kafka ≥ 3.0). Beside those it
// returns which partitions were refused (Read on Topic is needed) and which
// leaders did not answer.
func (c *Client) ActiveProducers(ctx context.Context, leaders Assignment) ([]ActiveProducer, []PartitionError, map[int32]error) {
	out := make(chan []ActiveProducer, len(leaders))
	refused := make(chan []PartitionError, len(leaders))
	failed := each(leaders.brokers(), func(id int32) error {
		res, err := on(ctx, c, id, apiDescribeProducers, func(b *sarama.Broker) (*sarama.DescribeProducersResponse, error) {
			req := &sarama.DescribeProducersRequest{}
			for t, ps := range leaders[id] {
				req.Topics = append(req.Topics, sarama.DescribeProducersRequestTopic{Name: t, PartitionIndexes: ps})
			}
			return b.DescribeProducers(req)
		})
		if err != nil {
			return err
		}
		var ps []ActiveProducer
		var bad []PartitionError
		for _, t := range res.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != sarama.ErrNoError {
					bad = append(bad, PartitionError{t.Name, p.PartitionIndex, p.ErrorCode})
				}
				for _, a := range p.ActiveProducers {
					ps = append(ps, ActiveProducer{Topic: t.Name, Partition: p.PartitionIndex, ProducerID: a.ProducerID, ProducerEpoch: a.ProducerEpoch, LastTimestamp: a.LastTimestamp, TransactionStart: a.CurrentTxnStartOffset})
				}
			}
		}
		out <- ps
		refused <- bad
		return nil
	})
	close(out)
	close(refused)
	var all []ActiveProducer
	for ps := range out {
		all = append(all, ps...)
	}
	var bad []PartitionError
	for es := range refused {
		bad = append(bad, es...)
	}
	return all, bad, failed
}
