// Command fakekafka serves a simulated large Kafka cluster on loopback, so that
// CPU and memory of the process under test can be measured alone.
//
// It prints one JSON line when it is ready, {"bootstrap": "host:port,…", …},
// and then obeys lines on standard input: "stats" prints a JSON line with the
// requests served since the last "reset" and the CPU seconds used so far,
// "reset" forgets the counted requests, "quit" or the end of the input ends it.
// An interrupt or termination signal ends it too.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fakekafka:", err)
		os.Exit(1)
	}
}

// ready is the line that is printed once all listeners are open.
type ready struct {
	Bootstrap  string `json:"bootstrap"`
	Brokers    int    `json:"brokers"`
	Partitions int    `json:"partitions"`
	Groups     int    `json:"groups"`
	Commits    int    `json:"commits"`
	StateBytes uint64 `json:"state_bytes"` // live heap of the state
}

// stats is the answer to "stats".
type stats struct {
	Requests   map[string]int `json:"requests"` // by API name
	CPUSeconds float64        `json:"cpu_seconds"`
	CacheHits  int64          `json:"cache_hits"`
	CacheMiss  int64          `json:"cache_misses"`
	CacheBytes int            `json:"cache_bytes"`
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	spec := fake.DefaultLargeSpec()
	flags := flag.NewFlagSet("fakekafka", flag.ContinueOnError)
	seeds := flags.Int("bootstrap", 3, "number of brokers in the printed bootstrap list (0 = all)")
	specFlags(flags, &spec)
	if err := flags.Parse(args); err != nil {
		return err
	}
	state, size, err := fake.MemoryOfLarge(spec)
	if err != nil {
		return err
	}
	r := ready{Brokers: len(state.Brokers), Groups: len(state.Groups), StateBytes: size}
	for _, t := range state.Topics {
		r.Partitions += len(t.Partitions)
	}
	for _, g := range state.Groups {
		for _, tc := range g.Commits {
			r.Commits += len(tc.Partitions)
		}
	}
	c, err := fake.New(fake.WithState(state), fake.WithRequestLog(0))
	if err != nil {
		return err
	}
	defer c.Close()
	c.Freeze()

	addrs := c.Addrs()
	if *seeds > 0 && *seeds < len(addrs) {
		addrs = addrs[:*seeds]
	}
	r.Bootstrap = strings.Join(addrs, ",")
	if err := json.NewEncoder(out).Encode(r); err != nil {
		return fmt.Errorf("print the bootstrap line: %w", err)
	}
	return obey(ctx, c, in, out)
}

func specFlags(flags *flag.FlagSet, s *fake.LargeSpec) {
	flags.Uint64Var(&s.Seed, "seed", s.Seed, "seed of the simulated cluster")
	for _, f := range []struct {
		name string
		v    *int
		help string
	}{
		{"brokers", &s.Brokers, "brokers"},
		{"topics", &s.Topics, "topics"},
		{"partitions", &s.Partitions, "partitions in total"},
		{"replication-factor", &s.ReplicationFactor, "replicas per partition"},
		{"groups", &s.Groups, "groups"},
		{"commits", &s.Commits, "committed offsets in total"},
		{"members", &s.MembersPerGroup, "members per group"},
		{"log-dirs", &s.LogDirs, "log directories per broker"},
		{"consumer-percent", &s.ConsumerPercent, "share of KIP-848 groups"},
		{"leaderless", &s.Leaderless, "partitions without leader"},
		{"under-replicated", &s.UnderReplicated, "under-replicated partitions"},
		{"offline-log-dirs", &s.OfflineLogDirs, "brokers with an offline log directory"},
		{"reassigning", &s.Reassigning, "partitions being reassigned"},
		{"orphaned-commits", &s.OrphanedCommits, "commits for deleted topics"},
	} {
		flags.IntVar(f.v, f.name, *f.v, f.help)
	}
}

// obey executes commands until the input or the context ends.
func obey(ctx context.Context, c *fake.Cluster, in io.Reader, out io.Writer) error {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for sc := bufio.NewScanner(in); sc.Scan(); {
			select {
			case lines <- strings.TrimSpace(sc.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if !ok || line == "quit" {
				return nil
			}
			if err := command(c, line, out); err != nil {
				return err
			}
		}
	}
}

func command(c *fake.Cluster, line string, out io.Writer) error {
	switch line {
	case "":
		return nil
	case "reset":
		c.ResetRequests()
		return nil
	case "stats":
		cs := c.CacheStats()
		s := stats{
			Requests: map[string]int{}, CPUSeconds: fake.ProcessCPU().Seconds(),
			CacheHits: cs.Hits, CacheMiss: cs.Misses, CacheBytes: cs.Bytes,
		}
		for k, n := range c.Counts() {
			s.Requests[kmsg.NameForKey(k.Key)] += n
		}
		if err := json.NewEncoder(out).Encode(s); err != nil {
			return fmt.Errorf("print stats: %w", err)
		}
		return nil
	}
	return fmt.Errorf("unknown command %q; known are stats, reset and quit", line)
}
