package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// oddGroups are commits that exporters get wrong, and the lag that is right for
// each of their partitions; no entry means no series.
var oddGroups = map[string]map[int32]float64{
	"bench-odd-beyond":  {0: 0, 1: 0, 2: 0, 3: 0, 4: 0, 5: 0}, // commits beyond the end
	"bench-odd-before":  {0: 2, 1: 2, 2: 2, 3: 2, 4: 2, 5: 2}, // commits before the log start: what is gone is no lag
	"bench-odd-partial": {1: 6, 4: 6},                         // commits on two partitions of six
	"bench-odd-gone":    {},                                   // commits on a topic that is gone
}

// odd makes these groups.
func (w *workload) odd(ctx context.Context) error {
	const written = 10
	for _, topic := range []string{"bench.odd-beyond", "bench.odd-before", "bench.odd-partial", "bench.odd-gone"} {
		res, err := w.admin.CreateTopics(ctx, partitions, 1, nil, topic)
		if err == nil {
			err = res.Error()
		}
		if err != nil {
			return err
		}
		if err := w.fillOdd(ctx, topic, written); err != nil {
			return err
		}
	}
	all := []int32{0, 1, 2, 3, 4, 5}
	for _, c := range []struct {
		group, topic string
		at           int64
		partitions   []int32
	}{
		{"bench-odd-beyond", "bench.odd-beyond", 1000, all},
		{"bench-odd-before", "bench.odd-before", 2, all},
		{"bench-odd-partial", "bench.odd-partial", 4, []int32{1, 4}},
		{"bench-odd-gone", "bench.odd-gone", 3, all},
	} {
		offsets := kadm.Offsets{}
		for _, p := range c.partitions {
			offsets.AddOffset(c.topic, p, c.at, -1)
		}
		if err := w.admin.CommitAllOffsets(ctx, c.group, offsets); err != nil {
			return fmt.Errorf("committing for %s: %w", c.group, err)
		}
	}
	start := kadm.Offsets{}
	for _, p := range all {
		start.AddOffset("bench.odd-before", p, 8, -1)
	}
	if _, err := w.admin.DeleteRecords(ctx, start); err != nil {
		return err
	}
	_, err := w.admin.DeleteTopics(ctx, "bench.odd-gone")
	return err
}

// fillOdd writes n records to each partition, once the brokers know the topic.
func (w *workload) fillOdd(ctx context.Context, topic string, n int) error {
	return kafkatest.Wait(ctx, "records in "+topic, time.Minute, func(ctx context.Context) (bool, string) {
		ends, err := w.admin.ListEndOffsets(ctx, topic)
		if err != nil {
			return false, err.Error()
		}
		for p := range int32(partitions) {
			end, ok := ends.Lookup(topic, p)
			if !ok || end.Err != nil {
				return false, fmt.Sprintf("partition %d has no end yet", p)
			}
			for range n - int(end.Offset) {
				r := &kgo.Record{Topic: topic, Partition: p, Value: []byte("x")}
				if err := w.client.ProduceSync(ctx, r).FirstErr(); err != nil {
					return false, err.Error()
				}
			}
		}
		return true, ""
	})
}

// checkOdd counts the odd groups' partitions that are shown wrongly.
func checkOdd(s *scrape) (wrong int) {
	got := map[string]map[int32]float64{}
	s.each("kafka_group_lag_records", func(l map[string]string, v float64) {
		if oddGroups[l["group"]] == nil {
			return
		}
		p, err := strconv.Atoi(l["partition"])
		if err != nil {
			wrong++
			return
		}
		if got[l["group"]] == nil {
			got[l["group"]] = map[int32]float64{}
		}
		got[l["group"]][int32(p)] = v
	})
	for group, want := range oddGroups {
		for p := range int32(partitions) {
			w, wanted := want[p]
			g, shown := got[group][p]
			if wanted != shown || w != g {
				fmt.Printf("  %s partition %d: %v %v, right is %v %v\n", group, p, shown, g, wanted, w)
				wrong++
			}
		}
	}
	return wrong
}
