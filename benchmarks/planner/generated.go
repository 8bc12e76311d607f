package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
)

// A partition's rate is capped at a part of what a broker can write: capped is as
// in the models that other planners were measured on, hot makes partitions that
// are more than a broker's fair share.
const (
	capped = 0.005
	hot    = 0.25
)

var sizes = []struct {
	brokers, replicas int
	cap               float64
	// extra sizes are not part of the series that shows growth.
	extra bool
}{
	{50, 20_000, capped, false},
	{100, 60_000, capped, false},
	{300, 250_000, capped, false},
	{1000, 1_000_000, capped, false},
	{1000, 200_000, capped, true},
	{300, 250_000, hot, true},
}

// generated plans made-up clusters of growing size.
func generated(ctx context.Context, tmp string, v *verdicts) error {
	fmt.Println("Generated clusters (search, bounds, check and schedule; band ±5 %)")
	fmt.Println("The last one has partitions that are more than a broker's fair share.")
	fmt.Printf("%8s %9s | %8s %8s %8s %8s | %10s %8s %9s %8s %9s %8s | %13s\n", "brokers", "replicas", "CPU s", "search s", "wall s", "RSS MB",
		"steps", "moves", "bytes TB", "over LB", "partition", "batches", "topic excess")
	var all []*outcome
	for _, size := range sizes {
		file := filepath.Join(tmp, fmt.Sprintf("generated-%d-%d-%g.json", size.brokers, size.replicas, size.cap))
		if _, err := spawn(ctx, "generate", strconv.Itoa(size.brokers), strconv.Itoa(size.replicas), fmt.Sprint(size.cap), file); err != nil {
			return err
		}
		o, err := planned(ctx, file)
		if err != nil {
			return err
		}
		s := &o.Summary
		fmt.Printf("%8d %9d | %8.2f %8.2f %8.2f %8.0f | %10d %8d %9.1f %7.1f%% %9d %8d | %5d → %5d\n", o.Brokers, o.Replicas, o.CPU, o.Search, o.Wall,
			float64(o.RSS)/1e6, s.Steps, s.ReplicaMoves, float64(s.Bytes)/1e12, 100*(float64(s.Bytes)/float64(s.BytesBound)-1), len(o.Moves), o.Batches,
			s.TopicExcessBefore, s.TopicExcessAfter)
		o.Moves = nil
		if !size.extra {
			all = append(all, o)
		} else {
			defer v.cost(o.Brokers, o.Replicas, o)
		}
	}
	fmt.Println("\nResult by resource: worst broker in fair shares / variation / share of brokers within ±5 %")
	for _, o := range all {
		fmt.Printf("%8d %9d |", o.Brokers, o.Replicas)
		for _, f := range o.Summary.Resources {
			fmt.Printf(" %s %.2f/%.3f/%.0f%%", f.Resource, f.After.Max, f.After.CV, 100*f.After.InBand)
		}
		fmt.Println()
	}
	fmt.Println("\nGrowth from size to size: replicas × n, CPU × n, exponent of CPU in replicas; CPU µs per replica")
	for i, o := range all[1:] {
		p := all[i]
		x, y := float64(o.Replicas)/float64(p.Replicas), o.CPU/p.CPU
		fmt.Printf("%8d %9d | replicas × %.1f  CPU × %.1f  exponent %.2f  memory × %.1f  %.1f µs per replica\n", o.Brokers, o.Replicas, x, y,
			math.Log(y)/math.Log(x), float64(o.RSS)/float64(p.RSS), 1e6*o.CPU/float64(o.Replicas))
	}
	fmt.Println()
	last := all[len(all)-1]
	v.cost(last.Brokers, last.Replicas, last)
	return nil
}
