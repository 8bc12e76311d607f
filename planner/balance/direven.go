package balance

import (
	"cmp"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// volumePenalty is the squared distance of a volume's size and traffic from
// what the band around its share allows, and the direction: positive for a
// volume with too much of something.
func volumePenalty(v *dirVolume, used, in, size, traffic, band float64) (penalty float64, above bool) {
	for _, x := range [2][2]float64{{used, size * v.share}, {in, traffic * v.share}} {
		if x[1] <= 0 {
			continue
		}
		off := x[0]/x[1] - 1
		if off > band {
			above = true
			penalty += (off - band) * (off - band)
		} else if off < -band {
			penalty += (off + band) * (off + band)
		}
	}
	return penalty, above
}

// even moves replicas between the volumes of a broker, each time the move that
// lowers the penalty most for its bytes, until all are within the band or
// nothing helps. What arrives on the broker can be put elsewhere for nothing.
func (d *dirs) even(b int32) {
	e := evener{dirs: d, b: b, vols: d.vols[b]}
	moves := 0
	for i := range e.vols {
		e.size += e.vols[i].used
		e.in += e.vols[i].in
		moves += len(e.vols[i].slots)
	}
	for range 2 * moves {
		if !e.step() {
			return
		}
	}
}

type evener struct {
	*dirs
	b        int32
	vols     []dirVolume
	size, in float64
}

func (e *evener) penalty(v int, used, in float64) float64 {
	if len(e.vols[v].dirs) == 0 {
		return 0
	}
	p, _ := volumePenalty(&e.vols[v], e.vols[v].used+used, e.vols[v].in+in, e.size, e.in, e.s.o.DirBand)
	return p
}

type dirMove struct {
	slot  int32
	to    int
	value float64
}

// step makes the best move from or to the worst volume for which there is one.
func (e *evener) step() bool {
	order := make([]int, 0, len(e.vols))
	for i := range e.vols {
		if e.penalty(i, 0, 0) > tiny {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(e.penalty(y, 0, 0), e.penalty(x, 0, 0)) })
	for _, worst := range order {
		best := dirMove{slot: -1}
		_, above := volumePenalty(&e.vols[worst], e.vols[worst].used, e.vols[worst].in, e.size, e.in, e.s.o.DirBand)
		for other := range e.vols {
			if other == worst {
				continue
			}
			if above {
				e.try(worst, other, &best)
			} else {
				e.try(other, worst, &best)
			}
		}
		if best.slot >= 0 {
			e.take(best.slot)
			e.put(best.slot, e.dirOn(best.slot, best.to))
			return true
		}
	}
	return false
}

// dirOn is the directory for a replica on a volume: where it lay, if it was on
// that volume already.
func (e *evener) dirOn(r int32, v int) int32 {
	if old := e.s.c.Dir[r]; e.broker[r] == e.s.c.Broker[r] && old != model.None && int(e.of[e.b][old]) == v {
		return old
	}
	return e.leastDir(e.b, v)
}

// try finds the best move from one volume to another.
func (e *evener) try(from, to int, best *dirMove) {
	if len(e.vols[to].dirs) == 0 || len(e.vols[from].dirs) == 0 {
		return
	}
	before := e.penalty(from, 0, 0) + e.penalty(to, 0, 0)
	for _, r := range e.vols[from].slots {
		x := &e.s.rep[r]
		if e.s.fixed[x.part] || e.s.rep[r].held || x.disk > 0 && e.vols[to].used+x.disk > e.vols[to].capacity {
			continue
		}
		gain := before - e.penalty(from, -x.disk, -x.in) - e.penalty(to, x.disk, x.in)
		if gain <= 1e-6 {
			continue
		}
		cost := e.s.o.bytesUnit
		if e.broker[r] == e.s.c.Broker[r] {
			cost += x.disk
		}
		if v := gain / cost; v > best.value || v == best.value && r < best.slot {
			*best = dirMove{r, to, v}
		}
	}
}
