package kafkatest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// everything is every optional listener and mechanism.
func everything(mode Mode) Options {
	return Options{
		Mode: mode, TLS: true, OAuth: &OAuth{}, IPv6: HasIPv6(), SuperUsers: []string{"User:CN=client"},
		// So that a killed broker is missed soon.
		Properties: map[string]string{"broker.session.timeout.ms": "5000"},
	}
}

// TestModes checks of each mode that the cluster is what was asked for, that
// records pass through it, and that nothing is left of it at the end.
func TestModes(t *testing.T) {
	for _, mode := range Modes {
		t.Run(string(mode), func(t *testing.T) {
			c := Private(t, everything(mode))
			checkRacks(t, c)
			checkRoundTrip(t, c)
			checkListeners(t, c)
			checkGroupProtocols(t, c)
			checkLogDirs(t, c)
			checkRequestLog(t, c)
			if mode == KRaft4 {
				checkBrokerControl(t, c)
			}
			checkTeardown(t, c)
		})
	}
}

func checkRacks(t *testing.T, c *Cluster) {
	t.Helper()
	meta, err := c.Admin().BrokerMetadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[int32]string{}
	for _, b := range meta.Brokers {
		got[b.NodeID] = *b.Rack
	}
	want := map[int32]string{1: "rack-a", 2: "rack-b", 3: "rack-c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("racks by broker id (-want +got):\n%s", diff)
	}
}

// checkRoundTrip produces to and consumes from a topic with given replicas, and
// commits an offset.
func checkRoundTrip(t *testing.T, c *Cluster) {
	t.Helper()
	ctx := t.Context()
	topic, group := UniqueName(t), UniqueName(t)
	assignment := [][]int32{{3, 1}, {2, 3}}
	if err := c.CreateTopicAssigned(ctx, topic, assignment, map[string]string{"retention.ms": "1234567"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Produce(ctx, topic, 1, 5, 100); err != nil {
		t.Fatal(err)
	}
	cl := c.Client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {1: kgo.NewOffset().At(4)}}))
	fetches := cl.PollRecords(ctx, 1)
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	if r := fetches.Records()[0]; r.Offset != 4 || len(r.Value) != 100 {
		t.Errorf("got offset %d with %d bytes, want offset 4 with 100 bytes", r.Offset, len(r.Value))
	}
	if err := c.Commit(ctx, group, map[string]map[int32]int64{topic: {1: 3}}); err != nil {
		t.Fatal(err)
	}
	offsets, err := c.Admin().FetchOffsets(ctx, group)
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := offsets.Lookup(topic, 1); !ok || o.At != 3 {
		t.Errorf("committed offset = %v (found %v), want 3", o.At, ok)
	}
	topics, err := c.Admin().ListTopics(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	got := [][]int32{topics[topic].Partitions[0].Replicas, topics[topic].Partitions[1].Replicas}
	if diff := cmp.Diff(assignment, got); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
}

// checkListeners logs in over every listener, and with a wrong password.
func checkListeners(t *testing.T, c *Cluster) {
	t.Helper()
	tlsConfig, err := c.TLSConfig()
	if err != nil {
		t.Fatal(err)
	}
	token := oauth.Auth{Token: unsecuredToken(t, "admin")}.AsMechanism()
	admin := plain.Auth{User: "admin", Pass: Password("admin")}.AsMechanism()
	withTLS := kgo.DialTLSConfig(tlsConfig)
	for _, tt := range []struct {
		name, listener string
		opts           []kgo.Opt
	}{
		{"plain", ListenerSASLPlaintext, []kgo.Opt{kgo.SASL(admin)}},
		{"oauth", ListenerSASLPlaintext, []kgo.Opt{kgo.SASL(token)}},
		{"mutual TLS", ListenerSSL, []kgo.Opt{withTLS}},
		{"plain over TLS", ListenerSASLSSL, []kgo.Opt{withTLS, kgo.SASL(admin)}},
		{"IPv6", ListenerIPv6, nil},
	} {
		if tt.listener == ListenerIPv6 && !HasIPv6() {
			continue
		}
		if n, err := countTopics(t, c, tt.listener, tt.opts...); err != nil || n == 0 {
			t.Errorf("%s: listed %d topics, error %v", tt.name, n, err)
		}
	}

	wrong := plain.Auth{User: "admin", Pass: "not-it"}.AsMechanism()
	if _, err := countTopics(t, c, ListenerSASLPlaintext, kgo.SASL(wrong)); !errors.Is(err, kerr.SaslAuthenticationFailed) {
		t.Errorf("wrong password: error %v, want %v", err, kerr.SaslAuthenticationFailed)
	}
	alice := plain.Auth{User: "alice", Pass: Password("alice")}.AsMechanism()
	if n, err := countTopics(t, c, ListenerSASLPlaintext, kgo.SASL(alice)); err != nil || n != 0 {
		t.Errorf("alice without ACLs listed %d topics, error %v; want none: is the authorizer off?", n, err)
	}
	checkScram(t, c)
}

// checkScram creates a SCRAM user through the API and logs in as that user.
func checkScram(t *testing.T, c *Cluster) {
	t.Helper()
	res, err := c.Admin().AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{
		User: "carol", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "carol-secret",
	}})
	if err != nil || res["carol"].Err != nil {
		t.Fatal(err, res["carol"].Err)
	}
	m := scram.Auth{User: "carol", Pass: "carol-secret"}.AsSha256Mechanism()
	// Brokers learn of the user one after the other.
	WaitFor(t, "a SCRAM login", 10*time.Second, func(ctx context.Context) (bool, string) {
		_, err := countTopics(t, c, ListenerSASLPlaintext, kgo.SASL(m))
		return err == nil, fmt.Sprint(err)
	})
}

// countTopics returns how many topics a client of one broker's listener sees.
func countTopics(t *testing.T, c *Cluster, listener string, opts ...kgo.Opt) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cl, err := c.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(c.BootstrapFor(listener), ",")...)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	res, err := cl.SeedBrokers()[0].Request(ctx, &kmsg.MetadataRequest{})
	if err != nil {
		return 0, err
	}
	return len(res.(*kmsg.MetadataResponse).Topics), nil
}

// checkGroupProtocols joins a group of each of the newer protocols, which tells
// more than the list of offered APIs: Kafka 3.9 with ZooKeeper lists what it
// then refuses.
func checkGroupProtocols(t *testing.T, c *Cluster) {
	t.Helper()
	consumer := joinConsumerGroup(t, c)
	share := joinShareGroup(t, c)
	if want := c.Mode().KRaft(); (consumer == nil) != want {
		t.Errorf("joining a group of the consumer protocol: error %v; should it work: %v", consumer, want)
	}
	if want := c.Mode() == KRaft4; (share == nil) != want {
		t.Errorf("joining a share group: error %v; should it work: %v", share, want)
	}
}

func joinConsumerGroup(t *testing.T, c *Cluster) error {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = UniqueName(t), "AAAAAAAAAAAAAAAAAAAAAQ", 0
	req.RebalanceTimeoutMillis = 5000
	req.SubscribedTopicNames = []string{"none"}
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	res, err := req.RequestWith(t.Context(), c.client())
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(res.ErrorCode)
}

func joinShareGroup(t *testing.T, c *Cluster) error {
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.MemberEpoch = UniqueName(t), "AAAAAAAAAAAAAAAAAAAAAg", 0
	req.SubscribedTopicNames = []string{"none"}
	res, err := req.RequestWith(t.Context(), c.client())
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(res.ErrorCode)
}

// unsecuredToken returns a token that Kafka's validator of unsecured tokens
// accepts.
func unsecuredToken(t *testing.T, subject string) string {
	t.Helper()
	now := time.Now().Unix()
	claims, err := json.Marshal(map[string]any{"sub": subject, "iat": now - 5, "exp": now + 600})
	if err != nil {
		t.Fatal(err)
	}
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"none"}`)) + "." + enc(claims) + "."
}

func checkLogDirs(t *testing.T, c *Cluster) {
	t.Helper()
	dirs, err := c.Admin().DescribeBrokerLogDirs(t.Context(), 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(dirs))
	if diff := cmp.Diff(c.Broker(2).LogDirs(), got); diff != "" {
		t.Errorf("log directories of broker 2 (-want +got):\n%s", diff)
	}
}

// checkRequestLog switches the request logger of one broker on and off: its
// lines must be in its own file and nowhere else.
func checkRequestLog(t *testing.T, c *Cluster) {
	t.Helper()
	b := c.Broker(1)
	if fi, err := os.Stat(b.RequestLog()); err != nil || fi.Size() != 0 {
		t.Errorf("request log before it is switched on: %v, error %v; want an empty file", fi, err)
	}
	log := newLogReader(b.RequestLog())
	setRequestLog(t, c, b, "DEBUG")
	WaitFor(t, "a line in the request log", 10*time.Second, func(ctx context.Context) (bool, string) {
		if _, err := askBroker(ctx, b, 5*time.Second); err != nil {
			return false, err.Error()
		}
		line, ok := log.contains(`Completed request:{`)
		return ok, line
	})
	setRequestLog(t, c, b, "WARN")
	if line, ok := (&logReader{path: b.ServerLog()}).contains("Completed request"); ok {
		t.Errorf("a line of the request log is in server.log too: %.100s", line)
	}
}

// setRequestLog sets the level of a broker's request logger through the API.
func setRequestLog(t *testing.T, c *Cluster, b *Broker, level string) {
	t.Helper()
	cfg := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	cfg.Name, cfg.Op, cfg.Value = "kafka.request.logger", kmsg.IncrementalAlterConfigOpSet, &level
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeBrokerLogger, strconv.Itoa(b.ID())
	resource.Configs = append(resource.Configs, cfg)
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, resource)
	res, err := req.RequestWith(t.Context(), c.client())
	if err != nil {
		t.Fatal(err)
	}
	if err := kerr.ErrorForCode(res.Resources[0].ErrorCode); err != nil {
		t.Fatal(err)
	}
}
