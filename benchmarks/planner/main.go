// Command planner measures the planner: what planning costs on generated
// clusters of growing size, and how good its plans are beside those that other
// planners made for the same models.
//
//	go run ./benchmarks/planner             both
//	go run ./benchmarks/planner generated   growth only
//	go run ./benchmarks/planner models      the models of a directory only
//
// The models lie in $PLANNER_BENCH_DIR, else in a folder planner-bench beside
// the repository or in a folder beside it; where there is none, that part is
// skipped. Every plan is made in a process of
// its own, so that its memory is its own. What was promised is judged; a missed
// promise is exit code 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// dirEnv names the folder with models; dirName is the name by which it is
// looked for without it.
const (
	dirEnv  = "PLANNER_BENCH_DIR"
	dirName = "planner-bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	what := "all"
	if len(args) > 0 {
		what = args[0]
	}
	switch what {
	case "child":
		return child(args[1:])
	case "all", "generated", "models":
	default:
		return fmt.Errorf("%q is none of generated, models, all", what)
	}
	tmp, err := os.MkdirTemp("", "planner-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	var v verdicts
	if what != "models" {
		if err := generated(ctx, tmp, &v); err != nil {
			return err
		}
	}
	if what != "generated" {
		if err := models(ctx, tmp, &v); err != nil {
			return err
		}
	}
	if v.missed > 0 {
		return fmt.Errorf("%d of %d promises missed", v.missed, v.judged)
	}
	fmt.Printf("\nall %d promises kept; %d more that are proven to be out of reach\n", v.judged, v.unreachable)
	return nil
}

// verdicts count promises.
type verdicts struct{ judged, missed, unreachable int }

// outOfReach prints a promise that is not kept because no plan could: a lower
// bound proves it.
func (v *verdicts) outOfReach(format string, args ...any) {
	v.unreachable++
	fmt.Printf("  UNMET   %s\n", fmt.Sprintf(format, args...))
}

// judge prints one promise and whether it is kept.
func (v *verdicts) judge(kept bool, format string, args ...any) {
	v.judged++
	word := "kept  "
	if !kept {
		v.missed++
		word = "MISSED"
	}
	fmt.Printf("  %s  %s\n", word, fmt.Sprintf(format, args...))
}

// cost judges what planning 1,000 brokers may take.
func (v *verdicts) cost(brokers, replicas int, o *outcome) {
	switch {
	case brokers != 1000:
	case replicas > 900_000:
		v.judge(o.CPU <= 12, "1,000 brokers, 1,000,000 replicas: %.1f CPU s, at most 12", o.CPU)
		v.judge(o.RSS <= 1_500_000_000, "1,000 brokers, 1,000,000 replicas: %.0f MB of memory, at most 1,500", float64(o.RSS)/1e6)
	case replicas <= 220_000:
		v.judge(o.CPU <= 5, "1,000 brokers, 200,000 replicas: %.1f CPU s, at most 5", o.CPU)
	}
}

var errNoModels = errors.New("no models")
