package lag

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// C-02: whatever moves between the readings, lag is never negative and never
// more than what the newest end leaves, whichever of the ends it is computed
// from.
func TestLagOverInterleavings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newScene(t, Options{})
		o := s.topic("orders", 1, 1)
		g := s.group("g1", "orders", 0, 0)
		var end, start, commit int64
		for range rapid.IntRange(1, 10).Draw(rt, "rounds") {
			// One step each of producer, consumer and retention, in any order, with
			// the three readings in between.
			var end1, end2, read int64
			steps := rapid.Permutation([]string{"produce", "consume", "produce", "retention", "end1", "commit", "end2"}).Draw(rt, "steps")
			for _, step := range steps {
				switch step {
				case "produce":
					end += rapid.Int64Range(0, 50).Draw(rt, "records")
				case "consume":
					commit = rapid.Int64Range(0, end).Draw(rt, "commit")
				case "retention":
					start = rapid.Int64Range(start, end).Draw(rt, "start")
				case "end1":
					end1 = end
				case "commit":
					read = commit
				case "end2":
					end2 = end
				}
			}
			newest := max(end1, end2)
			for _, e := range []int64{end1, end2} {
				o.End[0], o.Start[0] = e, min(start, e)
				g.Commits = commits("orders", map[int32]int64{0: read})
				p := only(t, s.round(time.Second))
				if p.Lag < 0 || p.Lag > max(newest-read, 0) {
					rt.Fatalf("end %d, commit %d, newest end %d: lag %d", e, read, newest, p.Lag)
				}
				if p.Clamped != (read > e) {
					rt.Fatalf("commit %d, end %d: clamped %v", read, e, p.Clamped)
				}
				if p.Lag == 0 && p.Seconds != 0 {
					rt.Fatalf("drained, but %f s", p.Seconds)
				}
				if p.StableLag != snapshot.Unknown && p.StableLag > p.Lag {
					rt.Fatalf("stable lag %d of a lag of %d", p.StableLag, p.Lag)
				}
			}
		}
	})
}

// What is not known is not made up.
func TestUnknownEnds(t *testing.T) {
	s := newScene(t, Options{UncommittedRecords: true})
	o := s.topic("orders", 1, 4)
	copy(o.End, []int64{30, snapshot.Unknown, 40, snapshot.Unknown})
	o.Start = nil
	o.Stable = []int64{25}
	g := s.group("g1", "orders", 0, 0)
	g.Commits = commits("orders", map[int32]int64{0: 20, 1: 5})
	l := s.round(time.Second)
	tl := l.Groups[0].Topics[0]
	want := []snapshot.PartitionLag{
		{Committed: 20, Partition: 0, Lag: 10, StableLag: 5, Seconds: -1, Truncated: true},
		{Committed: 5, Partition: 1, Lag: snapshot.Unknown, StableLag: snapshot.Unknown, Seconds: -1},
	}
	if diff := cmp.Diff(want, tl.Partitions); diff != "" {
		t.Error(diff)
	}
	if tl.UnknownEnd != 1 || tl.Uncommitted != 2 || tl.UncommittedRecords != 0 {
		t.Errorf("unknown ends %d, uncommitted %d (%d records)", tl.UnknownEnd, tl.Uncommitted, tl.UncommittedRecords)
	}
	// A topic without any offsets read.
	delete(s.offsets.Topics, "orders")
	if p := s.round(time.Second).Groups[0].Topics[0]; p.UnknownEnd != 2 {
		t.Errorf("%+v", p)
	}
}

// C-01: a partition without a commit has no lag; what lies in it is told apart.
func TestUncommitted(t *testing.T) {
	s := newScene(t, Options{UncommittedRecords: true})
	o := s.topic("orders", 1, 3)
	copy(o.End, []int64{30, 0, 40})
	copy(o.Start, []int64{10, 0, 0})
	s.group("g1", "orders", 2, 40)
	tl := s.round(time.Second).Groups[0].Topics[0]
	if len(tl.Partitions) != 1 || tl.Partitions[0].Lag != 0 || tl.Uncommitted != 2 || tl.UncommittedRecords != 20 {
		t.Errorf("%+v", tl)
	}
	off := newScene(t, Options{})
	off.topic("orders", 1, 1).End[0] = 9
	join(off.group("g1", "", 0, -1), "orders", 0)
	tl = off.round(time.Second).Groups[0].Topics[0]
	if !tl.Assigned || tl.AssignedPartitions != 1 || tl.UncommittedRecords != snapshot.Unknown || len(tl.Partitions) != 0 || tl.Uncommitted != 1 {
		t.Errorf("%+v", tl)
	}
}

// The sum over uncommitted partitions against a plain one.
func TestUncommittedRecordsAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "partitions")
		s := newScene(t, Options{UncommittedRecords: true})
		o := s.topic("orders", 1, n)
		committed := map[int32]int64{}
		var want int64
		for p := range n {
			o.Start[p] = rapid.Int64Range(-1, 20).Draw(rt, "start")
			o.End[p] = rapid.Int64Range(-1, 40).Draw(rt, "end")
			switch {
			case rapid.Bool().Draw(rt, "committed"):
				committed[int32(p)] = 1
			case o.Start[p] >= 0 && o.End[p] > o.Start[p]:
				want += o.End[p] - o.Start[p]
			}
		}
		s.group("g1", "", 0, -1).Commits = commits("orders", committed)
		if len(committed) == 0 {
			join(&s.groups.Groups[0], "orders", 0)
		}
		if got := s.round(time.Second).Groups[0].Topics[0].UncommittedRecords; got != want {
			rt.Fatalf("%d records, want %d", got, want)
		}
	})
}

// C-07: commits of topics and partitions that are gone give no lag.
func TestOrphanedCommits(t *testing.T) {
	s := newScene(t, Options{})
	s.topic("live", 1, 1).End[0] = 10
	s.topic("shrunk", 2, 2)
	g := s.group("g1", "live", 0, 7)
	g.Commits = append(commits("gone", map[int32]int64{0: 5}), g.Commits...)
	g.Commits = append(g.Commits, commits("shrunk", map[int32]int64{5: 9})...)
	l := s.round(time.Second).Groups[0]
	if l.Orphaned != 2 || len(l.Topics) != 1 || l.Topics[0].Topic != "live" || l.Topics[0].Partitions[0].Lag != 3 {
		t.Errorf("%+v", l)
	}
}

// Seconds: interpolated, 0 when drained, a lower bound before the first look,
// right after seeding.
func TestSeconds(t *testing.T) {
	s := newScene(t, Options{})
	o := s.topic("orders", 1, 1)
	o.End[0] = 100
	g := s.group("g1", "orders", 0, 40)
	if p := only(t, s.round(0)); p.Seconds != -1 || !p.Truncated {
		t.Errorf("first look: %+v", p)
	}
	unseeded := s.tracker.Unseeded()
	if diff := cmp.Diff([]TopicPartition{{"orders", 0}}, unseeded); diff != "" {
		t.Error(diff)
	}
	p := only(t, s.round(30*time.Second))
	if p.Seconds != 30 || !p.Truncated {
		t.Errorf("a lower bound of 30 s: %+v", p)
	}
	if again := s.tracker.Unseeded(); len(again) != 0 {
		t.Errorf("listed again: %v", again)
	}
	// The record 40 was written 10 minutes before the first look.
	start := s.now.Add(-30 * time.Second)
	s.tracker.Seed(TopicPartition{"orders", 0}, []time.Time{start.Add(-time.Hour), start.Add(-10 * time.Minute), start.Add(-time.Minute)}, []int64{0, 40, 90})
	s.tracker.Seed(TopicPartition{"orders", 7}, []time.Time{start}, []int64{1}) // unknown: ignored
	s.tracker.Seed(TopicPartition{"other", 0}, []time.Time{start}, []int64{1})
	l := s.round(30 * time.Second)
	if p := only(t, l); p.Seconds != 660 || p.Truncated {
		t.Errorf("after seeding: %+v, want 660 s", p)
	}
	// Resolve does the same for a lag that is computed already.
	l.Groups[0].Topics[0].Partitions[0].Seconds, l.Groups[0].Topics[0].Partitions[0].Truncated = 1, true
	s.tracker.Resolve(l, &s.groups)
	if p := only(t, l); p.Seconds != 660 || p.Truncated {
		t.Errorf("resolved: %+v", p)
	}
	g.Commits[0].Partitions[0].Offset = 100
	if p := only(t, s.round(time.Hour)); p.Seconds != 0 || p.Lag != 0 || p.Truncated {
		t.Errorf("drained: %+v", p)
	}
	// Fresh records after an idle hour are fresh.
	o.End[0] = 110
	if p := only(t, s.round(30*time.Second)); p.Lag != 10 || p.Seconds < 0 || p.Seconds > 30 {
		t.Errorf("after an idle hour: %+v", p)
	}
}

// A stale group keeps its last lag, whatever the ends do meanwhile.
func TestStaleGroupsKeepTheirLag(t *testing.T) {
	s := newScene(t, Options{})
	o := s.topic("orders", 1, 1)
	o.End[0] = 100
	g := s.group("g1", "orders", 0, 90)
	first := s.round(time.Second)
	want := only(t, first)
	g.Stale = true
	o.End[0] = 5000
	for range 3 {
		l := s.round(time.Minute)
		s.tracker.Resolve(l, &s.groups)
		if diff := cmp.Diff(want, only(t, l)); diff != "" || !want.Truncated {
			t.Error(diff)
		}
	}
	g.Stale = false
	if p := only(t, s.round(time.Second)); p.Lag != 4910 {
		t.Errorf("%+v", p)
	}
	// A group that comes in stale has nothing to keep.
	s.group("g2", "orders", 0, 1).Stale = true
	if l := s.round(time.Second); len(l.Groups) != 2 || len(l.Groups[1].Topics) != 0 {
		t.Errorf("%+v", l.Groups)
	}
}

// A topic that was deleted and created anew starts anew: old offsets make it
// neither rewound nor truncated nor lossy.
func TestRecreatedTopic(t *testing.T) {
	s := newScene(t, Options{})
	o := s.topic("orders", 1, 1)
	g := s.group("g1", "orders", 0, 900)
	join(g, "orders", 0)
	for i := range 50 {
		o.Start[0], o.End[0] = 950, 1000+int64(i)
		s.round(30 * time.Second)
	}
	lost := of(s.round(time.Second), 0, "orders").Lost
	if lost != 50 {
		t.Errorf("lost %d, want 50", lost)
	}
	o = s.topic("orders", 2, 1)
	o.End[0] = 10
	g.Commits = commits("orders", map[int32]int64{0: 4})
	tl := of(s.round(30*time.Second), 0, "orders")
	p := tl.Partitions[0]
	if p.Verdict == snapshot.VerdictRewound || p.Lag != 6 || tl.Lost != 50 {
		t.Errorf("after recreation: %+v", tl)
	}
	if !p.Truncated || p.Seconds > 30 {
		t.Errorf("the old topic's history is used: %+v", p)
	}
	o.Start[0], o.End[0] = 8, 20
	if tl := of(s.round(30*time.Second), 0, "orders"); tl.Lost != 54 {
		t.Errorf("lost %d, want 50 of the old and 4 of the new topic", tl.Lost)
	}
}

// C-26: a stable group's verdict does not come from a topic that it left; an
// empty group's does.
func TestLeftTopics(t *testing.T) {
	for _, only := range []bool{false, true} {
		t.Run(fmt.Sprintf("assigned topics only %v", only), func(t *testing.T) {
			s := newScene(t, Options{AssignedTopicsOnly: only})
			neu := s.topic("new", 1, 1)
			old := s.topic("old", 2, 1)
			s.topic("zzz", 3, 1)
			g1 := s.group("g1", "old", 0, 1000)
			g1.Commits = append(commits("new", map[int32]int64{0: 0}), g1.Commits...)
			join(g1, "new", 0)
			s.group("g2", "old", 0, 1000)
			undescribed := s.group("g3", "old", 0, 1000)
			undescribed.State, undescribed.MembersKnown = "Stable", false
			var l *snapshot.Lag
			for i := range int64(60) {
				neu.End[0], old.End[0] = 10*i, 1000+5*i
				s.groups.Groups[0].Commits[0].Partitions[0].Offset = 10 * i
				l = s.round(30 * time.Second)
			}
			left, kept := of(l, 0, "old"), of(l, 0, "new")
			if kept == nil || !kept.Assigned || kept.Verdict != snapshot.VerdictOK || l.Groups[0].Verdict != snapshot.VerdictOK {
				t.Errorf("g1: verdict %s, new: %+v", l.Groups[0].Verdict, kept)
			}
			if only != (left == nil) {
				t.Errorf("g1's old topic: %+v", left)
			}
			if left != nil && (left.Assigned || left.Partitions[0].Lag != 295 || left.Verdict != snapshot.VerdictStalled) {
				t.Errorf("g1's old topic: %+v", left)
			}
			for i, name := range []string{1: "g2", 2: "g3"} {
				if name == "" {
					continue
				}
				if tl := of(l, i, "old"); tl == nil || tl.Partitions[0].Lag != 295 || l.Groups[i].Verdict != snapshot.VerdictStopped {
					t.Errorf("%s: verdict %s, old: %+v", name, l.Groups[i].Verdict, tl)
				}
			}
		})
	}
}

// Results are sorted by topic and told in the order of the groups.
func TestOrder(t *testing.T) {
	s := newScene(t, Options{})
	for i, name := range []string{"a", "b", "c", "d"} {
		s.topic(name, byte(i+1), 1).End[0] = 5
	}
	g := s.group("g1", "d", 0, 1)
	g.Commits = append(commits("b", map[int32]int64{0: 2}), g.Commits...)
	join(g, "c", 0)
	join(g, "a", 0)
	s.group("g2", "", 0, -1).CommitsKnown = false
	l := s.round(time.Second)
	var names []string
	for _, tl := range l.Groups[0].Topics {
		names = append(names, tl.Topic)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, names); diff != "" || len(l.Groups) != 2 || l.Groups[1].Topics != nil {
		t.Errorf("%s, groups %+v", diff, l.Groups)
	}
}

// What is gone is forgotten: groups at once, topics' histories after a while.
func TestForgets(t *testing.T) {
	s := newScene(t, Options{})
	for i := range 20 {
		s.topic(fmt.Sprintf("topic-%02d", i), byte(i+1), 3)
	}
	for round := range 100 {
		s.groups.Groups = nil
		for i := range 10 {
			// Other groups every round, on other topics.
			g := s.group(fmt.Sprintf("g-%d-%d", round, i), fmt.Sprintf("topic-%02d", round%20), int32(i%3), 0)
			g.Stale = false
		}
		s.round(time.Second)
		if n := len(s.tracker.groups); n != 10 {
			t.Fatalf("round %d: the state of %d groups is kept", round, n)
		}
		if n := len(s.tracker.previous); n != 10 {
			t.Fatalf("round %d: the lag of %d groups is kept", round, n)
		}
	}
	s.groups.Groups = nil
	for range 25 {
		s.round(time.Second)
	}
	if len(s.tracker.groups)+len(s.tracker.partitions)+len(s.tracker.previous) != 0 {
		t.Errorf("kept: %d groups, %d topics, %d results", len(s.tracker.groups), len(s.tracker.partitions), len(s.tracker.previous))
	}
	// A topic that the group has no commit in any more.
	s.group("g", "topic-00", 0, 0)
	s.round(time.Second)
	s.groups.Groups[0].Commits = commits("topic-01", map[int32]int64{0: 0})
	s.round(time.Second)
	if n := len(s.tracker.groups["g"].topics); n != 1 {
		t.Errorf("%d topics of the group are kept", n)
	}
}
