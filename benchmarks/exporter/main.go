// Command exporter measures kafka-steward-exporter as its users see it: CPU,
// requests and memory of the process itself, per refresh, and the time of a
// scrape.
//
//	go run ./benchmarks/exporter sim    against a simulated cluster of 100 brokers, and one of a tenth of its size
//	go run ./benchmarks/exporter real   against 3 real brokers with 6,000 partitions and 120,000 committed pairs
//	go run ./benchmarks/exporter        both
//
// Both check what they measure against targets and exit with 1 when one is missed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
)

type options struct {
	exporter string
	interval time.Duration
	cycles   int
}

func main() {
	app := kingpin.New("exporter", "Measures kafka-steward-exporter.")
	var o options
	app.Flag("exporter", "The exporter's binary; built when not given.").StringVar(&o.exporter)
	app.Flag("interval", "Refresh interval.").Default("15s").DurationVar(&o.interval)
	app.Flag("cycles", "Refresh cycles to measure; 4 of 15 s hold one run of every collector with an interval of a minute.").Default("4").IntVar(&o.cycles)
	all := app.Command("all", "Both.").Default()
	sim := app.Command("sim", "Simulated large cluster.")
	realCmd := app.Command("real", "Three real brokers.")
	cmd := kingpin.MustParse(app.Parse(os.Args[1:]))

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, cmd, all.FullCommand(), sim.FullCommand(), realCmd.FullCommand(), o); err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cmd, all, sim, realBrokers string, o options) error {
	dir, err := os.MkdirTemp("", "kafka-steward-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.exporter == "" {
		if o.exporter, err = build(ctx, dir, "exporter", "./exporter"); err != nil {
			return err
		}
	}
	missed := 0
	if cmd == all || cmd == sim {
		n, err := simulated(ctx, dir, o)
		if err != nil {
			return err
		}
		missed += n
	}
	if cmd == all || cmd == realBrokers {
		n, err := real3(ctx, dir, o)
		if err != nil {
			return err
		}
		missed += n
	}
	if missed > 0 {
		return fmt.Errorf("%d targets missed", missed)
	}
	return nil
}
