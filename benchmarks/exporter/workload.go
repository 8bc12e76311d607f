package main

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

const (
	topics        = 1000
	partitions    = 6
	groups        = 1000
	topicsOfGroup = 20 // 120 pairs
	liveGroups    = 50
	seed          = 42
)

// workload fills a cluster and knows what is in it.
type workload struct {
	client *kgo.Client
	admin  *kadm.Client
	live1  []*kgo.Client
	seeds  []string
}

func newWorkload(c *kafkatest.Cluster) *workload {
	admin := c.Admin()
	w := &workload{admin: admin}
	w.seeds = []string{c.Bootstrap()}
	return w
}

func topicName(i int) string { return fmt.Sprintf("bench.topic-%04d", i) }
func groupName(i int) string { return fmt.Sprintf("bench-group-%04d", i) }

// records is how many records a partition holds: 1 to 10, a function of its name.
func records(topic string, p int32) int {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%d", topic, p)
	return 1 + int(h.Sum32()%10)
}

func (w *workload) close() {
	for _, c := range w.live1 {
		c.Close()
	}
	if w.client != nil {
		w.client.Close()
	}
	w.admin.Close()
}

// fill creates topics, records and commits. The seed is fixed: every run
// measures the same work.
func (w *workload) fill(ctx context.Context) (err error) {
	w.client, err = kgo.NewClient(kgo.SeedBrokers(splitList(w.seeds[0])...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(50*time.Millisecond), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return err
	}
	w.admin.SetTimeoutMillis(120_000)
	began := time.Now()
	for i := 0; i < topics; i += 50 {
		var names []string
		for j := i; j < i+50; j++ {
			names = append(names, topicName(j))
		}
		res, err := w.admin.CreateTopics(ctx, partitions, 1, nil, names...)
		if err == nil {
			err = res.Error()
		}
		if err != nil {
			return fmt.Errorf("creating topics: %w", err)
		}
	}
	if err := w.waitLeaders(ctx); err != nil {
		return err
	}
	if err := w.produce(ctx); err != nil {
		return err
	}
	if err := w.commit(ctx); err != nil {
		return err
	}
	fmt.Printf("real: 3 brokers, %d partitions, %d groups with %d committed pairs each, seed %d, filled in %.0f s\n", topics*partitions, groups, topicsOfGroup*partitions, seed, time.Since(began).Seconds())
	return nil
}

// waitLeaders waits until every broker knows a leader for every partition:
// thousands of new ones take a while.
func (w *workload) waitLeaders(ctx context.Context) error {
	return kafkatest.Wait(ctx, "leaders of all partitions", 5*time.Minute, func(ctx context.Context) (bool, string) {
		brokers, err := w.admin.ListBrokers(ctx)
		if err != nil {
			return false, err.Error()
		}
		for _, id := range brokers.NodeIDs() {
			led, err := w.ledAt(ctx, id)
			if err != nil {
				return false, err.Error()
			}
			if led < topics*partitions {
				return false, fmt.Sprintf("broker %d knows %d of %d", id, led, topics*partitions)
			}
		}
		return true, ""
	})
}

// ledAt counts the partitions whose leader a broker knows.
func (w *workload) ledAt(ctx context.Context, broker int32) (int, error) {
	res, err := w.client.Broker(int(broker)).RetriableRequest(ctx, kmsg.NewPtrMetadataRequest())
	if err != nil {
		return 0, err
	}
	led := 0
	for _, t := range res.(*kmsg.MetadataResponse).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 && p.Leader >= 0 {
				led++
			}
		}
	}
	return led, nil
}

// produce writes every record of the load, or says why one could not be written.
func (w *workload) produce(ctx context.Context) error {
	var mu sync.Mutex
	var failed error
	for i := range topics {
		for p := range int32(partitions) {
			for range records(topicName(i), p) {
				w.client.Produce(ctx, &kgo.Record{Topic: topicName(i), Partition: p, Value: []byte("0123456789abcdef")}, func(_ *kgo.Record, err error) {
					mu.Lock()
					defer mu.Unlock()
					failed = cmp.Or(failed, err)
				})
			}
		}
	}
	if err := w.client.Flush(ctx); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	return failed
}

func (w *workload) commit(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range groups {
		g.Go(func() error {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			offsets := kadm.Offsets{}
			for _, t := range r.Perm(topics)[:topicsOfGroup] {
				for p := range int32(partitions) {
					offsets.AddOffset(topicName(t), p, int64(r.IntN(records(topicName(t), p)+1)), -1)
				}
			}
			var err error
			for range 20 { // coordinators load for a moment after their topic's creation
				if err = w.admin.CommitAllOffsets(ctx, groupName(i), offsets); err == nil {
					return nil
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(500 * time.Millisecond):
				}
			}
			return fmt.Errorf("committing for %s: %w", groupName(i), err)
		})
	}
	return g.Wait()
}

// live starts groups with members and a trickle of records, until ctx ends.
func (w *workload) live(ctx context.Context) error {
	name := func(i int) string { return fmt.Sprintf("bench.live-%02d", i) }
	var names []string
	for i := range liveGroups {
		names = append(names, name(i))
	}
	res, err := w.admin.CreateTopics(ctx, 2, 1, nil, names...)
	if err == nil {
		err = res.Error()
	}
	if err != nil {
		return err
	}
	for i := range liveGroups {
		c, err := kgo.NewClient(kgo.SeedBrokers(splitList(w.seeds[0])...), kgo.ConsumerGroup(fmt.Sprintf("bench-live-%02d", i)), kgo.ConsumeTopics(name(i)), kgo.FetchMaxWait(5*time.Second))
		if err != nil {
			return err
		}
		w.live1 = append(w.live1, c)
		go func() {
			for ctx.Err() == nil {
				c.PollFetches(ctx)
			}
		}()
	}
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		r := rand.New(rand.NewPCG(seed, 1))
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.client.Produce(ctx, &kgo.Record{Topic: name(r.IntN(liveGroups)), Partition: r.Int32N(2), Value: []byte("x")}, nil)
			}
		}
	}()
	return nil
}

// check compares every exported lag of the groups without members with the
// brokers' own answer and returns how many differ, are missing or too many.
func (w *workload) check(ctx context.Context, e *exporter) (int, error) {
	type pair struct {
		group, topic, partition string
	}
	s, err := e.scrape(ctx)
	if err != nil {
		return 0, err
	}
	got := map[pair]float64{}
	s.each("kafka_group_lag_records", func(l map[string]string, v float64) {
		got[pair{l["group"], l["topic"], l["partition"]}] = v
	})
	ends, err := w.admin.ListEndOffsets(ctx)
	if err != nil {
		return 0, err
	}
	var names []string
	for i := range groups {
		names = append(names, groupName(i))
	}
	right, wrong, missing, example := 0, 0, 0, ""
	for _, r := range w.admin.FetchManyOffsets(ctx, names...) {
		if r.Err != nil {
			return 0, r.Err
		}
		r.Fetched.Each(func(o kadm.OffsetResponse) {
			end, _ := ends.Lookup(o.Topic, o.Partition)
			v, ok := got[pair{r.Group, o.Topic, fmt.Sprint(o.Partition)}]
			switch {
			case !ok:
				missing++
				example = fmt.Sprintf("%s %s-%d is missing", r.Group, o.Topic, o.Partition)
			case v == float64(end.Offset-o.At):
				right++
			default:
				wrong++
				example = fmt.Sprintf("%s %s-%d is %g, end %d (%v), commit %d", r.Group, o.Topic, o.Partition, v, end.Offset, end.Err, o.At)
			}
		})
	}
	if want := groups * topicsOfGroup * partitions; right+wrong+missing != want {
		return 0, fmt.Errorf("the brokers told of %d commits, %d were made", right+wrong+missing, want)
	}
	fmt.Printf("lag of every pair against the brokers' own: %d right, %d wrong, %d missing %s\n", right, wrong, missing, example)
	odd := checkOdd(s)
	fmt.Printf("odd commits (beyond the end, before the start, on a gone topic, on some partitions): %d wrong\n", odd)
	return wrong + missing + odd, nil
}
