package plan

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// ToKafka is the changes as kafka-reassign-partitions takes them, in their
// order. log_dirs name a directory only where a replica has to go to one: for
// the others it is "any", which leaves a replica where it is.
func ToKafka(changes []Change) *model.Reassignment {
	return document(changes, func(c *Change) (to, from []Replica) { return c.To, c.From })
}

// Rollback is the document that undoes the changes. Partitions that the changes
// created are not in it: Kafka cannot take them away.
func Rollback(changes []Change) *model.Reassignment {
	return document(changes, func(c *Change) (to, from []Replica) { return c.From, c.To })
}

func document(changes []Change, ends func(*Change) (to, from []Replica)) *model.Reassignment {
	doc := &model.Reassignment{Version: 1, Partitions: []model.ReassignmentPartition{}}
	for i := range changes {
		to, from := ends(&changes[i])
		if len(to) == 0 {
			continue
		}
		e := model.ReassignmentPartition{Topic: changes[i].Topic, Partition: changes[i].Partition}
		dirs, named := make([]string, len(to)), false
		for j, r := range to {
			e.Replicas = append(e.Replicas, r.Broker)
			dirs[j] = model.AnyDir
			if old, ok := find(from, r.Broker); r.Dir != "" && (!ok || old.Dir != r.Dir) {
				dirs[j], named = r.Dir, true
			}
		}
		if named {
			e.LogDirs = dirs
		}
		doc.Partitions = append(doc.Partitions, e)
	}
	return doc
}

func find(replicas []Replica, broker int32) (Replica, bool) {
	for _, r := range replicas {
		if r.Broker == broker {
			return r, true
		}
	}
	return Replica{}, false
}

// WriteElection writes the document that kafka-leader-election takes: the
// partitions that are to be led by another replica than now.
func WriteElection(w io.Writer, changes []Change) error {
	type partition struct {
		Topic     string `json:"topic"`
		Partition int32  `json:"partition"`
	}
	doc := struct {
		Partitions []partition `json:"partitions"`
	}{Partitions: []partition{}}
	for i := range changes {
		if c := &changes[i]; c.NewLeader != c.OldLeader && len(c.From) > 0 {
			doc.Partitions = append(doc.Partitions, partition{c.Topic, c.Partition})
		}
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("writing partitions for an election: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// FromKafka reads a reassignment document and returns what it would change in
// the cluster, in the document's order; entries that change nothing are left
// out. If anything in the document is wrong, nothing is returned but an error
// that names every topic-partition and reason.
func FromKafka(r io.Reader, c *model.Cluster) ([]Change, error) {
	doc, err := model.ReadReassignment(r)
	if err != nil {
		return nil, err
	}
	targets, problems := doc.Targets(c)
	if err := model.JoinProblems(problems); err != nil {
		return nil, fmt.Errorf("the reassignment cannot be used, and nothing of it is: %w", err)
	}
	var out []Change
	for i := range targets {
		if ch, ok := change(c, &targets[i]); ok {
			out = append(out, ch)
		}
	}
	return out, nil
}

// change tells what a target changes. Copies for another broker come from the
// leader, so they are counted with its size.
func change(c *model.Cluster, t *model.Target) (Change, bool) {
	p := t.Partition
	ch := Change{Topic: c.Topics[c.Topic[p]].Name, Partition: c.ID[p], OldLeader: model.None, Why: "a reassignment document asks for it"}
	slot := map[int32]int32{}
	var source int64
	from, to := c.Slots(p)
	for s := from; s < to; s++ {
		slot[c.Broker[s]] = s
		ch.From = append(ch.From, Replica{Broker: c.Brokers[c.Broker[s]].ID, Dir: dirPath(c, c.Broker[s], c.Dir[s])})
		source = max(source, c.Size[s])
	}
	if l := c.Leader[p]; l != model.None {
		ch.OldLeader, source = c.Brokers[c.Broker[l]].ID, c.Size[l]
	}
	same := len(t.Brokers) == int(to-from)
	for i, b := range t.Brokers {
		dir := t.Dirs[i]
		s, stays := slot[b]
		switch {
		case !stays:
			ch.Bytes += source
		case dir == model.None:
			dir = c.Dir[s]
		case dir != c.Dir[s]:
			ch.DirBytes += c.Size[s]
			same = false
		}
		same = same && s == from+int32(i) && stays
		ch.To = append(ch.To, Replica{Broker: c.Brokers[b].ID, Dir: dirPath(c, b, dir)})
	}
	ch.NewLeader = ch.To[0].Broker
	return ch, !same
}

func dirPath(c *model.Cluster, broker, dir int32) string {
	if dir == model.None {
		return ""
	}
	return c.Brokers[broker].Dirs[dir].Path
}
