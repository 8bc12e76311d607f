package collector

import (
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

func verdictsSubject() Subject {
	return Subject{
		Title: "Verdicts on groups",
		Note: "A verdict needs no threshold: `ok` drained within the window or catching up; `warning` commits advance but lag did not shrink; " +
			"`rewound` a commit went back; `stalled` members are there but the commit stands still with lag; `stopped` nobody is there and records wait; " +
			"`unknown` nothing committed or not enough seen yet. A group has the worst of its partitions'.",
		Families: []family{
			gauge(groups, "kafka_group_verdict",
				"1 for the verdict on a group, 0 for the others. From commits and end offsets over lag.window.",
				sum, labels("group", "verdict"), func(c *cluster, e *emitter) {
					for g, l := range lags(c) {
						for v, name := range snapshot.VerdictNames {
							e.Bool(snapshot.Verdict(v) == l.Verdict, g.Name, name)
						}
					}
				}),
			sparse(notGood, gauge(groups, "kafka_group_topic_verdict",
				"Always 1; the verdict on a group in a topic. From commits and end offsets over lag.window.",
				sum, labels("group", "topic", "verdict"), func(c *cluster, e *emitter) {
					for g, t := range topicLags(c) {
						if t.Verdict >= snapshot.VerdictWarning {
							e.Int(1, g.Name, t.Topic, t.Verdict.String())
						}
					}
				})),
			sparse(notGood, gauge(groups, "kafka_group_partition_verdict",
				"Always 1; the verdict on a group in a partition. From commits and end offsets over lag.window.",
				sum, labels("group", "topic", "partition", "verdict"), func(c *cluster, e *emitter) {
					for g, t := range topicLags(c) {
						for i := range t.Partitions {
							if p := &t.Partitions[i]; p.Verdict >= snapshot.VerdictWarning {
								e.Int(1, g.Name, t.Topic, exposition.Itoa(p.Partition), p.Verdict.String())
							}
						}
					}
				})),
		},
	}
}

const notGood = "verdicts other than ok and unknown"
