// Kafka-planner plans changes of Kafka clusters: where replicas and leaders
// should be, in which order to move them, and why. It carries nothing out.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kafka-steward/kafka-steward/planner"
)

// Exit codes.
const (
	exitOK          = 0 // a plan, be it empty
	exitFailure     = 1 // something that is nobody's input went wrong
	exitUsage       = 2 // flags, files or requests that cannot be used
	exitRefused     = 3 // something that was asked for is not in the plan
	exitUnreachable = 4 // the cluster or Prometheus does not answer
	exitCheck       = 5 // a plan breaks rules or is for another state
)

const exitHelp = `Exit codes:
  0  done: a plan, be it empty
  1  a failure that is not in the input, such as a full disk
  2  flags, files or requests that cannot be used
  3  the plan leaves out something that was asked for: see its refusals
  4  the cluster or Prometheus does not answer
  5  a plan breaks rules, or the cluster is not as it was when it was made`

// codeError is an error with an exit code.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

func failed(code int, err error) error {
	if err == nil {
		return nil
	}
	return &codeError{code, err}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with everything handed in. Nothing but the result goes to stdout.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(&app{out: stdout, err: stderr})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "kafka-planner: %v\n", err)
	return exitCode(err)
}

// exitCode is what an error ends the program with. Errors that say nothing else
// are about what the user gave.
func exitCode(err error) int {
	var coded *codeError
	var check *planner.CheckError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &check):
		return exitCheck
	}
	return exitUsage
}

// app is what commands share.
type app struct {
	out, err io.Writer
	source   sourceFlags
	output   outputFlags
	progress bool
	asked    planFlags
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "kafka-planner",
		Short:         "Plans where replicas and leaders of a Kafka cluster should be",
		Long:          "Plans where replicas and leaders of a Kafka cluster should be, in which order to move them, and why.\nIt reads a running cluster or a snapshot file and carries nothing out.\n\n" + exitHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	root.PersistentFlags().BoolVar(&a.progress, "progress", false, "tell on stderr what is being done (the default on a terminal)")
	root.AddCommand(a.snapshotCommand(), a.planCommand(), a.showCommand(), a.checkCommand(), a.exportCommand(), a.importCommand(),
		a.explainCommand(), versionCommand())
	return root
}
