package check

import (
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// change judges one change by itself.
func (k *checker) change(r *resolved) {
	k.allowed(r)
	k.brokers(r)
	k.dirs(r)
	k.leader(r)
	k.factor(r)
	k.rackSpread(r)
	k.counts(r)
}

// allowed tells whether the partition may be changed at all.
func (k *checker) allowed(r *resolved) {
	name, tp := r.name(), TopicPartition{r.Topic, r.Partition}
	if k.r.Exclude[r.Topic] {
		k.bad(name, "is changed although topic %s is excluded", r.Topic)
	}
	if k.r.Keep[tp] {
		k.bad(name, "is changed although it is on the do-not-move list")
	}
	if k.r.Pin[tp] && (r.moves() > 0 || r.dirMoves(k.c) > 0 || len(r.From) != len(r.To)) {
		k.bad(name, "moves from %v to %v although its replicas have to stay", places(r.From), places(r.To))
	}
	op := k.p.Operation
	if r.part == model.None {
		if !creates(op) {
			k.bad(name, "is created by a plan to %s", op)
		} else if _, exists := findTopic(k.c, r.Topic); exists != (op == plan.AddParts) {
			k.bad(name, "is created by a plan to %s, its topic exists: %t", op, exists)
		}
		return
	}
	if creates(op) {
		k.bad(name, "exists and is changed by a plan to %s", op)
	}
	if k.c.Moving[r.part] {
		k.bad(name, "is changed although a reassignment of it is in flight")
	}
	if r.moves() == 0 && r.dirMoves(k.c) == 0 && r.OldLeader == r.NewLeader && sameOrder(r) {
		k.bad(name, "is listed as a change but nothing of it changes")
	}
}

func sameOrder(r *resolved) bool {
	if len(r.From) != len(r.To) {
		return false
	}
	for i := range r.To {
		if r.From[i].Broker != r.To[i].Broker {
			return false
		}
	}
	return true
}

// brokers judges where the replicas go. A replica that the plan refuses to move
// may stay where nothing may be put.
func (k *checker) brokers(r *resolved) {
	name := r.name()
	refused := k.refused[TopicPartition{r.Topic, r.Partition}]
	for i := range r.to {
		t := &r.to[i]
		b := &k.c.Brokers[t.broker]
		for j := range i {
			if r.to[j].broker == t.broker {
				k.bad(name, "has broker %d twice in %v", b.ID, places(r.To))
			}
		}
		stays := !t.copied && refused
		// An election copies nothing and waits for nobody: a follower on a dead
		// broker does not stand in its way.
		if b.Dead && (t.copied || k.p.Operation != plan.Elect || r.NewLeader == b.ID) {
			k.bad(name, "has dead broker %d among its replicas %v", b.ID, places(r.To))
		} else if k.r.Drain[b.ID] && !stays {
			k.bad(name, "has broker %d, which must end empty, among its replicas %v", b.ID, places(r.To))
		}
		if k.r.Cordon[b.ID] && t.copied {
			k.bad(name, "goes to broker %d, which may not receive replicas", b.ID)
		}
		if r.group != model.None && b.Group != r.group && !stays {
			k.bad(name, "goes to broker %d, which is not in resource group %s of its topic", b.ID, k.c.Groups[r.group])
		}
		if k.p.Operation == plan.Expand && t.copied && !k.r.New[b.ID] {
			k.bad(name, "moves to broker %d, which is not new: an expansion moves nothing between old brokers", b.ID)
		}
	}
}

// dirs judges the log dirs.
func (k *checker) dirs(r *resolved) {
	for i := range r.to {
		t := &r.to[i]
		b := &k.c.Brokers[t.broker]
		if t.dir != model.None && b.Dirs[t.dir].Offline && (t.copied || t.changesDir(k.c)) {
			k.bad(r.name(), "goes to log dir %s of broker %d, which is offline", b.Dirs[t.dir].Path, b.ID)
		}
	}
}

// leader judges who leads.
func (k *checker) leader(r *resolved) {
	if r.NewLeader == model.None {
		return
	}
	if r.NewLeader != r.To[0].Broker {
		k.bad(r.name(), "is to be led by broker %d, its first replica is on %d", r.NewLeader, r.To[0].Broker)
	}
	if k.r.NoLead[r.NewLeader] && r.NewLeader != r.OldLeader {
		k.bad(r.name(), "is to be led by broker %d, which may not lead", r.NewLeader)
	}
	if k.r.Drain[r.NewLeader] && r.NewLeader != r.OldLeader {
		k.bad(r.name(), "is to be led by broker %d, which must end empty", r.NewLeader)
	}
}

// factor compares the number of replicas with the wanted one.
func (k *checker) factor(r *resolved) {
	want, asked := k.r.RF[r.Topic]
	switch {
	case asked:
	case r.part != model.None:
		want = len(r.From)
	case r.topic != model.None && k.c.Topics[r.topic].ReplicationFactor > 0:
		want = int(k.c.Topics[r.topic].ReplicationFactor)
	default:
		want = len(r.To)
	}
	if len(r.To) != want {
		k.bad(r.name(), "ends with %d replicas %v, wanted are %d", len(r.To), places(r.To), want)
	}
}

// counts compares what a change says it copies with what it does.
func (k *checker) counts(r *resolved) {
	if n := r.bytes(k.c); r.Bytes != n {
		k.bad(r.name(), "says that it copies %d bytes between brokers, it copies %d", r.Bytes, n)
	}
	if n := r.dirBytes(k.c); r.DirBytes != n {
		k.bad(r.name(), "says that it copies %d bytes between log dirs, it copies %d", r.DirBytes, n)
	}
}

// created partitions have ids without gaps, and topics one replication factor.
func (k *checker) created() {
	if !creates(k.p.Operation) {
		return
	}
	a := k.after
	touched := map[string]bool{}
	for i := range k.changes {
		touched[k.changes[i].Topic] = true
	}
	for p := range a.Topic {
		if !touched[a.Topics[a.Topic[p]].Name] {
			continue
		}
		first := p == 0 || a.Topic[p-1] != a.Topic[p]
		switch {
		case first && a.ID[p] != 0:
			k.bad(a.PartitionName(p), "is the first of its topic: partitions are missing before it")
		case !first && a.ID[p] != a.ID[p-1]+1:
			k.bad(a.PartitionName(p), "follows partition %d: partitions are missing before it", a.ID[p-1])
		case !first && k.p.Operation == plan.Place && a.RF(p) != a.RF(p-1):
			k.bad(a.PartitionName(p), "has %d replicas, the one before it %d", a.RF(p), a.RF(p-1))
		}
	}
}
