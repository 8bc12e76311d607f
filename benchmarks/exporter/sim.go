package main

import (
	"context"
	"fmt"
	"sort"
	"strconv"
)

// size is one simulated cluster.
type size struct {
	name                                         string
	brokers, topics, partitions, groups, commits int
}

// The large one is the issue's: what the biggest sites run. The small one is a
// tenth of it, to show how cost grows.
var sizes = []size{
	{"small", 10, 100, 5_000, 500, 20_000},
	{"large", 100, 1_000, 50_000, 5_000, 200_000},
}

// simulated measures the exporter against simulated clusters of two sizes. The
// simulation is a process of its own, so that CPU and memory are the exporter's alone.
func simulated(ctx context.Context, dir string, o options) (missed int, err error) {
	bin, err := build(ctx, dir, "fakekafka", "./internal/kafkatest/fake/cmd/fakekafka")
	if err != nil {
		return 0, err
	}
	var all []*figures
	var rpcs []float64
	for _, s := range sizes {
		f, n, err := simulate(ctx, dir, bin, o, s)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", s.name, err)
		}
		all, rpcs = append(all, f), append(rpcs, n)
	}
	small, large, big := all[0], all[1], sizes[1]
	growth := large.cpuSeconds / small.cpuSeconds
	fmt.Printf("growth for 10 times the size: CPU %.1fx, collect %.1fx, scrape %.1fx, series %.1fx, requests %.1fx, RSS %.1fx\n",
		growth, large.collectSeconds/small.collectSeconds, large.scrapeSeconds/small.scrapeSeconds, float64(large.series)/float64(small.series), rpcs[1]/rpcs[0], large.peakMB/small.peakMB)
	return judge([]target{
		{what: "requests per refresh (6 x brokers + groups/50)", got: rpcs[1], limit: float64(6*big.brokers + big.groups/50), unit: "requests"},
		{what: "scrape of the cached snapshot, per million series", got: large.scrapeSeconds / float64(large.series) * 1e6, limit: 1, unit: "s"},
		{what: "peak RSS", got: large.peakMB, limit: 500, unit: "MB"},
		{what: "growth of CPU for 10 times the size", got: growth, limit: 11, unit: "times"},
	}), nil
}

func simulate(ctx context.Context, dir, bin string, o options, s size) (*figures, float64, error) {
	arg := func(name string, n int) string { return "-" + name + "=" + strconv.Itoa(n) }
	sim, err := startSimulator(ctx, bin, arg("brokers", s.brokers), arg("topics", s.topics), arg("partitions", s.partitions), arg("groups", s.groups), arg("commits", s.commits))
	if err != nil {
		return nil, 0, err
	}
	defer sim.stop()
	fmt.Printf("%s: simulated cluster of %d brokers, %d partitions, %d groups, %d committed (group, partition) pairs\n", s.name, sim.Brokers, sim.Partitions, sim.Groups, sim.Commits)
	e, err := startExporter(ctx, dir, o, sim.Bootstrap)
	if err != nil {
		return nil, 0, err
	}
	defer e.stop()
	if err := e.waitCollected(ctx, o); err != nil {
		return nil, 0, fmt.Errorf("%w: %s", err, e.log.String())
	}
	if _, err := sim.requests(); err != nil {
		return nil, 0, err
	}
	f, err := e.measure(ctx, o)
	if err != nil {
		return nil, 0, err
	}
	byAPI, err := sim.requests()
	if err != nil {
		return nil, 0, err
	}
	total := 0
	var names []string
	for name, n := range byAPI {
		total += n
		names = append(names, name)
	}
	rpcs := float64(total) / float64(o.cycles)
	f.print(s.name, rpcs)
	sort.Strings(names)
	fmt.Print("        ")
	for _, name := range names {
		fmt.Printf(" %s %.1f", name, float64(byAPI[name])/float64(o.cycles))
	}
	fmt.Println()
	return f, rpcs, nil
}
