package placement

// arrange orders the followers of every partition so that each position is
// even by itself. For position k every broker shall have its share of what it
// follows at k and later, rounded down or up: a flow that always exists for a
// new topic. Existing partitions count but stay. O(paths × partitions × rf).
func (g *grid) arrange() {
	n := len(g.sc.ring)
	// later counts what a broker follows at position k and after it.
	later := make([]int, n)
	for i := range n {
		later[i] = g.oldFollow[i] + len(g.has[i])
	}
	for k := 1; k < g.rf-1; k++ {
		num := make([]int, n)
		at := make([][]int32, n)
		for i := range n {
			num[i] = g.oldPos[k][i]
		}
		for p := range g.P {
			i := g.at(p, k)
			num[i]++
			at[i] = append(at[i], int32(p))
		}
		share := g.rf - k
		for i := range n {
			// Too many: hand on to whoever stays within its own share.
			for num[i] > ceil(later[i], share) &&
				g.relay(k, i, at, num, func(x int) bool { return num[x] < ceil(later[x], share) }) {
			}
		}
		for i := range n {
			for num[i] < later[i]/share && g.pull(k, i, at, num, later, share) {
			}
		}
		for i := range n {
			later[i] -= num[i]
		}
	}
}

// pull raises a broker below its share from one that can spare a partition.
func (g *grid) pull(k, to int, at [][]int32, num, later []int, share int) bool {
	for i := range at {
		if i != to && num[i] > later[i]/share && g.relay(k, i, at, num, func(x int) bool { return x == to }) {
			return true
		}
	}
	return false
}

// relay passes one partition's position k on from a broker, along partitions
// whose later followers take it over, until a broker that wants it.
func (g *grid) relay(k, from int, at [][]int32, num []int, wants func(int) bool) bool {
	came := make([]hop, len(at))
	seen := make([]bool, len(at))
	seen[from] = true
	queue := []int{from}
	for len(queue) > 0 {
		x := queue[0]
		queue = queue[1:]
		for _, p := range at[x] {
			for _, y := range g.row(int(p))[k+1:] {
				if seen[y] {
					continue
				}
				seen[y], came[y] = true, hop{p, int32(x)}
				if wants(int(y)) {
					g.swapBack(k, from, int(y), came, at)
					num[from]--
					num[y]++
					return true
				}
				queue = append(queue, int(y))
			}
		}
	}
	return false
}

func (g *grid) swapBack(k, from, end int, came []hop, at [][]int32) {
	for x := end; x != from; {
		h := came[x]
		row := g.row(int(h.p))
		for q := k + 1; q < g.rf; q++ {
			if row[q] == int32(x) {
				row[k], row[q] = row[q], row[k]
				break
			}
		}
		list := at[h.from]
		for i := range list {
			if list[i] == h.p {
				at[h.from] = append(list[:i], list[i+1:]...)
				break
			}
		}
		at[x] = append(at[x], h.p)
		x = int(h.from)
	}
}
