package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kafka-steward/kafka-steward/planner"
	"github.com/kafka-steward/kafka-steward/planner/migration"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

func (a *app) exportCommand() *cobra.Command {
	e := exporter{}
	cmd := &cobra.Command{
		Use:   "export PLAN",
		Short: "Write a plan's documents for Kafka's own tools",
		Long: `Writes the document that kafka-reassign-partitions takes (--reassignment-json-file), or with --election the one
that kafka-leader-election takes (--path-to-json-file). --batches writes both for every batch, to be carried
out one after the other, and the document that takes everything back.
A plan to place a topic or to add partitions gives the value of kafka-topics' --replica-assignment.`,
		Example: `  kafka-planner export plan.json > reassignment.json
  kafka-planner export plan.json --batch 1 > batch-1.json
  kafka-planner export plan.json --batches steps/`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := readPlan(args[0])
			if err != nil {
				return err
			}
			return e.run(a.out, r)
		},
	}
	f := cmd.Flags()
	f.IntVar(&e.batch, "batch", 0, "write this batch only, counted from 1")
	f.StringVar(&e.dir, "batches", "", "write all batches as files of this directory")
	f.BoolVar(&e.election, "election", false, "write the document for the election of leaders")
	f.BoolVar(&e.rollback, "rollback", false, "write the document that takes the plan back")
	f.StringVarP(&e.out, "out", "o", "", "file to write instead of stdout")
	cmd.MarkFlagsMutuallyExclusive("batch", "batches")
	cmd.MarkFlagsMutuallyExclusive("rollback", "election", "batches")
	return cmd
}

type exporter struct {
	batch              int
	dir, out           string
	election, rollback bool
}

func (e *exporter) run(w io.Writer, r *planner.Result) error {
	if r.Schedule == nil {
		return e.created(w, r)
	}
	if e.dir != "" {
		return e.all(w, r)
	}
	changes := r.Plan.Changes
	if e.batch != 0 {
		if e.batch < 1 || e.batch > len(r.Schedule.Batches) {
			return fmt.Errorf("--batch %d: the plan has %s", e.batch, plural(len(r.Schedule.Batches), "batch"))
		}
		moves, elections := split(r.Schedule, e.batch-1)
		if changes = moves; e.election {
			changes = elections
		}
	}
	var b bytes.Buffer
	if err := e.document(&b, changes); err != nil {
		return err
	}
	return put(w, e.out, b.Bytes())
}

func (e *exporter) document(w io.Writer, changes []plan.Change) error {
	switch {
	case e.election:
		return plan.WriteElection(w, changes)
	case e.rollback:
		return plan.Rollback(changes).Write(w)
	}
	return plan.ToKafka(changes).Write(w)
}

// split tells a batch's reassignments from its elections.
func split(s *migration.Schedule, batch int) (moves, elections []plan.Change) {
	first := s.Batches[batch].First
	for i, ch := range s.Changes(batch) {
		if s.Steps[first+i].Kind == migration.Elect {
			elections = append(elections, ch)
		} else {
			moves = append(moves, ch)
		}
	}
	return moves, elections
}

// all writes every batch as files and prints their names in the order in which
// they are to be carried out.
func (e *exporter) all(w io.Writer, r *planner.Result) error {
	if err := os.MkdirAll(e.dir, 0o755); err != nil {
		return failed(exitFailure, fmt.Errorf("writing batches: %w", err))
	}
	write := func(name string, document func(io.Writer) error) error {
		path := filepath.Join(e.dir, name)
		var b bytes.Buffer
		if err := document(&b); err != nil {
			return err
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			return failed(exitFailure, fmt.Errorf("writing batches: %w", err))
		}
		fmt.Fprintln(w, path)
		return nil
	}
	digits := max(3, len(strconv.Itoa(len(r.Schedule.Batches))))
	for i := range r.Schedule.Batches {
		moves, elections := split(r.Schedule, i)
		name := fmt.Sprintf("batch-%0*d", digits, i+1)
		if len(moves) > 0 {
			if err := write(name+"-1-reassign.json", plan.ToKafka(moves).Write); err != nil {
				return err
			}
		}
		if len(elections) > 0 {
			if err := write(name+"-2-elect.json", func(w io.Writer) error { return plan.WriteElection(w, elections) }); err != nil {
				return err
			}
		}
	}
	return write("rollback.json", plan.Rollback(r.Plan.Changes).Write)
}

// created is for plans that create partitions: kafka-topics wants the brokers of
// every partition, also of those that exist, which it skips.
func (e *exporter) created(w io.Writer, r *planner.Result) error {
	if e.batch != 0 || e.dir != "" || e.election || e.rollback {
		return fmt.Errorf("a plan to %s has no batches, elections or way back: its export is the value of kafka-topics --replica-assignment", r.Plan.Operation)
	}
	if r.Plan.Empty() {
		return errors.New("the plan creates nothing")
	}
	var parts []string
	for i := range r.Plan.Changes {
		ids := make([]string, len(r.Plan.Changes[i].To))
		for j, x := range r.Plan.Changes[i].To {
			ids[j] = strconv.Itoa(int(x.Broker))
		}
		list := strings.Join(ids, ":")
		for len(parts) < int(r.Plan.Changes[i].Partition) {
			parts = append(parts, list)
		}
		parts = append(parts, list)
	}
	return put(w, e.out, []byte(strings.Join(parts, ",")+"\n"))
}
