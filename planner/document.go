package planner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// FormatPlan is the format name of plan documents.
const FormatPlan = "kafka-steward-plan/1"

// Source tells where the figures that a plan was made on come from.
type Source struct {
	ClusterID string    `json:"cluster_id,omitempty"`
	ReadAt    time.Time `json:"read_at,omitzero"`
	Load      LoadNote  `json:"load"`
	Warnings  []string  `json:"warnings,omitempty"`
}

// LoadNote is model.LoadNote as plan documents have it: partitions whose rates
// were filled in are counted, not listed.
type LoadNote struct {
	Source      string    `json:"source"`
	Methods     []string  `json:"methods,omitempty"`
	From        time.Time `json:"from,omitzero"`
	To          time.Time `json:"to,omitzero"`
	StepSeconds float64   `json:"step_seconds,omitempty"`
	Coverage    float64   `json:"coverage"`
	Filled      int       `json:"filled,omitempty"`
	Notes       []string  `json:"notes,omitempty"`
}

func sourceOf(s *model.Snapshot) Source {
	l := &s.Load
	out := Source{ClusterID: s.ClusterID, ReadAt: s.ReadAt, Warnings: s.Warnings, Load: LoadNote{
		Source: l.Source, Methods: l.Methods, From: l.From, To: l.To, StepSeconds: l.Step.Seconds(), Coverage: l.Coverage, Notes: l.Notes,
	}}
	for _, t := range l.Filled {
		out.Load.Filled += len(t.Partitions)
	}
	return out
}

// Write writes the result as a document.
func (r *Result) Write(w io.Writer) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("writing a plan: %w", err)
	}
	if _, err := w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing a plan: %w", err)
	}
	return nil
}

// ReadResult reads a plan's document, gzip-compressed or not. Unknown keys and
// anything behind it are errors.
func ReadResult(r io.Reader) (*Result, error) {
	r, err := model.MaybeGunzip(r)
	if err != nil {
		return nil, fmt.Errorf("decompressing a plan: %w", err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading a plan: %w", err)
	}
	var head struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("not a plan, which is a JSON document of format %s: %w", FormatPlan, err)
	}
	if head.Format != FormatPlan {
		return nil, fmt.Errorf("not a plan: its format is %q, not %s", head.Format, FormatPlan)
	}
	out := &Result{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		return nil, fmt.Errorf("reading a plan: %w", err)
	}
	if out.Plan == nil {
		return nil, errors.New("the document holds no plan")
	}
	return out, out.consistent()
}

// consistent keeps readers of documents that were written by hand from indexes
// out of range.
func (r *Result) consistent() error {
	for i := range r.Plan.Changes {
		if ch := &r.Plan.Changes[i]; len(ch.To) == 0 {
			return fmt.Errorf("the plan leaves %s-%d without replicas", ch.Topic, ch.Partition)
		}
	}
	if r.Schedule == nil {
		return nil
	}
	for i, b := range r.Schedule.Batches {
		if b.First < 0 || b.Count < 0 || b.First > len(r.Schedule.Steps)-b.Count {
			return fmt.Errorf("batch %d of the schedule has steps %d to %d of %d", i+1, b.First+1, b.First+b.Count, len(r.Schedule.Steps))
		}
	}
	return nil
}
