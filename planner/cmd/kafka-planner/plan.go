package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kafka-steward/kafka-steward/planner"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// asker makes a request of a command's arguments.
type asker func(c *model.Cluster, args []string) (planner.Request, error)

func (a *app) planCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Plan an operation",
		Long: `Plans an operation on a snapshot file or on a running cluster. Every plan passes a checker that shares no
code with the search before it is shown, and says how far it is from what no plan can beat.

` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return errors.New("name an operation: rebalance, decommission, replace, expand, place, add-partitions, change-rf or elect; see kafka-planner plan --help")
		},
	}
	cmd.AddCommand(a.rebalanceCommand(), a.decommissionCommand(), a.replaceCommand(), a.expandCommand(),
		a.placeCommand(), a.addPartitionsCommand(), a.changeRFCommand(), a.electCommand())
	return cmd
}

// operation completes a plan command. Flags are told apart by what plans do.
func (a *app) operation(cmd *cobra.Command, op plan.Operation, ask asker) *cobra.Command {
	var explain []string
	a.source.add(cmd, true)
	a.asked.addPlace(cmd)
	switch op {
	case plan.Rebalance, plan.Decommission, plan.Replace, plan.Expand:
		a.asked.addBalance(cmd)
		cmd.Flags().StringArrayVar(&explain, "explain", nil, "explain a TOPIC-PARTITION: why does it move, why not elsewhere; repeatable")
	}
	if op != plan.Place && op != plan.AddParts {
		a.asked.addSchedule(cmd)
	}
	a.output.add(cmd, formatTable, formatJSON, formatYAML, formatCC, formatKafka)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.output.check(); err != nil {
			return err
		}
		p := newProgress(a.err, a.progress)
		defer p.stop()
		s, err := a.source.read(cmd.Context(), p)
		if err != nil {
			return err
		}
		r, err := ask(s.Cluster, args)
		if err != nil {
			return err
		}
		r.Operation = op
		if r.Options, err = a.asked.options(s.Cluster); err != nil {
			return err
		}
		r.Options.Progress = p.begin
		started := cpuSeconds()
		result, err := planner.Make(s, r)
		if err != nil {
			return err
		}
		a.output.cpu = cpuSeconds() - started
		if err := explainAll(s.Cluster, result, explain); err != nil {
			return err
		}
		p.begin("writing the plan")
		return a.finish(result)
	}
	return cmd
}

// finish writes a result; refusals are an exit code of their own.
func (a *app) finish(r *planner.Result) error {
	if err := a.output.write(a.out, r); err != nil {
		return err
	}
	if !r.Refused() {
		return nil
	}
	n := len(r.Plan.Refusals)
	if r.Schedule != nil {
		n += len(r.Schedule.Refusals)
	}
	return failed(exitRefused, fmt.Errorf("%s of what was asked for cannot be done: see the refusals", plural(n, "item")))
}

func explainAll(c *model.Cluster, r *planner.Result, list []string) error {
	for _, name := range list {
		topic, id, err := parsePartition(name)
		if err != nil {
			return fmt.Errorf("--explain: %w", err)
		}
		e, err := planner.Explain(c, r.Request.Options, r.Plan, topic, id)
		if err != nil {
			return fmt.Errorf("--explain: %w", err)
		}
		r.Explanations = append(r.Explanations, *e)
	}
	return nil
}

func (a *app) rebalanceCommand() *cobra.Command {
	return a.operation(&cobra.Command{
		Use:     "rebalance",
		Short:   "Even out traffic, disk, leaders and counts over brokers and log dirs",
		Example: "  kafka-planner plan rebalance --snapshot orders.json.gz --max-bytes 500GiB --out plan.json",
		Args:    cobra.NoArgs,
	}, plan.Rebalance, func(*model.Cluster, []string) (planner.Request, error) { return planner.Request{}, nil })
}

func brokersAsked(_ *model.Cluster, args []string) (planner.Request, error) {
	ids, err := parseBrokers(strings.Join(args, ","))
	return planner.Request{Brokers: ids}, err
}

func (a *app) decommissionCommand() *cobra.Command {
	return a.operation(&cobra.Command{
		Use:     "decommission BROKER...",
		Short:   "Empty brokers, alive or dead",
		Example: "  kafka-planner plan decommission 3 7-9 --snapshot orders.json.gz",
		Args:    cobra.MinimumNArgs(1),
	}, plan.Decommission, brokersAsked)
}

func (a *app) expandCommand() *cobra.Command {
	return a.operation(&cobra.Command{
		Use:     "expand BROKER...",
		Short:   "Put load on new brokers; nothing moves among the others",
		Example: "  kafka-planner plan expand 10-12 --snapshot orders.json.gz",
		Args:    cobra.MinimumNArgs(1),
	}, plan.Expand, brokersAsked)
}

func (a *app) replaceCommand() *cobra.Command {
	return a.operation(&cobra.Command{
		Use:     "replace OLD:NEW...",
		Short:   "Put what lies on brokers onto others, position for position",
		Example: "  kafka-planner plan replace 3:13 4:14 --snapshot orders.json.gz",
		Args:    cobra.MinimumNArgs(1),
	}, plan.Replace, func(_ *model.Cluster, args []string) (planner.Request, error) {
		var r planner.Request
		for _, arg := range args {
			old, now, _ := strings.Cut(arg, ":")
			a, err1 := parseBrokers(old)
			b, err2 := parseBrokers(now)
			if err1 != nil || err2 != nil || len(a) != 1 || len(b) != 1 {
				return r, fmt.Errorf("%q is no pair of brokers; write OLD:NEW, as 3:13", arg)
			}
			r.Pairs = append(r.Pairs, planner.Pair{Old: a[0], New: b[0]})
		}
		return r, nil
	})
}

func (a *app) placeCommand() *cobra.Command {
	var r planner.Request
	cmd := &cobra.Command{
		Use:     "place TOPIC",
		Short:   "Say where a new topic's replicas go",
		Example: "  kafka-planner plan place payments --partitions 48 --replication-factor 3 --snapshot orders.json.gz",
		Args:    cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.IntVar(&r.Partitions, "partitions", 0, "partitions (required)")
	f.IntVar(&r.ReplicationFactor, "replication-factor", 3, "replicas of a partition")
	f.StringVar(&r.Group, "group", "", "resource group to live on; all brokers without it")
	f.Var(bytesFlag{&r.Load.In, true}, "expect-in", "what producers are expected to write to the whole topic: 20MB/s")
	f.Var(bytesFlag{&r.Load.Out, true}, "expect-out", "what its leaders are expected to send")
	f.Var(bytesFlag{v: &r.Load.Bytes}, "expect-bytes", "what one copy of the topic is expected to take on disk: 2TiB")
	f.BoolVar(&a.asked.opts.Weighted, "weighted", false, "give brokers replicas in proportion to their capacity")
	_ = cmd.MarkFlagRequired("partitions") // the flag exists
	return a.operation(cmd, plan.Place, func(_ *model.Cluster, args []string) (planner.Request, error) {
		r.Topics = args
		return r, nil
	})
}

func (a *app) addPartitionsCommand() *cobra.Command {
	var n int
	cmd := &cobra.Command{
		Use:     "add-partitions TOPIC",
		Short:   "Say where more partitions of a topic go; existing ones stay",
		Example: "  kafka-planner plan add-partitions orders --count 12 --snapshot orders.json.gz",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().IntVar(&n, "count", 0, "how many partitions to add (required)")
	cmd.Flags().BoolVar(&a.asked.opts.Weighted, "weighted", false, "give brokers replicas in proportion to their capacity")
	_ = cmd.MarkFlagRequired("count") // the flag exists
	return a.operation(cmd, plan.AddParts, func(_ *model.Cluster, args []string) (planner.Request, error) {
		return planner.Request{Topics: args, Partitions: n}, nil
	})
}

func (a *app) changeRFCommand() *cobra.Command {
	var rf int
	cmd := &cobra.Command{
		Use:     "change-rf TOPIC...",
		Short:   "Give topics another replication factor; a TOPIC may be a glob or /a regular expression/",
		Example: "  kafka-planner plan change-rf 'orders-*' --replication-factor 3 --snapshot orders.json.gz",
		Args:    cobra.MinimumNArgs(1),
	}
	cmd.Flags().IntVar(&rf, "replication-factor", 0, "replicas of a partition (required)")
	_ = cmd.MarkFlagRequired("replication-factor") // the flag exists
	return a.operation(cmd, plan.ChangeRF, func(c *model.Cluster, args []string) (planner.Request, error) {
		names, err := topics(c, args, "change-rf")
		return planner.Request{Topics: names, ReplicationFactor: rf}, err
	})
}

func (a *app) electCommand() *cobra.Command {
	return a.operation(&cobra.Command{
		Use:     "elect [TOPIC...]",
		Short:   "Give partitions back to their first replica; all topics without arguments",
		Example: "  kafka-planner plan elect --snapshot orders.json.gz",
	}, plan.Elect, func(c *model.Cluster, args []string) (planner.Request, error) {
		names, err := topics(c, args, "elect")
		return planner.Request{Topics: names}, err
	})
}
