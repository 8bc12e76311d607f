package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// leadersWithin bounds the wait for the leaders of a new topic.
const leadersWithin = 30 * time.Second

// CreateTopic creates a topic and waits until every broker that answers knows
// the leaders of all its partitions. configs may be nil.
func (c *Cluster) CreateTopic(ctx context.Context, name string, partitions, replicationFactor int, configs map[string]string) error {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(partitions), int16(replicationFactor)
	return c.createTopic(ctx, t, partitions, configs)
}

// CreateTopicAssigned is CreateTopic with the replicas of each partition given;
// the first replica is the preferred leader.
func (c *Cluster) CreateTopicAssigned(ctx context.Context, name string, replicas [][]int32, configs map[string]string) error {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	for p, ids := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(p), ids
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	return c.createTopic(ctx, t, len(replicas), configs)
}

func (c *Cluster) createTopic(ctx context.Context, t kmsg.CreateTopicsRequestTopic, partitions int, configs map[string]string) error {
	for k, v := range configs {
		cfg := kmsg.NewCreateTopicsRequestTopicConfig()
		cfg.Name, cfg.Value = k, &v
		t.Configs = append(t.Configs, cfg)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 15_000
	req.Topics = append(req.Topics, t)
	res, err := req.RequestWith(ctx, c.client())
	if err != nil {
		return fmt.Errorf("create topic %s: %w", t.Topic, err)
	}
	for _, r := range res.Topics {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			detail := ""
			if r.ErrorMessage != nil {
				detail = ": " + *r.ErrorMessage
			}
			return fmt.Errorf("create topic %s: %w%s", t.Topic, err, detail)
		}
	}
	return c.WaitLeaders(ctx, t.Topic, partitions)
}

// WaitLeaders waits until every broker that answers knows a leader of each of
// the topic's partitions, numbered 0 to partitions-1.
func (c *Cluster) WaitLeaders(ctx context.Context, topic string, partitions int) error {
	what := fmt.Sprintf("leaders of the %d partitions of topic %s", partitions, topic)
	return Wait(ctx, what, leadersWithin, func(ctx context.Context) (bool, string) {
		answered := 0
		for _, b := range c.brokers {
			known, err := c.leadersKnownTo(ctx, b.state.ID, topic)
			if err != nil {
				continue // a stopped or paused broker
			}
			answered++
			if known != partitions {
				return false, fmt.Sprintf("broker %d knows the leaders of %d partitions", b.state.ID, known)
			}
		}
		return answered > 0, "no broker answered"
	})
}

// leadersKnownTo returns how many partitions of the topic have a leader in the
// view of one broker.
func (c *Cluster) leadersKnownTo(ctx context.Context, id int, topic string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &topic
	req.Topics = append(req.Topics, t)
	res, err := c.client().Broker(id).Request(ctx, req)
	if err != nil {
		return 0, err
	}
	known := 0
	for _, t := range res.(*kmsg.MetadataResponse).Topics {
		for _, p := range t.Partitions {
			if p.Leader >= 0 {
				known++
			}
		}
	}
	return known, nil
}

var notInTopicNames = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)

// Topic creates a topic with a unique name for the test and returns the name;
// the topic is deleted at the end of the test.
func (c *Cluster) Topic(t testing.TB, partitions, replicationFactor int) string {
	t.Helper()
	name := UniqueName(t)
	if err := c.CreateTopic(t.Context(), name, partitions, replicationFactor, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		// In vain when the test has stopped the cluster: nothing to remove then.
		_, _ = c.Admin().DeleteTopics(ctx, name)
	})
	return name
}

// UniqueName returns a name for a topic or group that holds the test's name and
// occurs in no other run.
func UniqueName(t testing.TB) string {
	name := notInTopicNames.ReplaceAllString(t.Name(), "-")
	return fmt.Sprintf("%.150s-%08x", name, rand.Uint32())
}

// Produce writes n records with values of size bytes, uncompressed, to one
// partition, and waits until all in-sync replicas have them.
func (c *Cluster) Produce(ctx context.Context, topic string, partition int32, n, size int) error {
	cl, err := c.NewClient(
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
	)
	if err != nil {
		return err
	}
	defer cl.Close()
	var mu sync.Mutex
	var firstErr error
	value := make([]byte, size)
	for range n {
		cl.Produce(ctx, &kgo.Record{Topic: topic, Partition: partition, Value: value}, func(_ *kgo.Record, err error) {
			mu.Lock()
			defer mu.Unlock()
			if firstErr == nil {
				firstErr = err
			}
		})
	}
	err = cl.Flush(ctx)
	mu.Lock()
	defer mu.Unlock()
	if err = errors.Join(firstErr, err); err != nil {
		return fmt.Errorf("produce %d records to %s partition %d: %w", n, topic, partition, err)
	}
	return nil
}

// Commit commits offsets of a group that has no live members, by topic and
// partition; it creates the group.
func (c *Cluster) Commit(ctx context.Context, group string, offsets map[string]map[int32]int64) error {
	os := kadm.Offsets{}
	for topic, partitions := range offsets {
		for p, o := range partitions {
			os.AddOffset(topic, p, o, -1)
		}
	}
	// The coordinator's topic may only just be being created.
	return Wait(ctx, "the commit of offsets of group "+group, leadersWithin, func(ctx context.Context) (bool, string) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if err := c.Admin().CommitAllOffsets(ctx, group, os); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}
