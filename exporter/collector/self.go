package collector

import (
	"maps"
	"slices"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

func selfSubject() Subject {
	return Subject{
		Title: "The exporter itself",
		Note: "Every enabled collector has these from the start. A collector that never ran or never succeeded has a timestamp of 0. " +
			"Absence of data is never health: alert on these.",
		Families: append(append(collectorFamilies(), rpcFamilies()...), exposition.Accounting()...),
	}
}

var byCollector = labels("collector")

func collectorFamilies() []family {
	type status = snapshot.CollectorStatus
	return []family{
		gauge(self, "kafka_steward_collector_success",
			"1 if the collector's last run read what it was to, in part at least.",
			min1, byCollector, statuses(func(s *status, e *emitter) { e.Bool(s.Success, s.Name) })),
		gauge(self, "kafka_steward_collector_partial",
			"1 if the collector's last run could not read everything, see kafka_steward_missing_items.",
			most, byCollector, statuses(func(s *status, e *emitter) { e.Bool(s.Partial, s.Name) })),
		gauge(self, "kafka_steward_collector_denied",
			"1 if the cluster's ACLs refused the collector's last run.",
			most, byCollector, statuses(func(s *status, e *emitter) { e.Bool(s.Denied, s.Name) })),
		gauge(self, "kafka_steward_collector_unsupported",
			"1 if the cluster does not offer what the collector needs.",
			most, byCollector, statuses(func(s *status, e *emitter) { e.Bool(s.Unsupported, s.Name) })),
		gauge(self, "kafka_steward_collector_duration_seconds",
			"Duration of the collector's last run.",
			most, byCollector, statuses(func(s *status, e *emitter) { e.Add(s.Duration.Seconds(), s.Name) })),
		gauge(self, "kafka_steward_collector_interval_seconds",
			"How often the collector runs.",
			most, byCollector, statuses(func(s *status, e *emitter) { e.Add(s.Interval.Seconds(), s.Name) })),
		gauge(self, "kafka_steward_collector_last_run_timestamp_seconds",
			"Unix time of the collector's last run, 0 if there was none.",
			min1, byCollector, statuses(func(s *status, e *emitter) { e.Millis(unixMilli(s.LastRun), s.Name) })),
		gauge(self, "kafka_steward_collector_last_success_timestamp_seconds",
			"Unix time of the collector's last successful run, 0 if there was none. What is older than its limit is not exported any more.",
			min1, byCollector, statuses(func(s *status, e *emitter) { e.Millis(unixMilli(s.LastSuccess), s.Name) })),
		counter(self, "kafka_steward_collector_errors_total",
			"Errors of a collector since the exporter started, by class: auth, tls, acl, timeout, network, unsupported, other.",
			labels("collector", "reason"), renderErrors),
		gauge(self, "kafka_steward_missing_items",
			"Things that the collector's last run could not read.",
			sum, byCollector, statuses(func(s *status, e *emitter) { e.Int(int64(len(s.Missing)), s.Name) })),
		sparse("brokers of which something is missing", gauge(self, "kafka_steward_broker_missing",
			"1 if the collector's last run could not read something from the broker.",
			sum, labels("collector", "broker"), renderMissingBrokers)),
		sparse("kinds of names that occur", gauge(self, "kafka_steward_renamed_labels",
			"Names from Kafka that are not valid UTF-8 and are shown with the bytes made visible, by kind of name.",
			sum, labels("kind"), func(c *cluster, e *emitter) {
				for _, kind := range slices.Sorted(maps.Keys(c.RenamedLabels)) {
					e.Int(int64(c.RenamedLabels[kind]), kind)
				}
			})),
	}
}

func statuses(emit func(*snapshot.CollectorStatus, *emitter)) render {
	return func(c *cluster, e *emitter) {
		for i := range c.Collectors {
			emit(&c.Collectors[i], e)
		}
	}
}

// unixMilli is 0 for a time that never was.
func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// reasons are the classes of errors, all present from the start.
var reasons = []string{"auth", "tls", "acl", "timeout", "network", "unsupported", "other"}

func renderErrors(c *cluster, e *emitter) {
	for i := range c.Collectors {
		s := &c.Collectors[i]
		for _, r := range reasons {
			e.Int(int64(s.Errors[r]), s.Name, r)
		}
		for _, r := range slices.Sorted(maps.Keys(s.Errors)) {
			if !slices.Contains(reasons, r) {
				e.Int(int64(s.Errors[r]), s.Name, r)
			}
		}
	}
}

func renderMissingBrokers(c *cluster, e *emitter) {
	for i := range c.Collectors {
		s := &c.Collectors[i]
		var ids []int32
		for _, m := range s.Missing {
			if m.Broker >= 0 {
				ids = append(ids, m.Broker)
			}
		}
		slices.Sort(ids)
		for _, broker := range slices.Compact(ids) {
			e.Int(1, s.Name, exposition.Itoa(broker))
		}
	}
}

func rpcFamilies() []family {
	return []family{
		counter(self, "kafka_steward_rpcs_total",
			"Requests to the cluster since the exporter started, by name of the API, failed ones included.",
			labels("api"), func(c *cluster, e *emitter) {
				for api, counts := range rpcs(c) {
					n := uint64(0)
					for i := range counts {
						n += counts[i].Count
					}
					e.Int(int64(n), api)
				}
			}),
		counter(self, "kafka_steward_rpc_errors_total",
			"Failed requests to the cluster since the exporter started, by name of the API and class of error.",
			labels("api", "reason"), renderRPCErrors),
		counter(self, "kafka_steward_rpc_seconds_total",
			"Time spent in requests to the cluster since the exporter started, by name of the API.",
			labels("api"), func(c *cluster, e *emitter) {
				for api, counts := range rpcs(c) {
					s := 0.0
					for i := range counts {
						s += counts[i].Seconds
					}
					e.Add(s, api)
				}
			}),
	}
}

// rpcs walks the counts of requests by API.
func rpcs(c *cluster) func(yield func(string, []snapshot.RPCCount) bool) {
	return func(yield func(string, []snapshot.RPCCount) bool) {
		for rest := c.RPCs; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].API == rest[0].API {
				n++
			}
			if !yield(rest[0].API, rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

func renderRPCErrors(c *cluster, e *emitter) {
	for api, counts := range rpcs(c) {
		count := func(reason string) (n uint64) {
			for i := range counts {
				if counts[i].Class == reason {
					n += counts[i].Count
				}
			}
			return n
		}
		for _, r := range reasons {
			e.Int(int64(count(r)), api, r)
		}
		for i := range counts {
			if r := counts[i].Class; r != "" && !slices.Contains(reasons, r) {
				e.Int(int64(counts[i].Count), api, r)
			}
		}
	}
}
