package kafka

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
)

func TestListGroupsTellsTypeAndState(t *testing.T) {
	c := three(t)
	c.Update(func(s *fake.State) {
		s.AddGroup("next", fake.Consumer).Coordinator = 2
		s.AddGroup("shared", fake.Share).Coordinator = 2
		s.AddGroup("raw\xff", fake.Classic).State = "Empty"
		s.Groups["raw\xff"].Coordinator = 3
	})
	cl, _ := clientOf(t, c)
	gs, failed := cl.ListGroups(t.Context(), allBrokers)
	want := []ListedGroup{
		{ID: "g1", Type: "classic", State: "Stable", ProtocolType: "consumer", Coordinator: 1},
		{ID: "g2", Type: "classic", State: "Stable", ProtocolType: "consumer", Coordinator: 2},
		{ID: "g3", Type: "classic", State: "Stable", ProtocolType: "consumer", Coordinator: 3},
		{ID: "next", Type: "consumer", State: "Stable", ProtocolType: "consumer", Coordinator: 2},
		{ID: "raw\xff", Type: "classic", State: "Empty", ProtocolType: "consumer", Coordinator: 3},
		{ID: "shared", Type: "share", State: "Stable", ProtocolType: "share", Coordinator: 2},
	}
	if diff := cmp.Diff(want, gs); diff != "" || len(failed) > 0 {
		t.Errorf("failed %v, -want +got:\n%s", failed, diff)
	}
	if n := len(c.Requests(kmsg.ListGroups)); n != 3 {
		t.Errorf("%d requests for 3 brokers", n)
	}
}

// While a coordinator moves, two brokers list its groups: each is returned
// once, from the one that says more, the same each time.
func TestGroupOnTwoCoordinatorsIsListedOnce(t *testing.T) {
	for _, tc := range []struct {
		name   string
		states map[int32]string
		want   ListedGroup
	}{
		{"one says more", map[int32]string{1: "", 3: "Stable"}, ListedGroup{ID: "moving", Type: "classic", State: "Stable", ProtocolType: "consumer", Coordinator: 3}},
		{"both alike", map[int32]string{3: "Stable", 2: "Stable"}, ListedGroup{ID: "moving", Type: "classic", State: "Stable", ProtocolType: "consumer", Coordinator: 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := three(t)
			c.OnKey(kmsg.ListGroups, func(broker int32, req kmsg.Request) (kmsg.Response, fake.Action) {
				res := c.Default(broker, req).(*kmsg.ListGroupsResponse)
				if state, ok := tc.states[broker]; ok {
					res.Groups = append(res.Groups, kmsg.ListGroupsResponseGroup{Group: "moving", ProtocolType: "consumer", GroupType: "classic", GroupState: state})
				}
				return res, fake.Answer
			})
			cl, _ := clientOf(t, c)
			for range 5 {
				gs, failed := cl.ListGroups(t.Context(), allBrokers)
				if len(gs) != 4 || len(failed) > 0 {
					t.Fatalf("groups %v, failed %v", gs, failed)
				}
				if diff := cmp.Diff(tc.want, gs[3]); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// Brokers before 2.6 and 3.8 tell neither state nor type.
func TestListGroupsOfOldBrokers(t *testing.T) {
	c := three(t)
	c.SetVersions(kmsg.ListGroups, 0, 3)
	cl, _ := clientOf(t, c)
	gs, failed := cl.ListGroups(t.Context(), []int32{1})
	if diff := cmp.Diff([]ListedGroup{{ID: "g1", ProtocolType: "consumer", Coordinator: 1}}, gs); diff != "" || len(failed) > 0 {
		t.Errorf("failed %v, %s", failed, diff)
	}
}

// C-05: brokers before 4.0 (DescribeGroups ≤ 5) call a KIP-848 group Dead,
// without an error; the right API describes it.
func TestDescribeKIP848(t *testing.T) {
	c := three(t)
	c.SetVersions(kmsg.DescribeGroups, 0, 5)
	c.Update(func(s *fake.State) {
		g := s.AddGroup("next", fake.Consumer)
		g.Coordinator, g.Epoch = 2, 7
		for i := range int32(3) {
			g.AddMember(fmt.Sprintf("m%d", i), "app", "/10.0.0.2", fake.TopicPartitions{Topic: "orders", Partitions: []int32{i}})
		}
	})
	cl, _ := clientOf(t, c)
	ask := map[int32][]string{2: {"next"}}
	wrong, failed := cl.DescribeGroups(t.Context(), "classic", ask)
	if len(failed) > 0 || len(wrong) != 1 || wrong[0].State != "Dead" || wrong[0].Err != nil {
		t.Errorf("by the classic API: %+v, failed %v; want Dead without error", wrong, failed)
	}
	right, failed := cl.DescribeGroups(t.Context(), "consumer", ask)
	if len(failed) > 0 || len(right) != 1 {
		t.Fatalf("%+v, failed %v", right, failed)
	}
	g := right[0]
	assigned := map[string][]int32{}
	for _, m := range g.Members {
		for topic, ps := range m.Assigned {
			assigned[topic] = append(assigned[topic], ps...)
		}
		if m.ClientID != "app" || m.ClientHost != "/10.0.0.2" {
			t.Errorf("member %+v", m)
		}
	}
	slices.Sort(assigned["orders"])
	if g.State != "Stable" || g.Epoch != 7 || len(g.Members) != 3 || !cmp.Equal(assigned, map[string][]int32{"orders": {0, 1, 2}}) {
		t.Errorf("group %+v, assigned %v", g, assigned)
	}
}

func TestDescribeShare(t *testing.T) {
	c := three(t)
	c.Update(func(s *fake.State) {
		g := s.AddGroup("shared", fake.Share)
		g.Coordinator = 3
		g.AddMember("s1", "worker", "/10.0.0.3", fake.TopicPartitions{Topic: "orders", Partitions: []int32{0, 2}})
	})
	cl, rec := clientOf(t, c)
	gs, failed := cl.DescribeGroups(t.Context(), "share", map[int32][]string{3: {"shared"}})
	if len(failed) > 0 || len(gs) != 1 || gs[0].State != "Stable" || len(gs[0].Members) != 1 {
		t.Fatalf("%+v, failed %v", gs, failed)
	}
	if diff := cmp.Diff(map[string][]int32{"orders": {0, 2}}, gs[0].Members[0].Assigned); diff != "" {
		t.Error(diff)
	}
	if rec.counts()[seen{"ShareGroupDescribe", ""}] != 1 {
		t.Errorf("observed %v", rec.counts())
	}
}

// Members whose assignment is not a consumer's, or broken, keep the group readable.
func TestDescribeForeignAssignments(t *testing.T) {
	c := three(t)
	c.Update(func(s *fake.State) {
		connectGroup := s.AddGroup("connect", fake.Classic)
		connectGroup.Coordinator, connectGroup.ProtocolType = 1, "connect"
		connectGroup.AddMember("w", "worker", "/10.0.0.4").Assignment = []byte{0, 1, 2, 3}
		broken := s.AddGroup("broken", fake.Classic)
		broken.Coordinator = 1
		broken.AddMember("b", "bad", "/10.0.0.5").Assignment = []byte{0, 1, 0, 0, 0, 99}
		id := "static-1"
		static := s.AddGroup("static", fake.Classic)
		static.Coordinator = 1
		static.AddMember("s", "good", "/10.0.0.6", fake.TopicPartitions{Topic: "orders", Partitions: []int32{1}}).InstanceID = &id
	})
	cl, _ := clientOf(t, c)
	gs, failed := cl.DescribeGroups(t.Context(), "classic", map[int32][]string{1: {"connect", "broken", "static"}})
	if len(failed) > 0 || len(gs) != 3 {
		t.Fatalf("%+v, failed %v", gs, failed)
	}
	for _, g := range gs {
		if len(g.Members) != 1 || g.Err != nil || g.State != "Stable" {
			t.Errorf("group %+v", g)
			continue
		}
		if m := g.Members[0]; g.ID == "static" && (m.InstanceID != "static-1" || !cmp.Equal(m.Assigned, map[string][]int32{"orders": {1}})) {
			t.Errorf("static member %+v", m)
		} else if g.ID != "static" && len(m.Assigned) > 0 {
			t.Errorf("group %s: an assignment out of nothing: %+v", g.ID, m)
		}
	}
}

func commitsOf(gs []GroupCommits) map[string]map[string]map[int32]int64 {
	out := map[string]map[string]map[int32]int64{}
	for _, g := range gs {
		if g.Err != nil {
			continue
		}
		out[g.ID] = map[string]map[int32]int64{}
		for _, tc := range g.Topics {
			out[g.ID][tc.Topic] = map[int32]int64{}
			for _, p := range tc.Partitions {
				out[g.ID][tc.Topic][p.Partition] = p.Offset
			}
		}
	}
	return out
}

// One group's error and one coordinator that is down cost just those.
func TestPartialCommits(t *testing.T) {
	c := three(t)
	c.Update(func(s *fake.State) {
		denied := s.AddGroup("denied", fake.Classic)
		denied.Coordinator, denied.Err = 1, kerr.GroupAuthorizationFailed.Code
		none := s.AddGroup("none", fake.Classic)
		none.Coordinator = 1
		none.SetCommit("orders", 0, -1)                                     // Kafka's "no commit"
		none.SetCommit("orders", 1, 5)                                      //
		none.SetCommit("orders", 2, 6).Err = kerr.UnstableOffsetCommit.Code // one partition's error
		none.SetCommit("gone", 0, 7)
	})
	cl, _ := clientOf(t, c)
	if _, failed := cl.ListGroups(t.Context(), allBrokers); len(failed) > 0 {
		t.Fatal(failed)
	}
	c.StopBroker(3)
	gs, failed := cl.CommittedOffsets(t.Context(), map[int32][]string{1: {"g1", "denied", "none"}, 2: {"g2"}, 3: {"g3"}})
	if diff := cmp.Diff(map[int32]connect.Class{3: connect.ClassNetwork}, classesOf(failed)); diff != "" {
		t.Errorf("failed %v: %s", failed, diff)
	}
	want := map[string]map[string]map[int32]int64{
		"g1": {"orders": {0: 90}}, "g2": {"orders": {1: 91}}, "none": {"orders": {1: 5}, "gone": {0: 7}},
	}
	if diff := cmp.Diff(want, commitsOf(gs)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, g := range gs {
		if g.ID == "denied" && (!errors.Is(g.Err, sarama.ErrGroupAuthorizationFailed) || Classify(g.Err) != connect.ClassACL) {
			t.Errorf("denied: %v", g.Err)
		}
	}
}

// Requests grow with coordinators + groups/chunk.
func TestChunks(t *testing.T) {
	for _, tc := range []struct{ groups, chunk, want int }{
		{1, 10, 1}, {10, 10, 1}, {11, 10, 2}, {95, 10, 10}, {95, 500, 1},
	} {
		t.Run(fmt.Sprintf("%d groups by %d", tc.groups, tc.chunk), func(t *testing.T) {
			c := fake.Start(t, fake.WithBrokers(1))
			var ids []string
			c.Update(func(s *fake.State) {
				s.AddTopic("orders", 1, 1)
				for i := range tc.groups {
					id := fmt.Sprintf("group-%03d", i)
					s.AddGroup(id, fake.Classic).SetCommit("orders", 0, int64(i))
					ids = append(ids, id)
				}
			})
			cl, _ := clientOf(t, c, WithGroupsPerRequest(tc.chunk))
			ask := map[int32][]string{1: ids}
			commits, failed := cl.CommittedOffsets(t.Context(), ask)
			if len(failed) > 0 || len(commitsOf(commits)) != tc.groups {
				t.Errorf("%d groups, failed %v", len(commits), failed)
			}
			described, failed := cl.DescribeGroups(t.Context(), "classic", ask)
			if len(failed) > 0 || len(described) != tc.groups {
				t.Errorf("%d groups described, failed %v", len(described), failed)
			}
			for _, key := range []kmsg.Key{kmsg.OffsetFetch, kmsg.DescribeGroups} {
				if n := c.Count(key); n != tc.want {
					t.Errorf("%d requests of %s, want %d", n, kmsg.NameForKey(key.Int16()), tc.want)
				}
			}
		})
	}
}

// What a coordinator answered before it failed is kept.
func TestChunksBeforeAFailureAreKept(t *testing.T) {
	c := fake.Start(t, fake.WithBrokers(1))
	ids := []string{"a", "b", "c", "d"}
	c.Update(func(s *fake.State) {
		s.AddTopic("orders", 1, 1)
		for _, id := range ids {
			s.AddGroup(id, fake.Classic).SetCommit("orders", 0, 1)
		}
	})
	c.OnKey(kmsg.OffsetFetch, func(_ int32, req kmsg.Request) (kmsg.Response, fake.Action) {
		if req.(*kmsg.OffsetFetchRequest).Groups[0].Group == "c" {
			return nil, fake.Drop
		}
		return nil, fake.Pass
	})
	cl, _ := clientOf(t, c, WithGroupsPerRequest(2))
	gs, failed := cl.CommittedOffsets(t.Context(), map[int32][]string{1: ids})
	if got := keysOf(commitsOf(gs)); !slices.Equal(got, []string{"a", "b"}) || failed[1] == nil {
		t.Errorf("groups %v, failed %v", got, failed)
	}
}

// Brokers before 3.0 (OffsetFetch ≤ 7) are asked for one group at a time.
func TestOneGroupPerRequestOnOldBrokers(t *testing.T) {
	for _, max := range []int16{2, 5, 7} {
		t.Run(fmt.Sprintf("OffsetFetch up to %d", max), func(t *testing.T) {
			c := three(t)
			c.SetVersions(kmsg.OffsetFetch, 1, max)
			c.Update(func(s *fake.State) {
				s.AddGroup("denied", fake.Classic).Err = kerr.GroupAuthorizationFailed.Code
				s.Groups["denied"].Coordinator = 1
				s.AddGroup("zero", fake.Classic).Coordinator = 1
			})
			cl, _ := clientOf(t, c)
			if _, failed := cl.ListGroups(t.Context(), allBrokers); len(failed) > 0 {
				t.Fatal(failed)
			}
			gs, failed := cl.CommittedOffsets(t.Context(), map[int32][]string{1: {"g1", "denied", "zero"}, 2: {"g2"}, 3: {"g3"}})
			want := map[string]map[string]map[int32]int64{
				"g1": {"orders": {0: 90}}, "g2": {"orders": {1: 91}}, "g3": {"orders": {2: 92}}, "zero": {},
			}
			if diff := cmp.Diff(want, commitsOf(gs)); diff != "" || len(failed) > 0 {
				t.Errorf("failed %v, -want +got:\n%s", failed, diff)
			}
			for _, r := range c.Requests(kmsg.OffsetFetch) {
				if r.Version > max {
					t.Errorf("version %d was sent", r.Version)
				}
			}
			if n := c.Count(kmsg.OffsetFetch); n != 5 {
				t.Errorf("%d requests for 5 groups", n)
			}
		})
	}
}
