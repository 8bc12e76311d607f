package fake

import (
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// txnStates are the states that ListTransactions accepts in its filter.
var txnStates = []string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}

func listTransactions(s *State, broker int32, req *kmsg.ListTransactionsRequest, resp *kmsg.ListTransactionsResponse) {
	for _, f := range req.StateFilters {
		if !slices.Contains(txnStates, f) {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, f)
		}
	}
	pattern, err := transactionPattern(req.TransactionalIDPattern)
	if err != nil {
		resp.ErrorCode = errInvalidRegularExpression
		return
	}
	now := time.Now().UnixMilli()
	for _, t := range sortedTransactions(s) {
		young := req.DurationFilterMillis > 0 && (t.StartMillis < 0 || now-t.StartMillis <= req.DurationFilterMillis)
		if t.Coordinator != broker || young ||
			len(req.StateFilters) > 0 && !slices.Contains(req.StateFilters, t.State) ||
			len(req.ProducerIDFilters) > 0 && !slices.Contains(req.ProducerIDFilters, t.ProducerID) ||
			pattern != nil && !pattern.MatchString(t.ID) {
			continue
		}
		ts := kmsg.NewListTransactionsResponseTransactionState()
		ts.TransactionalID, ts.ProducerID, ts.TransactionState = t.ID, t.ProducerID, t.State
		resp.TransactionStates = append(resp.TransactionStates, ts)
	}
}

// transactionPattern compiles a pattern that must match the whole id.
func transactionPattern(p *string) (*regexp.Regexp, error) {
	if p == nil || *p == "" {
		return nil, nil
	}
	return regexp.Compile("^(?:" + *p + ")$")
}

func describeTransactions(s *State, broker int32, req *kmsg.DescribeTransactionsRequest, resp *kmsg.DescribeTransactionsResponse) {
	for _, id := range req.TransactionalIDs {
		dt := kmsg.NewDescribeTransactionsResponseTransactionState()
		dt.TransactionalID = id
		t := s.Transactions[id]
		switch {
		case t == nil && s.coordinatorFor(id) != broker, t != nil && t.Coordinator != broker:
			dt.ErrorCode = errNotCoordinator
		case t == nil:
			dt.ErrorCode = errTransactionalIDNotFound
		case t.Err != 0:
			dt.ErrorCode = t.Err
		default:
			dt.State, dt.TimeoutMillis, dt.StartTimestamp = t.State, t.TimeoutMillis, t.StartMillis
			dt.ProducerID, dt.ProducerEpoch = t.ProducerID, t.ProducerEpoch
			for _, tp := range t.Partitions {
				tt := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
				tt.Topic, tt.Partitions = tp.Topic, tp.Partitions
				dt.Topics = append(dt.Topics, tt)
			}
		}
		resp.TransactionStates = append(resp.TransactionStates, dt)
	}
}

func describeProducers(s *State, broker int32, req *kmsg.DescribeProducersRequest, resp *kmsg.DescribeProducersResponse) {
	for _, rt := range req.Topics {
		ot := kmsg.NewDescribeProducersResponseTopic()
		ot.Topic = rt.Topic
		for _, n := range rt.Partitions {
			op := kmsg.NewDescribeProducersResponseTopicPartition()
			op.Partition = n
			p, code := s.checkLeader(broker, s.Topics[rt.Topic], n, -1)
			if op.ErrorCode = code; code == 0 {
				op.ActiveProducers = activeProducers(p)
			}
			ot.Partitions = append(ot.Partitions, op)
		}
		resp.Topics = append(resp.Topics, ot)
	}
}

func activeProducers(p *Partition) []kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	var out []kmsg.DescribeProducersResponseTopicPartitionActiveProducer
	for _, pr := range p.Producers {
		a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		a.ProducerID, a.ProducerEpoch, a.LastSequence = pr.ID, pr.Epoch, pr.LastSequence
		a.LastTimestamp, a.CoordinatorEpoch, a.CurrentTxnStartOffset = pr.LastTimestamp, pr.CoordinatorEpoch, pr.TxnStartOffset
		out = append(out, a)
	}
	return out
}
