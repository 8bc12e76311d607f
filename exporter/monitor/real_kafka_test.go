package monitor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// real is a monitor of a real cluster, with what tests need of it.
type real struct {
	*watched
	*kafkatest.Cluster
}

// TestKafka holds one monitor for each mode against kadm's own readings. The
// clusters are shared with other tests: only what a test made is looked at.
func TestKafka(t *testing.T) {
	for _, mode := range []kafkatest.Mode{kafkatest.KRaft4, kafkatest.KRaft39, kafkatest.ZK39} {
		t.Run(string(mode), func(t *testing.T) {
			c := kafkatest.Shared(t, mode)
			r := &real{watch(t, "real", c.Bootstrap(), "interval: 1s\nrequest_timeout: 10s\n"+eachSecond), c}
			for _, test := range []struct {
				name string
				run  func(*testing.T, *real)
			}{
				{"topology", realTopology},
				{"offsets and lag", realLag},
				{"no commit on some partitions", realUncommitted},
				{"log directories", realLogDirs},
				{"configurations", realConfigs},
				{"quotas", realQuotas},
				{"ACLs", realACLs},
				{"quorum", realQuorum},
				{"transaction marker", realMarker},
				{"open transaction", realOpenTransaction},
				{"group protocols", realProtocols},
				{"consumers die, group leaves a topic", realLifeOfGroups},
				{"seconds", realSeconds},
				{"records lost", realLost},
				{"no topic is created", realNoTopicCreated},
				{"complete", realComplete},
			} {
				t.Run(test.name, func(t *testing.T) { test.run(t, r.in(t)) })
			}
		})
	}
}

// eachSecond makes every collector due in each round.
const eachSecond = `
lag: {exact_groups: {include: ['exact-.*']}}
collectors:
  start_offsets: {interval: 1s}
  last_record: {enabled: true, interval: 1s}
  logdirs: {interval: 1s, timeout: 1s}
`

// in is the same monitor for a subtest.
func (r *real) in(t *testing.T) *real {
	w := *r.watched
	w.t = t
	return &real{&w, r.Cluster}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settled plays rounds until the scrape has all the series wanted.
func (r *real) settled(subject, lines string) *scraped {
	r.t.Helper()
	var s *scraped
	kafkatest.WaitFor(r.t, "the scrape to settle", 30*time.Second, func(context.Context) (bool, string) {
		r.play(1)
		if subject != "" {
			r.subjects(subject)
		}
		s = r.scrape()
		return s.has(lines)
	})
	return s
}

// has tells whether all lines are there, and which is not.
func (s *scraped) has(lines string) (bool, string) {
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		if line == "" {
			continue
		}
		var want float64
		if _, err := fmt.Sscan(line[i+1:], &want); err != nil {
			return false, err.Error()
		}
		if got, ok := s.values[line[:i]]; !ok || got != want {
			return false, fmt.Sprintf("want %s, have:\n%s", line, s.family(line))
		}
	}
	return true, ""
}

func realTopology(t *testing.T, r *real) {
	topic := r.Topic(t, 4, 2)
	md, err := r.Admin().Metadata(t.Context())
	must(t, err)
	r.play(1)
	s := r.scrape()
	mode := "zookeeper"
	if r.Mode().KRaft() {
		mode = "kraft"
	}
	s.want(fmt.Sprintf("kafka_cluster_info{cluster_id=%q,mode=%q} 1\nkafka_cluster_brokers %d", md.Cluster, mode, len(md.Brokers)))
	for _, b := range md.Brokers {
		info := s.of("kafka_broker_info", fmt.Sprintf(`broker="%d"`, b.NodeID), fmt.Sprintf(`rack="%s"`, *b.Rack), fmt.Sprintf(`host="%s"`, b.Host))
		if len(info) != 1 {
			t.Errorf("broker %d: %v", b.NodeID, s.of("kafka_broker_info"))
		}
		s.want(fmt.Sprintf("kafka_broker_up{broker=\"%d\"} 1\nkafka_broker_reachable{broker=\"%d\"} 1", b.NodeID, b.NodeID))
	}
	if !r.Mode().KRaft() {
		s.want(fmt.Sprintf("kafka_cluster_controller_broker %d", md.Controller))
	}
	for _, p := range md.Topics[topic].Partitions {
		l := fmt.Sprintf(`{partition="%d",topic="%s"}`, p.Partition, topic)
		s.want(fmt.Sprintf(`
			kafka_partition_leader_broker%[1]s %[2]d
			kafka_partition_replicas%[1]s %[3]d
			kafka_partition_in_sync_replicas%[1]s %[4]d
			kafka_partition_leaderless%[1]s 0
			kafka_partition_under_replicated%[1]s 0
		`, l, p.Leader, len(p.Replicas), len(p.ISR)))
	}
	s.want(fmt.Sprintf("kafka_topic_partitions{topic=%q} 4\nkafka_topic_replication_factor_min{topic=%q} 2\nkafka_topic_replication_factor_max{topic=%q} 2", topic, topic, topic))
}

func realLogDirs(t *testing.T, r *real) {
	ctx := t.Context()
	topic := r.Topic(t, 2, 2)
	must(t, r.Produce(ctx, topic, 0, 100, 1000))
	md, err := r.Admin().Metadata(ctx, topic)
	must(t, err)
	kafkatest.WaitFor(t, "followers to have everything", 20*time.Second, func(ctx context.Context) (bool, string) {
		r.play(1)
		r.subjects("logdirs")
		dirs, err := r.Admin().DescribeAllLogDirs(ctx, nil)
		if err != nil {
			return false, err.Error()
		}
		s := r.scrape()
		var lines strings.Builder
		var sum int64
		for broker, ds := range dirs {
			for path, d := range ds {
				fmt.Fprintf(&lines, "kafka_log_dir_online{broker=\"%d\",log_dir=%q} 1\n", broker, path)
				if ps := d.Topics[topic]; len(ps) > 0 {
					var size int64
					for _, p := range ps {
						size += p.Size
					}
					sum += size
					fmt.Fprintf(&lines, "kafka_log_dir_topic_size_bytes{broker=\"%d\",log_dir=%q,topic=%q} %d\n", broker, path, topic, size)
				}
			}
		}
		fmt.Fprintf(&lines, "kafka_topic_size_bytes{topic=%q} %d\nkafka_log_dirs_missing_brokers 0\n", topic, sum)
		if sum < int64(len(md.Topics[topic].Partitions[0].Replicas))*100_000 {
			return false, fmt.Sprintf("%d bytes", sum)
		}
		return s.has(lines.String())
	})
	s := r.scrape()
	if n := len(s.of("kafka_log_dir_total_bytes")); n != len(s.of("kafka_log_dir_online")) {
		t.Errorf("%d directories have a capacity, %d are there", n, len(s.of("kafka_log_dir_online")))
	}
	s.neverNegative()
}

func realConfigs(t *testing.T, r *real) {
	topic := kafkatest.UniqueName(t)
	must(t, r.CreateTopic(t.Context(), topic, 1, 2, map[string]string{
		"retention.ms": "60000", "retention.bytes": "-1", "min.insync.replicas": "2", "cleanup.policy": "compact,delete", "max.message.bytes": "12345", "segment.bytes": "1048576",
	}))
	t.Cleanup(func() { _, _ = r.Admin().DeleteTopics(context.Background(), topic) })
	s := r.settled("configs", fmt.Sprintf(`kafka_topic_config_min_insync_replicas{topic="%s"} 2`, topic))
	s.want(fmt.Sprintf(`
		kafka_topic_config_retention_seconds{topic="%[1]s"} 60
		kafka_topic_config_retention_bytes{topic="%[1]s"} +Inf
		kafka_topic_config_max_message_bytes{topic="%[1]s"} 12345
		kafka_topic_config_segment_bytes{topic="%[1]s"} 1048576
		kafka_topic_config_unclean_leader_election_enabled{topic="%[1]s"} 0
		kafka_topic_config_remote_storage_enabled{topic="%[1]s"} 0
	`, topic))
	if n := len(s.of("kafka_topic_info", `topic="`+topic+`"`, `cleanup_policy="compact,delete"`, `internal="false"`)); n != 1 {
		t.Errorf("info: %v", s.of("kafka_topic_info", `topic="`+topic+`"`))
	}
}

func realQuotas(t *testing.T, r *real) {
	user, none, literal := kafkatest.UniqueName(t), (*string)(nil), "<default>"
	client := user + "-client"
	part := func(typ string, name *string) kadm.ClientQuotaEntityComponent {
		return kadm.ClientQuotaEntityComponent{Type: typ, Name: name}
	}
	entries := func(remove bool) []kadm.AlterClientQuotaEntry {
		set := func(key string, v float64, parts ...kadm.ClientQuotaEntityComponent) kadm.AlterClientQuotaEntry {
			return kadm.AlterClientQuotaEntry{Entity: parts, Ops: []kadm.AlterClientQuotaOp{{Key: key, Value: v, Remove: remove}}}
		}
		return []kadm.AlterClientQuotaEntry{
			set("producer_byte_rate", 1e9, part("user", &user)),
			set("consumer_byte_rate", 2e9, part("user", &user), part("client-id", none)),
			set("request_percentage", 5000, part("user", none), part("client-id", &client)),
			set("producer_byte_rate", 3e9, part("user", &literal), part("client-id", &client)),
		}
	}
	_, err := r.Admin().AlterClientQuotas(t.Context(), entries(false))
	must(t, err)
	t.Cleanup(func() { _, _ = r.Admin().AlterClientQuotas(context.Background(), entries(true)) })
	r.settled("quotas", fmt.Sprintf(`
		kafka_client_quota_producer_bytes_per_second{client_id="",client_id_default="",ip="",ip_default="",user="%[1]s",user_default=""} 1000000000
		kafka_client_quota_consumer_bytes_per_second{client_id="",client_id_default="true",ip="",ip_default="",user="%[1]s",user_default=""} 2000000000
		kafka_client_quota_request_ratio{client_id="%[2]s",client_id_default="",ip="",ip_default="",user="",user_default="true"} 50
		kafka_client_quota_producer_bytes_per_second{client_id="%[2]s",client_id_default="",ip="",ip_default="",user="<default>",user_default=""} 3000000000
	`, user, client))
}

func realACLs(t *testing.T, r *real) {
	name := kafkatest.UniqueName(t)
	b := kadm.NewACLs().Topics(name).Allow("User:"+name).AllowHosts("*").Operations(kadm.OpRead, kadm.OpWrite).ResourcePatternType(kadm.ACLPatternPrefixed)
	_, err := r.Admin().CreateACLs(t.Context(), b)
	must(t, err)
	t.Cleanup(func() { _, _ = r.Admin().DeleteACLs(context.Background(), b) })
	kafkatest.WaitFor(t, "the entries to be counted", 20*time.Second, func(ctx context.Context) (bool, string) {
		r.subjects("acls")
		s := r.scrape()
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeTopic, kmsg.ACLResourcePatternTypePrefixed
		req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAllow
		res, err := req.RequestWith(ctx, r.Client(t))
		if err != nil {
			return false, err.Error()
		}
		n := 0
		for _, resource := range res.Resources {
			n += len(resource.ACLs)
		}
		if n < 2 {
			return false, fmt.Sprintf("Kafka knows %d", n)
		}
		return s.has(fmt.Sprintf("kafka_acls{pattern_type=\"PREFIXED\",permission=\"ALLOW\",resource_type=\"TOPIC\"} %d\nkafka_authorizer_enabled 1", n))
	})
}

func realQuorum(t *testing.T, r *real) {
	r.play(1)
	r.subjects("quorum")
	s := r.scrape()
	if !r.Mode().KRaft() {
		s.want(`kafka_steward_collector_unsupported{collector="quorum"} 1`)
		s.none("kafka_quorum_leader_id")
		return
	}
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	res, err := req.RequestWith(t.Context(), r.Client(t))
	must(t, err)
	p := res.Topics[0].Partitions[0]
	s.want(fmt.Sprintf("kafka_quorum_leader_id %d\nkafka_quorum_leader_epoch %d\nkafka_cluster_controller_broker %d", p.LeaderID, p.LeaderEpoch, p.LeaderID))
	if n := len(s.of("kafka_quorum_replica_log_end_offset", `role="voter"`)); n != len(p.CurrentVoters) {
		t.Errorf("%d voters, want %d", n, len(p.CurrentVoters))
	}
	if hw := s.values["kafka_quorum_high_watermark"]; hw < 1 || hw > float64(p.HighWatermark) {
		t.Errorf("high watermark %v, a moment later %d", hw, p.HighWatermark)
	}
}

func realOpenTransaction(t *testing.T, r *real) {
	ctx := t.Context()
	topic := r.Topic(t, 1, 1)
	cl := r.Client(t, kgo.TransactionalID(topic+"-tx"))
	must(t, cl.BeginTransaction())
	for range 3 {
		must(t, cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr())
	}
	l := fmt.Sprintf(`{partition="0",topic="%s"}`, topic)
	s := r.settled("transactions", fmt.Sprintf(`
		kafka_partition_end_offset%[1]s 3
		kafka_partition_stable_offset%[1]s 0
		kafka_partition_open_transactions%[1]s 1
		kafka_partition_hanging_transactions%[1]s 0
	`, l))
	if s.values[`kafka_transactions{state="Ongoing"}`] < 1 {
		t.Errorf("transactions: %v", s.of("kafka_transactions"))
	}
	must(t, cl.EndTransaction(ctx, kgo.TryAbort))
	s = r.settled("transactions", fmt.Sprintf("kafka_partition_stable_offset%[1]s 4", l))
	s.none("kafka_partition_open_transactions", `topic="`+topic+`"`)
}

// Brokers create topics by themselves here: nothing that we ask makes them.
func realNoTopicCreated(t *testing.T, r *real) {
	ctx := t.Context()
	missing := kafkatest.UniqueName(t)
	w := watch(t, "names", r.Bootstrap(), "interval: 1s\ntopics: {include: ["+missing+", also-"+missing+"]}\n"+eachSecond)
	w.play(2)
	w.subjects()
	s := w.scrape()
	s.want(`kafka_steward_missing_items{collector="topology"} 2`)
	topics, err := r.Admin().ListTopics(ctx)
	must(t, err)
	for name := range topics {
		if strings.Contains(name, missing) {
			t.Errorf("the topic %s was created", name)
		}
	}
}

// After all of that every collector is complete, on all brokers of all modes.
func realComplete(t *testing.T, r *real) {
	var last *scraped
	kafkatest.WaitFor(t, "every collector to be complete", 30*time.Second, func(context.Context) (bool, string) {
		r.all()
		last = r.scrape()
		var lacking []string
		for k, v := range last.values {
			if strings.HasPrefix(k, "kafka_steward_collector_success{") && v != 1 || strings.HasPrefix(k, "kafka_steward_missing_items{") && v != 0 {
				lacking = append(lacking, fmt.Sprintf("%s %v", k, v))
			}
		}
		for _, c := range r.Snapshot().Collectors {
			for _, m := range c.Missing {
				lacking = append(lacking, c.Name+": "+m.What+": "+m.Err)
			}
		}
		slices.Sort(lacking)
		return len(lacking) == 0, strings.Join(lacking, "\n")
	})
	last.neverNegative()
	checkByPromtool(t, last.text)
}
