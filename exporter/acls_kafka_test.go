package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// fewACLs: a principal that may see little gets all of that little, is told
// what it lacks, and asks for nothing that the configuration excludes (C-19).
func (s *secure) fewACLs(t *testing.T) {
	ctx := t.Context()
	for _, topic := range []string{"seen", "denied", "hidden-1"} {
		must(t, s.CreateTopic(ctx, topic, 1, 1, nil))
		must(t, s.Produce(ctx, topic, 0, 10, 10))
	}
	must(t, s.Commit(ctx, "g1", map[string]map[int32]int64{"seen": {0: 3}}))
	must(t, s.Commit(ctx, "g2", map[string]map[int32]int64{"denied": {0: 3}}))
	s.grant(t, "alice", kadm.NewACLs().Topics("seen").Groups("g1").Operations(kadm.OpDescribe))

	sasl := []string{s.BootstrapFor(kafkatest.ListenerSASLPlaintext), saslYAML("PLAIN", "alice", s.file(t, "alice", kafkatest.Password("alice")))}
	p := launch(t,
		section("named", sasl[0], sasl[1], often(), "topics: {include: [seen, denied]}"),
		section("rest", sasl[0], sasl[1], often(), "topics: {exclude: ['hidden-.*', '__.*']}"),
	)
	lag := `kafka_group_lag_records{group="g1",topic="seen",partition="0"}`
	for _, name := range []string{"named", "rest"} {
		untilOf(t, p, name, lag, 7)
		untilOf(t, p, name, `kafka_partition_end_offset{topic="seen",partition="0"}`, 10)
		for _, collector := range []string{"logdirs", "reassignments", "quotas", "acls", "quorum"} {
			untilOf(t, p, name, fmt.Sprintf("kafka_steward_collector_denied{collector=%q}", collector), 1)
		}
		for _, collector := range []string{"topology", "offsets", "groups", "stable_offsets", "start_offsets"} {
			untilOf(t, p, name, fmt.Sprintf("kafka_steward_collector_success{collector=%q}", collector), 1)
		}
	}
	untilOf(t, p, "named", `kafka_topic_error{topic="denied",error="TOPIC_AUTHORIZATION_FAILED"}`, 1)
	now := scrape(t, p)
	if named := now.of("named"); len(named.with("kafka_log_dir_")) > 0 || len(named.with("kafka_client_quota_")) > 0 || len(named.with("kafka_reassignment_")) > 0 {
		t.Errorf("what is denied is shown as if it were known: %v %v", named.with("kafka_log_dir_"), named.with("kafka_reassignment_"))
	}
	if len(now.of("named").with(`kafka_partition_end_offset{topic="denied"`)) > 0 || len(now.of("rest").with("kafka_topic_error")) > 0 {
		t.Error("the denied topic has offsets, or is an error where it was not asked for")
	}
	s.noDenialOf(t, "hidden-1", "__consumer_offsets", "g2")

	s.grant(t, "alice", kadm.NewACLs().Topics("denied").Groups("g2").Operations(kadm.OpDescribe))
	s.grant(t, "alice", kadm.NewACLs().Topics("*").Operations(kadm.OpDescribeConfigs, kadm.OpRead))
	s.grant(t, "alice", kadm.NewACLs().Clusters().Operations(kadm.OpDescribe, kadm.OpDescribeConfigs))
	untilOf(t, p, "named", `kafka_group_lag_records{group="g2",topic="denied",partition="0"}`, 7)
	for _, collector := range []string{"logdirs", "reassignments", "quotas", "acls", "quorum", "configs", "transactions"} {
		untilOf(t, p, "named", fmt.Sprintf("kafka_steward_collector_denied{collector=%q}", collector), 0)
		untilOf(t, p, "named", fmt.Sprintf("kafka_steward_collector_success{collector=%q}", collector), 1)
		untilOf(t, p, "named", fmt.Sprintf("kafka_steward_missing_items{collector=%q}", collector), 0)
	}
	if got := scrape(t, p).of("named").with("kafka_topic_error"); len(got) > 0 {
		t.Errorf("the granted topic is still an error: %v", got)
	}
}

func (s *secure) grant(t *testing.T, user string, b *kadm.ACLBuilder) {
	t.Helper()
	results, err := s.Admin().CreateACLs(t.Context(), b.Allow("User:"+user).AllowHosts("*").ResourcePatternType(kadm.ACLPatternLiteral))
	must(t, err)
	for _, r := range results {
		must(t, r.Err)
	}
}

// noDenialOf looks into the authorizer's log, which is part of the broker's.
func (s *secure) noDenialOf(t *testing.T, names ...string) {
	t.Helper()
	denials := 0
	kafkatest.WaitFor(t, "a denial in the broker's log", 10*time.Second, func(context.Context) (bool, string) {
		log, err := os.ReadFile(s.Broker(1).ServerLog())
		must(t, err)
		denials = 0
		for line := range strings.Lines(string(log)) {
			if !strings.Contains(line, "User:alice") || !strings.Contains(line, "Denied") {
				continue
			}
			denials++
			for _, name := range names {
				if strings.Contains(line, ":LITERAL:"+name) {
					t.Errorf("asked for what is excluded: %s", line)
				}
			}
		}
		return denials > 0, "none"
	})
	t.Logf("%d denials in the log, none for %v", denials, names)
}
