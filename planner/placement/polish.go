package placement

import "slices"

// polish makes positions more even where existing partitions, which stay, left
// no even order of the new ones: it reorders followers of a partition and swaps
// followers of two partitions while the sum of squares of what brokers have at
// each position falls. Neither changes how many followers a broker has. The work
// is bounded by polishTries.
func (g *grid) polish() {
	n := make([][]int, g.rf)
	for k := range n {
		n[k] = slices.Clone(g.oldPos[k])
		for p := range g.P {
			n[k][g.at(p, k)]++
		}
	}
	tries := polishTries
	for k := 1; k < g.rf; k++ {
		for g.polishPosition(k, n, &tries) {
			k = 1
		}
	}
}

// polishTries is how many swaps polish weighs at most.
const polishTries = 20_000_000

// polishPosition makes one improvement of a position, if it finds one.
func (g *grid) polishPosition(k int, n [][]int, tries *int) bool {
	least := slices.Min(n[k])
	for p := range g.P {
		a := g.at(p, k)
		if n[k][a] < least+2 {
			continue
		}
		for q := 1; q < g.rf; q++ { // another position of the same partition
			if b := g.at(p, q); q != k && gain(n, k, q, a, b) < 0 {
				g.swapCells(p, k, p, q, n)
				return true
			}
		}
		for o := range g.P {
			if *tries -= g.rf; *tries < 0 {
				return false
			}
			for q := 1; q < g.rf; q++ {
				b := g.at(o, q)
				if q != k && n[k][b] < n[k][a]-1 && gain(n, k, q, a, b) < 0 && g.takes(p, a, b) && g.takes(o, b, a) {
					g.swapCells(p, k, o, q, n)
					return true
				}
			}
		}
	}
	return false
}

// gain is half the change of the sum of squares when a broker a at position k
// and b at q change places.
func gain(n [][]int, k, q, a, b int) int {
	if a == b {
		return 0
	}
	return n[q][a] - n[k][a] + n[k][b] - n[q][b] + 2
}

// takes tells whether a partition may have broker b instead of a.
func (g *grid) takes(p, a, b int) bool {
	inRack := make([]int, len(g.lo))
	for _, x := range g.row(p) {
		if int(x) == b {
			return false
		}
		if int(x) == a {
			x = int32(b)
		}
		inRack[g.sc.rack[x]]++
	}
	for r, c := range inRack {
		if c < g.lo[r] || c > g.hi[r] {
			return false
		}
	}
	return true
}

func (g *grid) swapCells(p, k, o, q int, n [][]int) {
	x, y := &g.cells[p*g.rf+k], &g.cells[o*g.rf+q]
	n[k][*x]--
	n[k][*y]++
	n[q][*y]--
	n[q][*x]++
	*x, *y = *y, *x
}
