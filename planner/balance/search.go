package balance

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// search minimises penalty + lambda × bytes for a falling lambda. While lambda
// is high only moves that relieve much for few bytes pay; as it falls, brokers
// approach the band all together and stop at its edge, and moves that have
// become too dear for what they do are undone. At the end the penalty is all
// that counts, and bytes have been spent where they do most.
type search struct {
	*state
	lambda float64
	// rackRepairs counts copies that forced took out of racks with too many.
	rackRepairs int
	rnd         *rand.Rand

	// swaps are only worth their cost near the end.
	swaps bool
	// tried[b] is the version of b's load at which a kind of move last found
	// nothing, at the present lambda.
	tried []tried

	order   []int32
	pool    []int32
	scores  []scored
	cands   []candidate
	brokers []ranked
	mine    []swappable
	theirs  []swappable
}

type tried struct{ send, fetch, swap uint32 }

type scored struct {
	slot  int32
	score float64
}

type candidate struct {
	slot, to int32
	gain     float64
}

type ranked struct {
	broker int32
	score  float64
}

// Widths of the search. They bound the work of one visit to a broker.
const (
	sendWidth    = 32 // replicas considered for sending
	partnerWidth = 16 // brokers considered as their destination
	fetchWidth   = 4  // brokers considered as the source for a starving one
	fetchDepth   = 12 // replicas considered from each
	swapWidth    = 12
	lambdaSteps  = 12
	lambdaFactor = 0.5
)

func newSearch(s *state) *search {
	se := &search{state: s, rnd: rand.New(rand.NewPCG(s.o.Seed, 0x5eed))}
	se.tried = make([]tried, s.B)
	for b := range s.B {
		se.order = append(se.order, int32(b))
	}
	return se
}

// tiny is the least improvement that counts.
const tiny = 1e-9

// anneal runs the schedule.
func (se *search) anneal() {
	se.lambda = se.firstLambda()
	if se.lambda == 0 {
		return
	}
	for i := range lambdaSteps {
		se.swaps = i >= lambdaSteps-1
		clear(se.tried)
		se.settle(sweepsAt(i))
		se.lambda *= lambdaFactor
	}
	se.lambda *= 0.05
	clear(se.tried)
	se.settle(6)
}

// sweepsAt is how often brokers are visited at a step: the next step goes on
// where one sweep ended, so that only the last ones need more.
func sweepsAt(step int) int {
	if step < lambdaSteps-3 {
		return 1
	}
	return 2
}

// firstLambda is the steepest fall of penalty per byte that a broker's disk
// load shows: the price at which hardly any move pays.
func (se *search) firstLambda() float64 {
	steepest := 0.0
	for b := range se.B {
		for _, k := range []model.Resource{model.In, model.Disk} {
			d := math.Abs(se.load[b][k]*se.inv[b][k]-1) - se.o.eps[k]
			if d > 0 {
				steepest = max(steepest, 2*se.o.weight[k]*d*se.inv[b][model.Disk])
			}
		}
	}
	return steepest
}

// settle visits brokers, worst first, until a sweep changes little.
func (se *search) settle(sweeps int) {
	for range sweeps {
		se.worstFirst()
		before, done := se.total(), 0
		for _, b := range slices.Clone(se.order) {
			done += se.visit(b)
		}
		if done == 0 || before-se.total() < 0.002*before {
			return
		}
	}
}

func (se *search) worstFirst() {
	slices.SortFunc(se.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(se.pen[b], se.pen[a]), cmp.Compare(a, b))
	})
}

// visit improves one broker and returns how many changes it made.
func (se *search) visit(b int32) int {
	done := 0
	for range 8 {
		n := 0
		if se.pen[b] > tiny {
			pk := &se.penK[b]
			if pk[model.Out]+pk[model.CPU]+pk[model.Leaders]+pk[model.LeaderIn] > tiny {
				n += se.leaders(b)
			}
			if se.tried[b].send != se.version[b] {
				if m := se.send(b); m > 0 {
					n += m
				} else {
					se.tried[b].send = se.version[b]
				}
			}
			if n == 0 && se.tried[b].fetch != se.version[b] {
				if n = se.fetch(b); n == 0 {
					se.tried[b].fetch = se.version[b]
				}
			}
			if n == 0 && se.swaps && se.pen[b] > tiny && se.tried[b].swap != se.version[b] {
				before := se.pen[b]
				if n = se.swap(b); n == 0 {
					se.tried[b].swap = se.version[b]
				}
				// Exchanges are dear to find. A broker that they mend by crumbs only
				// (it holds one partition too big for the band) is left as it is.
				if before-se.pen[b] < 0.02*before {
					return done + n
				}
			}
		}
		if n == 0 {
			break
		}
		done += n
	}
	return done
}

// sides tells whether a broker is above or below the band in any of the given
// resources, of all when none is given.
func (se *search) sides(b int32, of ...model.Resource) (over, under bool) {
	if len(of) == 0 {
		of = allResources[:]
	}
	for _, k := range of {
		if se.penK[b][k] > 0 {
			if se.load[b][k]*se.inv[b][k] > 1 {
				over = true
			} else {
				under = true
			}
		}
	}
	return over, under
}

var allResources = [...]model.Resource{model.In, model.Out, model.Disk, model.CPU, model.Replicas, model.Leaders, model.LeaderIn}

// leaders moves leadership away from or to a broker where that helps. It costs
// no bytes.
func (se *search) leaders(b int32) int {
	done := 0
	over, under := se.sides(b, model.Out, model.CPU, model.Leaders, model.LeaderIn)
	for i := range se.lists[b] {
		r := se.lists[b][i].slot
		if leads := se.lists[b][i].leads; leads && !over || !leads && !under {
			continue
		}
		p := se.rep[r].part
		l := se.lead[p]
		if se.fixed[p] || l == model.None || se.o.Light && se.keeps[se.rep[l].at] {
			continue
		}
		from, to := se.slots(p)
		if l == r {
			lose := se.leadVec(r)
			dl := se.change(b, &lose, -1)
			best, bestGain := int32(-1), -tiny
			for q := from; q < to; q++ {
				if q == r || !se.leadsOK[se.rep[q].at] || !se.sameGroup(b, se.rep[q].at) {
					continue
				}
				win := se.leadVec(q)
				if g := dl + se.change(se.rep[q].at, &win, 1); g < bestGain && se.carries(se.rep[q].at, &win) {
					best, bestGain = q, g
				}
			}
			if best >= 0 {
				se.elect(best)
				done++
			}
			continue
		}
		if !se.leadsOK[b] || !se.sameGroup(b, se.rep[l].at) {
			continue
		}
		lose, win := se.leadVec(l), se.leadVec(r)
		if se.change(se.rep[l].at, &lose, -1)+se.change(b, &win, 1) < -tiny && se.carries(b, &win) {
			se.elect(r)
			done++
		}
	}
	return done
}

// send moves replicas away from b: those that relieve it most for their bytes,
// each to the partner where penalty and bytes fall most together.
func (se *search) send(b int32) int {
	if over, _ := se.sides(b); !over {
		return 0
	}
	se.scores = se.scores[:0]
	for i := range se.lists[b] {
		x := &se.lists[b][i]
		if x.held {
			continue
		}
		v := x.vec()
		net := se.change(b, &v, -1)
		if x.away {
			net -= se.lambda * x.disk
		} else {
			net += se.lambda * x.disk
		}
		if net < -tiny {
			se.scores = append(se.scores, scored{x.slot, net})
		}
	}
	if len(se.scores) == 0 {
		return 0
	}
	n := min(sendWidth, len(se.scores))
	partition(se.scores, n, func(x, y scored) bool { return x.score < y.score || x.score == y.score && x.slot < y.slot })
	pool := se.partners(b, partnerWidth)
	se.cands = se.cands[:0]
	for _, sc := range se.scores[:n] {
		if c, ok := se.bestPartner(sc.slot, pool); ok {
			se.cands = append(se.cands, c)
		}
	}
	return se.apply()
}

// bestPartner finds the best destination of a replica among pool and its
// original places.
func (se *search) bestPartner(r int32, pool []int32) (candidate, bool) {
	v := se.vec(r)
	a := se.rep[r].at
	leave := se.change(a, &v, -1)
	best := candidate{slot: r, gain: -tiny}
	found := false
	try := func(x int32) {
		if !se.legal(r, x) {
			return
		}
		if g := leave + se.change(x, &v, 1) + se.lambda*se.price(r, x); g < best.gain {
			best.to, best.gain, found = x, g, true
		}
	}
	for _, x := range pool {
		try(x)
	}
	if p := se.rep[r].part; se.rep[r].away {
		for q := se.c.Off[p]; q < se.c.Off[p+1]; q++ {
			try(se.c.Broker[q])
		}
	}
	return best, found
}

// apply makes candidates, best first, each checked again: those before it
// changed the loads.
func (se *search) apply() int {
	slices.SortFunc(se.cands, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(x.gain, y.gain), cmp.Compare(x.slot, y.slot))
	})
	done := 0
	for _, c := range se.cands {
		if se.rep[c.slot].at == c.to || !se.legal(c.slot, c.to) || !se.affordable(c.slot, c.to) {
			continue
		}
		v := se.vec(c.slot)
		g := se.change(se.rep[c.slot].at, &v, -1) + se.change(c.to, &v, 1) + se.lambda*se.price(c.slot, c.to)
		if g < -tiny && g < 0.7*c.gain {
			se.move(c.slot, c.to)
			done++
		}
	}
	return done
}

// affordable tells whether a move keeps the plan within its bounds.
func (se *search) affordable(r, b int32) bool {
	return se.o.MaxBytes == 0 || se.moved+int64(se.price(r, b)) <= se.o.MaxBytes
}

// fetch brings replicas to a broker that lacks load from brokers that can spare it.
func (se *search) fetch(b int32) int {
	if !se.receive[b] {
		return 0
	}
	if _, under := se.sides(b); !under {
		return 0
	}
	se.cands = se.cands[:0]
	g := se.slope(b)
	for _, x := range se.sources(&g, b) {
		se.scores = se.scores[:0]
		sample := se.sample(x)
		for i := range sample {
			y := &sample[i]
			if y.held {
				continue
			}
			v := y.vec()
			net := se.change(x, &v, -1) + se.change(b, &v, 1)
			if !y.away {
				net += se.lambda * y.disk
			}
			if net < -tiny {
				se.scores = append(se.scores, scored{y.slot, net})
			}
		}
		n := min(fetchDepth, len(se.scores))
		partition(se.scores, n, func(x, y scored) bool { return x.score < y.score || x.score == y.score && x.slot < y.slot })
		for _, sc := range se.scores[:n] {
			if se.legal(sc.slot, b) {
				v := se.vec(sc.slot)
				gain := se.change(x, &v, -1) + se.change(b, &v, 1) + se.lambda*se.price(sc.slot, b)
				if gain < -tiny {
					se.cands = append(se.cands, candidate{sc.slot, b, gain})
				}
			}
		}
	}
	return se.apply()
}
