// Package live reads a running cluster into the planner's model.
//
// It asks for whole answers, never for one partition: Metadata (and once more
// for a single topic), the reassignments in flight (twice) and the log
// directories of each live broker.
package live

import (
	"context"
	"fmt"
	"time"

	"github.com/kafka-steward/kafka-steward/internal/kafka"
	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

// Source is what is asked; *kafka.Client is one.
type Source interface {
	Metadata(ctx context.Context, topics []string) (*kafka.Metadata, error)
	LogDirs(ctx context.Context, brokers []int32) ([]kafka.LogDir, map[int32]error)
	Reassignments(ctx context.Context) ([]kafka.Reassignment, error)
}

// Options say how to read.
type Options struct {
	// Name is the cluster's name.
	Name string
	// Capacities and Groups are the user's; nil for none.
	Capacities *Capacities
	Groups     *Groups
	// ReplicationFactor is what topics are meant to have, by name, where that is
	// not what most of their partitions have.
	ReplicationFactor map[string]int
	// Load attaches loads to the cluster and tells where they come from; nil
	// leaves them zero.
	Load func(ctx context.Context, c *model.Cluster) (model.LoadNote, error)
	// Now is the clock for the snapshot's time, by default time.Now.
	Now func() time.Time
}

// Raw is what a cluster answered.
type Raw struct {
	Metadata *kafka.Metadata
	// Moves are the reassignments in flight before Metadata was read and Moves2
	// those after it. Where MovesUnsupported, brokers (before 2.4) cannot tell.
	Moves, Moves2    []kafka.Reassignment
	MovesUnsupported bool
	LogDirs          []kafka.LogDir
	// LogDirsFailed holds the live brokers that did not tell their directories.
	LogDirsFailed map[int32]error
}

// Read reads the cluster. Brokers that do not tell their log directories make
// warnings; a cluster whose shape or moves in flight cannot be read is an
// error, since a plan on half of that would do harm.
func Read(ctx context.Context, src Source, o Options) (*model.Snapshot, error) {
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	at := now()
	raw, err := Fetch(ctx, src)
	if err != nil {
		return nil, err
	}
	s, err := Convert(raw, o)
	if err != nil {
		return nil, err
	}
	s.ReadAt = at.UTC().Truncate(time.Millisecond)
	if o.Load == nil {
		s.Warnings = append(s.Warnings, "there are no loads: plans go by sizes and counts only")
		return s, nil
	}
	if s.Load, err = o.Load(ctx, s.Cluster); err != nil {
		return nil, fmt.Errorf("reading the loads of cluster %s: %w", o.Name, err)
	}
	return s, nil
}

// Fetch asks the cluster.
func Fetch(ctx context.Context, src Source) (*Raw, error) {
	raw := &Raw{}
	// A client learns from Metadata who the controller is, which alone knows the
	// moves in flight. One topic, which need not exist, keeps the answer small.
	if _, err := src.Metadata(ctx, []string{"__consumer_offsets"}); err != nil {
		return nil, fmt.Errorf("reading the cluster's metadata: %w", err)
	}
	// Metadata tells replicas without saying which are on their way. A move that
	// ends or starts around it is in one of two lists.
	var err error
	if raw.Moves, err = src.Reassignments(ctx); err != nil {
		if kafka.Classify(err) != connect.ClassUnsupported {
			return nil, fmt.Errorf("listing the reassignments in flight (needs DESCRIBE on the cluster): %w", err)
		}
		raw.MovesUnsupported = true
	}
	if raw.Metadata, err = src.Metadata(ctx, nil); err != nil {
		return nil, fmt.Errorf("reading the cluster's metadata: %w", err)
	}
	if !raw.MovesUnsupported {
		if raw.Moves2, err = src.Reassignments(ctx); err != nil {
			return nil, fmt.Errorf("listing the reassignments in flight again: %w", err)
		}
	}
	ids := make([]int32, 0, len(raw.Metadata.Brokers))
	for _, b := range raw.Metadata.Brokers {
		ids = append(ids, b.ID)
	}
	raw.LogDirs, raw.LogDirsFailed = src.LogDirs(ctx, ids)
	return raw, ctx.Err()
}
