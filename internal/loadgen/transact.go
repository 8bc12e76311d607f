package loadgen

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func (t transactorSpec) options() []kgo.Opt {
	return []kgo.Opt{
		kgo.TransactionalID(t.id),
		kgo.TransactionTimeout(t.hold + 30*time.Second),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RecordDeliveryTimeout(20 * time.Second),
	}
}

// transact makes one transaction after the other until ctx ends; the one that
// is open then is aborted.
func (l *Load) transact(ctx context.Context, client *kgo.Client, t transactorSpec) {
	source := newSource(l.random(t.id), t.topic, 0, 0, 300)
	for n := 1; sleep(ctx, t.pause); n++ {
		commit := kgo.TransactionEndTry(t.abortEvery == 0 || n%t.abortEvery != 0)
		if err := client.BeginTransaction(); err != nil {
			l.failed(ctx, "begin a transaction of "+t.id, err)
			continue
		}
		for range t.records {
			client.Produce(ctx, source.record(), func(r *kgo.Record, err error) {
				if err != nil {
					l.failed(ctx, "produce to "+r.Topic, err)
					return
				}
				l.counts.produced.Add(1)
			})
		}
		if err := client.Flush(ctx); err != nil || !sleep(ctx, t.hold) {
			commit = kgo.TryAbort
		}
		l.endTransaction(ctx, client, commit)
	}
}

// endTransaction commits or aborts, also when ctx has ended.
func (l *Load) endTransaction(ctx context.Context, client *kgo.Client, commit kgo.TransactionEndTry) {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if commit == kgo.TryAbort {
		if err := client.AbortBufferedRecords(end); err != nil {
			l.failed(ctx, "drop the records of a transaction", err)
		}
	}
	err := client.EndTransaction(end, commit)
	switch {
	case err != nil:
		l.failed(ctx, "end a transaction", err)
	case commit == kgo.TryCommit:
		l.counts.committed.Add(1)
	default:
		l.counts.aborted.Add(1)
	}
}
