package collector

import (
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

func quorumSubject() Subject {
	byReplica := labels("replica", "role")
	const kraftOnly = "KRaft mode, Kafka ≥ 3.3 (KIP-836)"
	in := func(f family) family { return requires(kraftOnly, f) }
	return Subject{
		Title: "Metadata quorum",
		Note:  "KRaft mode only. `role` is voter or observer; brokers are observers.",
		Families: []family{
			in(gauge(quorum, "kafka_quorum_leader_id",
				"Id of the node that leads the metadata quorum, which is the active controller. Absent without a leader. From DescribeQuorum.",
				none, nil, inQuorum(func(q *snapshot.Quorum, e *emitter) {
					if q.LeaderID >= 0 {
						e.Int(int64(q.LeaderID))
					}
				}))),
			in(gauge(quorum, "kafka_quorum_leader_epoch",
				"Epoch of the metadata quorum's leader: grows with every election. From DescribeQuorum.",
				none, nil, inQuorum(func(q *snapshot.Quorum, e *emitter) {
					if q.LeaderEpoch >= 0 {
						e.Int(int64(q.LeaderEpoch))
					}
				}))),
			in(counter(quorum, "kafka_quorum_leader_changes_total",
				"Changes of the metadata quorum's leader or epoch seen since the exporter started. From DescribeQuorum.",
				nil, inQuorum(func(q *snapshot.Quorum, e *emitter) { e.Int(int64(q.LeaderChanges)) }))),
			in(gauge(quorum, "kafka_quorum_high_watermark",
				"High watermark of the metadata log: the offset up to which a majority of voters has it. From DescribeQuorum.",
				none, nil, inQuorum(func(q *snapshot.Quorum, e *emitter) {
					if q.HighWatermark >= 0 {
						e.Int(q.HighWatermark)
					}
				}))),
			in(gauge(quorum, "kafka_quorum_replica_log_end_offset",
				"End offset of a node's copy of the metadata log as the leader knows it. From DescribeQuorum.",
				most, byReplica, quorumReplicas(func(_ *snapshot.Quorum, r *snapshot.QuorumReplica) int64 { return r.LogEndOffset }, false))),
			in(gauge(quorum, "kafka_quorum_replica_lag_records",
				"Records of the metadata log that a node lacks against the leader. From DescribeQuorum.",
				most, byReplica, quorumReplicas(quorumLag, false))),
			in(gauge(quorum, "kafka_quorum_replica_last_fetch_timestamp_seconds",
				"Unix time of a node's last fetch of the metadata log by the leader's clock. From DescribeQuorum.",
				min1, byReplica, quorumReplicas(func(_ *snapshot.Quorum, r *snapshot.QuorumReplica) int64 { return r.LastFetch }, true))),
			in(gauge(quorum, "kafka_quorum_replica_last_caught_up_timestamp_seconds",
				"Unix time at which a node last had all of the metadata log by the leader's clock. From DescribeQuorum.",
				min1, byReplica, quorumReplicas(func(_ *snapshot.Quorum, r *snapshot.QuorumReplica) int64 { return r.LastCaughtUp }, true))),
		},
	}
}

func inQuorum(emit func(*snapshot.Quorum, *emitter)) render {
	return func(c *cluster, e *emitter) {
		if c.Quorum != nil {
			emit(c.Quorum, e)
		}
	}
}

func quorumReplicas(value func(*snapshot.Quorum, *snapshot.QuorumReplica) int64, millis bool) render {
	emit := func(c *cluster, e *emitter, replicas []snapshot.QuorumReplica, role string) {
		for i := range replicas {
			r := &replicas[i]
			switch v := value(c.Quorum, r); {
			case v < 0:
			case millis:
				e.Millis(v, exposition.Itoa(r.ID), role)
			default:
				e.Int(v, exposition.Itoa(r.ID), role)
			}
		}
	}
	return func(c *cluster, e *emitter) {
		if c.Quorum != nil {
			emit(c, e, c.Quorum.Voters, "voter")
			emit(c, e, c.Quorum.Observers, "observer")
		}
	}
}

// quorumLag is what a replica lacks, Unknown if the leader's or its own end is
// not known. Without a leader there is nothing to be behind of.
func quorumLag(q *snapshot.Quorum, r *snapshot.QuorumReplica) int64 {
	for i := range q.Voters {
		if v := &q.Voters[i]; v.ID == q.LeaderID && v.LogEndOffset >= 0 && r.LogEndOffset >= 0 {
			return max(0, v.LogEndOffset-r.LogEndOffset)
		}
	}
	return snapshot.Unknown
}
