package kafka

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

func TestMetadata(t *testing.T) {
	c := three(t)
	c.Update(func(s *fake.State) {
		s.AddTopic("leaderless", 2, 1).Partitions[1].Leader = -1
		s.AddTopic("__consumer_offsets", 1, 3).Internal = true
		s.AddTopic("denied", 1, 1).Err = kerr.TopicAuthorizationFailed.Code
	})
	cl, _ := clientOf(t, c)
	md, err := cl.Metadata(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, topic := range md.Topics {
		names = append(names, topic.Name)
		if topic.ID != fake.TopicID(topic.Name) || topic.Internal != (topic.Name == "__consumer_offsets") {
			t.Errorf("topic %+v", topic)
		}
	}
	if diff := gocmp.Diff([]string{"__consumer_offsets", "leaderless", "orders"}, names); diff != "" || !md.KRaft || md.ClusterID == "" {
		t.Errorf("KRaft %v, cluster %q, topics %s", md.KRaft, md.ClusterID, diff)
	}
	if p := md.Topics[1].Partitions[1]; p.Leader != -1 {
		t.Errorf("leaderless partition: %+v", p)
	}
	named, err := cl.Metadata(t.Context(), []string{"denied", "orders", "gone"})
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]connect.Class{}
	for _, topic := range named.Topics {
		classes[topic.Name] = Classify(topic.Err)
	}
	if diff := gocmp.Diff(map[string]connect.Class{"denied": "acl", "gone": "other", "orders": ""}, classes); diff != "" {
		t.Error(diff)
	}
	// ZooKeeper mode: the controller is the one that Metadata names.
	zk := three(t)
	zk.RemoveAPI(kmsg.DescribeQuorum)
	zk.Update(func(s *fake.State) { s.Quorum, s.Controller = nil, 2 })
	cl, _ = clientOf(t, zk)
	md, err = cl.Metadata(t.Context(), nil)
	if err != nil || md.KRaft || md.ControllerID != 2 {
		t.Errorf("ZooKeeper mode: %+v, %v", md, err)
	}
	if _, err := cl.Quorum(t.Context()); !errors.Is(err, ErrNoQuorum) {
		t.Errorf("Quorum: %v", err)
	}
	if _, err := cl.Reassignments(t.Context()); err != nil {
		t.Errorf("Reassignments: %v", err)
	}
}

// A client follows its brokers: one that moves to another address is asked
// there, one that is gone is asked no more.
func TestBrokersComeAndGo(t *testing.T) {
	c := three(t)
	cl, _ := clientOf(t, c)
	if got := cl.BrokerIDs(); !slices.Equal(got, allBrokers) {
		t.Fatalf("brokers %v", got)
	}
	c.Update(func(s *fake.State) { s.KillBroker(3) })
	if _, err := cl.Metadata(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := cl.BrokerIDs(); !slices.Equal(got, []int32{1, 2}) {
		t.Errorf("brokers %v", got)
	}
	c.Update(func(s *fake.State) {
		// Broker 2 comes back where broker 3 was.
		s.Brokers[2].Host, s.Brokers[2].Port = s.Brokers[3].Host, s.Brokers[3].Port
	})
	if _, err := cl.Metadata(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	c.ResetRequests()
	if _, failed := cl.ListGroups(t.Context(), []int32{1, 2}); len(failed) > 0 {
		t.Errorf("failed %v", failed)
	}
	if at(c, 2, kmsg.ListGroups) != 0 || at(c, 3, kmsg.ListGroups) != 1 {
		t.Errorf("asked at %v", c.Counts())
	}
}

// Errors of partitions stay with the partitions; one request per leader.
func TestListOffsets(t *testing.T) {
	c := three(t)
	c.Update(func(s *fake.State) {
		p := &s.Topics["orders"].Partitions[0]
		p.Stable, p.FirstTimestamp, p.MaxTimestamp = 95, 1000, 1990
		s.Topics["orders"].Partitions[1].ListOffsetsErr = kerr.NotLeaderForPartition.Code
		s.Topics["orders"].Partitions[2].SetOffsets(0, 0)
	})
	cl, _ := clientOf(t, c)
	for _, tc := range []struct {
		name string
		spec OffsetSpec
		want map[int32]int64
	}{
		{"end", EndOffsets, map[int32]int64{0: 100, 2: 0}},
		{"stable", StableOffsets, map[int32]int64{0: 95, 2: 0}},
		{"start", StartOffsets, map[int32]int64{0: 0, 2: 0}},
		{"at a time", AtTime(1501), map[int32]int64{0: 51, 2: -1}},
		{"after the last", AtTime(3000), map[int32]int64{0: -1, 2: -1}},
		{"newest record", MaxTimestamp, map[int32]int64{0: 99, 2: -1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.ResetRequests()
			got, bad := map[int32]int64{}, map[int32]connect.Class{}
			var newest int64
			failed := cl.ListOffsets(t.Context(), orders(), tc.spec, func(r OffsetResult) {
				switch {
				case r.Err != nil:
					bad[r.Partition] = Classify(r.Err)
				default:
					got[r.Partition] = r.Offset
				}
				if r.Partition == 0 {
					newest = r.Timestamp
				}
			})
			if diff := gocmp.Diff(tc.want, got); diff != "" || len(failed) > 0 {
				t.Errorf("failed %v: %s", failed, diff)
			}
			if diff := gocmp.Diff(map[int32]connect.Class{1: "other"}, bad); diff != "" {
				t.Errorf("partition errors: %s", diff)
			}
			if tc.spec == MaxTimestamp && newest != 1990 {
				t.Errorf("newest timestamp %d, want 1990", newest)
			}
			if n := c.Count(kmsg.ListOffsets); n != 3 {
				t.Errorf("%d requests for 3 leaders", n)
			}
		})
	}
}

func TestLogDirs(t *testing.T) {
	c := three(t)
	c.Update(func(s *fake.State) {
		s.SetReplicaSize(1, "orders", 0, 500)
		s.Brokers[1].LogDirs = append(s.Brokers[1].LogDirs, &fake.LogDir{Path: "/d2", Err: kerr.KafkaStorageError.Code})
		s.Brokers[2].LogDirs[0].Replicas = append(s.Brokers[2].LogDirs[0].Replicas, fake.Replica{Topic: "orders", Partition: 0, Size: 7, Lag: 9, Future: true})
	})
	c.OnKey(kmsg.DescribeLogDirs, func(broker int32, req kmsg.Request) (kmsg.Response, fake.Action) {
		if broker != 3 {
			return nil, fake.Pass
		}
		res := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
		res.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return res, fake.Answer
	})
	read := func(t *testing.T, totals bool) {
		cl, _ := clientOf(t, c)
		dirs, failed := cl.LogDirs(t.Context(), allBrokers)
		if diff := gocmp.Diff(map[int32]connect.Class{3: "acl"}, classesOf(failed)); diff != "" {
			t.Errorf("failed %v: %s", failed, diff)
		}
		slices.SortFunc(dirs, func(a, b LogDir) int { return cmp.Or(cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.Path, b.Path)) })
		if len(dirs) != 3 {
			t.Fatalf("dirs %+v", dirs)
		}
		bad, d1, d2 := dirs[1], dirs[0], dirs[2]
		if bad.Path == "/data/0" {
			bad, d1 = d1, bad
		}
		if bad.Err == nil || bad.Total != -1 || bad.Usable != -1 || len(bad.Replicas) != 0 {
			t.Errorf("offline directory %+v", bad)
		}
		total, usable := int64(1<<40), int64(1<<39)
		if !totals {
			total, usable = -1, -1
		}
		if d1.Total != total || d1.Usable != usable || d1.Err != nil {
			t.Errorf("directory %+v, want total %d usable %d", d1, total, usable)
		}
		var size, future int64
		for _, r := range slices.Concat(d1.Replicas, d2.Replicas) {
			if r.Future {
				future += r.Size
			} else {
				size += r.Size
			}
		}
		if size != 500 || future != 7 {
			t.Errorf("size %d future %d", size, future)
		}
	}
	t.Run("with totals", func(t *testing.T) { read(t, true) })
	c.SetVersions(kmsg.DescribeLogDirs, 0, 3)
	t.Run("without totals", func(t *testing.T) { read(t, false) })
	// Brokers before 3.0 tell a refusal per directory.
	c.SetVersions(kmsg.DescribeLogDirs, 0, 1)
	c.OnKey(kmsg.DescribeLogDirs, func(_ int32, req kmsg.Request) (kmsg.Response, fake.Action) {
		res := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
		res.Dirs = []kmsg.DescribeLogDirsResponseDir{{ErrorCode: kerr.ClusterAuthorizationFailed.Code}}
		return res, fake.Answer
	})
	cl, _ := clientOf(t, c)
	if dirs, failed := cl.LogDirs(t.Context(), []int32{1}); len(dirs) != 0 || Classify(failed[1]) != connect.ClassACL {
		t.Errorf("refused by an old broker: %+v, %v", dirs, failed)
	}
}

func TestReassignments(t *testing.T) {
	c := three(t)
	c.Update(func(s *fake.State) {
		p := &s.Topics["orders"].Partitions[0]
		p.Replicas, p.Adding, p.Removing = []int32{1, 2, 3}, []int32{3}, []int32{1}
	})
	cl, _ := clientOf(t, c)
	got, err := cl.Reassignments(t.Context())
	want := []Reassignment{{Topic: "orders", Partition: 0, Replicas: []int32{1, 2, 3}, Adding: []int32{3}, Removing: []int32{1}}}
	if diff := gocmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
	for _, r := range fake.As[*kmsg.ListPartitionReassignmentsRequest](c.Requests()) {
		if r.Topics != nil {
			t.Errorf("asked for %v, not for all", r.Topics)
		}
	}
	c.OnKey(kmsg.ListPartitionReassignments, func(_ int32, req kmsg.Request) (kmsg.Response, fake.Action) {
		res := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
		res.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return res, fake.Answer
	})
	if _, err := cl.Reassignments(t.Context()); Classify(err) != connect.ClassACL {
		t.Errorf("denied: %v", err)
	}
}

// What every broker can answer is asked of another when one is silent, within
// the caller's deadline.
func TestFailover(t *testing.T) {
	c := three(t)
	for _, silent := range allBrokers {
		t.Run(fmt.Sprintf("broker %d silent", silent), func(t *testing.T) {
			cl, _ := clientOf(t, c, WithRequestTimeout(3*deadline))
			c.BlackHole(silent)
			defer c.Restore(silent)
			for name, read := range map[string]func() error{
				"Metadata":      func() error { _, err := cl.Metadata(t.Context(), nil); return err },
				"Quotas":        func() error { _, err := cl.Quotas(t.Context()); return err },
				"Reassignments": func() error { _, err := cl.Reassignments(t.Context()); return err },
				"Quorum":        func() error { _, err := cl.Quorum(t.Context()); return err },
			} {
				if err := read(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestQuotas(t *testing.T) {
	c := three(t)
	literal := "<default>"
	alice := "alice"
	c.Update(func(s *fake.State) {
		s.Quotas = []fake.Quota{
			{Entity: map[string]*string{"user": nil}, Values: map[string]float64{"producer_byte_rate": 1}},
			{Entity: map[string]*string{"user": &literal}, Values: map[string]float64{"producer_byte_rate": 2}},
			{Entity: map[string]*string{"user": &alice, "client-id": nil}, Values: map[string]float64{"request_percentage": 3.5}},
		}
	})
	cl, _ := clientOf(t, c)
	got, err := cl.Quotas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		slices.SortFunc(got[i].Entity, func(a, b QuotaEntity) int { return cmp.Compare(a.Type, b.Type) })
	}
	slices.SortFunc(got, func(a, b Quota) int {
		return cmp.Compare(a.Values["producer_byte_rate"], b.Values["producer_byte_rate"])
	})
	want := []Quota{
		{Entity: []QuotaEntity{{Type: "client-id", Default: true}, {Type: "user", Name: "alice"}}, Values: map[string]float64{"request_percentage": 3.5}},
		{Entity: []QuotaEntity{{Type: "user", Default: true}}, Values: map[string]float64{"producer_byte_rate": 1}},
		{Entity: []QuotaEntity{{Type: "user", Name: "<default>"}}, Values: map[string]float64{"producer_byte_rate": 2}},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestACLCounts(t *testing.T) {
	c := three(t)
	acl := fake.ACL{ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: "a", PatternType: kmsg.ACLResourcePatternTypeLiteral, Principal: "User:x", Host: "*", Operation: kmsg.ACLOperationRead, Permission: kmsg.ACLPermissionTypeAllow}
	second, deny := acl, acl
	second.Operation = kmsg.ACLOperationWrite
	deny.ResourceType, deny.PatternType, deny.Permission = kmsg.ACLResourceTypeTransactionalId, kmsg.ACLResourcePatternTypePrefixed, kmsg.ACLPermissionTypeDeny
	c.Update(func(s *fake.State) { s.ACLs = []fake.ACL{acl, second, deny} })
	cl, _ := clientOf(t, c)
	got, err := cl.ACLCounts(t.Context())
	slices.SortFunc(got, func(a, b ACLCount) int { return cmp.Compare(a.ResourceType, b.ResourceType) })
	want := []ACLCount{{"Topic", "Literal", "Allow", 2}, {"TransactionalID", "Prefixed", "Deny", 1}}
	if diff := gocmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
	c.OnKey(kmsg.DescribeACLs, func(_ int32, req kmsg.Request) (kmsg.Response, fake.Action) {
		res := req.ResponseKind().(*kmsg.DescribeACLsResponse)
		res.ErrorCode = kerr.SecurityDisabled.Code
		return res, fake.Answer
	})
	if _, err := cl.ACLCounts(t.Context()); !errors.Is(err, ErrAuthorizerOff) {
		t.Errorf("without an authorizer: %v", err)
	}
}

func TestTransactions(t *testing.T) {
	c := three(t)
	c.Update(func(s *fake.State) {
		s.Transactions["tx"] = &fake.Transaction{ID: "tx", Coordinator: 2, State: "Ongoing", ProducerID: 77}
		s.Topics["orders"].Partitions[0].Producers = []fake.Producer{{ID: 77, Epoch: 3, LastTimestamp: 5, TxnStartOffset: 95}}
	})
	cl, _ := clientOf(t, c)
	for _, max := range []int16{2, 0} { // version 0: Kafka 3.0 to 3.7
		c.SetVersions(kmsg.ListTransactions, 0, max)
		txs, failed := cl.Transactions(t.Context(), allBrokers)
		if diff := gocmp.Diff([]Transaction{{ID: "tx", ProducerID: 77, State: "Ongoing", Coordinator: 2}}, txs); diff != "" || len(failed) > 0 {
			t.Errorf("failed %v: %s", failed, diff)
		}
	}
	c.OnKey(kmsg.DescribeProducers, func(broker int32, req kmsg.Request) (kmsg.Response, fake.Action) {
		res := c.Default(broker, req).(*kmsg.DescribeProducersResponse)
		if broker == 2 {
			res.Topics[0].Partitions[0].ErrorCode = kerr.TopicAuthorizationFailed.Code
		}
		return res, fake.Answer
	})
	ps, refused, failed := cl.ActiveProducers(t.Context(), orders())
	if diff := gocmp.Diff([]ActiveProducer{{Topic: "orders", ProducerID: 77, ProducerEpoch: 3, LastTimestamp: 5, TransactionStart: 95}}, ps); diff != "" || len(failed) > 0 {
		t.Errorf("failed %v: %s", failed, diff)
	}
	if len(refused) != 1 || refused[0].Partition != 1 || Classify(&refused[0]) != connect.ClassACL || refused[0].Error() == "" {
		t.Errorf("refused: %v", refused)
	}
}

func TestQuorum(t *testing.T) {
	c := three(t)
	c.Update(func(s *fake.State) {
		s.Quorum.Leader, s.Quorum.LeaderEpoch, s.Quorum.HighWatermark = 2, 9, 500
		s.Quorum.Voters[1].LogEndOffset = 501
		s.Quorum.Observers = []fake.QuorumReplica{{ID: 8, LogEndOffset: 400, LastFetchMillis: 7, CaughtUpMillis: 6}}
	})
	cl, _ := clientOf(t, c)
	q, err := cl.Quorum(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if q.LeaderID != 2 || q.LeaderEpoch != 9 || q.HighWatermark != 500 || len(q.Voters) != 3 || q.Voters[1].LogEndOffset != 501 {
		t.Errorf("quorum %+v", q)
	}
	if diff := gocmp.Diff([]QuorumReplica{{8, 400, 7, 6}}, q.Observers); diff != "" {
		t.Error(diff)
	}
}
