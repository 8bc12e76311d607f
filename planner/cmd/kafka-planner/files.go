package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/prometheus/common/version"

	"github.com/kafka-steward/kafka-steward/planner"
)

func readPlan(path string) (*planner.Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading a plan: %w", err)
	}
	defer f.Close()
	r, err := planner.ReadResult(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; plans are written with --output json", path, err)
	}
	return r, nil
}

func (a *app) showCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show PLAN",
		Short:   "Show a plan's file as tables, or in another format",
		Example: "  kafka-planner show plan.json --rows 0",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.output.check(); err != nil {
				return err
			}
			r, err := readPlan(args[0])
			if err != nil {
				return err
			}
			return a.output.write(a.out, r)
		},
	}
	a.output.add(cmd, formatTable, formatJSON, formatYAML, formatCC, formatKafka)
	return cmd
}

func (a *app) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check PLAN",
		Short: "Check that a plan keeps the rules it was made by and fits the cluster as it is",
		Long: `Checks a plan against a snapshot or a running cluster, by rules that share no code with the search: distinct
live brokers, racks, capacities, budgets, and that the cluster is as it was when the plan was made. Against a
snapshot the figures that the plan gives are checked too.`,
		Example: "  kafka-planner check plan.json --snapshot orders.json.gz",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := readPlan(args[0])
			if err != nil {
				return err
			}
			p := newProgress(a.err, a.progress)
			defer p.stop()
			s, err := a.source.read(cmd.Context(), p)
			if err != nil {
				return err
			}
			p.begin("checking")
			judge := planner.Check
			if a.source.config != "" {
				judge = planner.CheckNow
			}
			problems := judge(s.Cluster, &r.Request, r.Plan)
			p.stop()
			for _, x := range problems {
				fmt.Fprintln(a.out, x)
			}
			if n := len(problems); n > 0 {
				return failed(exitCheck, fmt.Errorf("%s: %s", args[0], plural(n, "problem")))
			}
			fmt.Fprintf(a.out, "%s: ok, %s\n", args[0], plural(len(r.Plan.Changes), "change"))
			return nil
		},
	}
	a.source.add(cmd, true)
	return cmd
}

func (a *app) importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import REASSIGNMENT",
		Short: "Make a plan of Kafka's reassignment document: validated, checked, scheduled",
		Long: `Reads what kafka-reassign-partitions takes and makes a plan of it, with figures before and after, batches and
times. A document with anything wrong in it is refused as a whole, with every topic-partition and reason.`,
		Example: "  kafka-planner import reassignment.json --snapshot orders.json.gz --out plan.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.output.check(); err != nil {
				return err
			}
			doc, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("reading a reassignment document: %w", err)
			}
			p := newProgress(a.err, a.progress)
			defer p.stop()
			s, err := a.source.read(cmd.Context(), p)
			if err != nil {
				return err
			}
			o, err := a.asked.options(s.Cluster)
			if err != nil {
				return err
			}
			o.Progress = p.begin
			r, err := planner.FromKafka(s, bytes.NewReader(doc), o)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return a.finish(r)
		},
	}
	a.source.add(cmd, true)
	a.asked.addPlace(cmd)
	a.asked.addSchedule(cmd)
	a.output.add(cmd, formatTable, formatJSON, formatYAML, formatCC, formatKafka)
	return cmd
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), version.Print("kafka-planner")) },
	}
}
