package lag

import (
	"slices"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// observation is one look at a partition's end.
type observation struct {
	tick uint32
	end  int64
}

// partitionModel is a simulated partition: written[i] is the tick at which the
// record with offset first+i was written.
type partitionModel struct {
	first   int64
	written []uint32
	looks   []observation
}

// simulate draws rounds with random pauses, bursts, idle hours and a look at
// the end after each.
func simulate(t *rapid.T, rounds int) *partitionModel {
	m := &partitionModel{first: rapid.Int64Range(0, 1000).Draw(t, "first offset")}
	tick := uint32(1000)
	for range rounds {
		pause := rapid.SampledFrom([]uint32{1, 50, 150, 150, 150, 150, 300, 3000, 36000}).Draw(t, "pause")
		n := rapid.SampledFrom([]int{0, 0, 0, 1, 2, 7, 30}).Draw(t, "records")
		times := make([]uint32, n)
		for i := range times {
			times[i] = tick + 1 + uint32(rapid.IntRange(0, int(pause)-1).Draw(t, "written"))
		}
		slices.Sort(times)
		m.written = append(m.written, times...)
		tick += pause
		m.looks = append(m.looks, observation{tick, m.first + int64(len(m.written))})
	}
	return m
}

// bracket is the closest two looks between which an offset was written.
func (m *partitionModel) bracket(offset int64) (lo, hi uint32, ok bool) {
	i := sort.Search(len(m.looks), func(i int) bool { return m.looks[i].end > offset })
	if i == 0 || i == len(m.looks) {
		return 0, 0, false
	}
	return m.looks[i-1].tick, m.looks[i].tick, true
}

// Without thinning an estimate is between the two looks around the write: an
// idle hour before a record does not age it.
func TestHistoryAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := simulate(t, rapid.IntRange(2, 60).Draw(t, "rounds"))
		var h history
		for _, o := range m.looks {
			h.observe(o.tick, o.end, 1024)
		}
		newest := m.looks[len(m.looks)-1].end
		for offset := m.first; offset < newest; offset++ {
			got, truncated, known := h.writtenAt(offset)
			lo, hi, inside := m.bracket(offset)
			if !known {
				t.Fatalf("offset %d of %d is not known", offset, newest)
			}
			if truncated == inside {
				t.Fatalf("offset %d: truncated %v, but seen being written %v", offset, truncated, inside)
			}
			if inside && (got < lo || got > hi) {
				t.Fatalf("offset %d was written in (%d, %d], estimate %d; history %v %v", offset, lo, hi, got, h.ticks, h.ends)
			}
			if !inside && got != m.looks[0].tick {
				t.Fatalf("offset %d: lower bound %d, want %d", offset, got, m.looks[0].tick)
			}
		}
		if _, _, known := h.writtenAt(newest); known {
			t.Fatal("a record that is not written yet has an age")
		}
	})
}

// With thinning the estimate stays close in proportion to the age: a record of
// a minute ago never looks an hour old, nor the other way round.
func TestThinnedHistoryIsRightInProportion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := simulate(t, rapid.IntRange(65, 400).Draw(t, "rounds"))
		var h history
		for _, o := range m.looks {
			h.observe(o.tick, o.end, 64)
		}
		now := m.looks[len(m.looks)-1].tick
		newest := m.looks[len(m.looks)-1].end
		for offset := m.first; offset < newest; offset++ {
			got, truncated, known := h.writtenAt(offset)
			lo, hi, inside := m.bracket(offset)
			if !known || truncated == inside {
				t.Fatalf("offset %d: known %v truncated %v", offset, known, truncated)
			}
			if !inside {
				continue
			}
			// The age is known to be within [now-hi, now-lo]. Idle hours inside it
			// cannot be told better than that.
			age := float64(now - got)
			youngest, oldest := float64(now-hi), float64(now-lo)
			if age > 1.6*oldest || age < youngest/1.6-1 {
				t.Fatalf("offset %d is %v to %v ticks old, estimate %v\nticks %v\nends %v", offset, youngest, oldest, age, h.ticks, h.ends)
			}
		}
	})
}

// The memory of a partition is bounded whatever is seen, truncations and
// seeding included; estimates never run against the order of offsets.
func TestHistoryIsBoundedAndMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(8, 80).Draw(t, "limit")
		var h history
		tick, end := uint32(1_000_000), rapid.Int64Range(0, 50).Draw(t, "end")
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"observe", "observe", "observe", "idle", "truncate", "same tick", "seed"}).Draw(t, "step") {
			case "observe":
				tick += uint32(rapid.IntRange(1, 5000).Draw(t, "pause"))
				end += rapid.Int64Range(0, 20).Draw(t, "written")
			case "idle":
				tick += 36000
			case "truncate":
				tick++
				end = rapid.Int64Range(0, end).Draw(t, "new end")
			case "seed":
				var ticks []uint32
				var ends []int64
				for range rapid.IntRange(0, 9).Draw(t, "seeds") {
					ticks = append(ticks, rapid.Uint32Range(1, tick).Draw(t, "seed tick"))
					ends = append(ends, rapid.Int64Range(0, end+5).Draw(t, "seed end"))
				}
				slices.Sort(ticks)
				h.prepend(ticks, ends, limit)
			}
			h.observe(tick, end, limit)
			check(t, &h, limit, tick, end)
		}
	})
}

func check(t *rapid.T, h *history, limit int, now uint32, end int64) {
	if len(h.ticks) > limit || len(h.ends) != len(h.ticks) {
		t.Fatalf("%d points, at most %d are allowed", len(h.ticks), limit)
	}
	if cap(h.ticks) > 2*limit+16 {
		t.Fatalf("room for %d points is held, the limit is %d", cap(h.ticks), limit)
	}
	if h.newest() != end {
		t.Fatalf("newest end %d, want %d", h.newest(), end)
	}
	if !slices.IsSorted(h.ticks) || !slices.IsSorted(h.ends) {
		t.Fatalf("out of order: %v %v", h.ticks, h.ends)
	}
	last := uint32(0)
	for offset := max(0, h.ends[0]-3); offset < end; offset++ {
		got, _, known := h.writtenAt(offset)
		if !known || got < last || got > now {
			t.Fatalf("offset %d: written at %d after %d at %d (known %v)", offset, last, got, now, known)
		}
		last = got
	}
}

// An idle hour does not age a fresh record, however many rounds follow it.
func TestIdleHourDoesNotAgeAFreshRecord(t *testing.T) {
	const second, limit = 10, 64
	var h history
	tick, end := uint32(1000), int64(500)
	h.observe(tick, end, limit)
	for range 240 { // an hour without a record, a look every 15 s
		tick += 15 * second
		h.observe(tick, end, limit)
	}
	if len(h.ticks) > 2 {
		t.Errorf("an idle hour is kept as %d points", len(h.ticks))
	}
	fresh := tick
	for rounds := 1; rounds <= 480; rounds++ {
		tick += 15 * second
		end += 10
		h.observe(tick, end, limit)
		got, _, _ := h.writtenAt(500)
		if got < fresh || got > fresh+15*second {
			age, want := float64(tick-got)/second, float64(tick-fresh)/second
			if age > 1.6*want || age < want/1.6-15 {
				t.Fatalf("%d rounds later a record of %.0f s ago looks %.0f s old", rounds, want, age)
			}
		}
	}
}

func TestHistorySeeding(t *testing.T) {
	var h history
	h.prepend([]uint32{1}, []int64{1}, 8) // before the first look: nothing to attach to
	if len(h.ticks) != 0 || !h.seeded {
		t.Errorf("%+v", h)
	}
	h.observe(1000, 100, 8)
	if got, truncated, known := h.writtenAt(50); got != 1000 || !truncated || !known {
		t.Errorf("before seeding: %d %v %v", got, truncated, known)
	}
	// Out of order, beyond the first look, and going back: left out.
	h.prepend([]uint32{100, 200, 300, 400, 1000}, []int64{40, 30, 60, 101, 100}, 8)
	if !slices.Equal(h.ticks, []uint32{100, 300, 1000}) || !slices.Equal(h.ends, []int64{40, 60, 100}) {
		t.Errorf("%+v", h)
	}
	if got, truncated, _ := h.writtenAt(50); got != 200 || truncated {
		t.Errorf("after seeding: %d %v", got, truncated)
	}
	if got, truncated, _ := h.writtenAt(10); got != 100 || !truncated {
		t.Errorf("older than the seeds: %d %v", got, truncated)
	}
}

// Truncation of the log (or a topic of the same name) makes what was learnt void.
func TestHistoryForgetsOnTruncation(t *testing.T) {
	var h history
	for i := range uint32(20) {
		h.observe(1000+i*10, int64(i)*10, 64)
	}
	h.observe(2000, 50, 64)
	if !slices.Equal(h.ends, []int64{50}) || !slices.Equal(h.ticks, []uint32{2000}) {
		t.Errorf("%+v", h)
	}
	if got, truncated, known := h.writtenAt(20); !truncated || !known || got != 2000 {
		t.Errorf("%d %v %v", got, truncated, known)
	}
}

// Ticks reach back for seeding and last for years.
func TestTicks(t *testing.T) {
	tr := New(Options{})
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := tr.tick(start)
	for _, d := range []time.Duration{-7 * 24 * time.Hour, -time.Hour, time.Second, 24 * time.Hour, 10 * 365 * 24 * time.Hour} {
		if got, want := int64(tr.tick(start.Add(d)))-int64(first), int64(d/tickLength); got != want {
			t.Errorf("%s is %d ticks, want %d", d, got, want)
		}
	}
	if got := tr.tick(start.Add(-100 * 24 * time.Hour)); got != 1 {
		t.Errorf("long before the first round: tick %d, want the lowest, 1", got)
	}
	if got := tr.tick(start.Add(40 * 365 * 24 * time.Hour)); got != ^uint32(0) {
		t.Errorf("in 40 years: tick %d, want the highest", got)
	}
}
