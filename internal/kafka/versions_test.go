package kafka

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

// C-14 (b): the error names API, their range and ours; other APIs go on.
func TestNoCommonVersion(t *testing.T) {
	c := three(t)
	c.SetVersions(kmsg.ListOffsets, 99, 100)
	cl, rec := clientOf(t, c)
	got, failed := endOffsets(t.Context(), cl, orders())
	if len(got) != 0 || len(failed) != 3 {
		t.Fatalf("got %v, failed %v", got, failed)
	}
	e := wantErr[*UnsupportedError](t, failed[2])
	want := &UnsupportedError{API: "ListOffsets", Broker: 2, Offered: true, BrokerMin: 99, BrokerMax: 100, ClientMin: 1, ClientMax: 6}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{"ListOffsets", "broker 2", "99 to 100", "1 to 6"} {
		if !strings.Contains(failed[2].Error(), part) {
			t.Errorf("the error does not say %q: %v", part, failed[2])
		}
	}
	if n := c.Count(kmsg.ListOffsets); n != 0 {
		t.Errorf("%d ListOffsets were sent although no version fits", n)
	}
	if n := rec.counts()[seen{"ListOffsets", connect.ClassUnsupported}]; n != 3 {
		t.Errorf("observed %v", rec.counts())
	}
	if gs, failed := cl.ListGroups(t.Context(), allBrokers); len(gs) != 3 || len(failed) > 0 {
		t.Errorf("ListGroups after that: %v, failed %v", gs, failed)
	}
	// What sarama lacks goes another way and is classed the same.
	_, failed = maxTimestamps(t.Context(), cl)
	if e := wantErr[*UnsupportedError](t, failed[1]); e.BrokerMin != 99 || e.ClientMax < 7 {
		t.Errorf("max timestamp: %v", e)
	}
	if diff := cmp.Diff(map[int32]connect.Class{1: "unsupported", 2: "unsupported", 3: "unsupported"}, classesOf(failed)); diff != "" {
		t.Errorf("max timestamp: %v %s", failed, diff)
	}
}

func maxTimestamps(ctx context.Context, cl *Client) (map[int32]int64, map[int32]error) {
	got := map[int32]int64{}
	failed := cl.ListOffsets(ctx, orders(), MaxTimestamp, func(r OffsetResult) {
		if r.Err == nil {
			got[r.Partition] = r.Timestamp
		}
	})
	return got, failed
}

// An API that a single broker lacks is that broker's affair; what every broker
// can answer is asked of another.
func TestMissingAPI(t *testing.T) {
	c := three(t)
	c.RemoveBrokerAPI(2, kmsg.DescribeLogDirs)
	c.RemoveBrokerAPI(1, kmsg.DescribeClientQuotas)
	c.RemoveBrokerAPI(2, kmsg.DescribeClientQuotas)
	c.RemoveAPI(kmsg.DescribeACLs)
	cl, _ := clientOf(t, c)
	dirs, failed := cl.LogDirs(t.Context(), allBrokers)
	e := wantErr[*UnsupportedError](t, failed[2])
	if len(dirs) != 2 || len(failed) != 1 || e.Offered || !strings.Contains(e.Error(), "does not offer DescribeLogDirs") {
		t.Errorf("dirs %v, failed %v", dirs, failed)
	}
	for range 3 { // starting with another broker each time
		if _, err := cl.Quotas(t.Context()); err != nil {
			t.Errorf("Quotas: %v", err)
		}
	}
	if _, err := cl.ACLCounts(t.Context()); Classify(err) != connect.ClassUnsupported {
		t.Errorf("ACLCounts: class %q, %v", Classify(err), err)
	}
}

// Every API is sent in a version that the broker offers, whatever the range:
// newest Kafka, and the oldest versions that this package says it can use.
func TestNegotiatedVersions(t *testing.T) {
	for _, tc := range []struct {
		name  string
		limit func(*fake.Cluster)
	}{
		{"Kafka 4", func(*fake.Cluster) {}},
		{"oldest", func(c *fake.Cluster) {
			for _, a := range []api{apiFetch, apiListOffsets, apiMetadata, apiOffsetFetch, apiDescribeGroups, apiListGroups, apiDescribeConfigs, apiDescribeLogDirs, apiDescribeClientQuotas} {
				c.SetVersions(kmsg.Key(a.key), 0, max(a.min, 1))
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := three(t)
			tc.limit(c)
			cl, _ := clientOf(t, c)
			callEverything(t, cl)
			for _, r := range c.Requests() {
				if _, err := r.Decode(); err != nil {
					t.Errorf("%s version %d: %v", r.Name(), r.Version, err)
				}
			}
		})
	}
}

// callEverything uses every method that works on all versions and reports failures.
func callEverything(t *testing.T, cl *Client) {
	t.Helper()
	ctx := t.Context()
	none := func(what string, failed map[int32]error) {
		t.Helper()
		for id, err := range failed {
			t.Errorf("%s at broker %d: %v", what, id, err)
		}
	}
	if md, err := cl.Metadata(ctx, []string{"orders"}); err != nil || len(md.Topics) != 1 || len(md.Topics[0].Partitions) != 3 {
		t.Errorf("Metadata: %+v, %v", md, err)
	}
	_, failed := cl.ListGroups(ctx, allBrokers)
	none("ListGroups", failed)
	by := map[int32][]string{1: {"g1"}, 2: {"g2"}, 3: {"g3"}}
	_, failed = cl.DescribeGroups(ctx, "classic", by)
	none("DescribeGroups", failed)
	commits, failed := cl.CommittedOffsets(ctx, by)
	none("OffsetFetch", failed)
	if diff := cmp.Diff(map[int32]int64{0: 90}, commitsOf(commits)["g1"]["orders"]); diff != "" {
		t.Error(diff)
	}
	got, failed := endOffsets(ctx, cl, orders())
	none("ListOffsets", failed)
	if diff := cmp.Diff(map[int32]int64{0: 100, 1: 101, 2: 102}, got); diff != "" {
		t.Error(diff)
	}
	_, failed = cl.LogDirs(ctx, allBrokers)
	none("DescribeLogDirs", failed)
	if _, err := cl.TopicConfigs(ctx, []string{"orders"}, []string{"retention.ms"}); err != nil {
		t.Errorf("TopicConfigs: %v", err)
	}
	_, failed = cl.BrokerConfigs(ctx, allBrokers, []string{"leader.replication.throttled.rate"})
	none("BrokerConfigs", failed)
	if _, err := cl.Quotas(ctx); err != nil {
		t.Errorf("Quotas: %v", err)
	}
	_, failed = cl.RecordTimes(ctx, Assignment{1: {"orders": {0}}}, map[string]map[int32]int64{"orders": {0: 5}})
	none("Fetch", failed)
}

// The observer is told of every request with its outcome, once.
func TestObserverCountsEachRequest(t *testing.T) {
	c := three(t)
	cl, rec := clientOf(t, c, WithRetryAfter(time.Nanosecond), WithRequestTimeout(500*time.Millisecond))
	cl.ListGroups(t.Context(), allBrokers)
	cl.LogDirs(t.Context(), allBrokers)
	_, _ = cl.Reassignments(t.Context())
	c.OnKey(kmsg.DescribeLogDirs, func(broker int32, req kmsg.Request) (kmsg.Response, fake.Action) {
		switch broker {
		case 1:
			res := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
			res.ErrorCode = 31
			return res, fake.Answer
		case 2:
			return nil, fake.Swallow
		}
		return nil, fake.Pass
	})
	c.StopBroker(3)
	_, failed := cl.LogDirs(t.Context(), allBrokers)
	if diff := cmp.Diff(map[int32]connect.Class{1: "acl", 2: "timeout", 3: "network"}, classesOf(failed)); diff != "" {
		t.Errorf("failed %v %s", failed, diff)
	}
	got := rec.counts()
	want := map[seen]int{
		{"Metadata", ""}: 1, {"ListGroups", ""}: 3, {"ListPartitionReassignments", ""}: 1,
		{"DescribeLogDirs", ""}: 3, {"DescribeLogDirs", "acl"}: 1, {"DescribeLogDirs", "timeout"}: 1, {"DescribeLogDirs", "network"}: 1,
	}
	// How often a connection is made depends on which server was asked first.
	if n := got[seen{"ApiVersions", ""}]; n < 3 || n > 4 {
		t.Errorf("%d connections were made to 3 brokers", n)
	}
	delete(got, seen{"ApiVersions", ""})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// No request ever asks for a topic to be created, sarama's and franz-go's alike.
func TestNeverCreatesTopics(t *testing.T) {
	c := three(t)
	cl, _ := clientOf(t, c)
	callEverything(t, cl)
	if _, err := cl.Metadata(t.Context(), []string{"no-such-topic"}); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Reassignments(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, failed := cl.Transactions(t.Context(), allBrokers); len(failed) > 0 {
		t.Fatal(failed)
	}
	if _, failed := maxTimestamps(t.Context(), cl); len(failed) > 0 {
		t.Fatal(failed)
	}
	requests := fake.As[*kmsg.MetadataRequest](c.Requests(kmsg.Metadata))
	if len(requests) < 3 {
		t.Fatalf("only %d Metadata requests", len(requests))
	}
	for i, r := range requests {
		if r.AllowAutoTopicCreation {
			t.Errorf("request %d (version %d) allows topic creation", i, r.Version)
		}
	}
	if n := c.Count(kmsg.CreateTopics); n != 0 {
		t.Errorf("%d CreateTopics", n)
	}
}

func TestErrorTexts(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&UnsupportedError{API: "X", Broker: -1, ClientMin: 1, ClientMax: 2}, "a bootstrap server does not offer X (we speak versions 1 to 2)"},
		{&BrokerDownError{Broker: 4}, "broker 4 is not alive: the cluster does not list it"},
		{&NoBrokerError{}, "no broker to ask"},
		{&NoBrokerError{Errs: []error{fmt.Errorf("a"), fmt.Errorf("b")}}, "no broker answered (2 tried); the last: b"},
	} {
		if tc.err.Error() != tc.want {
			t.Errorf("%T: %q, want %q", tc.err, tc.err, tc.want)
		}
	}
	if c := Classify(nil); c != "" {
		t.Errorf("no error has the class %q", c)
	}
	if c := Classify(fmt.Errorf("wrapped: %w", &UnsupportedError{})); c != connect.ClassUnsupported {
		t.Errorf("class %q", c)
	}
}
