package collector

import (
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

func offsetsSubject() Subject {
	return Subject{
		Title: "Offsets",
		Note:  "A partition whose leader did not answer gives no series.",
		Families: []family{
			gauge(startOffsets, "kafka_partition_start_offset",
				"Log start offset of a partition: the oldest record that is kept. From ListOffsets.",
				sum, byPartition, offsets(func(t *snapshot.TopicOffsets) []int64 { return t.Start }, false)),
			gauge(endOffsets, "kafka_partition_end_offset",
				"End offset of a partition (high watermark): that of the next record, and with transactions of their markers too. Its rate is that of records written. From ListOffsets.",
				sum, byPartition, offsets(func(t *snapshot.TopicOffsets) []int64 { return t.End }, false)),
			gauge(stableOffsets, "kafka_partition_stable_offset",
				"Last stable offset of a partition: consumers that read committed records only see up to it. From ListOffsets.",
				sum, byPartition, offsets(func(t *snapshot.TopicOffsets) []int64 { return t.Stable }, false)),
			requires("Kafka ≥ 3.0 (KIP-734)", gauge(lastRecord, "kafka_partition_last_record_timestamp_seconds",
				"Unix time of the newest record of a partition as its timestamp says, which producers may set. Absent for an empty partition. From ListOffsets (KIP-734).",
				most, byPartition, offsets(func(t *snapshot.TopicOffsets) []int64 { return t.LastRecord }, true))),
		},
	}
}

func offsets(pick func(*snapshot.TopicOffsets) []int64, millis bool) render {
	return func(c *cluster, e *emitter) {
		if c.Offsets == nil {
			return
		}
		for name, t := range namesOf(c, c.Offsets.Topics) {
			if t == nil {
				continue
			}
			for p, v := range pick(t) {
				switch {
				case v < 0:
				case millis:
					e.Millis(v, name, exposition.Itoa(int32(p)))
				default:
					e.Int(v, name, exposition.Itoa(int32(p)))
				}
			}
		}
	}
}
