package gather

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
)

// Quotas reads every entity's client quotas. One request.
func (r *Reader) Quotas(ctx context.Context) (*snapshot.Quotas, error) {
	list, err := r.beside.Quotas(ctx)
	if err != nil {
		return nil, err
	}
	out := &snapshot.Quotas{ReadAt: r.now()}
	for _, q := range list {
		base := snapshot.Quota{}
		for _, e := range q.Entity {
			name, _ := exposition.Label(e.Name)
			part := snapshot.QuotaPart{Set: true, Default: e.Default, Name: name}
			switch e.Type {
			case "user":
				base.User = part
			case "client-id":
				base.ClientID = part
			case "ip":
				base.IP = part
			}
		}
		for _, key := range slices.Sorted(maps.Keys(q.Values)) {
			base.Key, base.Value = key, q.Values[key]
			out.Quotas = append(out.Quotas, base)
		}
	}
	slices.SortStableFunc(out.Quotas, func(a, b snapshot.Quota) int {
		return cmp.Or(compareParts(a.User, b.User), compareParts(a.ClientID, b.ClientID), compareParts(a.IP, b.IP), cmp.Compare(a.Key, b.Key))
	})
	return out, nil
}

func compareParts(a, b snapshot.QuotaPart) int {
	rank := func(p snapshot.QuotaPart) int {
		switch {
		case !p.Set:
			return 0
		case p.Default:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
}

// ACLs counts access control entries. One request.
func (r *Reader) ACLs(ctx context.Context) (*snapshot.ACLs, error) {
	out := &snapshot.ACLs{ReadAt: r.now(), Counts: map[snapshot.ACLKey]int{}}
	counts, err := r.beside.ACLCounts(ctx)
	if errors.Is(err, kafka.ErrAuthorizerOff) {
		out.AuthorizerOff = true
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, c := range counts {
		// As labels the names are spelt like Kafka's own enums.
		key := snapshot.ACLKey{ResourceType: enumName(c.ResourceType), PatternType: enumName(c.PatternType), Permission: enumName(c.Permission)}
		out.Counts[key] += c.Count
	}
	return out, nil
}

// enumName turns a name such as TransactionalID into TRANSACTIONAL_ID.
func enumName(s string) string {
	var b strings.Builder
	for i, c := range s {
		if i > 0 && c >= 'A' && c <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z' {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.ToUpper(b.String())
}

// Transactions counts transactional ids by state and looks for transactions
// that nothing will ever end. stuck lists the partitions whose stable offset
// is behind their end: only those can have an open transaction. Requests: one
// per broker, and one per leader of a stuck partition.
func (r *Reader) Transactions(ctx context.Context, t *snapshot.Topology, o *snapshot.Offsets) (*snapshot.Transactions, Failures, error) {
	var failures Failures
	brokers := upBrokers(t)
	list, failed := r.beside.Transactions(ctx, brokers)
	if err := whole(failed, len(brokers)); err != nil {
		return nil, nil, err
	}
	failures.brokers(failed)
	out := &snapshot.Transactions{ReadAt: r.now(), ByState: map[string]int{}}
	ongoing := map[int64]bool{}
	for _, tx := range list {
		out.ByState[tx.State]++
		if tx.State == "Ongoing" || tx.State == "PrepareCommit" || tx.State == "PrepareAbort" || tx.State == "PrepareEpochFence" {
			ongoing[tx.ProducerID] = true
		}
	}
	stuck := leaders(t, func(topic *snapshot.Topic, p int32) bool { return Behind(o.Topic(topic.Name), p) })
	producers, refused, failed2 := r.beside.ActiveProducers(ctx, stuck)
	failures.brokers(failed2)
	failures.partitions(refused)
	out.Partitions = openTransactions(producers, ongoing, len(failed) == 0)
	return out, failures, nil
}

// Behind tells whether a partition's stable offset is behind its end.
func Behind(o *snapshot.TopicOffsets, partition int32) bool {
	if o == nil {
		return false
	}
	end, stable := snapshot.At(o.End, partition), snapshot.At(o.Stable, partition)
	return end != snapshot.Unknown && stable != snapshot.Unknown && stable < end
}

// openTransactions groups producers with an open transaction by partition. A
// producer that no coordinator knows as busy hangs; that can only be said when
// every coordinator answered.
func openTransactions(producers []kafka.ActiveProducer, ongoing map[int64]bool, allAnswered bool) []snapshot.OpenTransaction {
	slices.SortFunc(producers, func(a, b kafka.ActiveProducer) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	var out []snapshot.OpenTransaction
	for _, p := range producers {
		if p.TransactionStart < 0 {
			continue
		}
		if n := len(out); n == 0 || out[n-1].Topic != p.Topic || out[n-1].Partition != p.Partition {
			out = append(out, snapshot.OpenTransaction{Topic: p.Topic, Partition: p.Partition, OldestTimestamp: p.LastTimestamp})
		}
		last := &out[len(out)-1]
		last.Producers++
		last.OldestTimestamp = min(last.OldestTimestamp, p.LastTimestamp)
		if allAnswered && !ongoing[p.ProducerID] {
			last.Hanging++
		}
	}
	return out
}
