package fake

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestSaramaMetadata(t *testing.T) {
	c := sample(t)
	admin := saramaAdmin(t, c)
	brokers, controller, err := admin.DescribeCluster()
	if err != nil || controller != 1 || len(brokers) != 3 {
		t.Errorf("cluster: %v, controller %d, %v", brokers, controller, err)
	}
	topics := must(admin.DescribeTopics([]string{"orders", "leaderless", "nope"}))(t)
	byName := map[string]*sarama.TopicMetadata{}
	for _, m := range topics {
		byName[m.Name] = m
	}
	if m := byName["orders"]; len(m.Partitions) != 3 || [16]byte(m.Uuid) != TopicID("orders") {
		t.Errorf("orders = %+v", m)
	}
	for _, p := range byName["leaderless"].Partitions {
		if p.ID == 1 && (p.Leader != -1 || p.Err != sarama.ErrLeaderNotAvailable) {
			t.Errorf("leaderless-1 = %+v", p)
		}
	}
	if m := byName["nope"]; m.Err != sarama.ErrUnknownTopicOrPartition {
		t.Errorf("nope = %+v", m)
	}
	resp, err := saramaBroker(t, c, 2).DescribeCluster(&sarama.DescribeClusterRequest{Version: 1, EndpointType: 1})
	if err != nil || len(resp.Brokers) != 3 || resp.ClusterID != "fake-cluster-0000000000" {
		t.Errorf("DescribeCluster: %+v, %v", resp, err)
	}
}

func TestSaramaOffsets(t *testing.T) {
	c := sample(t)
	admin := saramaAdmin(t, c)
	for _, tc := range []struct {
		what      string
		ts        int64
		isolation sarama.IsolationLevel
		want      int64
	}{
		{"latest", sarama.OffsetNewest, sarama.ReadUncommitted, 100},
		{"stable", sarama.OffsetNewest, sarama.ReadCommitted, 95},
		{"earliest", sarama.OffsetOldest, sarama.ReadUncommitted, 0},
		{"by time: the first", 5, sarama.ReadUncommitted, 0},
		{"by time: none", 3_000_000, sarama.ReadUncommitted, -1},
	} {
		got := must(admin.ListOffsets(map[string]map[int32]int64{"orders": {0: tc.ts}}, &sarama.ListOffsetsOptions{IsolationLevel: tc.isolation}))(t)
		if o := got["orders"][0]; !errors.Is(o.Err, sarama.ErrNoError) || o.Offset != tc.want {
			t.Errorf("%s: %+v, want %d", tc.what, o, tc.want)
		}
	}
	// sarama asks with version 6, which does not know max timestamp.
	got := must(admin.ListOffsets(map[string]map[int32]int64{"orders": {0: -3}}, nil))(t)
	if o := got["orders"][0]; !errors.Is(o.Err, sarama.ErrUnsupportedVersion) {
		t.Errorf("max timestamp: %+v", o)
	}
}

func TestSaramaGroups(t *testing.T) {
	c := sample(t)
	admin := saramaAdmin(t, c)
	groups := must(admin.ListConsumerGroups())(t)
	if len(groups) != 5 || groups["shared"] != "share" || groups["raw\xff\xfe"] != "consumer" {
		t.Errorf("groups = %q", groups)
	}
	var coordinator int32
	c.View(func(s *State) { coordinator = s.Groups["next"].Coordinator })
	b := saramaBroker(t, c, coordinator)
	list := must(b.ListGroups(&sarama.ListGroupsRequest{Version: 5, TypesFilter: []string{"consumer"}}))(t)
	if d := list.GroupsData["next"]; len(list.Groups) != 1 || d.GroupType != "consumer" || d.GroupState != "Stable" {
		t.Errorf("list = %+v", list)
	}
	for _, d := range must(admin.DescribeConsumerGroups([]string{"classic", "next"}))(t) {
		switch {
		case d.GroupId == "next" && (d.State != "Dead" || d.Err != sarama.ErrNoError):
			t.Errorf("next through the classic API = %+v", d)
		case d.GroupId == "classic":
			m := d.Members["m-1"]
			if d.State != "Stable" || m == nil {
				t.Fatalf("classic = %+v", d)
			}
			if a := must(m.GetMemberAssignment())(t); !cmp.Equal(a.Topics, map[string][]int32{"orders": {0, 1, 2}}) {
				t.Errorf("assignment = %+v", a)
			}
		}
	}
	cg := must(b.ConsumerGroupDescribe(&sarama.ConsumerGroupDescribeRequest{Version: 1, GroupIDs: []string{"next"}}))(t)
	if g := cg.Groups[0]; g.ErrorCode != 0 || g.GroupState != "Stable" || len(g.Members) != 3 {
		t.Errorf("next = %+v", g)
	}
	if got := must(admin.Coordinator("next"))(t); got.ID() != coordinator {
		t.Errorf("coordinator = %d, want %d", got.ID(), coordinator)
	}
}

func TestSaramaOffsetFetch(t *testing.T) {
	c := sample(t)
	admin := saramaAdmin(t, c)
	one := must(admin.ListConsumerGroupOffsets("classic", nil))(t)
	if b := one.GetBlock("orders", 1); b == nil || b.Offset != 42 || b.Metadata != "note" {
		t.Errorf("orders-1 = %+v", b)
	}
	if b := one.GetBlock("gone", 0); b == nil || b.Offset != 5 {
		t.Errorf("gone-0 = %+v", b)
	}
	many := must(admin.ListConsumerGroupOffsetsBatch(map[string]map[string][]int32{
		"classic": {"orders": {0, 2}}, "next": nil, "unheard-of": nil,
	}))(t)
	if b := many["classic"].Blocks["orders"][2]; b.Offset != -1 || b.Err != sarama.ErrNoError {
		t.Errorf("classic orders-2 = %+v", b)
	}
	if b := many["next"].Blocks["orders"][2]; b.Offset != 90 {
		t.Errorf("next orders-2 = %+v", b)
	}
	if g := many["unheard-of"]; g.Err != sarama.ErrNoError || len(g.Blocks) != 0 {
		t.Errorf("unheard-of = %+v", g)
	}
}

func TestSaramaLogDirs(t *testing.T) {
	c := sample(t)
	dirs := must(saramaAdmin(t, c).DescribeLogDirs([]int32{1, 2}))(t)
	byPath := map[string]sarama.DescribeLogDirsResponseDirMetadata{}
	for _, d := range dirs[1] {
		byPath[d.Path] = d
	}
	if d := byPath["/data/0"]; d.TotalBytes != 1<<40 || d.UsableBytes != 1<<39 {
		t.Errorf("/data/0 = %+v", d)
	}
	if d := byPath["/data/bad"]; d.ErrorCode != sarama.ErrKafkaStorageError || d.TotalBytes != -1 || len(d.Topics) != 0 {
		t.Errorf("/data/bad = %+v", d)
	}
	var future bool
	for _, tp := range dirs[2][0].Topics {
		for _, p := range tp.Partitions {
			future = future || tp.Topic == "orders" && p.IsTemporary && p.OffsetLag == 9
		}
	}
	if !future {
		t.Errorf("no future replica in %+v", dirs[2])
	}
}

func TestSaramaConfigsReassignmentsQuotasACLs(t *testing.T) {
	c := sample(t)
	c.Update(func(s *State) { s.Brokers[2].Configs["log.retention.ms"] = Value("9") })
	admin := saramaAdmin(t, c)
	described := must(admin.DescribeConfigs([]*sarama.ConfigResource{
		{Type: sarama.TopicResource, Name: "orders"}, {Type: sarama.BrokerResource, Name: "2"},
	}, sarama.DescribeConfigsOptions{}))(t)
	configs := map[string][]sarama.ConfigEntry{}
	for _, d := range described {
		configs[d.Name] = d.Configs
	}
	entries := configs["orders"]
	i := slices.IndexFunc(entries, func(e sarama.ConfigEntry) bool { return e.Name == "retention.ms" })
	if i < 0 || entries[i].Value != "1000" || entries[i].Source != sarama.SourceTopic {
		t.Errorf("entries = %+v", entries)
	}
	broker := configs["2"]
	if len(broker) != 1 || broker[0].Value != "9" {
		t.Errorf("broker 2 = %+v", broker)
	}

	re := must(admin.ListPartitionReassignments("moving", []int32{0}))(t)
	if s := re["moving"][0]; s == nil || !cmp.Equal(s.AddingReplicas, []int32{3}) || !cmp.Equal(s.RemovingReplicas, []int32{1}) {
		t.Errorf("reassignments = %+v", re)
	}

	quotas := must(admin.DescribeClientQuotas(nil, false))(t)
	if len(quotas) != 2 || quotas[0].Values["producer_byte_rate"] != 1000 {
		t.Errorf("quotas = %+v", quotas)
	}
	acls := must(admin.ListAcls(sarama.AclFilter{
		ResourceType: sarama.AclResourceAny, ResourcePatternTypeFilter: sarama.AclPatternAny,
		Operation: sarama.AclOperationAny, PermissionType: sarama.AclPermissionAny,
	}))(t)
	if len(acls) != 2 || acls[0].Acls[0].Principal != "User:alice" {
		t.Errorf("acls = %+v", acls)
	}
}

func TestSaramaTransactions(t *testing.T) {
	c := sample(t)
	b := saramaBroker(t, c, 2)
	list := must(b.ListTransactions(&sarama.ListTransactionsRequest{Version: 1, DurationFilter: -1}))(t)
	if len(list.TransactionStates) != 1 || list.TransactionStates[0].TransactionalID != "tx-1" {
		t.Errorf("list = %+v", list)
	}
	d := must(b.DescribeTransactions(&sarama.DescribeTransactionsRequest{TransactionalIDs: []string{"tx-1", "tx-2"}}))(t)
	if s := d.TransactionStates[0]; s.ErrorCode != 0 || s.ProducerID != 77 {
		t.Errorf("tx-1 = %+v", s)
	}
	p := must(saramaBroker(t, c, 1).DescribeProducers(&sarama.DescribeProducersRequest{
		Topics: []sarama.DescribeProducersRequestTopic{{Name: "orders", PartitionIndexes: []int32{0}}},
	}))(t)
	if a := p.Topics[0].Partitions[0].ActiveProducers; len(a) != 1 || a[0].ProducerID != 77 {
		t.Errorf("producers = %+v", a)
	}
}

func TestSaramaFetchAndProduce(t *testing.T) {
	c := sample(t)
	cl := saramaClient(t, c)
	consumer := must(sarama.NewConsumerFromClient(cl))(t)
	pc := must(consumer.ConsumePartition("orders", 2, 60))(t)
	select {
	case m := <-pc.Messages():
		if m.Offset != 60 || string(m.Key) != "orders-2@60" || m.Timestamp.UnixMilli() <= 1_000_000 {
			t.Errorf("message = %+v", m)
		}
	case <-time.After(5 * time.Second):
		t.Error("no message")
	}
	if err := pc.Close(); err != nil {
		t.Error(err)
	}
	conf := saramaConfig()
	conf.Producer.Return.Successes = true
	conf.Producer.Retry.Max = 0
	producer := must(sarama.NewSyncProducer(c.Addrs(), conf))(t)
	defer producer.Close()
	if _, off, err := producer.SendMessage(&sarama.ProducerMessage{Topic: "moving", Value: sarama.StringEncoder("x")}); err != nil || off != 0 {
		t.Errorf("offset %d, %v", off, err)
	}
	c.View(func(s *State) {
		if p := s.Partition("moving", 0); p.End != 1 {
			t.Errorf("moving-0 = %+v", p)
		}
	})
	offs := map[string]map[int32]sarama.OffsetAndMetadata{"orders": {0: {Offset: 12, LeaderEpoch: -1}}}
	if _, err := saramaAdmin(t, c).AlterConsumerGroupOffsets("classic", offs, nil); err != nil {
		t.Error(err)
	}
	c.View(func(s *State) {
		if got := s.Groups["classic"].Commit("orders", 0); got.Offset != 12 {
			t.Errorf("commit = %+v", got)
		}
	})
}

func TestSaramaWrongCoordinator(t *testing.T) {
	c := sample(t)
	var wrong int32
	c.View(func(s *State) { wrong = s.Groups["classic"].Coordinator%3 + 1 })
	req := sarama.NewOffsetFetchRequest(sarama.MaxVersion, "classic", map[string][]int32{"orders": {0}})
	resp := must(saramaBroker(t, c, wrong).FetchOffset(req))(t)
	if !errors.Is(resp.Err, sarama.ErrNotCoordinatorForConsumer) {
		t.Errorf("group error = %+v", resp)
	}
	if n := len(As[*kmsg.OffsetFetchRequest](c.Requests())); n != 1 {
		t.Errorf("%d OffsetFetch recorded", n)
	}
}
