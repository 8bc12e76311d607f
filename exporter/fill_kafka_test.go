package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// bedTopics are the topics of the golden scrape. Leaders are the first replicas;
// the internal ones are made by hand, so that nothing about them is by chance.
var bedTopics = []struct {
	name     string
	replicas [][]int32
	configs  map[string]string
	records  []int // by partition, 100 bytes each
}{
	{"__consumer_offsets", rotated(6), map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}, nil},
	{"__transaction_state", rotated(4), map[string]string{"cleanup.policy": "compact", "compression.type": "uncompressed", "segment.bytes": "104857600", "min.insync.replicas": "2", "unclean.leader.election.enable": "false"}, nil},
	{"orders", [][]int32{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}, {1, 3, 2}}, map[string]string{"min.insync.replicas": "2", "retention.ms": "86400000"}, []int{30, 0, 40, 5}},
	{"customers", [][]int32{{2, 3}, {3, 1}}, map[string]string{"cleanup.policy": "compact", "max.message.bytes": "65536"}, []int{12, 7}},
	{"metrics.raw", [][]int32{{3}}, map[string]string{"retention.bytes": "1073741824", "segment.bytes": "16777216"}, []int{9}},
	{"payments", [][]int32{{1, 2}}, nil, []int{3}},
	{"moving", [][]int32{{1, 2}}, nil, nil},
}

// rotated gives n partitions three replicas each, leaders in turn.
func rotated(n int) [][]int32 {
	var out [][]int32
	for i := range int32(n) {
		out = append(out, []int32{i%3 + 1, (i+1)%3 + 1, (i+2)%3 + 1})
	}
	return out
}

// bed is what was started to stay while the cluster is looked at.
type bed struct {
	*kafkatest.Cluster
	t testing.TB
}

// fill brings a fresh cluster of three brokers into the state of the golden
// scrape, the same in every run.
func fill(t testing.TB, c *kafkatest.Cluster) *bed {
	b := &bed{c, t}
	ctx, began := t.Context(), time.Now()
	for _, topic := range bedTopics {
		b.pin(topic.name, topic.replicas)
		must(t, c.CreateTopicAssigned(ctx, topic.name, topic.replicas, topic.configs))
		for p, n := range topic.records {
			b.produce(topic.name, int32(p), n, 100)
		}
	}
	for _, step := range []func(){b.groups, b.openTransaction, b.acls, b.move, b.quotas} {
		step()
	}
	t.Logf("the cluster was filled in %v", time.Since(began).Round(time.Second/10))
	return b
}

// pin says in which log directory the replicas of a topic will be made: the
// brokers' own choice is not the same in every run. Brokers answer that the
// replica is not there yet, and remember.
func (b *bed) pin(topic string, replicas [][]int32) {
	for _, broker := range b.Brokers() {
		req := kmsg.NewPtrAlterReplicaLogDirsRequest()
		for p := range replicas {
			dir := kmsg.NewAlterReplicaLogDirsRequestDir()
			dir.Dir = broker.LogDirs()[p%2]
			dir.Topics = []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: topic, Partitions: []int32{int32(p)}}}
			req.Dirs = append(req.Dirs, dir)
		}
		merge(req)
		_, err := b.client().Broker(broker.ID()).Request(b.t.Context(), req)
		must(b.t, err)
	}
}

// merge puts the partitions of a directory together.
func merge(req *kmsg.AlterReplicaLogDirsRequest) {
	at := map[string]int{}
	var out []kmsg.AlterReplicaLogDirsRequestDir
	for _, d := range req.Dirs {
		i, ok := at[d.Dir]
		if !ok {
			at[d.Dir] = len(out)
			out = append(out, d)
			continue
		}
		out[i].Topics[0].Partitions = append(out[i].Topics[0].Partitions, d.Topics[0].Partitions...)
	}
	req.Dirs = out
}

func (b *bed) client(opts ...kgo.Opt) *kgo.Client { return b.Cluster.Client(b.t, opts...) }

// produce writes records one batch each, so that sizes are the same in every run.
func (b *bed) produce(topic string, partition int32, n, size int) {
	b.t.Helper()
	cl := b.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	for i := range n {
		key := fmt.Appendf(nil, "key-%03d", i%10)
		r := &kgo.Record{Topic: topic, Partition: partition, Key: key, Value: make([]byte, size)}
		must(b.t, cl.ProduceSync(b.t.Context(), r).FirstErr())
	}
}

func (b *bed) groups() {
	ctx := b.t.Context()
	// Commits on some partitions only; one beyond the end.
	must(b.t, b.Commit(ctx, "partly", map[string]map[int32]int64{"orders": {2: 38}}))
	must(b.t, b.Commit(ctx, "beyond", map[string]map[int32]int64{"orders": {0: 31, 2: 40}}))
	// One before the log start.
	must(b.t, b.Commit(ctx, "behind", map[string]map[int32]int64{"metrics.raw": {0: 2}}))
	cut := kadm.Offsets{}
	cut.AddOffset("metrics.raw", 0, 4, -1)
	_, err := b.Admin().DeleteRecords(ctx, cut)
	must(b.t, err)
	must(b.t, b.Commit(ctx, "drained", map[string]map[int32]int64{"customers": {0: 12, 1: 7}, "payments": {0: 3}}))
	b.member("classic", "orders", kgo.InstanceID("static-1"), kgo.ClientID("billing"))
	if b.Mode() == kafkatest.KRaft4 {
		b.member("next-gen", "customers", kgo.ServerSideBalancer(), kgo.ClientID("mailer"))
	}
}

// member joins a group, reads the topic to its end, commits and stays.
func (b *bed) member(group, topic string, opts ...kgo.Opt) {
	b.t.Helper()
	records := 0
	for _, t := range bedTopics {
		if t.name == topic {
			for _, n := range t.records {
				records += n
			}
		}
	}
	cl := b.client(append(opts, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	for read := 0; read < records; {
		f := cl.PollFetches(ctx)
		must(b.t, f.Err())
		read += f.NumRecords()
	}
	must(b.t, cl.CommitUncommittedOffsets(ctx))
}

// openTransaction leaves two records of a transaction that goes on.
func (b *bed) openTransaction() {
	cl := b.client(kgo.TransactionalID("checkout"), kgo.TransactionTimeout(14*time.Minute),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	must(b.t, cl.BeginTransaction())
	for range 2 {
		must(b.t, cl.ProduceSync(b.t.Context(), &kgo.Record{Topic: "payments", Value: make([]byte, 100)}).FirstErr())
	}
}

// quotas sets one of every kind. They come last: the defaults hold for us too.
func (b *bed) quotas() {
	name := func(s string) *string { return &s }
	entity := func(parts ...any) (e kadm.ClientQuotaEntity) {
		for i := 0; i < len(parts); i += 2 {
			n, _ := parts[i+1].(*string)
			e = append(e, kadm.ClientQuotaEntityComponent{Type: parts[i].(string), Name: n})
		}
		return e
	}
	set := func(e kadm.ClientQuotaEntity, key string, value float64) kadm.AlterClientQuotaEntry {
		return kadm.AlterClientQuotaEntry{Entity: e, Ops: []kadm.AlterClientQuotaOp{{Key: key, Value: value}}}
	}
	results, err := b.Admin().AlterClientQuotas(b.t.Context(), []kadm.AlterClientQuotaEntry{
		set(entity("user", name("alice")), "producer_byte_rate", 1048576),
		set(entity("user", nil), "producer_byte_rate", 1500000),
		set(entity("user", name("<default>")), "producer_byte_rate", 2000000),
		set(entity("user", name("CN=app-1,OU=a b")), "consumer_byte_rate", 3000),
		set(entity("user", name(`x%2Fy"ü`)), "consumer_byte_rate", 3500),
		set(entity("client-id", name("batch")), "consumer_byte_rate", 4000),
		set(entity("client-id", nil), "request_percentage", 7070),
		set(entity("user", name("bob"), "client-id", name("batch")), "request_percentage", 25),
		set(entity("user", name("bob"), "client-id", nil), "controller_mutation_rate", 5),
		set(entity("user", nil, "client-id", name("batch")), "controller_mutation_rate", 6),
		set(entity("user", nil, "client-id", nil), "producer_byte_rate", 7000000),
		set(entity("ip", name("127.0.0.9")), "connection_creation_rate", 8),
		set(entity("ip", nil), "connection_creation_rate", 900),
	})
	must(b.t, err)
	for _, r := range results {
		if r.Err != nil {
			b.t.Fatalf("quota of %v: %v %s", r.Entity, r.Err, r.ErrMessage)
		}
	}
}

func (b *bed) acls() {
	for _, builder := range []*kadm.ACLBuilder{
		kadm.NewACLs().Topics("orders").Allow("User:alice").AllowHosts("*").Operations(kadm.OpRead, kadm.OpWrite).ResourcePatternType(kadm.ACLPatternLiteral),
		kadm.NewACLs().Topics("metrics.").Deny("User:bob").DenyHosts("*").Operations(kadm.OpRead).ResourcePatternType(kadm.ACLPatternPrefixed),
		kadm.NewACLs().Groups("*").Allow("User:alice").AllowHosts("*").Operations(kadm.OpDescribe).ResourcePatternType(kadm.ACLPatternLiteral),
		kadm.NewACLs().Clusters().Allow("User:alice").AllowHosts("127.0.0.1").Operations(kadm.OpDescribe).ResourcePatternType(kadm.ACLPatternLiteral),
	} {
		results, err := b.Admin().CreateACLs(b.t.Context(), builder)
		must(b.t, err)
		for _, r := range results {
			must(b.t, r.Err)
		}
	}
}

// move begins to move moving-0 from broker 2 to 3 at 1 kB/s, which takes longer
// than any test, and leaves two throttles that nothing needs.
func (b *bed) move() {
	ctx, adm := b.t.Context(), b.Admin()
	must(b.t, b.Produce(ctx, "moving", 0, 6000, 1000))
	throttle := func(err error, rs kadm.AlterConfigsResponses) {
		must(b.t, err)
		for _, r := range rs {
			must(b.t, r.Err)
		}
	}
	rate, list := "1000", "0:1,0:2,0:3"
	for config, broker := range map[string]int32{"leader.replication.throttled.rate": 1, "follower.replication.throttled.rate": 3} {
		rs, err := adm.AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Name: config, Value: &rate}}, broker)
		throttle(err, rs)
	}
	rs, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{
		{Name: "leader.replication.throttled.replicas", Value: &list}, {Name: "follower.replication.throttled.replicas", Value: &list},
	}, "moving")
	throttle(err, rs)
	all := "*"
	rs, err = adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "leader.replication.throttled.replicas", Value: &all}}, "customers")
	throttle(err, rs)
	rs, err = adm.AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Name: "replica.alter.log.dirs.io.max.bytes.per.second", Value: &rate}}, 2)
	throttle(err, rs)
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign("moving", 0, []int32{1, 3})
	moved, err := adm.AlterPartitionAssignments(ctx, req)
	must(b.t, err)
	must(b.t, moved.Error())
}

// endMove cancels what move began.
func (b *bed) endMove() {
	var req kadm.AlterPartitionAssignmentsReq
	req.CancelAssign("moving", 0)
	rs, err := b.Admin().AlterPartitionAssignments(b.t.Context(), req)
	must(b.t, err)
	must(b.t, rs.Error())
}
