// Demo starts everything on this machine's loopback, without Docker: a real
// Kafka cluster, traffic, the exporter and a real Prometheus, and says where to
// look. It runs until Ctrl-C and leaves nothing behind, however it ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// options are the command line.
type options struct {
	mode     string
	brokers  int
	rate     float64
	seed     uint64
	exporter string
	duration time.Duration
	check    bool
}

func parse(args []string) (options, error) {
	var o options
	app := kingpin.New("demo", "Kafka, traffic, the exporter and Prometheus on loopback, until Ctrl-C. Run it from the source tree.")
	app.HelpFlag.Short('h')
	app.Flag("mode", fmt.Sprintf("Kind of cluster: %v.", kafkatest.Modes)).Default(string(kafkatest.KRaft4)).StringVar(&o.mode)
	app.Flag("brokers", "Number of brokers.").Default("3").IntVar(&o.brokers)
	app.Flag("rate", "Records produced per second.").Default("300").Float64Var(&o.rate)
	app.Flag("seed", "Seed of the traffic; 0 takes one by chance.").Default("0").Uint64Var(&o.seed)
	app.Flag("exporter", "The exporter's binary, from make build.").Default("bin/kafka-steward-exporter").StringVar(&o.exporter)
	app.Flag("duration", "End after this time from being ready; 0 means at Ctrl-C.").Default("0s").DurationVar(&o.duration)
	app.Flag("check", "Once ready, check that all parts work together, and end.").BoolVar(&o.check)
	_, err := app.Parse(args)
	return o, err
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second Ctrl-C ends the demo at once; its helpers clean up all the same.
	context.AfterFunc(ctx, stop)
	ctx, cancel := context.WithCancelCause(ctx)
	go watchParent(ctx, cancel)
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// watchParent ends the demo when what started it, such as make, was killed and
// cannot pass a signal on.
func watchParent(ctx context.Context, cancel context.CancelCauseFunc) {
	parent := os.Getppid()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for os.Getppid() == parent {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	cancel(errors.New("the process that started the demo has gone"))
}
