package kafka

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

func TestIPv6(t *testing.T) {
	if !kafkatest.HasIPv6() {
		t.Skip("this machine has no IPv6 loopback")
	}
	c := three(t, fake.WithIPv6())
	cl, _ := clientOf(t, c)
	md, err := cl.Metadata(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range md.Brokers {
		host, _, err := net.SplitHostPort(b.Addr)
		if err != nil || host != "::1" || b.Addr != c.Addr(b.ID) {
			t.Errorf("broker %d has the address %q, want %q", b.ID, b.Addr, c.Addr(b.ID))
		}
	}
	if gs, failed := cl.ListGroups(t.Context(), allBrokers); len(gs) != 3 || len(failed) > 0 {
		t.Errorf("groups %v, failed %v", gs, failed)
	}
}

// A wrong password is told as such for sarama's and for franz-go's requests,
// is never in an error, and a corrected file is used without a restart.
func TestWrongPassword(t *testing.T) {
	c := three(t, fake.WithUsers(map[string]string{"alice": "right-secret"}))
	file := filepath.Join(t.TempDir(), "password")
	write := func(password string) {
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, id := range allBrokers {
			c.DropConnections(id)
		}
	}
	write("right-secret")
	rec := &recorder{}
	cl := New(connectorFor(t, c, func(cfg *connect.Config) {
		cfg.SASL = &connect.SASL{Mechanism: "PLAIN", Username: "alice", PasswordFile: file}
	}), WithObserver(rec.observe), WithRetryAfter(10*time.Millisecond))
	t.Cleanup(cl.Close)
	if _, err := cl.Metadata(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	write("wrong-secret")
	_, err := cl.Metadata(t.Context(), nil)
	if Classify(err) != connect.ClassAuth || strings.Contains(errText(err), "wrong-secret") {
		t.Errorf("Metadata: class %q, %v", Classify(err), err)
	}
	_, err = cl.Reassignments(t.Context())
	if Classify(err) != connect.ClassAuth || strings.Contains(errText(err), "wrong-secret") {
		t.Errorf("Reassignments: class %q, %v", Classify(err), err)
	}
	for k := range rec.counts() {
		if k.class != connect.ClassAuth && k.class != "" {
			t.Errorf("counted %+v, want class auth only", k)
		}
	}
	write("right-secret")
	kafkatest.WaitFor(t, "the right password to be used", 10*time.Second, func(ctx context.Context) (bool, string) {
		if _, err := cl.Metadata(ctx, nil); err != nil {
			return false, err.Error()
		}
		_, err := cl.Reassignments(ctx)
		return err == nil, errText(err)
	})
}

// Everything at once, while brokers fail and come back: nothing races, every
// call ends, and in the end all is well.
func TestConcurrentUse(t *testing.T) {
	c := three(t)
	cl, _ := clientOf(t, c, WithRequestTimeout(200*time.Millisecond), WithRetryAfter(time.Millisecond))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for _, f := range []func(){
		func() { _, _ = cl.Metadata(ctx, nil) },
		func() { _, _ = cl.ListGroups(ctx, allBrokers) },
		func() { _, _ = endOffsets(ctx, cl, orders()) },
		func() { _, _ = cl.LogDirs(ctx, allBrokers) },
		func() { _, _ = cl.CommittedOffsets(ctx, map[int32][]string{1: {"g1"}, 2: {"g2"}, 3: {"g3"}}) },
		func() { _, _ = cl.Reassignments(ctx) },
		func() { _, _ = cl.Quorum(ctx) },
		func() { c.DropConnections(2) },
		func() { c.BlackHole(3); runtime.Gosched(); c.Restore(3) },
		func() { c.StopBroker(1); _ = c.StartBroker(1) },
	} {
		wg.Go(func() {
			for ctx.Err() == nil {
				f()
			}
		})
	}
	wg.Wait()
	if err := c.StartBroker(1); err != nil {
		t.Fatal(err)
	}
	kafkatest.WaitFor(t, "all brokers to answer", 20*time.Second, func(ctx context.Context) (bool, string) {
		got, failed := endOffsets(ctx, cl, orders())
		return len(got) == 3, errText(errors.Join(failed[1], failed[2], failed[3]))
	})
}

// What takes long has connections of its own: an answer that does not come
// holds nothing else up.
func TestBeside(t *testing.T) {
	cluster := fake.Start(t, fake.WithBrokers(1))
	c, _ := clientOf(t, cluster)
	beside := c.Beside()
	if _, err := c.Metadata(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	asked := make(chan struct{}, 1)
	cluster.OnKey(kmsg.DescribeLogDirs, func(int32, kmsg.Request) (kmsg.Response, fake.Action) {
		select {
		case asked <- struct{}{}:
		default:
		}
		return nil, fake.Delay(release)
	})
	done := make(chan map[int32]error, 1)
	go func() {
		_, failed := beside.LogDirs(t.Context(), []int32{1})
		done <- failed
	}()
	<-asked
	if _, failed := c.ListGroups(t.Context(), []int32{1}); len(failed) > 0 {
		t.Errorf("while log dirs are awaited: %v", failed)
	}
	close(release)
	if failed := <-done; len(failed) > 0 {
		t.Errorf("log dirs: %v", failed)
	}
	c.Close()
	if _, failed := beside.LogDirs(t.Context(), []int32{1}); len(failed) == 0 {
		t.Error("the client beside works on after Close")
	}
}
