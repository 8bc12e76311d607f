package kafka

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

// deadline is the request deadline of the tests with a black hole.
const deadline = 400 * time.Millisecond

// A black-holed broker costs one deadline, however many requests a round has,
// and is not asked again before retryAfter has passed.
func TestBlackHoleCostsOneDeadline(t *testing.T) {
	for _, tc := range []struct {
		name string
		warm bool // a connection exists already when the broker falls silent
	}{{"connected before", true}, {"never connected", false}} {
		t.Run(tc.name, func(t *testing.T) {
			c := three(t)
			cl, _ := clientOf(t, c, WithRequestTimeout(deadline), WithRetryAfter(time.Hour))
			if tc.warm {
				if _, failed := cl.ListGroups(t.Context(), allBrokers); len(failed) > 0 {
					t.Fatal(failed)
				}
			}
			c.BlackHole(3)
			c.ResetRequests()
			round := func() {
				t.Helper()
				if gs, failed := cl.ListGroups(t.Context(), allBrokers); len(gs) != 2 || len(failed) != 1 || Classify(failed[3]) != connect.ClassTimeout {
					t.Errorf("ListGroups: %v, failed %v; want g1, g2 and a timeout of broker 3", gs, failed)
				}
				if dirs, failed := cl.LogDirs(t.Context(), allBrokers); len(dirs) != 2 || Classify(failed[3]) != connect.ClassTimeout {
					t.Errorf("LogDirs: %v, failed %v", dirs, failed)
				}
				got, failed := endOffsets(t.Context(), cl, orders())
				if diff := cmp.Diff(map[int32]int64{0: 100, 1: 101}, got); diff != "" || Classify(failed[3]) != connect.ClassTimeout {
					t.Errorf("ListOffsets: %v %s", failed, diff)
				}
				// Whoever can be asked is asked without the silent one in the way.
				for range 6 {
					if _, err := cl.Metadata(t.Context(), nil); err != nil {
						t.Errorf("Metadata: %v", err)
					}
				}
			}
			took := within(t, 2*deadline, "the first round", round)
			if took < deadline {
				t.Errorf("the first round took %s: the silent broker was not asked", took)
			}
			within(t, deadline, "the second round", round)
			if n := len(c.Requests()); tc.warm && at(c, 3, kmsg.ListGroups)+at(c, 3, kmsg.DescribeLogDirs)+at(c, 3, kmsg.ListOffsets) != 1 {
				t.Errorf("broker 3 was asked more than once: %v (%d requests in all)", c.Counts(), n)
			}
			if n := at(c, 3, kmsg.ApiVersions); !tc.warm && n != 1 {
				t.Errorf("broker 3 was connected to %d times, want once", n)
			}
		})
	}
}

// After retryAfter a broker that answers again is used again.
func TestBlackHoleHeals(t *testing.T) {
	c := three(t)
	cl, _ := clientOf(t, c, WithRequestTimeout(deadline), WithRetryAfter(time.Second))
	if _, failed := cl.ListGroups(t.Context(), allBrokers); len(failed) > 0 {
		t.Fatal(failed)
	}
	c.BlackHole(3)
	if _, failed := cl.ListGroups(t.Context(), allBrokers); Classify(failed[3]) != connect.ClassTimeout {
		t.Fatalf("failed: %v", failed)
	}
	c.Restore(3)
	_, failed := cl.ListGroups(t.Context(), allBrokers)
	recent := wantErr[*RecentFailureError](t, failed[3])
	if recent.Broker != 3 || Classify(failed[3]) != connect.ClassTimeout || !strings.Contains(failed[3].Error(), "not asked again yet") {
		t.Errorf("within retryAfter: %v", failed[3])
	}
	kafkatest.WaitFor(t, "broker 3 to be used again", 10*time.Second, func(ctx context.Context) (bool, string) {
		gs, failed := cl.ListGroups(ctx, allBrokers)
		return len(failed) == 0 && len(gs) == 3, errText(failed[3])
	})
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// While one request hangs in connecting to a silent broker, others to it keep
// to their own deadline, and what needs other brokers only is not held up.
func TestDialThatHangsHoldsUpNobody(t *testing.T) {
	c := three(t)
	cl, _ := clientOf(t, c, WithRequestTimeout(time.Minute), WithRetryAfter(time.Hour))
	c.BlackHole(3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, failed := cl.ListGroups(ctx, []int32{3})
		done <- failed[3]
	}()
	kafkatest.WaitFor(t, "the request to be on its way", 10*time.Second, func(context.Context) (bool, string) {
		return at(c, 3, kmsg.ApiVersions) > 0, ""
	})
	short, cancelShort := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancelShort()
	within(t, time.Second, "a second request with a deadline of its own", func() {
		_, failed := cl.LogDirs(short, []int32{3})
		if Classify(failed[3]) != connect.ClassTimeout {
			t.Errorf("failed: %v", failed)
		}
	})
	within(t, time.Second, "requests that need not wait for broker 3", func() {
		if _, failed := cl.CommittedOffsets(t.Context(), map[int32][]string{1: {"g1"}}); len(failed) > 0 {
			t.Errorf("commits at broker 1: %v", failed)
		}
		if _, err := cl.Metadata(t.Context(), nil); err != nil {
			t.Errorf("Metadata: %v", err)
		}
	})
	cancel()
	within(t, time.Second, "the end of a cancelled request", func() { <-done })
}

// A request that is cancelled returns at once and leaves nothing running; nor
// does a client that is closed while it connects.
func TestCancelAndCloseLeakNothing(t *testing.T) {
	noClientGoroutines(t, 10*time.Second)
	c := three(t)
	rec := &recorder{}
	cl := New(connectorFor(t, c, nil), WithObserver(rec.observe), WithRequestTimeout(time.Minute))
	if _, err := cl.Metadata(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Reassignments(t.Context()); err != nil { // franz-go's connections too
		t.Fatal(err)
	}
	for id := range int32(3) {
		c.BlackHole(id + 1)
	}
	before := at(c, 1, kmsg.ListGroups) + at(c, 1, kmsg.ApiVersions)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, failed := cl.ListGroups(ctx, allBrokers); len(failed) != 3 {
				t.Errorf("failed: %v", failed)
			}
		})
		wg.Go(func() {
			if _, err := cl.Reassignments(ctx); err == nil {
				t.Error("Reassignments succeeded in a black hole")
			}
		})
	}
	kafkatest.WaitFor(t, "requests to be on their way", 10*time.Second, func(context.Context) (bool, string) {
		return at(c, 1, kmsg.ListGroups)+at(c, 1, kmsg.ApiVersions) > before, ""
	})
	cancel()
	within(t, time.Second, "the end of cancelled requests", wg.Wait)
	cl.Close()
	noClientGoroutines(t, 10*time.Second)
	if n := len(c.Requests(kmsg.ListGroups)); n > 4*3 {
		t.Errorf("%d ListGroups were sent by 12 calls that were cancelled", n)
	}
}

// A connection that the broker closed while it was idle is made anew without
// anybody noticing.
func TestStaleConnectionIsRetriedOnce(t *testing.T) {
	for _, tc := range []struct {
		name string
		cut  func(*testing.T, *fake.Cluster)
	}{
		{"closed by the broker", func(_ *testing.T, c *fake.Cluster) { c.DropConnections(2) }},
		{"broker restarted", func(t *testing.T, c *fake.Cluster) {
			c.StopBroker(2)
			if err := c.StartBroker(2); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := three(t)
			cl, rec := clientOf(t, c, WithRetryAfter(time.Hour))
			if _, failed := cl.ListGroups(t.Context(), allBrokers); len(failed) > 0 {
				t.Fatal(failed)
			}
			tc.cut(t, c)
			gs, failed := cl.ListGroups(t.Context(), allBrokers)
			if len(gs) != 3 || len(failed) > 0 {
				t.Errorf("groups %v, failed %v", gs, failed)
			}
			for k, n := range rec.counts() {
				if k.class != "" {
					t.Errorf("%d requests of %s were counted as failed (%s)", n, k.api, k.class)
				}
			}
		})
	}
}

// A broker that refuses connections is a network failure of its own, and is
// used again once it is back.
func TestStoppedBroker(t *testing.T) {
	c := three(t)
	cl, rec := clientOf(t, c, WithRetryAfter(50*time.Millisecond))
	if _, failed := cl.ListGroups(t.Context(), allBrokers); len(failed) > 0 {
		t.Fatal(failed)
	}
	c.StopBroker(2)
	gs, failed := cl.ListGroups(t.Context(), allBrokers)
	if diff := cmp.Diff(map[int32]connect.Class{2: connect.ClassNetwork}, classesOf(failed)); diff != "" || len(gs) != 2 {
		t.Errorf("groups %v, failed %v %s", gs, failed, diff)
	}
	if !strings.Contains(errText(failed[2]), "ListGroups on broker 2 ("+c.Addr(2)+")") {
		t.Errorf("the error does not say what failed where: %v", failed[2])
	}
	if n := rec.counts()[seen{"ListGroups", connect.ClassNetwork}]; n != 1 {
		t.Errorf("%d failures counted, want 1: %v", n, rec.counts())
	}
	if err := c.StartBroker(2); err != nil {
		t.Fatal(err)
	}
	kafkatest.WaitFor(t, "broker 2 to be used again", 10*time.Second, func(ctx context.Context) (bool, string) {
		_, failed := cl.ListGroups(ctx, allBrokers)
		return len(failed) == 0, errText(failed[2])
	})
	// A broker that the cluster does not list is told as such.
	_, failed = cl.ListGroups(t.Context(), []int32{1, 9})
	if down := wantErr[*BrokerDownError](t, failed[9]); down.Broker != 9 {
		t.Errorf("failed: %v", failed)
	}
}

// Broken answers of one broker are its own: they end as errors with a class,
// in time, and the others' results stay.
func TestBrokenAnswers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		action fake.Action
		want   []connect.Class
	}{
		{"half a frame", fake.HalfFrame, []connect.Class{connect.ClassNetwork}},
		// On a connection that never served anything the broker may want SASL: auth.
		{"dropped connection", fake.Drop, []connect.Class{connect.ClassNetwork, connect.ClassAuth}},
		{"no answer", fake.Swallow, []connect.Class{connect.ClassTimeout}},
		{"an HTTP answer", fake.Garbage([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")), []connect.Class{connect.ClassNetwork, connect.ClassOther, connect.ClassTimeout}},
		{"zeros", fake.Garbage(make([]byte, 64)), []connect.Class{connect.ClassNetwork, connect.ClassOther}},
		{"an empty body", fake.Garbage([]byte{0, 0, 0, 4, 0, 0, 0, 1}), []connect.Class{connect.ClassNetwork, connect.ClassOther, connect.ClassTimeout}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := three(t)
			cl, rec := clientOf(t, c, WithRequestTimeout(time.Second), WithRetryAfter(10*time.Millisecond))
			remove := c.OnKey(kmsg.ListOffsets, func(broker int32, _ kmsg.Request) (kmsg.Response, fake.Action) {
				if broker == 2 {
					return nil, tc.action
				}
				return nil, fake.Pass
			})
			within(t, 4*time.Second, "the reading", func() {
				got, failed := endOffsets(t.Context(), cl, orders())
				if diff := cmp.Diff(map[int32]int64{0: 100, 2: 102}, got); diff != "" {
					t.Errorf("the others' results: %s", diff)
				}
				class := Classify(failed[2])
				if len(failed) != 1 || !slices.Contains(tc.want, class) {
					t.Errorf("failed: %v, class %q; want one of %q", failed, class, tc.want)
				}
				if n := rec.counts()[seen{"ListOffsets", class}]; n != 1 {
					t.Errorf("the observer counted %d ListOffsets of class %q, want 1: %v", n, class, rec.counts())
				}
			})
			remove()
			kafkatest.WaitFor(t, "broker 2 to be read again", 10*time.Second, func(ctx context.Context) (bool, string) {
				got, failed := endOffsets(ctx, cl, orders())
				return len(got) == 3, errText(failed[2])
			})
		})
	}
}

// An answer that is too late belongs to nobody: the request after it gets its own.
func TestLateAnswerIsNotTakenForAnother(t *testing.T) {
	c := three(t)
	cl, _ := clientOf(t, c, WithRequestTimeout(deadline), WithRetryAfter(time.Millisecond))
	release := make(chan struct{})
	remove := c.OnKey(kmsg.ListOffsets, func(int32, kmsg.Request) (kmsg.Response, fake.Action) { return nil, fake.Delay(release) })
	if _, failed := endOffsets(t.Context(), cl, orders()); len(failed) != 3 {
		t.Fatalf("failed: %v", failed)
	}
	remove()
	close(release)
	kafkatest.WaitFor(t, "right answers", 10*time.Second, func(ctx context.Context) (bool, string) {
		got, failed := endOffsets(ctx, cl, orders())
		if len(failed) > 0 {
			return false, errText(failed[1])
		}
		return cmp.Equal(map[int32]int64{0: 100, 1: 101, 2: 102}, got), "wrong answers"
	})
}
