package loadgen

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Bounds on disk space, for each partition.
const (
	retentionBytes = 8 << 20
	segmentBytes   = 1 << 20
)

// setUp makes what the clients need. What is already there is kept.
func (l *Load) setUp(ctx context.Context) (offeredAPIs, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the cluster did not do it within a minute"))
	defer cancel()
	offered, err := askAPIs(ctx, l.client)
	if err != nil {
		return nil, err
	}
	if err := l.createTopics(ctx); err != nil {
		return nil, err
	}
	if len(l.opts.SASL) > 0 {
		if err := l.grant(ctx); err != nil {
			return nil, err
		}
	}
	return offered, l.setQuota(ctx)
}

func (l *Load) createTopics(ctx context.Context) error {
	brokers, err := l.admin.ListBrokers(ctx)
	if err != nil {
		return fmt.Errorf("list the brokers: %w", err)
	}
	for _, t := range topics {
		replication := min(t.replication, int16(len(brokers)))
		answer, err := l.admin.CreateTopic(ctx, t.partitions, replication, t.configs(replication), t.name)
		if err == nil {
			err = answer.Err
		}
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("create topic %s: %w", t.name, err)
		}
	}
	return nil
}

func (t topicSpec) configs(replication int16) map[string]*string {
	configs := map[string]string{
		"segment.bytes":       strconv.Itoa(segmentBytes),
		"retention.bytes":     strconv.Itoa(retentionBytes),
		"retention.ms":        strconv.FormatInt((24 * time.Hour).Milliseconds(), 10),
		"min.insync.replicas": strconv.Itoa(max(1, int(replication)-1)),
	}
	if t.compacted {
		configs["cleanup.policy"] = "compact"
	}
	pointers := map[string]*string{}
	for k, v := range configs {
		pointers[k] = &v
	}
	return pointers
}

// setQuota limits bob to more than he uses.
func (l *Load) setQuota(ctx context.Context) error {
	user := bob
	answers, err := l.admin.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: "user", Name: &user}},
		Ops: []kadm.AlterClientQuotaOp{
			{Key: "producer_byte_rate", Value: 1 << 20},
			{Key: "consumer_byte_rate", Value: 4 << 20},
			{Key: "request_percentage", Value: 100},
		},
	}})
	if err != nil {
		return fmt.Errorf("set the quota of %s: %w", user, err)
	}
	for _, a := range answers {
		if a.Err != nil {
			return fmt.Errorf("set the quota of %s: %w: %s", user, a.Err, a.ErrMessage)
		}
	}
	return nil
}
