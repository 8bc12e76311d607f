package monitor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// alice is a monitor that logs in as a user without any rights but those that
// a test grants.
func alice(t *testing.T, c *kafkatest.Cluster, yaml string) *real {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(file, []byte(kafkatest.Password("alice")), 0o600))
	return &real{watch(t, "few-rights", c.BootstrapFor(kafkatest.ListenerSASLPlaintext), fmt.Sprintf(`
interval: 1s
request_timeout: 5s
sasl: {mechanism: PLAIN, username: alice, password_file: %q}
`, file)+yaml), c}
}

// grant gives alice a right on all or one resource of a kind and returns how to
// take it back.
func grant(t *testing.T, c *kafkatest.Cluster, operation, kind, name string) (revoke func()) {
	t.Helper()
	b := kadm.NewACLs().Allow("User:alice").AllowHosts("*").ResourcePatternType(kadm.ACLPatternLiteral)
	switch kind {
	case "Topic":
		b = b.Topics(name)
	case "Group":
		b = b.Groups(name)
	case "Cluster":
		b = b.Clusters()
	case "TransactionalId":
		b = b.TransactionalIDs(name)
	default:
		t.Fatalf("unknown resource %q", kind)
	}
	switch operation {
	case "Describe":
		b = b.Operations(kadm.OpDescribe)
	case "DescribeConfigs":
		b = b.Operations(kadm.OpDescribeConfigs)
	case "Read":
		b = b.Operations(kadm.OpRead)
	default:
		t.Fatalf("unknown operation %q", operation)
	}
	results, err := c.Admin().CreateACLs(t.Context(), b)
	must(t, err)
	for _, r := range results {
		must(t, r.Err)
	}
	return func() {
		_, err := c.Admin().DeleteACLs(context.WithoutCancel(t.Context()), b)
		must(t, err)
	}
}

// Few rights: C-19, and the list of rights that the documentation gives.
func TestKafkaACLs(t *testing.T) {
	c := kafkatest.Private(t, kafkatest.Options{Brokers: 1})
	ctx := t.Context()
	for _, topic := range []string{"a", "b", "c"} {
		must(t, c.CreateTopic(ctx, topic, 1, 1, nil))
		must(t, c.Produce(ctx, topic, 0, 10, 10))
	}
	for _, group := range []string{"g1", "g2"} {
		must(t, c.Commit(ctx, group, map[string]map[int32]int64{"a": {0: 4}, "b": {0: 5}}))
	}
	user := "alice"
	_, err := c.Admin().AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: "user", Name: &user}}, Ops: []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: 1e9}},
	}})
	must(t, err)
	tx := c.Client(t, kgo.TransactionalID("tx"))
	must(t, tx.BeginTransaction())
	must(t, tx.ProduceSync(ctx, &kgo.Record{Topic: "c", Value: []byte("x")}).FirstErr())
	t.Run("few", func(t *testing.T) { fewRights(t, c) })
	t.Run("minimal", func(t *testing.T) { minimalRights(t, c) })
	t.Run("wrong password", func(t *testing.T) { wrongPassword(t, c) })
}

// C-19: rights on topic a and group g1 only.
func fewRights(t *testing.T, c *kafkatest.Cluster) {
	r := alice(t, c, "topics: {include: [a, b]}")
	defer grant(t, c, "Describe", "Topic", "a")()
	defer grant(t, c, "Describe", "Group", "g1")()
	few := `
		kafka_partition_end_offset{partition="0",topic="a"} 10
		kafka_group_lag_records{group="g1",partition="0",topic="a"} 6
		kafka_group_members{group="g1"} 0
		kafka_topic_error{error="TOPIC_AUTHORIZATION_FAILED",topic="b"} 1
		kafka_steward_collector_success{collector="topology"} 1
		kafka_steward_collector_partial{collector="topology"} 1
		kafka_steward_collector_success{collector="offsets"} 1
		kafka_steward_collector_success{collector="groups"} 1
		kafka_steward_collector_partial{collector="groups"} 0
	`
	var s *scraped
	kafkatest.WaitFor(t, "the few rights to hold", 20*time.Second, func(context.Context) (bool, string) {
		r.all()
		s = r.scrape()
		return s.has(few)
	})
	for _, name := range []string{"logdirs", "reassignments", "quotas", "acls", "quorum"} {
		s.want(fmt.Sprintf(`
			kafka_steward_collector_denied{collector="%[1]s"} 1
			kafka_steward_collector_success{collector="%[1]s"} 0
		`, name))
		if s.values[fmt.Sprintf(`kafka_steward_collector_errors_total{collector="%s",reason="acl"}`, name)] < 1 {
			t.Errorf("no denial of %s is counted", name)
		}
	}
	s.nothingAbout("g2")
	s.nothingAbout("c")
	s.none("kafka_group_lag_records", `topic="b"`)
	s.none("kafka_log_dir_online")
	s.none("kafka_reassignment_partitions")
	checkByPromtool(t, s.text)

	// Granting heals it, without a restart.
	defer grant(t, c, "Describe", "Topic", "b")()
	defer grant(t, c, "Describe", "Group", "g2")()
	defer grant(t, c, "Describe", "Cluster", "")()
	defer grant(t, c, "DescribeConfigs", "Cluster", "")()
	kafkatest.WaitFor(t, "the new rights to be used", 20*time.Second, func(context.Context) (bool, string) {
		r.all()
		s = r.scrape()
		return s.has(`
			kafka_group_lag_records{group="g1",partition="0",topic="b"} 5
			kafka_group_lag_records{group="g2",partition="0",topic="a"} 6
			kafka_steward_collector_partial{collector="topology"} 0
			kafka_steward_collector_denied{collector="logdirs"} 0
			kafka_steward_collector_denied{collector="reassignments"} 0
			kafka_steward_collector_denied{collector="quotas"} 0
			kafka_steward_collector_denied{collector="acls"} 0
			kafka_steward_collector_denied{collector="quorum"} 0
			kafka_log_dir_online{broker="1",log_dir="` + c.Broker(1).LogDirs()[0] + `"} 1
			kafka_reassignment_partitions 0
		`)
	})
	s.none("kafka_topic_error")
}

// aclIn finds "Describe on Topic" and the like in what CollectorInfos says.
var aclIn = regexp.MustCompile(`(\w+) on (\w+)`)

// evidence is a series that a collector gives with its rights, and not without.
var evidence = map[string]string{
	"topology":       `kafka_topic_partitions{topic="a"} 1`,
	"offsets":        `kafka_partition_end_offset{partition="0",topic="a"} 10`,
	"start_offsets":  `kafka_partition_start_offset{partition="0",topic="a"} 0`,
	"stable_offsets": `kafka_partition_stable_offset{partition="0",topic="a"} 10`,
	"last_record":    ``, // the time is not known
	"groups":         `kafka_group_lag_records{group="g1",partition="0",topic="a"} 6`,
	"logdirs":        `kafka_log_dirs_missing_brokers 0`,
	"configs":        `kafka_topic_config_min_insync_replicas{topic="a"} 1`,
	"reassignments":  `kafka_reassignment_partitions 0`,
	"quotas":         `kafka_client_quota_producer_bytes_per_second{client_id="",client_id_default="",ip="",ip_default="",user="alice",user_default=""} 1000000000`,
	"transactions":   "kafka_transactions{state=\"Ongoing\"} 1\nkafka_partition_open_transactions{partition=\"0\",topic=\"c\"} 1",
	"acls":           `kafka_authorizer_enabled 1`,
	"quorum":         `kafka_quorum_leader_id 1`,
}

// The rights that CollectorInfos lists are enough for each collector, and each
// of them is needed.
func minimalRights(t *testing.T, c *kafkatest.Cluster) {
	for _, info := range config.CollectorInfos() {
		t.Run(info.Name, func(t *testing.T) {
			want, ok := evidence[info.Name]
			if !ok {
				t.Fatalf("nothing says what the collector %s shows", info.Name)
			}
			rights := aclIn.FindAllStringSubmatch(info.ACLs, -1)
			if len(rights) == 0 {
				t.Fatalf("no rights found in %q", info.ACLs)
			}
			// A fresh monitor each: nothing remembered from before.
			complete := func(r *real) (bool, string) {
				// Those that topic data needs stand on the topology, which has to see
				// the topics first.
				r.round(t.Context())
				r.subjects()
				s := r.scrape()
				if ok, detail := s.has(want); !ok {
					return false, detail
				}
				if info.Name == "last_record" && len(s.of("kafka_partition_last_record_timestamp_seconds", `topic="a"`)) != 1 {
					return false, "no timestamp of the last record"
				}
				return s.has(fmt.Sprintf(`
					kafka_steward_collector_success{collector="%[1]s"} 1
					kafka_steward_collector_denied{collector="%[1]s"} 0
					kafka_steward_missing_items{collector="%[1]s"} 0
				`, info.Name))
			}
			monitor := func() *real {
				return alice(t, c, "lag: {exact_groups: {include: [none]}}\ncollectors:\n  last_record: {enabled: true, interval: 1s}\n  start_offsets: {interval: 1s}\n")
			}
			var revoke []func()
			for _, right := range rights {
				if right[0] == "Read on Topic" && info.Name == "groups" {
					continue // for lag.exact_groups only
				}
				revoke = append(revoke, grant(t, c, right[1], right[2], "*"))
			}
			r := monitor()
			kafkatest.WaitFor(t, "the collector to be complete with "+info.ACLs, 20*time.Second, func(context.Context) (bool, string) { return complete(r) })
			// Without any one of them it is not.
			for i, right := range rights[:len(revoke)] {
				revoke[i]()
				kafkatest.WaitFor(t, "the collector to lack something without "+right[0], 20*time.Second, func(context.Context) (bool, string) {
					ok, _ := complete(monitor())
					return !ok, "it is complete: the right is not needed"
				})
				if i < len(revoke)-1 {
					revoke[i] = grant(t, c, right[1], right[2], "*")
				}
			}
			for i := range len(revoke) - 1 {
				revoke[i]()
			}
		})
	}
}

// A wrong password is told as such, on all collectors, and the right one heals it.
func wrongPassword(t *testing.T, c *kafkatest.Cluster) {
	defer grant(t, c, "Describe", "Topic", "a")()
	r := alice(t, c, "")
	file := r.cfg.SASL.PasswordFile
	must(t, os.WriteFile(file, []byte("not-hers"), 0o600))
	if r.round(t.Context()) {
		t.Error("a round with a wrong password succeeded")
	}
	if _, detail := r.Ready(); !strings.HasPrefix(detail, "not collecting (auth)") || strings.Contains(detail, "not-hers") {
		t.Errorf("detail: %s", detail)
	}
	r.scrape().want(`
		kafka_steward_collector_success{collector="topology"} 0
		kafka_steward_collector_denied{collector="topology"} 0
	`)
	must(t, os.WriteFile(file, []byte(kafkatest.Password("alice")), 0o600))
	kafkatest.WaitFor(t, "the right password to be used", 20*time.Second, func(context.Context) (bool, string) {
		r.round(t.Context())
		_, detail := r.Ready()
		return detail == "collecting", detail
	})
}
