package planner

import (
	"fmt"
	"io"

	"github.com/kafka-steward/kafka-steward/planner/check"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// FromKafka makes a plan of Kafka's reassignment document: validated, with
// figures before and after, checked and scheduled as every other plan. A
// replication factor that the document changes has to be the same for all
// partitions of the topic that it lists.
func FromKafka(s *model.Snapshot, doc io.Reader, o Options) (*Result, error) {
	c := s.Cluster
	if err := model.JoinProblems(c.Validate()); err != nil {
		return nil, fmt.Errorf("the cluster cannot be planned on: %w", err)
	}
	changes, err := plan.FromKafka(doc, c)
	if err != nil {
		return nil, err
	}
	if changes == nil {
		changes = []plan.Change{}
	}
	r := Request{Operation: Import, Options: o, RF: factors(changes)}
	r.normalise()
	p := &plan.Plan{Operation: Import, Cluster: c.Name, Changes: changes}
	if p.Summary, err = summarise(c, changes, &r); err != nil {
		return nil, err
	}
	return finish(s, &r, p)
}

// factors are the replication factors that the changes set, by topic; the
// first change of a topic says which.
func factors(changes []plan.Change) map[string]int {
	rf := map[string]int{}
	for i := range changes {
		ch := &changes[i]
		if _, ok := rf[ch.Topic]; !ok && len(ch.From) != len(ch.To) {
			rf[ch.Topic] = len(ch.To)
		}
	}
	return rf
}

// summarise computes the figures of changes, by what was asked for, from the
// cluster alone, and corrects the changes' bytes.
func summarise(c *model.Cluster, changes []plan.Change, r *Request) (plan.Summary, error) {
	after, err := check.Apply(c, changes)
	if err != nil {
		return plan.Summary{}, fmt.Errorf("the changes do not fit the cluster: %w", err)
	}
	f := newFigures(c, after, set(r.drained()), r.rules().Band, r.Options.CountsFollowDisk)
	f.count(changes)
	f.spreads()
	f.brokers()
	f.sum.RackViolationsBefore, f.sum.RackViolationsAfter = f.rackViolations(c), f.rackViolations(after)
	f.sum.TopicExcessBefore, f.sum.TopicExcessAfter = f.topicExcess(c), f.topicExcess(after)
	return f.sum, nil
}
