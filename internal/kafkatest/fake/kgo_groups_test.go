package fake

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestKgoListGroups(t *testing.T) {
	c := sample(t)
	c.Update(func(s *State) { s.AddGroup("hidden", Classic).Err = 30 })
	groups := must(kadmClient(t, c).ListGroups(t.Context()))(t)
	want := []string{"classic", "next", "raw\xff\xfe", "shared", "str"}
	if got := slices.Sorted(slices.Values(groups.Groups())); !cmp.Equal(got, want) {
		t.Errorf("groups = %q, want %q", got, want)
	}
	if g := groups["next"]; g.State != "Stable" || g.GroupType != "consumer" || g.ProtocolType != "consumer" {
		t.Errorf("next = %+v", g)
	}
	empty := must(kadmClient(t, c).ListGroups(t.Context(), "empty"))(t)
	if got := empty.Groups(); !cmp.Equal(got, []string{"raw\xff\xfe"}) {
		t.Errorf("empty groups = %q", got)
	}
	req := kmsg.NewPtrListGroupsRequest()
	req.TypesFilter = []string{"Share"}
	var shared []string
	for _, shard := range kgoClient(t, c).RequestSharded(t.Context(), req) {
		for _, g := range shard.Resp.(*kmsg.ListGroupsResponse).Groups {
			shared = append(shared, g.Group)
		}
	}
	if !cmp.Equal(shared, []string{"shared"}) {
		t.Errorf("share groups = %q", shared)
	}
}

func TestKgoDescribeClassic(t *testing.T) {
	c := sample(t)
	adm := kadmClient(t, c)
	d := must(adm.DescribeGroups(t.Context(), "classic"))(t)["classic"]
	if d.State != "Stable" || d.Protocol != "range" || len(d.Members) != 1 {
		t.Fatalf("classic = %+v", d)
	}
	m := d.Members[0]
	a, ok := m.Assigned.AsConsumer()
	if !ok || m.ClientID != "app" || m.ClientHost != "/127.0.0.1" || len(a.Topics) != 1 || !cmp.Equal(a.Topics[0].Partitions, []int32{0, 1, 2}) {
		t.Errorf("member = %+v, assignment %+v", m, a)
	}
	if meta, ok := m.Join.AsConsumer(); !ok || !cmp.Equal(meta.Topics, []string{"orders"}) {
		t.Errorf("subscription = %+v", meta)
	}
}

func TestDescribeGroupsOfOtherTypes(t *testing.T) {
	c := sample(t)
	for version, want := range map[int16]int16{5: 0, 6: errGroupIDNotFound} {
		c.SetVersions(kmsg.DescribeGroups, 0, version)
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{"next", "unheard-of"}
		n := 0
		for _, shard := range kgoClient(t, c).RequestSharded(t.Context(), req) {
			if shard.Err != nil {
				t.Fatal(shard.Err)
			}
			for _, g := range shard.Resp.(*kmsg.DescribeGroupsResponse).Groups {
				n++
				if g.State != "Dead" || g.ErrorCode != want || len(g.Members) != 0 {
					t.Errorf("v%d: %s = %+v", version, g.Group, g)
				}
			}
		}
		if n != 2 {
			t.Errorf("v%d: %d answers", version, n)
		}
	}
}

func TestKgoDescribeNewGroupTypes(t *testing.T) {
	c := sample(t)
	cl := kgoClient(t, c)
	ids := []string{"next", "shared", "str", "classic"}

	cg := kmsg.NewPtrConsumerGroupDescribeRequest()
	cg.Groups = ids
	for _, shard := range cl.RequestSharded(t.Context(), cg) {
		if shard.Err != nil {
			t.Fatal(shard.Err)
		}
		for _, g := range shard.Resp.(*kmsg.ConsumerGroupDescribeResponse).Groups {
			if g.Group != "next" {
				if g.ErrorCode != errGroupIDNotFound {
					t.Errorf("%s: error %d", g.Group, g.ErrorCode)
				}
				continue
			}
			if g.ErrorCode != 0 || g.State != "Stable" || len(g.Members) != 3 || g.Members[2].Assignment.TopicPartitions[0].TopicID != TopicID("orders") {
				t.Errorf("next = %+v", g)
			}
		}
	}
	s := must(kadm.NewClient(cl).DescribeShareGroups(t.Context(), "shared"))(t)["shared"]
	if s.GroupState != "Stable" || len(s.Members) != 1 || s.Members[0].ClientID != "worker" {
		t.Errorf("shared = %+v", s)
	}
	sg := kmsg.NewPtrStreamsGroupDescribeRequest()
	sg.Groups = []string{"str"}
	// kgo does not look up the coordinator for this request.
	var coordinator int32
	c.View(func(s *State) { coordinator = s.Groups["str"].Coordinator })
	resp := must(cl.Broker(int(coordinator)).Request(t.Context(), sg))(t).(*kmsg.StreamsGroupDescribeResponse)
	if resp.Groups[0].ErrorCode != 0 || resp.Groups[0].State != "Stable" {
		t.Errorf("streams = %+v", resp)
	}
}

func TestKgoShareOffsets(t *testing.T) {
	c := sample(t)
	req := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
	g := kmsg.NewDescribeShareGroupOffsetsRequestGroup()
	g.GroupID = "shared"
	req.Groups = append(req.Groups, g)
	for _, shard := range kgoClient(t, c).RequestSharded(t.Context(), req) {
		if shard.Err != nil {
			t.Fatal(shard.Err)
		}
		got := shard.Resp.(*kmsg.DescribeShareGroupOffsetsResponse).Groups[0]
		if got.ErrorCode != 0 || len(got.Topics) != 1 || got.Topics[0].Partitions[0].StartOffset != 60 || got.Topics[0].Partitions[0].Lag != 40 {
			t.Errorf("group = %+v", got)
		}
	}
}

func TestKgoOffsetFetch(t *testing.T) {
	for _, maxVersion := range []int16{1, 5, 7, 8, 9, 10} {
		c := sample(t)
		c.SetVersions(kmsg.OffsetFetch, 1, maxVersion)
		adm := kadmClient(t, c)
		if maxVersion > 1 {
			all := must(adm.FetchOffsets(t.Context(), "classic"))(t)
			o, ok := all.Lookup("orders", 1)
			if !ok || o.At != 42 || o.Metadata != "note" {
				t.Errorf("v%d: orders-1 = %+v", maxVersion, o)
			}
			if g, ok := all.Lookup("gone", 0); (ok && g.At == 5) != (maxVersion < 10) {
				t.Errorf("v%d: gone-0 = %+v %v", maxVersion, g, ok)
			}
		}
		many := adm.FetchManyOffsets(t.Context(), "classic", "next", "raw\xff\xfe")
		if maxVersion > 1 && many.Error() != nil {
			t.Errorf("v%d: %v", maxVersion, many.Error())
		}
		if o, ok := many["next"].Fetched.Lookup("orders", 2); maxVersion > 1 && (!ok || o.At != 90) {
			t.Errorf("v%d: next orders-2 = %+v", maxVersion, o)
		}
	}
}

func TestOffsetFetchPartitionsAndCoordinator(t *testing.T) {
	c := sample(t)
	var right, wrong int32
	c.View(func(s *State) {
		right = s.Groups["classic"].Coordinator
		wrong = right%3 + 1
	})
	req := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "classic"
	rt := kmsg.NewOffsetFetchRequestGroupTopic()
	rt.Topic, rt.TopicID, rt.Partitions = "orders", TopicID("orders"), []int32{0, 2}
	g.Topics = append(g.Topics, rt)
	req.Groups = append(req.Groups, g)
	cl := kgoClient(t, c)
	resp := must(cl.Broker(int(right)).Request(t.Context(), req))(t).(*kmsg.OffsetFetchResponse)
	ps := resp.Groups[0].Topics[0].Partitions
	if len(ps) != 2 || ps[0].Offset != 41 || ps[1].Offset != -1 || ps[1].ErrorCode != 0 {
		t.Errorf("partitions = %+v", ps)
	}
	resp = must(cl.Broker(int(wrong)).Request(t.Context(), req))(t).(*kmsg.OffsetFetchResponse)
	if resp.Groups[0].ErrorCode != errNotCoordinator {
		t.Errorf("wrong coordinator: error %d", resp.Groups[0].ErrorCode)
	}
}
