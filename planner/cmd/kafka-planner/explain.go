package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kafka-steward/kafka-steward/planner"
	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

func (a *app) explainCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "explain TOPIC-PARTITION",
		Short: "Explain a partition: what it carries, where its replicas could go, why not elsewhere",
		Example: `  kafka-planner explain orders-7 --snapshot orders.json.gz
  kafka-planner explain orders-7 --snapshot orders.json.gz --plan plan.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.explain(cmd, args[0], file)
		},
	}
	cmd.Flags().StringVar(&file, "plan", "", "a plan's file: tell also why it moves the partition, or why not")
	a.source.add(cmd, true)
	a.asked.addPlace(cmd)
	a.asked.addBalance(cmd)
	a.output.add(cmd, formatTable, formatJSON, formatYAML)
	return cmd
}

func (a *app) explain(cmd *cobra.Command, name, file string) error {
	if err := a.output.check(); err != nil {
		return err
	}
	topic, id, err := parsePartition(name)
	if err != nil {
		return err
	}
	var made *plan.Plan
	var r *planner.Result
	if file != "" {
		if r, err = readPlan(file); err != nil {
			return err
		}
		made = r.Plan
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
	if r != nil {
		o = r.Request.Options // why the plan does what it does is by its own rules
	}
	e, err := planner.Explain(s.Cluster, o, made, topic, id)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	switch a.output.format {
	case formatJSON:
		enc := json.NewEncoder(&b)
		enc.SetIndent("", " ")
		err = enc.Encode(e)
	case formatYAML:
		err = writeYAML(&b, e)
	default:
		showExplanation(&b, e, a.output.rows)
	}
	if err != nil {
		return failed(exitFailure, err)
	}
	return a.output.put(a.out, b.Bytes())
}

// showExplanation prints what is known about a partition.
func showExplanation(w io.Writer, e *planner.Explanation, rows int) {
	fmt.Fprintf(w, "\nPartition %s-%d\n", e.Topic, e.Partition)
	switch {
	case e.Change != nil:
		fmt.Fprintf(w, "  moves       %s → %s\n  because     %s\n", replicas(e.Change.From, e.Change.OldLeader), replicas(e.Change.To, e.Change.NewLeader), e.Change.Why)
	case e.Refusal != nil:
		fmt.Fprintf(w, "  is refused  %s: %s%s\n", e.Refusal.Reason, e.Refusal.Detail, rejections(e.Refusal))
	}
	for i, x := range e.Replicas {
		role := "follower"
		if x.Broker == e.Leader {
			role = "leader"
		}
		fmt.Fprintf(w, "\n  Replica on broker %d (%s)", x.Broker, role)
		for _, k := range []model.Resource{model.In, model.Out, model.Disk, model.CPU} {
			fmt.Fprintf(w, "  %s %s", k, amount(k, e.Loads[i][k]))
		}
		fmt.Fprintln(w)
		showPossible(w, x.Possible, rows)
		for _, line := range rejected(x.Rejected) {
			bullet(w, line)
		}
	}
}

// showPossible lists brokers that could take a replica, those first with which
// most would be gained.
func showPossible(w io.Writer, list []balance.Possible, rows int) {
	if len(list) == 0 {
		fmt.Fprintln(w, "  - no other broker can take it")
		return
	}
	const few = 5
	var parts []string
	for i, x := range list {
		if i == few && rows > 0 {
			parts = append(parts, fmt.Sprintf("%d more", len(list)-few))
			break
		}
		effect := "no change"
		switch {
		case x.Change < 0:
			effect = fmt.Sprintf("better by %.3g", -x.Change)
		case x.Change > 0:
			effect = fmt.Sprintf("worse by %.3g", x.Change)
		}
		parts = append(parts, fmt.Sprintf("broker %d (%s)", x.Broker, effect))
	}
	bullet(w, "could go to "+strings.Join(parts, ", "))
}

// rejected groups brokers by the reason why they cannot take a replica.
func rejected(list []plan.Rejection) []string {
	var order []string
	by := map[string][]string{}
	for _, r := range list {
		if by[r.Reason] == nil {
			order = append(order, r.Reason)
		}
		text := strconv.Itoa(int(r.Broker))
		for k, name := range model.ResourceNames {
			if name == r.Reason && r.Need > 0 {
				text += fmt.Sprintf(" (needs %s, free %s)", amount(model.Resource(k), r.Need), amount(model.Resource(k), r.Free))
			}
		}
		by[r.Reason] = append(by[r.Reason], text)
	}
	out := make([]string, len(order))
	for i, reason := range order {
		out[i] = "not to " + strings.Join(by[reason], ", ") + ": " + reason
	}
	return out
}
