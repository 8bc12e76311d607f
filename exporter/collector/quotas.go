package collector

import (
	"strconv"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

func quotasSubject() Subject {
	entity := labels("user", "user_default", "client_id", "client_id_default", "ip", "ip_default")
	const origin = " From DescribeClientQuotas."
	quota := func(name, key, help string, scale float64) family {
		return sparse("entities with the quota", gauge(quotas, name, help+origin, none, entity, quotasOf(key, scale)))
	}
	return Subject{
		Title: "Client quotas",
		Note: "A quota's entity is told by the labels that are not empty; `user_default=\"true\"` is the default of all users, " +
			"while a user whose name reads `<default>` has it in `user`.",
		Families: []family{
			quota("kafka_client_quota_producer_bytes_per_second", "producer_byte_rate",
				"Bytes that the entity's clients may produce per second on each broker.", 1),
			quota("kafka_client_quota_consumer_bytes_per_second", "consumer_byte_rate",
				"Bytes that the entity's clients may fetch per second on each broker.", 1),
			quota("kafka_client_quota_request_ratio", "request_percentage",
				"Time on request and network threads that the entity's clients may use on each broker, as a ratio of one thread: 2 is two threads.", 0.01),
			quota("kafka_client_quota_controller_mutations_per_second", "controller_mutation_rate",
				"Partitions that the entity's clients may create or delete per second (KIP-599).", 1),
			quota("kafka_client_quota_connection_creations_per_second", "connection_creation_rate",
				"Connections that the IP address may open per second on each broker (KIP-612).", 1),
		},
	}
}

func quotasOf(key string, scale float64) render {
	return func(c *cluster, e *emitter) {
		if c.Quotas == nil {
			return
		}
		for i := range c.Quotas.Quotas {
			q := &c.Quotas.Quotas[i]
			if q.Key != key {
				continue
			}
			e.Add(scaled(q.Value, scale),
				partName(q.User), partDefault(q.User),
				partName(q.ClientID), partDefault(q.ClientID),
				partName(q.IP), partDefault(q.IP))
		}
	}
}

// scaled multiplies such that 70 × 0.01 is 0.7 and not 0.7000000000000001.
func scaled(v, scale float64) float64 {
	if scale == 1 {
		return v
	}
	s, err := strconv.ParseFloat(strconv.FormatFloat(v*scale, 'g', 12, 64), 64)
	if err != nil {
		return v * scale
	}
	return s
}

func partName(p snapshot.QuotaPart) string {
	if !p.Set || p.Default {
		return ""
	}
	return p.Name
}

func partDefault(p snapshot.QuotaPart) string {
	if p.Set && p.Default {
		return "true"
	}
	return ""
}
