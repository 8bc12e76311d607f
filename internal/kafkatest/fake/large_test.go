package fake

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func smallSpec() LargeSpec {
	return LargeSpec{
		Seed: 7, Brokers: 6, Topics: 20, Partitions: 300, ReplicationFactor: 3, Groups: 40, Commits: 900,
		MembersPerGroup: 3, LogDirs: 2, ConsumerPercent: 50, Leaderless: 4, UnderReplicated: 5, OfflineLogDirs: 1, Reassigning: 3, OrphanedCommits: 6,
	}
}

func TestLargeMatchesItsSpec(t *testing.T) {
	spec := smallSpec()
	s := must(Large(spec))(t)
	again := must(Large(spec))(t)
	if d := cmp.Diff(s, again, cmpopts.IgnoreUnexported(State{})); d != "" {
		t.Errorf("the same spec gave another state:\n%s", d)
	}
	var partitions, commits, replicas, leaderless, moving, consumers, offline, orphans, assigned int
	for _, tp := range s.Topics {
		partitions += len(tp.Partitions)
		for _, p := range tp.Partitions {
			if p.Leader < 0 {
				leaderless++
			}
			if len(p.Adding) > 0 {
				moving++
			}
		}
	}
	for _, g := range s.Groups {
		if g.Type == Consumer {
			consumers++
		}
		for _, tc := range g.Commits {
			if s.Topics[tc.Topic] == nil {
				orphans += len(tc.Partitions)
				continue
			}
			commits += len(tc.Partitions)
			for _, c := range tc.Partitions {
				if p := s.Partition(tc.Topic, c.Partition); c.Offset < p.Start || c.Offset > p.End {
					t.Fatalf("%s: commit %+v outside of %+v", g.ID, c, p)
				}
			}
		}
		for _, m := range g.Members {
			for _, tp := range m.Assigned {
				assigned += len(tp.Partitions)
			}
		}
	}
	for _, b := range s.Brokers {
		for _, d := range b.LogDirs {
			replicas += len(d.Replicas)
			if d.Err != 0 {
				offline++
			}
		}
	}
	got := []int{len(s.Brokers), len(s.Topics), partitions, replicas, len(s.Groups), commits, assigned, offline, orphans}
	want := []int{6, 20, 300, 900, 40, 900, 900, 1, 6}
	if !cmp.Equal(got, want) {
		t.Errorf("brokers, topics, partitions, replicas, groups, commits, assigned, offline dirs, orphans = %v, want %v", got, want)
	}
	if leaderless == 0 || leaderless > 4 || moving == 0 || moving > 3 || consumers < 10 || consumers > 30 {
		t.Errorf("leaderless %d, moving %d, KIP-848 groups %d of 40", leaderless, moving, consumers)
	}
	if _, err := Large(LargeSpec{Brokers: 1, Topics: 1, Partitions: 1, Groups: 1, Commits: 2}); err == nil {
		t.Error("2 commits in 1 group × 1 partition: want an error")
	}
}

// cycle asks for what an exporter asks for, through franz-go's kadm.
func cycle(t testing.TB, adm *kadm.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m, err := adm.Metadata(ctx)
	if err != nil {
		t.Fatal(err)
	}
	names := m.Topics.Names()
	must(adm.ListStartOffsets(ctx, names...))(t)
	must(adm.ListEndOffsets(ctx, names...))(t)
	groups := must(adm.ListGroups(ctx))(t)
	must(adm.DescribeGroups(ctx, groups.Groups()...))(t)
	if err := adm.FetchManyOffsets(ctx, groups.Groups()...).Error(); err != nil {
		t.Fatal(err)
	}
	must(adm.DescribeAllLogDirs(ctx, nil))(t)
	must(adm.DescribeTopicConfigs(ctx, names...))(t)
}

// healthy is smallSpec without what makes kadm calls fail.
func healthy() LargeSpec {
	spec := smallSpec()
	spec.Leaderless, spec.OfflineLogDirs = 0, 0
	return spec
}

func TestFrozenAnswersAreTheSame(t *testing.T) {
	s := must(Large(healthy()))(t)
	c := Start(t, WithState(s))
	cycle(t, kadmClient(t, c))
	requests := c.Requests()

	plain := answers(t, c, requests)
	c.Freeze()
	for range 3 {
		for i, a := range answers(t, c, requests) {
			if !bytes.Equal(a, plain[i]) {
				t.Fatalf("answer %d of a frozen cluster differs: %d and %d bytes", i, len(a), len(plain[i]))
			}
		}
	}
	st := c.CacheStats()
	if st.Hits == 0 || st.Entries == 0 || st.Bytes == 0 {
		t.Errorf("cache not used: %+v", st)
	}
	c.Update(func(s *State) { s.ClusterID = "another" })
	if n := c.CacheStats().Entries; n != 0 {
		t.Errorf("%d entries survived an Update", n)
	}
	if cmp.Equal(plain, answers(t, c, requests)) {
		t.Error("after an Update the old answers still come")
	}
	// A rule beats the cache.
	defer c.OnKey(kmsg.Metadata, func(int32, kmsg.Request) (kmsg.Response, Action) { return nil, Drop })()
	if _, err := kadmClient(t, c).Metadata(t.Context()); err == nil {
		t.Error("the cache answered although a rule drops the connection")
	}
}

// answers sends requests one after the other and returns the encoded answers.
func answers(t *testing.T, c *Cluster, requests []Request) [][]byte {
	t.Helper()
	cl := kgoClient(t, c)
	var out [][]byte
	for _, r := range requests {
		req := must(r.Decode())(t)
		if _, ok := req.(*kmsg.ApiVersionsRequest); ok {
			continue
		}
		out = append(out, must(cl.Broker(int(r.Broker)).Request(t.Context(), req))(t).AppendTo(nil))
	}
	return out
}

func TestMeasure(t *testing.T) {
	c := Start(t, WithState(must(Large(healthy()))(t)))
	cycle(t, kadmClient(t, c))
	requests := c.Requests()
	c.Freeze()
	handling := must(c.MeasureHandling(requests))(t)
	serving := must(c.MeasureServing(t.Context(), requests))(t)
	if handling.Requests != len(requests) || serving.Requests != len(requests) || handling.Bytes != serving.Bytes || serving.Bytes == 0 {
		t.Errorf("%d requests: handling %+v, serving %+v", len(requests), handling, serving)
	}
}
