package monitor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

// sized is a cluster of a given size, its groups spread evenly.
func sized(t *testing.T, brokers, topics, partitions, groups int) *fake.Cluster {
	c := fake.Start(t, fake.WithBrokers(brokers))
	c.Update(func(s *fake.State) {
		for i := range topics {
			o := s.AddTopic(fmt.Sprintf("topic-%04d", i), partitions, 1)
			for p := range o.Partitions {
				o.Partitions[p].SetOffsets(0, 100)
			}
		}
		for i := range groups {
			g := s.AddGroup(fmt.Sprintf("group-%05d", i), fake.Classic)
			g.Coordinator = int32(i%brokers) + 1
			g.SetCommit(fmt.Sprintf("topic-%04d", i%topics), 0, 100)
		}
	})
	return c
}

// How many requests a round takes: an exact number, within 6 × brokers +
// groups/50, and the same whatever the number of partitions.
func TestRequestsPerRound(t *testing.T) {
	// At each coordinator, groups go 500 to a request.
	chunks := func(brokers, groups int) int {
		n := 0
		for b := range brokers {
			at := groups / brokers
			if b < groups%brokers {
				at++
			}
			n += (at + 499) / 500
		}
		return n
	}
	for _, tc := range []struct{ brokers, topics, partitions, groups int }{
		{1, 1, 1, 0}, {1, 10, 3, 10}, {3, 10, 6, 20}, {3, 10, 60, 20}, {3, 1200, 6, 20}, {6, 20, 12, 3000}, {6, 20, 120, 3000}, {3, 20, 6, 4600},
	} {
		t.Run(fmt.Sprintf("%d brokers, %d×%d partitions, %d groups", tc.brokers, tc.topics, tc.partitions, tc.groups), func(t *testing.T) {
			c := sized(t, tc.brokers, tc.topics, tc.partitions, tc.groups)
			w := watchFake(t, c, "")
			w.all() // connections, and everything that is not due each round
			c.ResetRequests()
			w.play(1)
			asked := chunks(tc.brokers, tc.groups)
			want := map[string]int{
				"Metadata": 1, "ListPartitionReassignments": 1,
				"ListGroups": tc.brokers, "OffsetFetch": asked, "DescribeGroups": asked,
				"ListOffsets": 2 * tc.brokers, // end and stable
			}
			checkCounts(t, c, want)
			// 2 + 5 × brokers + 2 × (groups/500 beyond the first at each): a single
			// broker is the only size where the two count.
			if n, limit := c.Count(), 6*tc.brokers+tc.groups/50; n > limit && tc.brokers > 1 {
				t.Errorf("%d requests, at most %d are allowed", n, limit)
			}
			// Once a minute, and once in 5 minutes.
			c.ResetRequests()
			age(w, time.Minute)
			w.play(1)
			want["ListOffsets"] = 3 * tc.brokers // start too
			checkCounts(t, c, want)
			c.ResetRequests()
			w.subjects()
			checkCounts(t, c, map[string]int{
				"DescribeQuorum": 1, "DescribeLogDirs": tc.brokers, "DescribeConfigs": (tc.topics+999)/1000 + tc.brokers,
				"DescribeClientQuotas": 1, "ListTransactions": tc.brokers, "DescribeAcls": 1,
			})
		})
	}
}

func checkCounts(t *testing.T, c *fake.Cluster, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for k, n := range c.Counts() {
		got[kmsg.NameForKey(k.Key)] += n
	}
	for k, v := range want {
		if v == 0 {
			delete(want, k)
		}
	}
	// kmsg and Kafka write ACL differently.
	if n, ok := got["DescribeACLs"]; ok {
		delete(got, "DescribeACLs")
		got["DescribeAcls"] = n
	}
	delete(got, "ApiVersions") // only for new connections
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests -want +got:\n%s", diff)
	}
}

// A collector that is switched off asks for nothing.
func TestCollectorsSwitchedOff(t *testing.T) {
	only := map[string][]kmsg.Key{
		"offsets": nil, "start_offsets": nil, "stable_offsets": nil, "last_record": nil, // all ListOffsets
		"groups":        {kmsg.ListGroups, kmsg.DescribeGroups, kmsg.ConsumerGroupDescribe, kmsg.ShareGroupDescribe, kmsg.OffsetFetch},
		"logdirs":       {kmsg.DescribeLogDirs},
		"configs":       {kmsg.DescribeConfigs},
		"reassignments": {kmsg.ListPartitionReassignments},
		"quotas":        {kmsg.DescribeClientQuotas},
		"transactions":  {kmsg.ListTransactions, kmsg.DescribeProducers},
		"acls":          {kmsg.DescribeACLs},
		"quorum":        {kmsg.DescribeQuorum},
	}
	c := fake.Start(t)
	c.Update(everything)
	var off strings.Builder
	off.WriteString("collectors:\n")
	for name, keys := range only {
		fmt.Fprintf(&off, "  %s: {enabled: false}\n", name)
		if len(keys) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := watchFake(t, c, "collectors: {"+name+": {enabled: false}}")
			c.ResetRequests()
			w.all()
			w.play(1)
			if n := c.Count(keys...); n != 0 {
				t.Errorf("%d requests of %s although it is off", n, name)
			}
			s := w.scrape()
			s.none("kafka_steward_collector_success", `collector="`+name+`"`)
			s.want(`kafka_steward_collector_success{collector="topology"} 1`)
		})
	}
	w := watchFake(t, c, off.String())
	c.ResetRequests()
	w.all()
	checkCounts(t, c, map[string]int{"Metadata": 1})
	s := w.scrape()
	s.none("kafka_group_info")
	s.want("kafka_topic_partitions{topic=\"orders\"} 6")
	for _, info := range config.CollectorInfos() {
		if _, ok := only[info.Name]; !ok && info.Name != "topology" {
			t.Errorf("the collector %s is not tested here", info.Name)
		}
	}
}

// Filters come before the requests: an excluded topic is mentioned in none,
// and with names spelt out nothing else is asked for.
func TestTopicFilters(t *testing.T) {
	for _, tc := range []struct {
		name, yaml string
		namesOnly  bool
	}{
		{"names", "topics: {include: [orders, denied]}", true},
		{"expression", "topics: {include: ['ord.*', denied], exclude: ['.*-secret']}", false},
		{"exclusion", "topics: {exclude: ['.*secret', '__.*']}", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := fake.Start(t)
			c.Update(func(s *fake.State) {
				everything(s)
				s.AddTopic("orders-secret", 2, 1)
				s.AddTopic("secret", 2, 1)
				s.AddTopic("denied", 2, 1).Err = kerr.TopicAuthorizationFailed.Code
				s.Groups["classic"].SetCommit("secret", 0, 0)
				s.Groups["classic"].SetCommit("orders-secret", 0, 0)
			})
			w := watchFake(t, c, tc.yaml+"\ncollectors: {last_record: {enabled: true}}\n")
			w.all()
			w.play(1)
			for _, r := range c.Requests() {
				for _, name := range []string{"secret", "orders-secret"} {
					if r.Mentions(name) {
						t.Errorf("%s mentions %s", r.Name(), name)
					}
				}
			}
			for _, r := range fake.As[*kmsg.MetadataRequest](c.Requests(kmsg.Metadata)) {
				if tc.namesOnly != (r.Topics != nil) {
					t.Errorf("Metadata asks for %v, only for names: %v", r.Topics, tc.namesOnly)
				}
				if r.AllowAutoTopicCreation {
					t.Error("Metadata allows topic creation")
				}
			}
			s := w.scrape()
			s.nothingAbout("secret")
			s.nothingAbout("orders-secret")
			s.want(`
				kafka_topic_partitions{topic="orders"} 6
				kafka_group_orphaned_commits{group="classic"} 0
				kafka_group_lag_records{group="classic",partition="0",topic="orders"} 50
			`)
			if tc.namesOnly {
				s.want(`
					kafka_topic_error{error="TOPIC_AUTHORIZATION_FAILED",topic="denied"} 1
					kafka_steward_collector_partial{collector="topology"} 1
				`)
				if e := s.values[`kafka_steward_collector_errors_total{collector="topology",reason="acl"}`]; e < 1 {
					t.Errorf("a denied topic is not counted: %v", e)
				}
			}
		})
	}
}

// Group filters: an excluded group is neither described nor read.
func TestGroupFilters(t *testing.T) {
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		everything(s)
		s.AddGroup("secret", fake.Classic).SetCommit("orders", 0, 1)
	})
	w := watchFake(t, c, "groups: {exclude: [sec.*]}")
	w.play(2)
	for _, r := range c.Requests() {
		if r.Mentions("secret") {
			t.Errorf("%s mentions the excluded group", r.Name())
		}
	}
	s := w.scrape()
	s.nothingAbout("secret")
	s.want(`kafka_group_lag_records{group="classic",partition="0",topic="orders"} 50`)
}

// Shards: every topic is in exactly one, with its own orphaned commits.
func TestShards(t *testing.T) {
	c := sized(t, 3, 200, 2, 100)
	c.Update(func(s *fake.State) {
		for i := range 30 {
			s.Groups["group-00000"].SetCommit(fmt.Sprintf("gone-%d", i), 0, 1)
		}
	})
	const of = 4
	topics, lags, orphaned := map[string]int{}, 0.0, 0.0
	for index := range of {
		w := watchFake(t, c, fmt.Sprintf("shard: {index: %d, of: %d}", index, of))
		c.ResetRequests()
		w.all()
		s := w.scrape()
		shard := s.of("kafka_topic_partitions")
		if len(shard) < 200/of/2 || len(shard) > 200/of*2 {
			t.Errorf("shard %d has %d of 200 topics", index, len(shard))
		}
		for _, series := range shard {
			topics[series]++
		}
		lags += float64(len(s.of("kafka_group_lag_records")))
		orphaned += s.sum("kafka_group_orphaned_commits")
		// The share's requests ask for the share's topics only.
		asked := map[string]bool{}
		for _, r := range fake.As[*kmsg.ListOffsetsRequest](c.Requests(kmsg.ListOffsets)) {
			for _, topic := range r.Topics {
				asked[topic.Topic] = true
			}
		}
		if len(asked) != len(shard) {
			t.Errorf("shard %d asks for the offsets of %d topics, it has %d", index, len(asked), len(shard))
		}
	}
	if len(topics) != 200 {
		t.Errorf("%d of 200 topics are in some shard", len(topics))
	}
	for series, n := range topics {
		if n != 1 {
			t.Errorf("%s is in %d shards", series, n)
		}
	}
	if lags != 100 || orphaned != 30 {
		t.Errorf("%v lags, want 100; %v orphaned commits, want 30", lags, orphaned)
	}
}

// Lag in seconds from the log's own past: each partition is asked once, in the
// first round, and only those in which a group lags.
func TestHistorySeeding(t *testing.T) {
	now := time.Now()
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		o := s.AddTopic("orders", 3, 1)
		for p := range o.Partitions {
			o.Partitions[p].SetOffsets(0, 1001)
			o.Partitions[p].FirstTimestamp, o.Partitions[p].MaxTimestamp = now.Add(-4*time.Hour).UnixMilli(), now.UnixMilli()
		}
		g := s.AddGroup("g1", fake.Classic)
		g.SetCommit("orders", 0, 1001) // drained
		g.SetCommit("orders", 1, 750)  // an hour behind
		g.SetCommit("orders", 2, 0)    // four hours
		s.AddGroup("g2", fake.Classic).SetCommit("orders", 1, 500)
	})
	w := watchFake(t, c, "")
	seeds := func() map[string]int {
		n := map[string]int{}
		for _, r := range fake.As[*kmsg.ListOffsetsRequest](c.Requests(kmsg.ListOffsets)) {
			for _, topic := range r.Topics {
				for _, p := range topic.Partitions {
					if p.Timestamp >= 0 {
						n[fmt.Sprintf("%s-%d at leader", topic.Topic, p.Partition)]++
					}
				}
			}
		}
		return n
	}
	w.play(1)
	if diff := cmp.Diff(map[string]int{"orders-1 at leader": 9, "orders-2 at leader": 9}, seeds()); diff != "" {
		t.Error(diff)
	}
	s := w.scrape()
	near(s, `kafka_group_lag_seconds{group="g1",partition="0",topic="orders"}`, 0, 0)
	near(s, `kafka_group_lag_seconds{group="g1",partition="1",topic="orders"}`, 3600, 60)
	near(s, `kafka_group_lag_seconds{group="g1",partition="2",topic="orders"}`, 4*3600, 60)
	near(s, `kafka_group_lag_seconds{group="g2",partition="1",topic="orders"}`, 2*3600, 300)
	c.ResetRequests()
	w.play(3)
	if n := seeds(); len(n) != 0 {
		t.Errorf("asked again: %v", n)
	}
}

func near(s *scraped, series string, want, tolerance float64) {
	s.t.Helper()
	got, ok := s.values[series]
	if !ok || got < want-tolerance || got > want+tolerance+5 {
		s.t.Errorf("%s is %v (there: %v), want %v ± %v", series, got, ok, want, tolerance)
	}
}

// Exact lag in seconds comes from the records, for the groups asked for only,
// several groups on one partition included; where retention took the record,
// from the oldest that is left.
func TestExactSeconds(t *testing.T) {
	now := time.Now()
	c := fake.Start(t)
	c.Update(func(s *fake.State) {
		o := s.AddTopic("orders", 2, 1)
		for p := range o.Partitions {
			o.Partitions[p].SetOffsets(0, 1001)
			o.Partitions[p].FirstTimestamp, o.Partitions[p].MaxTimestamp = now.Add(-1000*time.Second).UnixMilli(), now.UnixMilli()
		}
		o.Partitions[1].SetOffsets(501, 1001)
		o.Partitions[1].FirstTimestamp = now.Add(-500 * time.Second).UnixMilli()
		for i, offset := range []int64{900, 400, 1001} {
			s.AddGroup(fmt.Sprintf("exact-%d", i), fake.Classic).SetCommit("orders", 0, offset)
		}
		s.Groups["exact-0"].SetCommit("orders", 1, 10)
		s.AddGroup("other", fake.Classic).SetCommit("orders", 0, 123)
	})
	w := watchFake(t, c, "lag: {exact_groups: {include: ['exact.*']}}")
	w.play(1)
	s := w.scrape()
	near(s, `kafka_group_lag_seconds{group="exact-0",partition="0",topic="orders"}`, 100, 1)
	near(s, `kafka_group_lag_seconds{group="exact-1",partition="0",topic="orders"}`, 600, 1)
	near(s, `kafka_group_lag_seconds{group="exact-2",partition="0",topic="orders"}`, 0, 0)
	near(s, `kafka_group_lag_seconds{group="exact-0",partition="1",topic="orders"}`, 500, 1)
	s.none("kafka_group_lag_seconds_truncated", `group="exact-0"`)
	var asked []int64
	for _, r := range fake.As[*kmsg.FetchRequest](c.Requests(kmsg.Fetch)) {
		for _, topic := range r.Topics {
			for _, p := range topic.Partitions {
				asked = append(asked, p.FetchOffset)
			}
		}
	}
	slices.Sort(asked)
	if !slices.Equal(asked, []int64{400, 501, 900}) {
		t.Errorf("fetched at %v, want 400, 501, 900", asked)
	}
}
