package kafkatest

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// checkGroupProtocols checks which group protocols the brokers offer.
func checkGroupProtocols(t *testing.T, c *Cluster) {
	t.Helper()
	offered, err := offeredAPIs(t.Context(), c.client().Broker(1))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{
		"consumer": offered[kmsg.ConsumerGroupHeartbeat.Int16()],
		"share":    offered[kmsg.ShareGroupHeartbeat.Int16()],
	}
	want := map[string]bool{"consumer": c.Mode().KRaft(), "share": c.Mode() == KRaft4}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("group protocols offered (-want +got):\n%s", diff)
	}
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

// checkBrokerControl stops, kills, pauses and restarts brokers.
func checkBrokerControl(t *testing.T, c *Cluster) {
	t.Helper()
	ctx := t.Context()
	b := c.Broker(2)
	before := b.PID()
	if err := b.Pause(); err != nil {
		t.Fatal(err)
	}
	if _, err := askBroker(ctx, b, time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused broker: error %v, want no answer in time", err)
	}
	if err := b.Resume(); err != nil {
		t.Fatal(err)
	}
	if _, err := askBroker(ctx, b, 10*time.Second); err != nil {
		t.Errorf("a resumed broker: %v", err)
	}
	if err := b.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if b.Running() || syscall.Kill(before, 0) == nil {
		t.Errorf("broker 2 (pid %d) still runs after Stop", before)
	}
	if _, ok := (&logReader{path: b.ServerLog()}).contains("shut down completed"); !ok {
		t.Error("the stop was not graceful: server.log has no line about it")
	}
	waitListed(t, c, 1, 3)
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	waitListed(t, c, 1, 2, 3)
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	waitListed(t, c, 1, 3)
	if err := b.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	waitListed(t, c, 1, 2, 3)
	if after := b.PID(); after == before || c.State().Brokers[1].PID != after {
		t.Errorf("pid before %d, after %d, in the state %d", before, after, c.State().Brokers[1].PID)
	}
}

// askBroker makes one request to one broker.
func askBroker(ctx context.Context, b *Broker, within time.Duration) ([]int, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cl, err := newKgoClient(b.Addr(ListenerPlaintext))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return listedBrokers(ctx, cl)
}

// waitListed waits until broker 1 lists exactly these brokers.
func waitListed(t *testing.T, c *Cluster, want ...int) {
	t.Helper()
	WaitFor(t, fmt.Sprintf("broker 1 to list %v", want), 30*time.Second, func(ctx context.Context) (bool, string) {
		got, err := askBroker(ctx, c.Broker(1), 5*time.Second)
		return slices.Equal(got, want), fmt.Sprint(got, err)
	})
}

// checkTeardown stops the cluster and looks for what is left.
func checkTeardown(t *testing.T, c *Cluster) {
	t.Helper()
	state := c.State()
	c.Stop()
	if left := leftovers(state); len(left) > 0 {
		t.Errorf("left after Stop: %v", left)
	}
	c.Stop() // again: must do nothing
}

// leftovers lists the processes and the directory of a cluster that exist.
func leftovers(s State) []string {
	var left []string
	for _, b := range s.Brokers {
		if running(b.PID) {
			left = append(left, fmt.Sprintf("broker %d pid %d", b.ID, b.PID))
		}
	}
	for _, z := range s.ZooKeepers {
		if running(z.PID) {
			left = append(left, fmt.Sprintf("ZooKeeper %d pid %d", z.ID, z.PID))
		}
	}
	if exists(s.Dir) {
		left = append(left, s.Dir)
	}
	return left
}

// running reports whether the process exists and is no zombie, which only
// waits for its new parent to take note.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	out, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// TestParentKilled kills a process that owns a cluster in every way that leaves
// it no time to clean up.
func TestParentKilled(t *testing.T) {
	SkipIfOff(t)
	for _, tt := range []struct {
		name string
		mode Mode
		kill func(pid int) error
	}{
		{"SIGKILL", KRaft4, func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }},
		{"SIGINT", KRaft4, func(pid int) error { return syscall.Kill(pid, syscall.SIGINT) }},
		{"SIGKILL of its group", ZK39, func(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }},
		{"SIGTERM", ZK39, func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			state, cmd := startOwner(t, tt.mode)
			if len(leftovers(state)) < 2 {
				t.Fatalf("the cluster does not run: %v", leftovers(state))
			}
			if err := tt.kill(cmd.Process.Pid); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			WaitFor(t, "processes and directory to go", 20*time.Second, func(context.Context) (bool, string) {
				left := leftovers(state)
				return len(left) == 0, strings.Join(left, ", ")
			})
		})
	}
}

// startOwner starts a process that owns a cluster; see TestMain.
func startOwner(t *testing.T, mode Mode) (State, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerEnv+"="+string(mode))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var state State
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&state); err != nil {
		t.Fatalf("the owner did not print its cluster's state: %v", err)
	}
	return state, cmd
}
