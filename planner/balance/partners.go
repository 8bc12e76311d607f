package balance

// partners ranks brokers by how well their imbalance answers b's: the dot
// product of the slopes of their penalties, most opposite first, with some at
// random among them.
func (se *search) partners(b int32, n int) []int32 {
	g := se.slope(b)
	se.brokers = se.brokers[:0]
	for x := range int32(se.B) {
		if x == b || !se.receive[x] {
			continue
		}
		h := se.pull(x)
		dot := 0.0
		for k := range K {
			dot += g[k] * h[k]
		}
		se.brokers = append(se.brokers, ranked{x, dot})
	}
	n = min(n, len(se.brokers))
	partition(se.brokers, n, func(a, b ranked) bool { return a.score > b.score || a.score == b.score && a.broker < b.broker })
	se.pool = se.pool[:0]
	for _, r := range se.brokers[:n] {
		se.pool = append(se.pool, r.broker)
	}
	for i := n - n/4; i < n && len(se.brokers) > n; i++ {
		se.pool[i] = se.brokers[n+se.rnd.IntN(len(se.brokers)-n)].broker
	}
	return se.pool
}

// slope is how the penalty of a broker grows with each load, in shares of the
// target: positive above the band, negative below.
func (se *search) slope(b int32) vec {
	var g vec
	for k := range K {
		x := se.load[b][k]*se.inv[b][k] - 1
		switch {
		case x > se.o.eps[k]:
			g[k] = se.o.weight[k] * (x - se.o.eps[k])
		case x < -se.o.eps[k]:
			g[k] = se.o.under[k] * (x + se.o.eps[k])
		}
	}
	return g
}

// pull is how much room a broker has in each load, in shares of the target,
// with what it lacks counting more.
func (se *search) pull(b int32) vec {
	var h vec
	for k := range K {
		x := 1 - se.load[b][k]*se.inv[b][k]
		h[k] = x
		if x > se.o.eps[k] {
			h[k] += 2 * (x - se.o.eps[k])
		}
	}
	return h
}

// sources ranks brokers by how much of what b lacks they have to spare.
func (se *search) sources(g *vec, b int32) []int32 {
	se.brokers = se.brokers[:0]
	for x := range int32(se.B) {
		if x == b || se.o.Light && se.pen[x] <= tiny {
			continue
		}
		spare := 0.0
		for k := range K {
			if g[k] < 0 {
				spare -= g[k] * (se.load[x][k]*se.inv[x][k] - 1)
			}
		}
		se.brokers = append(se.brokers, ranked{x, spare})
	}
	n := min(fetchWidth, len(se.brokers))
	partition(se.brokers, n, func(a, b ranked) bool { return a.score > b.score || a.score == b.score && a.broker < b.broker })
	se.pool = se.pool[:0]
	for _, r := range se.brokers[:n] {
		se.pool = append(se.pool, r.broker)
	}
	return se.pool
}

// sampleSize bounds how many replicas of one broker fetch looks at.
const sampleSize = 96

func (se *search) sample(b int32) []listed {
	all := se.lists[b]
	if len(all) <= sampleSize {
		return all
	}
	i := se.rnd.IntN(len(all) - sampleSize)
	return all[i : i+sampleSize]
}

// partition puts the n smallest by less in front, in no order. O(len) on average.
func partition[T any](s []T, n int, less func(a, b T) bool) {
	lo, hi := 0, len(s)-1
	for lo < hi {
		pivot := s[(lo+hi)/2]
		i, j := lo, hi
		for i <= j {
			for less(s[i], pivot) {
				i++
			}
			for less(pivot, s[j]) {
				j--
			}
			if i <= j {
				s[i], s[j] = s[j], s[i]
				i++
				j--
			}
		}
		switch {
		case n-1 <= j:
			hi = j
		case n-1 >= i:
			lo = i
		default:
			return
		}
	}
}
