package gather

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
)

// Topology reads brokers, topics and partitions: one Metadata request (two when
// a topic that the configuration names is not in the answer).
func (r *Reader) Topology(ctx context.Context) (*snapshot.Topology, Failures, error) {
	named := r.cfg.Topics.Literals()
	onlyNamed := len(named) > 0 && len(named) == len(r.cfg.Topics.Include)
	var ask []string
	if onlyNamed {
		// Asked by name a denied topic is told as denied; asked for all it would
		// just be absent. And nothing else is asked for.
		ask = slices.DeleteFunc(named, func(t string) bool { return !r.wantsTopic(t) })
	}
	md, err := r.client.Metadata(ctx, ask)
	if err != nil {
		return nil, nil, err
	}
	t := &snapshot.Topology{ReadAt: r.now(), ClusterID: md.ClusterID, ControllerID: -1, Mode: "zookeeper"}
	if md.KRaft {
		t.Mode = "kraft"
	} else {
		t.ControllerID = md.ControllerID
		t.ControllerChanges = r.controllers.observe(strconv.Itoa(int(md.ControllerID)))
	}
	var failures Failures
	r.addTopics(t, md, &failures)
	r.addBrokers(ctx, t, md)
	return t, failures, nil
}

func (r *Reader) addTopics(t *snapshot.Topology, md *kafka.Metadata, failures *Failures) {
	for i := range md.Topics {
		mt := &md.Topics[i]
		if !r.wantsTopic(mt.Name) {
			continue
		}
		if mt.Err != nil && len(mt.Partitions) == 0 {
			if kafka.Classify(mt.Err) == "acl" {
				t.DeniedTopics = append(t.DeniedTopics, mt.Name)
			}
			failures.item("topic "+mt.Name, -1, mt.Err)
			continue
		}
		topic := snapshot.Topic{Name: mt.Name, ID: mt.ID, Internal: mt.Internal, Partitions: make([]snapshot.Partition, len(mt.Partitions))}
		if mt.Err != nil {
			topic.Err = mt.Err.Error()
		}
		for j := range mt.Partitions {
			p := &mt.Partitions[j]
			topic.Partitions[j] = snapshot.Partition{ID: p.ID, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR, Offline: p.Offline}
		}
		t.Topics = append(t.Topics, topic)
	}
}

// addBrokers adds the live brokers and those that only replica lists name: a
// dead broker is not in Metadata, but it is not gone.
func (r *Reader) addBrokers(ctx context.Context, t *snapshot.Topology, md *kafka.Metadata) {
	byID := map[int32]*snapshot.Broker{}
	for _, b := range md.Brokers {
		host, port, err := net.SplitHostPort(b.Addr)
		if err != nil {
			host = b.Addr
		}
		n, _ := strconv.Atoi(port)
		byID[b.ID] = &snapshot.Broker{ID: b.ID, Host: host, Port: int32(n), IP: r.dns.lookup(ctx, host), Rack: b.Rack, Up: true, Reachable: true}
	}
	get := func(id int32) *snapshot.Broker {
		b := byID[id]
		if b == nil {
			b = &snapshot.Broker{ID: id}
			byID[id] = b
		}
		return b
	}
	for i := range md.Topics {
		for j := range md.Topics[i].Partitions {
			p := &md.Topics[i].Partitions[j]
			if p.Leader >= 0 {
				get(p.Leader).Leaders++
			}
			for k, id := range p.Replicas {
				get(id).Replicas++
				if k == 0 {
					get(id).PreferredLeaders++
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		b := byID[id]
		b.ResourceGroup = r.resourceGroup[id]
		t.Brokers = append(t.Brokers, *b)
	}
}

// MarkUnreachable records which brokers did not answer in this round.
func MarkUnreachable(t *snapshot.Topology, failures ...Failures) {
	bad := map[int32]bool{}
	for _, fs := range failures {
		for _, f := range fs {
			// A broker that refuses or lacks an API was reached.
			if f.Broker >= 0 && (f.Class == "timeout" || f.Class == "network" || f.Class == "tls" || f.Class == "auth") {
				bad[f.Broker] = true
			}
		}
	}
	for i := range t.Brokers {
		b := &t.Brokers[i]
		b.Reachable = b.Up && !bad[b.ID]
	}
}

// Reassignments lists the moves in flight. One request.
func (r *Reader) Reassignments(ctx context.Context) (*snapshot.Reassignments, error) {
	list, err := r.client.Reassignments(ctx)
	if err != nil {
		return nil, err
	}
	out := &snapshot.Reassignments{ReadAt: r.now()}
	for _, m := range list {
		if r.wantsTopic(m.Topic) {
			out.Partitions = append(out.Partitions, snapshot.Reassignment{Topic: m.Topic, Partition: m.Partition, Adding: m.Adding, Removing: m.Removing, RemainingBytes: snapshot.Unknown})
		}
	}
	slices.SortFunc(out.Partitions, func(a, b snapshot.Reassignment) int {
		if a.Topic != b.Topic {
			if a.Topic < b.Topic {
				return -1
			}
			return 1
		}
		return int(a.Partition - b.Partition)
	})
	return out, nil
}

// SameReassignments tells whether two readings list the same partitions.
func SameReassignments(a, b *snapshot.Reassignments) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Partitions, b.Partitions, func(x, y snapshot.Reassignment) bool {
		return x.Topic == y.Topic && x.Partition == y.Partition && slices.Equal(x.Adding, y.Adding) && slices.Equal(x.Removing, y.Removing)
	})
}

// MarkReassigning enters the moves in flight into the topology, so that RF and
// under-replication are told right while a partition has more replicas than
// it is meant to have. Replica lists that do not hold what a move adds and
// removes were read before it began or after it ended, and are right as they are.
func MarkReassigning(t *snapshot.Topology, moves *snapshot.Reassignments) {
	if moves == nil {
		return
	}
	for _, m := range moves.Partitions {
		if p := t.Topic(m.Topic).Partition(m.Partition); p != nil && holds(p.Replicas, m.Adding) && holds(p.Replicas, m.Removing) {
			p.Adding, p.Removing = m.Adding, m.Removing
		}
	}
}

func holds(all, some []int32) bool {
	return !slices.ContainsFunc(some, func(x int32) bool { return !slices.Contains(all, x) })
}

// Unsettled tells whether a replica list may be that of a move which was over
// before the moves were listed: it changed since the previous round (or, in the
// first round, looks under-replicated), but no move is known.
func Unsettled(t, previous *snapshot.Topology, moves *snapshot.Reassignments) bool {
	for topic, p := range still(t, moves) {
		if previous == nil {
			if p.UnderReplicated() {
				return true
			}
			continue
		}
		old := previous.Topic(topic.Name)
		if old == nil || old.ID != topic.ID {
			continue
		}
		if o := old.Partition(p.ID); o != nil && !slices.Equal(o.Replicas, p.Replicas) {
			return true
		}
	}
	return false
}

// MarkBegun marks the moves that began after the moves were listed, or were over
// before while the broker that was asked had not heard of it: replica lists of
// now that grew against an earlier reading.
func MarkBegun(now, before *snapshot.Topology, moves *snapshot.Reassignments) {
	for topic, p := range still(now, moves) {
		old := before.Topic(topic.Name)
		if p.Reassigning() || old == nil || old.ID != topic.ID {
			continue
		}
		b := old.Partition(p.ID)
		if b == nil || len(p.Replicas) <= len(b.Replicas) || !holds(p.Replicas, b.Replicas) {
			continue
		}
		p.Adding = slices.DeleteFunc(slices.Clone(p.Replicas), func(r int32) bool { return slices.Contains(b.Replicas, r) })
	}
}

// MarkEnded keeps the marks of moves that ended just now where the replica list
// still is that of the move: brokers learn of the end later than the controller.
func MarkEnded(t *snapshot.Topology, moves, previous *snapshot.Reassignments) {
	if previous == nil || moves == previous {
		return
	}
	listed := map[string]bool{}
	for i := range moves.Partitions {
		listed[partitionName(moves.Partitions[i].Topic, moves.Partitions[i].Partition)] = true
	}
	ended := &snapshot.Reassignments{}
	for _, m := range previous.Partitions {
		if !listed[partitionName(m.Topic, m.Partition)] {
			ended.Partitions = append(ended.Partitions, m)
		}
	}
	MarkReassigning(t, ended)
}

// still walks the partitions that are not listed as moving.
func still(t *snapshot.Topology, moves *snapshot.Reassignments) iter.Seq2[*snapshot.Topic, *snapshot.Partition] {
	type key struct {
		topic     string
		partition int32
	}
	moving := map[key]bool{}
	if moves != nil {
		for i := range moves.Partitions {
			moving[key{moves.Partitions[i].Topic, moves.Partitions[i].Partition}] = true
		}
	}
	return func(yield func(*snapshot.Topic, *snapshot.Partition) bool) {
		for i := range t.Topics {
			for j := range t.Topics[i].Partitions {
				p := &t.Topics[i].Partitions[j]
				if len(moving) > 0 && moving[key{t.Topics[i].Name, p.ID}] {
					continue
				}
				if !yield(&t.Topics[i], p) {
					return
				}
			}
		}
	}
}

// Quorum describes the KRaft metadata quorum; nil in ZooKeeper mode. One request.
func (r *Reader) Quorum(ctx context.Context) (*snapshot.Quorum, error) {
	q, err := r.beside.Quorum(ctx)
	if err != nil {
		return nil, err
	}
	out := &snapshot.Quorum{ReadAt: r.now(), LeaderID: q.LeaderID, LeaderEpoch: q.LeaderEpoch, HighWatermark: q.HighWatermark}
	out.LeaderChanges = r.quorum.observe(fmt.Sprintf("%d/%d", q.LeaderID, q.LeaderEpoch))
	for _, v := range q.Voters {
		out.Voters = append(out.Voters, snapshot.QuorumReplica(v))
	}
	for _, v := range q.Observers {
		out.Observers = append(out.Observers, snapshot.QuorumReplica(v))
	}
	return out, nil
}
