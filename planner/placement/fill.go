package placement

import "slices"

// fill assigns leaders in laps round the ring and, behind each, followers on
// the next racks, shifted a little further every lap so that a broker's
// partitions are followed by many others. Quotas are kept where the ring alone
// can keep them; repair does the rest.
func (g *grid) fill() {
	n, racks := len(g.sc.ring), len(g.sc.members)
	laps := slices.Max(g.lead)
	left := slices.Clone(g.follow)
	p := 0
	for lap := range laps {
		shift := lap*racks + lap/max(1, n/racks)
		for i := range n {
			// A broker with fewer leaders than the most sits out some laps.
			if ceil(lap*g.lead[i], laps) == ceil((lap+1)*g.lead[i], laps) {
				continue
			}
			g.cells[p*g.rf] = int32(i)
			g.follow1(p, i+1+shift%n, left)
			p++
		}
	}
}

func ceil(a, b int) int { return (a + b - 1) / b }

// follow1 chooses the followers of one partition from a place of the ring on.
func (g *grid) follow1(p, start int, left []int) {
	n := len(g.sc.ring)
	row := g.row(p)[:1]
	inRack := make([]int, len(g.lo))
	inRack[g.sc.rack[row[0]]]++
	for k := 1; k < g.rf; k++ {
		must := 0
		for r := range inRack {
			must += max(0, g.lo[r]-inRack[r])
		}
		best := -1
		for d := range n {
			i := (start + d) % n
			r := g.sc.rack[i]
			if inRack[r] >= g.hi[r] || inRack[r] >= g.lo[r] && must >= g.rf-k || slices.Contains(row, int32(i)) {
				continue
			}
			if left[i] > 0 {
				best = i
				break
			}
			if best < 0 || left[i] > left[best] {
				best = i
			}
		}
		row = append(row, int32(best))
		inRack[g.sc.rack[best]]++
		left[best]--
		g.has[best] = append(g.has[best], int32(p))
		start = best + 1
	}
}

// hop says that a path reached a ring position by moving a follower of p there.
type hop struct {
	p    int32
	from int32
}

// repair brings every broker to its quota of followers along augmenting paths:
// chains of moves from a broker above it to one below. It returns false when a
// broker is left with more than it has room for. O(paths × partitions × rf).
func (g *grid) repair() bool {
	var stuck []bool
	for {
		over := -1
		for i := range g.has {
			if len(g.has[i]) > g.follow[i] && (stuck == nil || !stuck[i]) {
				over = i
				break
			}
		}
		if over < 0 {
			break
		}
		if !g.augment(over) {
			if stuck == nil {
				stuck = make([]bool, len(g.has))
			}
			stuck[over] = true
		}
	}
	for i := range g.has {
		if g.lead[i]+len(g.has[i]) > g.most[i] {
			return false
		}
	}
	return true
}

// augment finds a shortest path from a broker that has too many followers to
// one that has too few, and moves along it.
func (g *grid) augment(over int) bool {
	n := len(g.sc.ring)
	came := make([]hop, n)
	seen := make([]bool, n)
	through := make([]bool, g.P)
	fresh := make([][]int, len(g.sc.members))
	for r, m := range g.sc.members {
		fresh[r] = slices.Clone(m)
	}
	seen[over] = true
	queue := []int32{int32(over)}
	inRack := make([]int, len(g.lo))
	for len(queue) > 0 {
		x := queue[0]
		queue = queue[1:]
		for _, p := range g.has[x] {
			row := g.row(int(p))
			reach := func(r int) bool {
				rest := fresh[r][:0]
				for _, i := range fresh[r] {
					if seen[i] {
						continue
					}
					if slices.Contains(row, int32(i)) {
						rest = append(rest, i)
						continue
					}
					seen[i], came[i] = true, hop{p, x}
					if len(g.has[i]) < g.follow[i] {
						g.shift(over, i, came)
						return true
					}
					queue = append(queue, int32(i))
				}
				fresh[r] = rest
				return false
			}
			rx := g.sc.rack[x]
			if reach(rx) {
				return true
			}
			if through[p] {
				continue
			}
			clear(inRack)
			for _, y := range row {
				inRack[g.sc.rack[y]]++
			}
			if inRack[rx] <= g.lo[rx] {
				continue
			}
			through[p] = true
			for r := range fresh {
				if len(fresh[r]) > 0 && inRack[r] < g.hi[r] && reach(r) {
					return true
				}
			}
		}
	}
	return false
}

// shift carries out the moves of a path, its end first.
func (g *grid) shift(over, end int, came []hop) {
	for x := end; x != over; {
		h := came[x]
		row := g.row(int(h.p))
		row[slices.Index(row[1:], h.from)+1] = int32(x)
		at := slices.Index(g.has[h.from], h.p)
		g.has[h.from] = slices.Delete(g.has[h.from], at, at+1)
		g.has[x] = append(g.has[x], h.p)
		x = int(h.from)
	}
}
