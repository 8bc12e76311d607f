package fake

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestKgoMetadata(t *testing.T) {
	c := sample(t)
	c.Update(func(s *State) { s.Brokers[3].Alive = false })
	m := must(kadmClient(t, c).Metadata(t.Context()))(t)
	if m.Cluster != "fake-cluster-0000000000" || m.Controller != 1 {
		t.Errorf("cluster %q controller %d", m.Cluster, m.Controller)
	}
	if got := m.Brokers.NodeIDs(); !slices.Equal(got, []int32{1, 2}) {
		t.Errorf("brokers = %v, want 1 and 2: 3 is not alive", got)
	}
	if r := m.Brokers[0].Rack; r == nil || *r != "r1" {
		t.Errorf("rack = %v", r)
	}
	orders := m.Topics["orders"]
	if orders.ID != kadm.TopicID(TopicID("orders")) || len(orders.Partitions) != 3 {
		t.Errorf("orders = %+v", orders)
	}
	if got := orders.Partitions[1]; got.Leader != 2 || got.LeaderEpoch != 5 || !cmp.Equal(got.Replicas, []int32{2, 3}) || !cmp.Equal(got.OfflineReplicas, []int32{3}) {
		t.Errorf("orders-1 = %+v", got)
	}
	if got := m.Topics["leaderless"].Partitions[1]; got.Leader != -1 || !errors.Is(got.Err, kerr.LeaderNotAvailable) {
		t.Errorf("leaderless-1 = %+v", got)
	}
	if !m.Topics["__consumer_offsets"].IsInternal {
		t.Error("__consumer_offsets is not internal")
	}
	m = must(kadmClient(t, c).Metadata(t.Context(), "nope"))(t)
	if err := m.Topics["nope"].Err; !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("unknown topic: %v", err)
	}
	for _, r := range As[*kmsg.MetadataRequest](c.Requests(kmsg.Metadata)) {
		if r.AllowAutoTopicCreation {
			t.Error("kadm asked for auto creation; the recorded request is wrong")
		}
	}
}

func TestMetadataOfForbiddenTopics(t *testing.T) {
	c := sample(t)
	c.Update(func(s *State) { s.Topics["orders"].Err = errTopicAuthorization })
	adm := kadmClient(t, c)
	if m := must(adm.Metadata(t.Context()))(t); m.Topics.Has("orders") || !m.Topics.Has("moving") {
		t.Errorf("all topics = %v", m.Topics.Names())
	}
	if _, err := adm.Metadata(t.Context(), "orders"); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("by name: %v", err)
	}
}

func TestKgoMetadataByID(t *testing.T) {
	c := sample(t)
	req := kmsg.NewPtrMetadataRequest()
	for _, id := range [][16]byte{TopicID("orders"), {1}} {
		rt := kmsg.NewMetadataRequestTopic()
		rt.TopicID = id
		req.Topics = append(req.Topics, rt)
	}
	resp := must(req.RequestWith(t.Context(), kgoClient(t, c)))(t)
	if len(resp.Topics) != 2 || *resp.Topics[0].Topic != "orders" || resp.Topics[1].ErrorCode != errUnknownTopicID {
		t.Errorf("topics = %+v", resp.Topics)
	}
}

func TestKgoDescribeCluster(t *testing.T) {
	c := sample(t)
	cl := kgoClient(t, c)
	for typ, want := range map[int8]int16{1: 0, 2: errMismatchedEndpointType, 9: errUnsupportedEndpointType} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = typ
		resp := must(req.RequestWith(t.Context(), cl))(t)
		if resp.ErrorCode != want || want == 0 && len(resp.Brokers) != 3 {
			t.Errorf("endpoint type %d: %+v", typ, resp)
		}
	}
}

func TestKgoListOffsets(t *testing.T) {
	c := sample(t)
	adm := kadmClient(t, c)
	starts := must(adm.ListStartOffsets(t.Context(), "orders"))(t)
	ends := must(adm.ListEndOffsets(t.Context(), "orders"))(t)
	stable := must(adm.ListCommittedOffsets(t.Context(), "orders"))(t)
	maxTS := must(adm.ListMaxTimestampOffsets(t.Context(), "orders"))(t)
	after := must(adm.ListOffsetsAfterMilli(t.Context(), 1_500_000, "orders"))(t)
	for p := range int32(3) {
		s, _ := starts.Lookup("orders", p)
		e, _ := ends.Lookup("orders", p)
		st, _ := stable.Lookup("orders", p)
		m, _ := maxTS.Lookup("orders", p)
		a, _ := after.Lookup("orders", p)
		wantStable := int64(100 + p)
		if p == 0 {
			wantStable = 95
		}
		if s.Offset != int64(10*p) || e.Offset != int64(100+p) || st.Offset != wantStable {
			t.Errorf("p%d: start %d end %d stable %d", p, s.Offset, e.Offset, st.Offset)
		}
		if m.Offset != int64(99+p) || m.Timestamp != 2_000_000 {
			t.Errorf("p%d: max timestamp %+v", p, m)
		}
		mid := (int64(10*p) + int64(99+p)) / 2
		if a.Offset < mid || a.Offset > mid+1 || a.Timestamp < 1_500_000 || a.Timestamp > 1_520_000 {
			t.Errorf("p%d: after half time: %+v, want about offset %d", p, a, mid)
		}
	}
	// kgo itself refuses the partition without leader; kadm returns the rest.
	ends, err := adm.ListEndOffsets(t.Context(), "leaderless")
	if l, ok := ends.Lookup("leaderless", 0); !ok || l.Err != nil || !errors.Is(err, kerr.LeaderNotAvailable) {
		t.Errorf("leaderless-0 = %+v, error %v", l, err)
	}
}

func TestListOffsetsErrors(t *testing.T) {
	c := sample(t)
	c.Update(func(s *State) { s.Partition("orders", 2).ListOffsetsErr = 78 })
	ask := func(broker int32, topic string, p, epoch int32) int16 {
		t.Helper()
		req := kmsg.NewPtrListOffsetsRequest()
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = topic
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = p, -1, epoch
		rt.Partitions = append(rt.Partitions, rp)
		req.Topics = append(req.Topics, rt)
		cl := kgoClient(t, c)
		resp := must(cl.Broker(int(broker)).Request(t.Context(), req))(t)
		return resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].ErrorCode
	}
	for _, tc := range []struct {
		broker        int32
		topic         string
		p, epoch      int32
		want          int16
		whatIsSpecial string
	}{
		{1, "orders", 0, -1, 0, "leader"},
		{2, "orders", 0, -1, errNotLeader, "not the leader"},
		{1, "orders", 0, 3, errFencedLeaderEpoch, "old epoch"},
		{1, "orders", 0, 9, errUnknownLeaderEpoch, "epoch of the future"},
		{1, "orders", 9, -1, errUnknownTopicOrPartition, "no such partition"},
		{1, "nope", 0, -1, errUnknownTopicOrPartition, "no such topic"},
		{2, "leaderless", 1, -1, errNotLeader, "no leader"},
		{3, "orders", 2, -1, 78, "injected code"},
	} {
		if got := ask(tc.broker, tc.topic, tc.p, tc.epoch); got != tc.want {
			t.Errorf("%s: error %d, want %d", tc.whatIsSpecial, got, tc.want)
		}
	}
}

func TestKgoLogDirs(t *testing.T) {
	c := sample(t)
	all := must(kadmClient(t, c).DescribeAllLogDirs(t.Context(), nil))(t)
	d, ok := all[1].Lookup("/data/0", "orders", 0)
	if !ok || d.Size != 12345 {
		t.Errorf("orders-0 on 1 = %+v", d)
	}
	f := all[2]["/data/0"].Topics["orders"][0]
	if !f.IsFuture || f.OffsetLag != 9 {
		t.Errorf("future replica = %+v", f)
	}
	if bad := all[1]["/data/bad"]; !errors.Is(bad.Err, kerr.KafkaStorageError) || len(bad.Topics) != 0 {
		t.Errorf("/data/bad = %+v", bad)
	}
	for _, tc := range []struct {
		max   int16
		total int64
	}{{5, 1 << 40}, {3, -1}} {
		c.SetVersions(kmsg.DescribeLogDirs, 1, tc.max)
		req := kmsg.NewPtrDescribeLogDirsRequest()
		rt := kmsg.NewDescribeLogDirsRequestTopic()
		rt.Topic, rt.Partitions = "orders", []int32{2}
		req.Topics = append(req.Topics, rt)
		resp := must(kgoClient(t, c).Broker(1).Request(t.Context(), req))(t).(*kmsg.DescribeLogDirsResponse)
		if resp.Dirs[0].TotalBytes != tc.total || len(resp.Dirs[0].Topics) != 1 || resp.Dirs[0].Topics[0].Partitions[0].Partition != 2 {
			t.Errorf("v%d: %+v", tc.max, resp.Dirs[0])
		}
	}
}

func TestKgoConfigs(t *testing.T) {
	c := sample(t)
	c.Update(func(s *State) {
		s.DefaultBrokerConfigs["leader.replication.throttled.rate"] = Value("5")
		s.Brokers[2].Configs["follower.replication.throttled.rate"] = Value("6")
	})
	adm := kadmClient(t, c)
	rc := must(must(adm.DescribeTopicConfigs(t.Context(), "orders"))(t).On("orders", nil))(t)
	got := map[string]string{}
	for _, e := range rc.Configs {
		got[e.Key] = e.MaybeValue() + "/" + e.Source.String()
	}
	if got["retention.ms"] != "1000/DYNAMIC_TOPIC_CONFIG" || got["cleanup.policy"] != "delete/DEFAULT_CONFIG" || len(got) != len(topicDefaults) {
		t.Errorf("configs = %v", got)
	}
	if rc, _ := must(adm.DescribeTopicConfigs(t.Context(), "nope"))(t).On("nope", nil); !errors.Is(rc.Err, kerr.UnknownTopicOrPartition) {
		t.Errorf("unknown topic: %+v", rc)
	}
	rc = must(must(adm.DescribeBrokerConfigs(t.Context(), 2))(t).On("2", nil))(t)
	if len(rc.Configs) != 2 || rc.Configs[0].MaybeValue() != "6" || rc.Configs[1].Source != kmsg.ConfigSourceDynamicDefaultBrokerConfig {
		t.Errorf("broker 2 = %+v", rc)
	}
}

func TestKgoReassignmentsQuotasACLs(t *testing.T) {
	c := sample(t)
	adm := kadmClient(t, c)
	// kadm takes an empty set for "none", so "all" is asked for by hand.
	all := kmsg.NewPtrListPartitionReassignmentsRequest()
	if resp := must(all.RequestWith(t.Context(), kgoClient(t, c)))(t); len(resp.Topics) != 1 || resp.Topics[0].Topic != "moving" {
		t.Errorf("all reassignments = %+v", resp.Topics)
	}
	re := must(adm.ListPartitionReassignments(t.Context(), kadm.TopicsSet{"moving": {0: {}}, "orders": {0: {}, 1: {}}}))(t)
	if got := re["moving"][0]; len(re) != 1 || !cmp.Equal(got.AddingReplicas, []int32{3}) || !cmp.Equal(got.RemovingReplicas, []int32{1}) || !cmp.Equal(got.Replicas, []int32{1, 2, 3}) {
		t.Errorf("reassignments = %+v", re)
	}
	for _, tc := range []struct {
		name   string
		strict bool
		comps  []kadm.DescribeClientQuotaComponent
		want   int
	}{
		{"all", false, nil, 2},
		{"any user", false, []kadm.DescribeClientQuotaComponent{{Type: "user", MatchType: kmsg.QuotasMatchTypeAny}}, 2},
		{"any user, strict", true, []kadm.DescribeClientQuotaComponent{{Type: "user", MatchType: kmsg.QuotasMatchTypeAny}}, 1},
		{"default user", false, []kadm.DescribeClientQuotaComponent{{Type: "user", MatchType: kmsg.QuotasMatchTypeDefault}}, 1},
		{"alice", false, []kadm.DescribeClientQuotaComponent{{Type: "user", MatchName: ptr("alice"), MatchType: kmsg.QuotasMatchTypeExact}}, 1},
		{"ip", false, []kadm.DescribeClientQuotaComponent{{Type: "ip", MatchType: kmsg.QuotasMatchTypeAny}}, 0},
	} {
		if q := must(adm.DescribeClientQuotas(t.Context(), tc.strict, tc.comps))(t); len(q) != tc.want {
			t.Errorf("quotas %s: %+v", tc.name, q)
		}
	}
	for _, tc := range []struct {
		pattern kmsg.ACLResourcePatternType
		want    int
	}{{kmsg.ACLResourcePatternTypeMatch, 2}, {kmsg.ACLResourcePatternTypeLiteral, 1}, {kmsg.ACLResourcePatternTypePrefixed, 0}, {kmsg.ACLResourcePatternTypeAny, 1}} {
		b := kadm.NewACLs().Topics("orders").Allow().Deny().AllowHosts().DenyHosts().Operations().ResourcePatternType(tc.pattern)
		n := 0
		for _, r := range must(adm.DescribeACLs(t.Context(), b))(t) {
			// Allow and deny are two filters of the builder.
			n += len(r.Described)
		}
		if n != tc.want {
			t.Errorf("ACLs for pattern type %v: %d, want %d", tc.pattern, n, tc.want)
		}
	}
}

func TestKgoTransactionsAndQuorum(t *testing.T) {
	c := sample(t)
	cl := kgoClient(t, c)
	adm := kadm.NewClient(cl)
	if l := must(adm.ListTransactions(t.Context(), []int64{77}, []string{"Ongoing"}))(t); len(l) != 1 || l["tx-1"].Coordinator != 2 {
		t.Errorf("transactions = %+v", l)
	}
	if l := must(adm.ListTransactions(t.Context(), nil, []string{"Empty"}))(t); len(l) != 0 {
		t.Errorf("empty transactions = %+v", l)
	}
	d := must(adm.DescribeTransactions(t.Context(), "tx-1"))(t)["tx-1"]
	if d.State != "Ongoing" || d.ProducerID != 77 || len(d.Topics) != 1 {
		t.Errorf("tx-1 = %+v", d)
	}
	p := must(adm.DescribeProducers(t.Context(), kadm.TopicsSet{"orders": {0: {}}}))(t)
	var n int
	p.EachProducer(func(pr kadm.DescribedProducer) {
		n++
		if pr.ProducerID != 77 || pr.CurrentTxnStartOffset != 95 {
			t.Errorf("producer = %+v", pr)
		}
	})
	if n != 1 {
		t.Errorf("%d producers", n)
	}
	q := kmsg.NewPtrDescribeQuorumRequest()
	qt := kmsg.NewDescribeQuorumRequestTopic()
	qt.Topic, qt.Partitions = "__cluster_metadata", []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	q.Topics = append(q.Topics, qt)
	resp := must(q.RequestWith(t.Context(), cl))(t)
	if qp := resp.Topics[0].Partitions[0]; qp.LeaderID != 1 || qp.HighWatermark != 500 || len(qp.CurrentVoters) != 3 || qp.CurrentVoters[0].LogEndOffset != 501 {
		t.Errorf("quorum = %+v", qp)
	}
	c.Update(func(s *State) { s.Quorum = nil })
	if resp := must(q.RequestWith(t.Context(), cl))(t); resp.ErrorCode != errUnsupportedVersion {
		t.Errorf("without quorum: %+v", resp)
	}
}

func TestKgoFetchAndProduce(t *testing.T) {
	c := sample(t)
	cl := kgoClient(t, c, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"orders": {1: kgo.NewOffset().At(50)}}),
		kgo.FetchMaxWait(100*time.Millisecond), kgo.DefaultProduceTopic("orders"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	f := cl.PollRecords(t.Context(), 1)
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	rec := f.Records()[0]
	var want int64
	c.View(func(s *State) { want = s.Partition("orders", 1).timestamp(50) })
	if rec.Offset != 50 || rec.Timestamp.UnixMilli() != want || string(rec.Key) != "orders-1@50" || rec.LeaderEpoch != 5 {
		t.Errorf("record = %+v, want timestamp %d", rec, want)
	}
	res := cl.ProduceSync(t.Context(), &kgo.Record{Partition: 2, Value: []byte("x")}, &kgo.Record{Partition: 2, Value: []byte("y")})
	if err := res.FirstErr(); err != nil {
		t.Fatal(err)
	}
	c.View(func(s *State) {
		if p := s.Partition("orders", 2); p.End != 104 || p.Stable != 104 || p.MaxTimestamp <= 2_000_000 {
			t.Errorf("after two records: %+v", p)
		}
	})
	adm := kadm.NewClient(cl)
	offs := kadm.Offsets{}
	offs.AddOffset("orders", 0, 7, -1)
	if err := must(adm.CommitOffsets(t.Context(), "brand-new", offs))(t).Error(); err != nil {
		t.Fatal(err)
	}
	if o, _ := must(adm.FetchOffsets(t.Context(), "brand-new"))(t).Lookup("orders", 0); o.At != 7 {
		t.Errorf("committed = %+v", o)
	}
}
