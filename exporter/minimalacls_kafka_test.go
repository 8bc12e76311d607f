package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// shows is a series of each collector, by its beginning, that the collector's
// ACLs bring about; beside, whether it is not there without them.
var shows = map[string]struct {
	series string
	hidden bool
}{
	"topology":       {`kafka_topic_partitions{topic="orders"}`, false},
	"offsets":        {`kafka_partition_end_offset{topic="orders"`, false},
	"start_offsets":  {`kafka_partition_start_offset{topic="orders"`, false},
	"stable_offsets": {`kafka_partition_stable_offset{topic="orders"`, false},
	"last_record":    {`kafka_partition_last_record_timestamp_seconds{topic="orders"`, false},
	"groups":         {`kafka_group_lag_records{group="readers"`, true},
	"logdirs":        {`kafka_log_dir_online{broker="1"`, true},
	"configs":        {`kafka_topic_config_retention_seconds{topic="orders"`, true},
	"reassignments":  {"kafka_reassignment_partitions", true},
	"quotas":         {`kafka_client_quota_producer_bytes_per_second{user="quoted"`, true},
	"transactions":   {`kafka_partition_open_transactions{topic="orders",partition="1"`, true},
	"acls":           {`kafka_acls{resource_type="TOPIC"`, true},
	"quorum":         {"kafka_quorum_leader_id", true},
}

// minimalACLs proves the list in the documentation: with the ACLs of a
// collector, and those of topology, the collector lacks nothing; without them
// it does (C-19).
func (s *secure) minimalACLs(t *testing.T) {
	ctx := t.Context()
	name := "quoted"
	_, err := s.Admin().AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: "user", Name: &name}}, Ops: []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: 1e6}},
	}})
	must(t, err)
	open := s.Client(t, kgo.TransactionalID("open"), kgo.TransactionTimeout(10*time.Minute), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	must(t, open.BeginTransaction())
	must(t, open.ProduceSync(ctx, &kgo.Record{Topic: "orders", Partition: 1, Value: []byte("x")}).FirstErr())

	topology, ok := config.LookupCollector("topology")
	if !ok {
		t.Fatal("there is no collector topology")
	}
	var upserts []kadm.UpsertSCRAM
	var sections []string
	for _, c := range config.CollectorInfos() {
		user := "acl-" + c.Name
		upserts = append(upserts, kadm.UpsertSCRAM{User: user, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: kafkatest.Password(user)})
		s.grantDocumented(t, user, topology.ACLs)
		on := strings.Replace(only("topology", "offsets", "stable_offsets", c.Name), c.Name+": {", c.Name+": {interval: 1s, ", 1)
		sections = append(sections, section(user, s.BootstrapFor(kafkatest.ListenerSASLPlaintext),
			saslYAML("SCRAM-SHA-512", user, s.file(t, user, kafkatest.Password(user))), on))
	}
	altered, err := s.Admin().AlterUserSCRAMs(ctx, nil, upserts)
	must(t, err)
	must(t, altered.Error())

	p := launch(t, sections...)
	for _, c := range config.CollectorInfos() {
		untilRun(t, p, c.Name)
		if s := scrape(t, p).of("acl-" + c.Name); shows[c.Name].hidden && len(s.with(shows[c.Name].series)) > 0 {
			t.Errorf("%s shows %v without its ACLs: the documentation asks for too much", c.Name, s.with(shows[c.Name].series))
		}
	}
	for _, c := range config.CollectorInfos() {
		s.grantDocumented(t, "acl-"+c.Name, c.ACLs)
	}
	for _, c := range config.CollectorInfos() {
		until(t, p, "collector "+c.Name+" to lack nothing with "+c.ACLs, 30*time.Second, func(all scraped) (bool, string) {
			s, of := all.of("acl-"+c.Name), fmt.Sprintf("{collector=%q}", c.Name)
			ok := s.is("kafka_steward_collector_success"+of, 1) && s.is("kafka_steward_collector_denied"+of, 0) &&
				s.is("kafka_steward_missing_items"+of, 0) && len(s.with(shows[c.Name].series)) > 0
			return ok, fmt.Sprint(s.with(shows[c.Name].series), s.with("kafka_steward_missing_items"), s.with("kafka_steward_collector_denied"))
		})
	}
}

// untilRun waits until a collector has been run, whatever came out.
func untilRun(t *testing.T, p *process, collector string) {
	t.Helper()
	until(t, p, "a run of "+collector, 30*time.Second, func(all scraped) (bool, string) {
		s := all.of("acl-" + collector)
		return s.is(`kafka_steward_collector_success{collector="stable_offsets"}`, 1) &&
			s.series[fmt.Sprintf("kafka_steward_collector_last_run_timestamp_seconds{collector=%q}", collector)] > 0, ""
	})
}

var documentedACL = regexp.MustCompile(`^(Describe|DescribeConfigs|Read) on (Topic|Group|Cluster|TransactionalId)( .*)?$`)

// grantDocumented gives the user what the documentation of a collector lists,
// except for what it needs for options only.
func (s *secure) grantDocumented(t *testing.T, user, acls string) {
	t.Helper()
	for text := range strings.SplitSeq(acls, "; ") {
		m := documentedACL.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("the ACL %q is not understood", text)
		}
		if strings.HasPrefix(m[3], " for ") {
			continue
		}
		b := kadm.NewACLs()
		switch m[2] {
		case "Topic":
			b = b.Topics("*")
		case "Group":
			b = b.Groups("*")
		case "Cluster":
			b = b.Clusters()
		case "TransactionalId":
			b = b.TransactionalIDs("*")
		}
		s.grant(t, user, b.Operations(map[string]kadm.ACLOperation{
			"Describe": kadm.OpDescribe, "DescribeConfigs": kadm.OpDescribeConfigs, "Read": kadm.OpRead,
		}[m[1]]))
	}
}
