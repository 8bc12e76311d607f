package loadgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// moveRate is the throttle of a reassignment in bytes per second: slow enough
// to be seen.
const moveRate = 64 << 10

// Kafka's names for the two ends of a replication throttle.
const (
	leaderRate       = "leader.replication.throttled.rate"
	followerRate     = "follower.replication.throttled.rate"
	leaderReplicas   = "leader.replication.throttled.replicas"
	followerReplicas = "follower.replication.throttled.replicas"
)

// move is one partition that gets another broker for its last replica.
type move struct {
	partition int32
	from, to  []int32
}

// reassign moves a partition now and then until ctx ends.
func (l *Load) reassign(ctx context.Context) {
	random := l.random("reassign")
	for sleep(ctx, l.opts.Reassign) {
		m, err := l.planMove(ctx, random.Int32N(partitionsOf(movedTopic)))
		if err != nil {
			l.failed(ctx, "choose a reassignment", err)
			continue
		}
		if m == nil {
			l.opts.Log.Info("no reassignments: every broker has a replica already", "topic", movedTopic)
			return
		}
		if err := l.carryOut(ctx, m); err != nil {
			l.failed(ctx, "reassign a partition of "+movedTopic, err)
		}
	}
}

// planMove returns nil when no broker is without a replica of the partition.
func (l *Load) planMove(ctx context.Context, partition int32) (*move, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	meta, err := l.admin.Metadata(ctx, movedTopic)
	if err != nil {
		return nil, err
	}
	from := meta.Topics[movedTopic].Partitions[partition].Replicas
	if len(from) == 0 {
		return nil, fmt.Errorf("partition %d of %s is not known", partition, movedTopic)
	}
	for _, b := range meta.Brokers.NodeIDs() {
		if !slices.Contains(from, b) {
			to := slices.Clone(from)
			to[len(to)-1] = b // the leader stays
			return &move{partition: partition, from: from, to: to}, nil
		}
	}
	return nil, nil
}

// carryOut throttles, moves, waits and removes the throttle, whatever happens.
func (l *Load) carryOut(ctx context.Context, m *move) (err error) {
	l.opts.Log.Info("reassigning", "topic", movedTopic, "partition", m.partition, "from", m.from, "to", m.to)
	defer func() {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, l.throttle(cleanup, m, kadm.DeleteConfig))
	}()
	if err := l.throttle(ctx, m, kadm.SetConfig); err != nil {
		return err
	}
	var request kadm.AlterPartitionAssignmentsReq
	request.Assign(movedTopic, m.partition, m.to)
	answers, err := l.admin.AlterPartitionAssignments(ctx, request)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		return fmt.Errorf("start the reassignment: %w", err)
	}
	return l.awaitMove(ctx, m)
}

func (l *Load) awaitMove(ctx context.Context, m *move) error {
	var set kadm.TopicsSet
	set.Add(movedTopic, m.partition)
	for sleep(ctx, time.Second) {
		underWay, err := l.admin.ListPartitionReassignments(ctx, set)
		if err != nil {
			l.failed(ctx, "look at a reassignment", err)
			continue
		}
		if len(underWay[movedTopic]) == 0 {
			l.counts.reassigned.Add(1)
			return nil
		}
	}
	return nil
}

// throttle sets or deletes the throttle of a move.
func (l *Load) throttle(ctx context.Context, m *move, op kadm.IncrementalOp) error {
	setting := func(name, value string) kadm.AlterConfig {
		if op == kadm.DeleteConfig {
			return kadm.AlterConfig{Op: op, Name: name}
		}
		return kadm.AlterConfig{Op: op, Name: name, Value: &value}
	}
	rate := strconv.Itoa(moveRate)
	var sources []string
	for _, b := range m.from {
		sources = append(sources, fmt.Sprintf("%d:%d", m.partition, b))
	}
	added := m.to[len(m.to)-1]
	brokers := append(slices.Clone(m.from), added)
	onBrokers, err1 := l.admin.AlterBrokerConfigs(ctx,
		[]kadm.AlterConfig{setting(leaderRate, rate), setting(followerRate, rate)}, brokers...)
	onTopic, err2 := l.admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{
		setting(leaderReplicas, strings.Join(sources, ",")),
		setting(followerReplicas, fmt.Sprintf("%d:%d", m.partition, added)),
	}, movedTopic)
	errs := []error{err1, err2}
	for _, r := range append(onBrokers, onTopic...) {
		if r.Err != nil {
			errs = append(errs, fmt.Errorf("throttle on %s: %w", r.Name, r.Err))
		}
	}
	return errors.Join(errs...)
}
