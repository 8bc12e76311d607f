package migration

import (
	"fmt"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// write turns records into the schedule's steps and batches.
func (s *Schedule) write(c *model.Cluster, changes []plan.Change, r *run) {
	s.Steps = make([]Step, 0, len(r.records))
	last := make([]int32, len(r.parts))
	for i := range last {
		last[i] = -1
	}
	parked := 0
	var parkedBytes int64
	for k := range r.records {
		rec := &r.records[k]
		rec.prev, last[rec.part] = last[rec.part], int32(k)
		x := r.parts[rec.part]
		ch := &changes[x.change]
		t := Step{
			Topic: ch.Topic, Partition: ch.Partition, Kind: rec.kind, Temporary: rec.temp, Batch: int(rec.batch), Change: x.change,
			From: replicas(c, rec.before), To: replicas(c, rec.now), OldLeader: id(c, rec.old), Leader: id(c, rec.leader),
		}
		for _, f := range r.flows[rec.flow:rec.flowTo] {
			if f.dst == f.src {
				t.DirBytes += f.size
			} else {
				t.Bytes += f.size
			}
		}
		if rec.temp {
			parked++
			parkedBytes += t.Bytes + t.DirBytes
		}
		s.Steps = append(s.Steps, t)
	}
	if parked > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("full disks wait for one another: %d replicas are parked on the way, which copies %d bytes more than the plan", parked, parkedBytes))
	}
	first := 0
	for _, end := range r.batchEnd {
		s.Batches = append(s.Batches, sum(s.Steps[first:end], first))
		first = end
	}
}

func sum(steps []Step, first int) Batch {
	b := Batch{First: first, Count: len(steps)}
	for i := range steps {
		t := &steps[i]
		b.Bytes += t.Bytes
		b.DirBytes += t.DirBytes
		switch t.Kind {
		case Move:
			b.Moves++
		case DirMove:
			b.DirMoves++
		case Elect:
			b.Elections++
		}
		if n := t.Bytes + t.DirBytes; t.Kind == Move || t.Kind == DirMove {
			if b.Moves+b.DirMoves == 1 || n < b.Smallest {
				b.Smallest = n
			}
			b.Largest = max(b.Largest, n)
		}
	}
	return b
}

func id(c *model.Cluster, b int32) int32 {
	if b == model.None {
		return b
	}
	return c.Brokers[b].ID
}

func replicas(c *model.Cluster, list []held) []plan.Replica {
	out := make([]plan.Replica, len(list))
	for i, h := range list {
		out[i].Broker = c.Brokers[h.broker].ID
		if h.dir != model.None {
			out[i].Dir = c.Brokers[h.broker].Dirs[h.dir].Path
		}
	}
	return out
}
