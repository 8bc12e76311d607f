package collector

import (
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

func brokersSubject() Subject {
	return Subject{
		Title: "Brokers",
		Note: "A broker that is not alive but still holds replicas keeps its series, with `kafka_broker_up` 0. " +
			"Counts are over all partitions of the cluster, also those of topics that the configuration filters out.",
		Families: []family{
			gauge(topology, "kafka_broker_info",
				"Always 1; says a broker's host as advertised, its address, rack and the resource group of the policy. From Metadata.",
				most, labels("broker", "host", "broker_ip", "rack", "resource_group"), brokers(func(b *snapshot.Broker, id string, e *emitter) {
					e.Int(1, id, b.Host, b.IP, b.Rack, b.ResourceGroup)
				})),
			gauge(topology, "kafka_broker_up",
				"1 if the cluster lists the broker as alive, 0 if it is only known from replica lists. From Metadata.",
				sum, labels("broker"), brokers(func(b *snapshot.Broker, id string, e *emitter) { e.Bool(b.Up, id) })),
			gauge(topology, "kafka_broker_reachable",
				"1 if the broker answered the exporter's last requests to it. 0 for a broker that is alive to the cluster points to the network between it and the exporter.",
				sum, labels("broker"), brokers(func(b *snapshot.Broker, id string, e *emitter) { e.Bool(b.Reachable, id) })),
			gauge(topology, "kafka_broker_leaders",
				"Partitions that the broker leads. From Metadata.",
				sum, labels("broker"), brokers(func(b *snapshot.Broker, id string, e *emitter) { e.Int(int64(b.Leaders), id) })),
			gauge(topology, "kafka_broker_preferred_leaders",
				"Partitions whose preferred leader (first replica) the broker is, whether it leads them or not. From Metadata.",
				sum, labels("broker"), brokers(func(b *snapshot.Broker, id string, e *emitter) { e.Int(int64(b.PreferredLeaders), id) })),
			gauge(topology, "kafka_broker_replicas",
				"Partitions that the broker holds a replica of. From Metadata.",
				sum, labels("broker"), brokers(func(b *snapshot.Broker, id string, e *emitter) { e.Int(int64(b.Replicas), id) })),
		},
	}
}

func brokers(emit func(b *snapshot.Broker, id string, e *emitter)) render {
	return func(c *cluster, e *emitter) {
		if c.Topology == nil {
			return
		}
		for i := range c.Topology.Brokers {
			b := &c.Topology.Brokers[i]
			emit(b, exposition.Itoa(b.ID), e)
		}
	}
}
