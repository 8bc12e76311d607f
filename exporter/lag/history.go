package lag

import (
	"math"
	"slices"
	"sort"
)

// history remembers when a partition's end offset was where, so that the age
// of an offset can be told without reading records. Times are in ticks (see
// Tracker). It is bounded: when full, the point goes that is missed least, so
// that the recent past stays fine and the far past gets coarse in proportion
// to its age but is never lost.
type history struct {
	ticks []uint32
	ends  []int64
	// seeded is true once the past before the first observation was asked for.
	seeded bool
}

// observe adds what was seen now. Of a stretch in which the end stands still
// only the first and the last moment are kept: without the last one, the first
// record after an idle hour would look an hour old.
func (h *history) observe(now uint32, end int64, limit int) {
	n := len(h.ends)
	if n > 0 && end < h.ends[n-1] {
		// The log was truncated or the topic recreated: what was learnt is void.
		h.ticks, h.ends, n = h.ticks[:0], h.ends[:0], 0
	}
	if n > 0 && h.ticks[n-1] >= now {
		return
	}
	if n > 1 && h.ends[n-1] == end && h.ends[n-2] == end {
		h.ticks[n-1] = now
		return
	}
	h.ticks = append(h.ticks, now)
	h.ends = append(h.ends, end)
	h.thin(limit)
}

// newest is the last observed end.
func (h *history) newest() int64 {
	if len(h.ends) == 0 {
		return 0
	}
	return h.ends[len(h.ends)-1]
}

// thin drops points until at most limit are left, the first and the last one
// apart. A record between two points can be placed no better than within their
// gap: the point goes without which that gap is smallest against its age.
func (h *history) thin(limit int) {
	for len(h.ticks) > max(limit, 2) {
		n := len(h.ticks)
		drop, least := 1, math.Inf(1)
		for i := 1; i < n-1; i++ {
			gap, age := float64(h.ticks[i+1]-h.ticks[i-1]), float64(h.ticks[n-1]-h.ticks[i])
			if r := gap / age; r < least {
				drop, least = i, r
			}
		}
		h.ticks = slices.Delete(h.ticks, drop, drop+1)
		h.ends = slices.Delete(h.ends, drop, drop+1)
	}
}

// prepend puts older points before the first one. Points must be in order of time.
func (h *history) prepend(ticks []uint32, ends []int64, limit int) {
	h.seeded = true
	if len(h.ticks) == 0 {
		return
	}
	var ts []uint32
	var es []int64
	for i := range ticks {
		if ticks[i] >= h.ticks[0] || ends[i] > h.ends[0] || (len(es) > 0 && ends[i] < es[len(es)-1]) {
			continue
		}
		ts, es = append(ts, ticks[i]), append(es, ends[i])
	}
	h.ticks = append(ts, h.ticks...)
	h.ends = append(es, h.ends...)
	h.thin(limit)
}

// writtenAt estimates when the record at an offset was written: it interpolates
// between the two observations around it. known is false when the offset is at
// or beyond the newest end; truncated is true when it is older than the first
// observation, whose tick is returned then (the record is at least that old).
func (h *history) writtenAt(offset int64) (tick uint32, truncated, known bool) {
	n := len(h.ends)
	if n == 0 || offset >= h.ends[n-1] {
		return 0, false, false
	}
	if offset < h.ends[0] {
		return h.ticks[0], true, true
	}
	// The first point whose end is beyond the offset.
	i := sort.Search(n, func(i int) bool { return h.ends[i] > offset })
	lo, hi := i-1, i
	span := h.ends[hi] - h.ends[lo]
	part := float64(offset-h.ends[lo]) / float64(span)
	return h.ticks[lo] + uint32(part*float64(h.ticks[hi]-h.ticks[lo])), false, true
}
