package balance

// swap exchanges replicas with partners where no single move helps: typically
// a big one for a small one, when counts are already even.
func (se *search) swap(b int32) int {
	if !se.receive[b] {
		return 0
	}
	se.mine = se.movable(se.mine[:0], b)
	partners := append([]int32(nil), se.partners(b, swapWidth)...)
	for _, x := range partners {
		if se.o.Light && se.pen[x] <= tiny {
			continue
		}
		se.theirs = se.movable(se.theirs[:0], x)
		best, bi, bj := -tiny*10, int32(-1), int32(-1)
		for i := range se.mine {
			for j := range se.theirs {
				m, t := &se.mine[i], &se.theirs[j]
				if se.rep[m.slot].part == se.rep[t.slot].part {
					continue
				}
				var d vec
				for k := range K {
					d[k] = m.v[k] - t.v[k]
				}
				g := se.change(b, &d, -1)
				if g >= best {
					continue
				}
				if g += se.change(x, &d, 1); g >= best {
					continue
				}
				g += se.lambda * (se.price(m.slot, x) + se.price(t.slot, b))
				if g < best && se.carriesPair(b, x, &d) && se.legalSwap(m.slot, x, t.slot) && se.legalSwap(t.slot, b, m.slot) {
					best, bi, bj = g, m.slot, t.slot
				}
			}
		}
		if bi >= 0 {
			se.exchange(bi, bj)
			return 1
		}
	}
	return 0
}

type swappable struct {
	slot int32
	v    vec
}

// movable picks replicas of a broker: every n-th, from a random start.
func (se *search) movable(out []swappable, b int32) []swappable {
	all := se.lists[b]
	step := max(1, len(all)/(swapWidth*3))
	start := 0
	if step > 1 {
		start = se.rnd.IntN(step)
	}
	for i := start; i < len(all); i += step {
		if x := &all[i]; !x.held {
			out = append(out, swappable{x.slot, x.vec()})
		}
	}
	return out
}

// carriesPair tells whether both brokers' capacities allow b to hand d to x.
func (s *state) carriesPair(b, x int32, d *vec) bool {
	var back vec
	for k := range K {
		back[k] = -d[k]
	}
	return s.carries(x, d) && s.carries(b, &back)
}

// legalSwap is legal as if other had left b already. The brokers' capacities
// are for carriesPair.
func (se *search) legalSwap(r, b, other int32) bool {
	lim := se.limK[b]
	for k := range K {
		se.limK[b][k] = inf
	}
	vol := se.vol[other]
	se.leaveVolume(other)
	ok := se.legal(r, b)
	se.backToVolume(other, vol)
	se.limK[b] = lim
	return ok
}

func (se *search) exchange(r, q int32) {
	a, b := se.rep[r].at, se.rep[q].at
	se.leaveVolume(r) // both are out before either comes in
	se.leaveVolume(q)
	se.move(r, b)
	se.move(q, a)
}

// giveBack lets moved replicas go home where that does not hurt, biggest first.
func (se *search) giveBack() int {
	done := 0
	for _, r := range se.movedSlots() {
		p, a := se.rep[r].part, se.rep[r].at
		v := se.vec(r)
		leave := se.change(a, &v, -1)
		from, to := se.slots(p)
		best, bestGain := int32(-1), 0.0
		for q := from; q < to; q++ {
			h := se.c.Broker[q]
			if se.legal(r, h) {
				if g := leave + se.change(h, &v, 1); g <= bestGain {
					best, bestGain = h, g
				}
			}
		}
		if best >= 0 {
			se.move(r, best)
			done++
		}
	}
	return done
}

func (se *search) movedSlots() []int32 {
	var out []int32
	for r := range int32(se.R) {
		if se.rep[r].away {
			out = append(out, r)
		}
	}
	sortBySize(out, se.rep)
	return out
}
