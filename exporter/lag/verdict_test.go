package lag

import (
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// The rules of Burrow's evaluation, one by one: rounds of a minute, a window
// of ten.
func TestVerdicts(t *testing.T) {
	const minutes = 15
	constant := func(n int64) func(int64) int64 { return func(int64) int64 { return n } }
	for _, tc := range []struct {
		name        string
		end, commit func(minute int64) int64
		members     bool
		want        snapshot.Verdict
	}{
		{"drained and idle", constant(100), constant(100), true, snapshot.VerdictOK},
		{"nobody there, nothing to do", constant(100), constant(100), false, snapshot.VerdictOK},
		{"keeps up", func(m int64) int64 { return 100 * m }, func(m int64) int64 { return 100 * m }, true, snapshot.VerdictOK},
		{"drained once in the window", func(m int64) int64 { return 100 * m }, func(m int64) int64 {
			if m == minutes-5 {
				return 100 * m
			}
			return 100*m - 50 - m
		}, true, snapshot.VerdictOK},
		{"catches up", func(m int64) int64 { return 10_000 + 100*m }, func(m int64) int64 { return 150 * m }, true, snapshot.VerdictOK},
		{"gets on, but lag grows", func(m int64) int64 { return 100 * m }, func(m int64) int64 { return 50 * m }, true, snapshot.VerdictWarning},
		{"gets on, lag stays", func(m int64) int64 { return 1000 + 100*m }, func(m int64) int64 { return 100 * m }, true, snapshot.VerdictWarning},
		{"stands still with members", func(m int64) int64 { return 100 * m }, constant(0), true, snapshot.VerdictStalled},
		{"stands still, nothing new", constant(500), constant(0), true, snapshot.VerdictStalled},
		{"nobody there, records wait", func(m int64) int64 { return 100 * m }, constant(0), false, snapshot.VerdictStopped},
		{"went back", constant(1000), func(m int64) int64 {
			if m < minutes-3 {
				return 1000
			}
			return 200
		}, true, snapshot.VerdictRewound},
		{"went back long ago", func(m int64) int64 { return 1000 + m }, func(m int64) int64 {
			if m < 2 {
				return 1000
			}
			return 200
		}, true, snapshot.VerdictStalled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, Options{})
			o := s.topic("orders", 1, 1)
			g := s.group("g1", "orders", 0, 0)
			if tc.members {
				join(g, "orders", 0)
			}
			var l *snapshot.Lag
			for m := range int64(minutes + 1) {
				o.End[0] = tc.end(m)
				g.Commits[0].Partitions[0].Offset = tc.commit(m)
				l = s.round(time.Minute)
				if p := only(t, l); m == 0 && p.Lag > 0 && p.Verdict != snapshot.VerdictUnknown {
					t.Errorf("judged at first sight: %s", p.Verdict)
				}
			}
			if p := only(t, l); p.Verdict != tc.want || l.Groups[0].Topics[0].Verdict != tc.want || l.Groups[0].Verdict != tc.want {
				t.Errorf("partition %s, topic %s, group %s; want %s", p.Verdict, l.Groups[0].Topics[0].Verdict, l.Groups[0].Verdict, tc.want)
			}
		})
	}
}

// C-23 (a): after a transaction of 100 records the marker leaves a lag of 1
// for ever. That is ok while nothing is written, for a whole day, and stalled
// when an unread record is written every minute.
func TestTransactionMarker(t *testing.T) {
	s := newScene(t, Options{})
	o := s.topic("orders", 1, 1)
	o.End[0], o.Stable = 100, []int64{100}
	g := s.group("g1", "orders", 0, 0)
	join(g, "orders", 0)
	s.round(time.Minute)
	g.Commits[0].Partitions[0].Offset = 100
	s.round(time.Minute)
	o.End[0], o.Stable[0] = 101, 101
	for m := range 24 * 60 {
		p := only(t, s.round(time.Minute))
		if p.Lag != 1 || p.Verdict != snapshot.VerdictOK {
			t.Fatalf("minute %d: lag %d, %s; want 1, ok", m, p.Lag, p.Verdict)
		}
	}
	stalled := -1
	for m := range 20 {
		o.End[0]++
		if p := only(t, s.round(time.Minute)); p.Verdict == snapshot.VerdictStalled && stalled < 0 {
			stalled = m
		} else if stalled >= 0 && p.Verdict != snapshot.VerdictStalled {
			t.Errorf("minute %d: %s", m, p.Verdict)
		}
	}
	if stalled < 0 || stalled > 11 {
		t.Errorf("stalled after %d minutes, want within the window", stalled)
	}
}

// The same, when the exporter starts while the marker is there already.
func TestTransactionMarkerAtStart(t *testing.T) {
	s := newScene(t, Options{})
	s.topic("orders", 1, 1).End[0] = 101
	join(s.group("g1", "orders", 0, 100), "orders", 0)
	for m := range 60 {
		p := only(t, s.round(time.Minute))
		if p.Verdict != snapshot.VerdictOK {
			t.Fatalf("minute %d: %s", m, p.Verdict)
		}
	}
}

func TestLastCommit(t *testing.T) {
	s := newScene(t, Options{})
	s.topic("orders", 1, 1).End[0] = 100
	g := s.group("g1", "orders", 0, 5)
	if got := s.round(time.Minute).Groups[0].Topics[0].LastCommit; got != snapshot.Unknown {
		t.Errorf("no commit was seen, but %d", got)
	}
	g.Commits[0].Partitions[0].Offset = 6
	want := s.now.Add(time.Minute).UnixMilli()
	for range 3 {
		if got := s.round(time.Minute).Groups[0].Topics[0].LastCommit; got != want {
			t.Errorf("last commit %d, want %d", got, want)
		}
	}
}

// Lost records against a model: each counted once over steps of retention,
// pauses, progress and restarts of the consumer; a rewind never counts a
// record twice; the counter never goes back.
func TestLostRecords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newScene(t, Options{})
		o := s.topic("orders", 1, 1)
		g := s.group("g1", "orders", 0, 0)
		lost := map[int64]bool{}
		var last uint64
		rewinds := false
		commit, start, end := int64(0), int64(0), rapid.Int64Range(0, 30).Draw(rt, "end")
		for range rapid.IntRange(1, 40).Draw(rt, "rounds") {
			switch rapid.SampledFrom([]string{"produce", "produce", "retention", "consume", "rewind", "jump to start", "gone"}).Draw(rt, "step") {
			case "produce":
				end += rapid.Int64Range(0, 20).Draw(rt, "records")
			case "retention":
				start = rapid.Int64Range(start, end).Draw(rt, "start")
			case "consume":
				commit = max(commit, rapid.Int64Range(min(max(commit, start), end), end).Draw(rt, "commit"))
			case "jump to start":
				commit = max(commit, start)
			case "rewind":
				commit, rewinds = rapid.Int64Range(0, commit).Draw(rt, "back to"), true
			case "gone":
				o.Start[0] = snapshot.Unknown // this round the start is not known
				s.round(time.Second)
			}
			o.Start[0], o.End[0] = start, end
			g.Commits[0].Partitions[0].Offset = commit
			for r := commit; r < start; r++ {
				lost[r] = true
			}
			got := of(s.round(time.Second), 0, "orders").Lost
			if got < last {
				rt.Fatalf("the counter went from %d to %d", last, got)
			}
			last = got
			if n := uint64(len(lost)); got > n || !rewinds && got != n {
				rt.Fatalf("lost %d, want %d (rewinds: %v); commit %d, start %d", got, n, rewinds, commit, start)
			}
		}
	})
}

func TestPairSize(t *testing.T) {
	if n := unsafe.Sizeof(pair{}); n != 48 {
		t.Errorf("a pair takes %d bytes, its comment says 48", n)
	}
}
