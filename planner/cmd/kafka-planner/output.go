package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/kafka-steward/kafka-steward/planner"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// Formats of results.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatYAML  = "yaml"
	formatCC    = "cc-plan"
	formatKafka = "kafka-json"
)

// outputFlags say how a result is written and where to.
type outputFlags struct {
	format, out string
	rows        int
	formats     []string
	// cpu is what planning took, which cc-plan tells.
	cpu float64
}

func (o *outputFlags) add(cmd *cobra.Command, formats ...string) {
	f := cmd.Flags()
	f.StringVar(&o.format, "output", "", "format: "+strings.Join(formats, ", ")+"; by the name of --out, else table")
	f.StringVarP(&o.out, "out", "o", "", "file to write instead of stdout")
	f.IntVar(&o.rows, "rows", 20, "how many rows of each table to show, 0 for all")
	cmd.PreRunE = func(*cobra.Command, []string) error { o.formats = formats; return nil }
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// check finds out the format before any work is done.
func (o *outputFlags) check() error {
	if o.format == "" {
		o.format = formatTable
		switch {
		case strings.HasSuffix(o.out, ".json"):
			o.format = formatJSON
		case strings.HasSuffix(o.out, ".yaml"), strings.HasSuffix(o.out, ".yml"):
			o.format = formatYAML
		}
	}
	if !slices.Contains(o.formats, o.format) {
		return fmt.Errorf("--output %s: the formats are %s", o.format, strings.Join(o.formats, ", "))
	}
	if o.rows < 0 {
		return fmt.Errorf("--rows %d: give 0 for all rows or more", o.rows)
	}
	return nil
}

// write writes a result to the file that was asked for, else to w.
func (o *outputFlags) write(w io.Writer, r *planner.Result) error {
	var b bytes.Buffer
	if err := o.render(&b, r); err != nil {
		return failed(exitFailure, err)
	}
	return o.put(w, b.Bytes())
}

// put writes to the file that was asked for, else to w.
func (o *outputFlags) put(w io.Writer, b []byte) error { return put(w, o.out, b) }

// put writes to a file, or to w where there is none.
func put(w io.Writer, path string, b []byte) error {
	if path == "" || path == "-" {
		_, err := w.Write(b)
		return failed(exitFailure, err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return failed(exitFailure, fmt.Errorf("writing the result: %w", err))
	}
	return nil
}

func (o *outputFlags) render(w io.Writer, r *planner.Result) error {
	switch o.format {
	case formatJSON:
		return r.Write(w)
	case formatYAML:
		return writeYAML(w, r)
	case formatCC:
		return writeCC(w, r.Plan.Changes, o.cpu)
	case formatKafka:
		return plan.ToKafka(r.Plan.Changes).Write(w)
	}
	show(w, r, o.rows)
	return nil
}

// writeYAML writes the JSON document's keys, in its order, as YAML.
func writeYAML(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var n yaml.Node
	if err := yaml.Unmarshal(b, &n); err != nil { // JSON is YAML
		return err
	}
	block(&n)
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(&n); err != nil {
		return err
	}
	return e.Close()
}

// block makes nodes look like YAML again: only what has no children or lists
// single values stays on one line.
func block(n *yaml.Node) {
	n.Style &^= yaml.FlowStyle | yaml.DoubleQuotedStyle
	flat := n.Kind == yaml.SequenceNode
	for _, c := range n.Content {
		block(c)
		flat = flat && c.Kind == yaml.ScalarNode
	}
	if flat || len(n.Content) == 0 && n.Kind != yaml.ScalarNode {
		n.Style |= yaml.FlowStyle
	}
}

// writeCC writes the plan format of the benchmark models: partitions with their
// brokers, the leader first.
func writeCC(w io.Writer, changes []plan.Change, cpu float64) error {
	type move struct {
		Topic     string  `json:"topic"`
		Partition int32   `json:"p"`
		New       []int32 `json:"new"`
	}
	doc := struct {
		Planner string  `json:"planner"`
		Seconds float64 `json:"plan_s"`
		Moves   []move  `json:"moves"`
	}{"kafka-planner", math.Round(cpu*1000) / 1000, []move{}}
	for i := range changes {
		m := move{changes[i].Topic, changes[i].Partition, nil}
		for _, r := range changes[i].To {
			m.New = append(m.New, r.Broker)
		}
		doc.Moves = append(doc.Moves, m)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// cpuSeconds is what the process has used.
func cpuSeconds() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}
