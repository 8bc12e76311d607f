package fake

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// patience is how long a client is given to see that nothing comes.
const patience = 300 * time.Millisecond

// ask sends a ListGroups request to broker 2 with a deadline.
func ask(t *testing.T, cl *kgo.Client, deadline time.Duration) (kmsg.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	return cl.Broker(2).Request(ctx, kmsg.NewPtrListGroupsRequest())
}

// bothClients runs a request to broker 2 through franz-go and sarama.
func bothClients(t *testing.T, c *Cluster) (kgoErr, saramaErr error) {
	t.Helper()
	_, kgoErr = ask(t, kgoClient(t, c), 2*time.Second)
	_, saramaErr = saramaBroker(t, c, 2).ListGroups(&sarama.ListGroupsRequest{Version: 5})
	return kgoErr, saramaErr
}

func TestActionsFailClients(t *testing.T) {
	for name, act := range map[string]Action{
		"drop": Drop, "half frame": HalfFrame,
		"garbage":   Garbage([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")),
		"wrong tag": Garbage([]byte{0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff}),
	} {
		t.Run(name, func(t *testing.T) {
			c := sample(t)
			remove := c.OnKey(kmsg.ListGroups, func(int32, kmsg.Request) (kmsg.Response, Action) { return nil, act })
			k, s := bothClients(t, c)
			if k == nil || s == nil {
				t.Errorf("franz-go: %v; sarama: %v; want two errors", k, s)
			}
			t.Logf("franz-go: %v; sarama: %v", k, s)
			remove()
			if k, s = bothClients(t, c); k != nil || s != nil {
				t.Errorf("after removal: franz-go %v, sarama %v", k, s)
			}
		})
	}
}

func TestSwallow(t *testing.T) {
	c := sample(t)
	defer c.OnKey(kmsg.ListGroups, func(int32, kmsg.Request) (kmsg.Response, Action) { return nil, Swallow })()
	if _, err := ask(t, kgoClient(t, c), patience); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want the deadline", err)
	}
}

func TestAnswerAndDefault(t *testing.T) {
	c := sample(t)
	c.OnKey(kmsg.ListGroups, func(int32, kmsg.Request) (kmsg.Response, Action) { return nil, Pass })
	c.Intercept(func(broker int32, req kmsg.Request) (kmsg.Response, Action) {
		lg, ok := req.(*kmsg.ListGroupsRequest)
		if !ok {
			return nil, Pass
		}
		resp := c.Default(broker, lg).(*kmsg.ListGroupsResponse)
		resp.ErrorCode = 14
		return resp, Answer
	})
	resp, err := ask(t, kgoClient(t, c), 2*time.Second)
	if err != nil || resp.(*kmsg.ListGroupsResponse).ErrorCode != 14 {
		t.Errorf("%+v, %v", resp, err)
	}
	var n int
	c.View(func(s *State) {
		for _, g := range s.Groups {
			if g.Coordinator == 2 {
				n++
			}
		}
	})
	if got := len(resp.(*kmsg.ListGroupsResponse).Groups); n == 0 || got != n {
		t.Errorf("%d groups, want the default's %d", got, n)
	}
}

func TestDelayAnswersFromTheStateAsOfThen(t *testing.T) {
	c := sample(t)
	hold := make(chan struct{})
	seen := make(chan struct{}, 1)
	c.OnKey(kmsg.ListGroups, func(int32, kmsg.Request) (kmsg.Response, Action) {
		seen <- struct{}{}
		return nil, Delay(hold)
	})
	type result struct {
		resp kmsg.Response
		err  error
	}
	done := make(chan result, 1)
	cl := kgoClient(t, c)
	go func() {
		resp, err := ask(t, cl, 10*time.Second)
		done <- result{resp, err}
	}()
	<-seen
	c.Update(func(s *State) { clear(s.Groups) })
	select {
	case r := <-done:
		t.Fatalf("answered before the channel was closed: %+v", r)
	default:
	}
	close(hold)
	if r := <-done; r.err != nil || len(r.resp.(*kmsg.ListGroupsResponse).Groups) != 0 {
		t.Errorf("%+v, want no groups", r)
	}
}

func TestBlackHole(t *testing.T) {
	c := sample(t)
	cl := kgoClient(t, c)
	if _, err := ask(t, cl, 2*time.Second); err != nil {
		t.Fatal(err)
	}
	c.ResetRequests()
	c.BlackHole(2)
	if _, err := ask(t, cl, patience); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("existing connection: err = %v, want the deadline", err)
	}
	if _, err := ask(t, kgoClient(t, c), patience); err == nil {
		t.Error("new connection: want an error")
	}
	if n := c.Counts()[CountKey{2, kmsg.ListGroups.Int16(), 5}]; n != 1 {
		t.Errorf("%d ListGroups recorded at the black hole, want 1 (the second client gets no ApiVersions)", n)
	}
	if _, err := cl.Broker(1).Request(t.Context(), kmsg.NewPtrListGroupsRequest()); err != nil {
		t.Errorf("broker 1: %v", err)
	}
	c.Restore(2)
	if _, err := ask(t, kgoClient(t, c), 2*time.Second); err != nil {
		t.Errorf("after Restore: %v", err)
	}
}

// TestHangUpWhileHeldBack proves that a client that gives up does not leave its
// connection behind, although a pipelined request waits behind the held one.
func TestHangUpWhileHeldBack(t *testing.T) {
	c := sample(t)
	c.OnKey(kmsg.ListGroups, func(int32, kmsg.Request) (kmsg.Response, Action) { return nil, Swallow })
	nc := must(net.Dial("tcp", c.Addr(2)))(t)
	frame := []byte{0, 0, 0, 10, 0, 16, 0, 0, 0, 0, 0, 1, 0xff, 0xff}
	if _, err := nc.Write(append(frame, frame...)); err != nil {
		t.Fatal(err)
	}
	open := func() int {
		b := c.brokers[2]
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.conns)
	}
	eventually(t, "the request is swallowed", func() bool { return c.Count(kmsg.ListGroups) == 1 && open() == 1 })
	nc.Close()
	eventually(t, "the connection is gone", func() bool { return open() == 0 })
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 5 s it is still not so that %s", what)
		}
	}
}

func TestStopAndStartBroker(t *testing.T) {
	c := sample(t)
	cl := kgoClient(t, c)
	if _, err := ask(t, cl, 2*time.Second); err != nil {
		t.Fatal(err)
	}
	addr := c.Addr(2)
	c.StopBroker(2)
	if nc, err := net.Dial("tcp", addr); err == nil {
		nc.Close()
		t.Error("a stopped broker accepts connections")
	}
	if _, err := ask(t, cl, 2*time.Second); err == nil {
		t.Error("a stopped broker answers")
	}
	if err := c.StartBroker(2); err != nil {
		t.Fatal(err)
	}
	if c.Addr(2) != addr {
		t.Errorf("address moved from %s to %s", addr, c.Addr(2))
	}
	if _, err := ask(t, kgoClient(t, c), 2*time.Second); err != nil {
		t.Errorf("after start: %v", err)
	}
	if err := c.StartBroker(77); err == nil {
		t.Error("broker 77 does not exist")
	}
}

func TestRequestsAreRecorded(t *testing.T) {
	c := sample(t, WithRequestLog(50))
	adm := kadmClient(t, c)
	must(adm.ListEndOffsets(t.Context(), "orders"))(t)
	for _, r := range c.Requests() {
		if r.Mentions("moving") {
			t.Errorf("%s mentions a topic nobody asked for", r.Name())
		}
		if r.ClientID != "kgo" {
			t.Errorf("%s: client id %q", r.Name(), r.ClientID)
		}
	}
	lo := As[*kmsg.ListOffsetsRequest](c.Requests())
	if len(lo) != 3 || c.Count(kmsg.ListOffsets) != 3 || lo[0].Topics[0].Topic != "orders" {
		t.Errorf("%d ListOffsets requests, want one per leader", len(lo))
	}
	if r := c.Requests(kmsg.ListOffsets)[0]; !r.Mentions("orders") || r.Mentions("order") {
		t.Errorf("Mentions is wrong for %+v", r)
	}
	for topic, want := range map[string]int{"orders": 4, "moving": 0} {
		if got := c.AskedFor(topic); len(got) != want {
			t.Errorf("AskedFor(%s) = %d requests, want %d", topic, len(got), want)
		}
	}
	c.ResetRequests()
	if c.Count() != 0 || len(c.Requests()) != 0 {
		t.Error("ResetRequests left something")
	}
	for range 60 {
		must(adm.ListEndOffsets(t.Context(), "orders"))(t)
	}
	if len(c.Requests()) != 50 || c.Count(kmsg.ListOffsets) != 180 || c.UnkeptRequests() != c.Count()-50 {
		t.Errorf("kept %d, unkept %d, counted %d", len(c.Requests()), c.UnkeptRequests(), c.Count())
	}
}

func TestUpdateWakesFetch(t *testing.T) {
	c := sample(t)
	cl := kgoClient(t, c, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"orders": {1: kgo.NewOffset().At(101)}}), kgo.FetchMaxWait(20*time.Second))
	eventually(t, "the client fetches at the end of the log", func() bool { return c.Count(kmsg.Fetch) > 0 })
	c.Update(func(s *State) { s.Partition("orders", 1).SetOffsets(10, 102) })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if f := cl.PollRecords(ctx, 1); f.Err() != nil || f.Records()[0].Offset != 101 {
		t.Errorf("%+v; requests: %v", f.Errors(), c.Counts())
	}
}

func TestKillBroker(t *testing.T) {
	c := sample(t)
	c.StopBroker(1)
	c.Update(func(s *State) { s.KillBroker(1) })
	adm := kadmClient(t, c, kgo.SeedBrokers(c.Addr(2), c.Addr(3)))
	m := must(adm.Metadata(t.Context()))(t)
	if m.Controller == 1 || len(m.Brokers) != 2 {
		t.Errorf("controller %d, brokers %v", m.Controller, m.Brokers.NodeIDs())
	}
	if p := m.Topics["orders"].Partitions[0]; p.Leader != 2 || p.LeaderEpoch != 5 || len(p.ISR) != 1 || len(p.OfflineReplicas) != 1 {
		t.Errorf("orders-0 = %+v", p)
	}
	if p := m.Topics["leaderless"].Partitions[0]; p.Leader != -1 || len(p.ISR) != 1 {
		t.Errorf("leaderless-0 (RF 1 on broker 1) = %+v", p)
	}
	if g := must(adm.ListGroups(t.Context()))(t); len(g) != 5 {
		t.Errorf("groups = %q", g.Groups())
	}
}
