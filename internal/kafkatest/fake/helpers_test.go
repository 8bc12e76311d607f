package fake

import (
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// kgoClient returns a franz-go client that does not retry, so that a fault
// shows as what it is.
func kgoClient(t testing.TB, c *Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	base := []kgo.Opt{
		kgo.SeedBrokers(c.Addrs()...), kgo.RequestRetries(0), kgo.DisableClientMetrics(),
		kgo.MetadataMinAge(10 * time.Millisecond), kgo.RetryTimeout(5 * time.Second),
	}
	cl, err := kgo.NewClient(append(base, opts...)...)
	if err != nil {
		t.Fatalf("kgo.NewClient: %v", err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func kadmClient(t testing.TB, c *Cluster, opts ...kgo.Opt) *kadm.Client {
	t.Helper()
	return kadm.NewClient(kgoClient(t, c, opts...))
}

func saramaConfig() *sarama.Config {
	conf := sarama.NewConfig()
	conf.Version = sarama.MaxVersion
	conf.Metadata.Retry.Max = 0
	conf.Admin.Retry.Max = 0
	conf.Net.DialTimeout = 5 * time.Second
	conf.Net.ReadTimeout = time.Second
	return conf
}

func saramaClient(t testing.TB, c *Cluster) sarama.Client {
	t.Helper()
	cl, err := sarama.NewClient(c.Addrs(), saramaConfig())
	if err != nil {
		t.Fatalf("sarama.NewClient: %v", err)
	}
	t.Cleanup(func() { _ = cl.Close() })
	return cl
}

func saramaAdmin(t testing.TB, c *Cluster) sarama.ClusterAdmin {
	t.Helper()
	a, err := sarama.NewClusterAdminFromClient(saramaClient(t, c))
	if err != nil {
		t.Fatalf("sarama admin: %v", err)
	}
	return a
}

// saramaBroker returns an open connection to one broker.
func saramaBroker(t testing.TB, c *Cluster, id int32) *sarama.Broker {
	t.Helper()
	b, err := saramaClient(t, c).Broker(id)
	if err != nil {
		t.Fatalf("sarama broker %d: %v", id, err)
	}
	if err := b.Open(saramaConfig()); err != nil && err != sarama.ErrAlreadyConnected {
		t.Fatalf("sarama open broker %d: %v", id, err)
	}
	return b
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// sample is a cluster with one of everything that the tests look at.
func sample(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	c := Start(t, opts...)
	c.Update(fillSample)
	return c
}

func fillSample(s *State) {
	orders := s.AddTopic("orders", 3, 2)
	for i := range orders.Partitions {
		p := &orders.Partitions[i]
		p.SetOffsets(int64(10*i), int64(100+i))
		p.FirstTimestamp, p.MaxTimestamp = 1_000_000, 2_000_000
		p.LeaderEpoch = int32(4 + i)
	}
	orders.Partitions[0].Stable = 95
	orders.Configs = map[string]Config{"retention.ms": Value("1000")}
	moving := s.AddTopic("moving", 1, 2)
	moving.Partitions[0].Replicas = []int32{1, 2, 3}
	moving.Partitions[0].Adding, moving.Partitions[0].Removing = []int32{3}, []int32{1}
	s.AddTopic("leaderless", 2, 1).Partitions[1].Leader = -1
	s.AddTopic("__consumer_offsets", 1, 3).Internal = true

	s.SetReplicaSize(1, "orders", 0, 12345)
	s.Brokers[1].LogDirs = append(s.Brokers[1].LogDirs, &LogDir{Path: "/data/bad", Err: 56, Total: 7, Usable: 7})
	s.Brokers[2].LogDirs[0].Replicas = append(s.Brokers[2].LogDirs[0].Replicas,
		Replica{Topic: "orders", Partition: 0, Size: 5, Lag: 9, Future: true})

	classic := s.AddGroup("classic", Classic)
	classic.AddMember("m-1", "app", "/127.0.0.1", TopicPartitions{"orders", []int32{0, 1, 2}})
	classic.SetCommit("orders", 1, 42).Metadata = "note"
	classic.SetCommit("orders", 0, 41)
	classic.SetCommit("gone", 0, 5)
	next := s.AddGroup("next", Consumer)
	for i := range int32(3) {
		next.AddMember("m-"+itoa(i), "app848", "/127.0.0.2", TopicPartitions{"orders", []int32{i}})
	}
	next.SetCommit("orders", 2, 90)
	share := s.AddGroup("shared", Share)
	share.AddMember("s-1", "worker", "/127.0.0.3", TopicPartitions{"orders", []int32{0}})
	share.SetCommit("orders", 0, 60)
	s.AddGroup("str", Streams)
	s.AddGroup("raw\xff\xfe", Classic).State = "Empty"

	s.Quotas = []Quota{
		{Entity: map[string]*string{"user": nil}, Values: map[string]float64{"producer_byte_rate": 1000}},
		{Entity: map[string]*string{"user": ptr("alice"), "client-id": nil}, Values: map[string]float64{"consumer_byte_rate": 2000}},
	}
	s.ACLs = []ACL{
		{ResourceType: 2, ResourceName: "orders", PatternType: 3, Principal: "User:alice", Host: "*", Operation: 3, Permission: 3},
		{ResourceType: 2, ResourceName: "ord", PatternType: 4, Principal: "User:bob", Host: "*", Operation: 4, Permission: 2},
	}
	s.Transactions["tx-1"] = &Transaction{
		ID: "tx-1", Coordinator: 2, State: "Ongoing", ProducerID: 77, ProducerEpoch: 3,
		TimeoutMillis: 60000, StartMillis: 1_700_000_000_000, Partitions: []TopicPartitions{{"orders", []int32{0}}},
	}
	orders.Partitions[0].Producers = []Producer{{ID: 77, Epoch: 3, LastSequence: 8, LastTimestamp: 1_999_999, TxnStartOffset: 95}}
	s.Quorum.HighWatermark = 500
	s.Quorum.Voters[0].LogEndOffset = 501
}

func ptr[T any](v T) *T { return &v }
