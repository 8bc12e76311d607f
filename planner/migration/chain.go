package migration

import (
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// chain lists the actions that lead a partition to its goal: replicas between
// brokers one at a time, then between log directories, then who leads.
func (k *compiler) chain(x *part, goal []held) {
	now, order := brokersOf(x.start), brokersOf(goal)
	var adds, removes []int32
	for _, b := range order {
		if !slices.Contains(now, b) {
			adds = append(adds, b)
		}
	}
	for _, b := range now {
		if !slices.Contains(order, b) {
			removes = append(removes, b)
		}
	}
	sizes := k.sizes(x, adds, removes)
	k.moves(x, now, adds, removes, order)
	for i := range x.chain {
		if a := &x.chain[i]; a.add != model.None {
			a.size = sizes[slices.Index(adds, a.add)]
			a.dir = goal[slices.Index(order, a.add)].dir
		}
	}
	k.dirMoves(x, goal, order)
	if len(x.chain) == 0 && !slices.Equal(now, order) {
		x.chain = append(x.chain, action{kind: Order, add: model.None, order: order})
	}
	k.election(x, order)
}

// sizes are those of the copies to be made: of the replica replaced, first for
// first, as plans count them; of the leader for further ones.
func (k *compiler) sizes(x *part, adds, removes []int32) []int64 {
	sizeOn := func(b int32) int64 {
		for _, h := range x.start {
			if h.broker == b {
				return h.size
			}
		}
		return x.start[0].size
	}
	out := make([]int64, len(adds))
	for i := range adds {
		if i < len(removes) {
			out[i] = sizeOn(removes[i])
		} else {
			out[i] = sizeOn(x.leader)
		}
	}
	return out
}

// moves pairs what comes with what goes.
func (k *compiler) moves(x *part, now, adds, removes, order []int32) {
	if len(adds) == 0 {
		if len(removes) > 0 {
			x.chain = append(x.chain, action{kind: Drop, add: model.None, remove: removes, order: order})
		}
		return
	}
	// The leader leaves last: each change of leader is felt by clients.
	removes = slices.Clone(removes)
	slices.SortStableFunc(removes, func(a, b int32) int { return compareBool(a == x.leader, b == x.leader) })
	pairs := k.pair(now, adds, removes, x.rack)
	list := now
	for i, p := range pairs {
		a := action{kind: Move, add: p.add}
		list = apply(list, p)
		if p.remove != model.None {
			a.remove = []int32{p.remove}
		}
		if i == len(pairs)-1 {
			for _, b := range list {
				if !slices.Contains(order, b) {
					a.remove = append(a.remove, b)
				}
			}
			list = order
		}
		a.order = list
		x.chain = append(x.chain, a)
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

type pairing struct{ add, remove int32 }

// apply is a list with a replica replaced, or added at its end.
func apply(list []int32, p pairing) []int32 {
	out := slices.Clone(list)
	if i := slices.Index(out, p.remove); i >= 0 {
		out[i] = p.add
		return out
	}
	return append(out, p.add)
}

// maxSearched is how many replicas are paired by trying all ways.
const maxSearched = 4

// pair finds an order of replacements in which no list between has more copies
// in a rack than allowed, or else the fewest. The natural order is tried first.
func (k *compiler) pair(now, adds, removes []int32, allowed int) []pairing {
	n := len(adds)
	out := make([]pairing, n)
	for i := range adds {
		out[i] = pairing{adds[i], model.None}
		if i < len(removes) {
			out[i].remove = removes[i]
		}
	}
	if n == 1 || n > maxSearched || len(removes) > maxSearched || k.worst(now, out) <= allowed {
		return out
	}
	gone := slices.Clone(removes)
	for len(gone) < n {
		gone = append(gone, model.None)
	}
	best, least := slices.Clone(out), k.worst(now, out)
	permute(adds, func(a []int32) bool {
		permute(gone, func(r []int32) bool {
			for i := range n {
				out[i] = pairing{a[i], r[i]}
			}
			if w := k.worst(now, out); w < least {
				least = w
				copy(best, out)
			}
			return least > allowed
		})
		return least > allowed
	})
	return best
}

// worst is the most copies in a rack of the lists between.
func (k *compiler) worst(now []int32, pairs []pairing) int {
	most := 0
	for _, p := range pairs[:len(pairs)-1] {
		now = apply(now, p)
		most = max(most, k.mostInRack(now))
	}
	return most
}

// permute calls f with every order of a list, the given one first, while f
// returns true.
func permute(list []int32, f func([]int32) bool) {
	work := slices.Clone(list)
	var rec func(i int) bool
	rec = func(i int) bool {
		if i == len(work) {
			return f(work)
		}
		for j := i; j < len(work); j++ {
			work[i], work[j] = work[j], work[i]
			ok := rec(i + 1)
			work[i], work[j] = work[j], work[i]
			if !ok {
				return false
			}
		}
		return true
	}
	rec(0)
}

// dirMoves adds the moves between log directories of replicas that stay.
func (k *compiler) dirMoves(x *part, goal []held, order []int32) {
	var list []dirGoal
	for _, g := range goal {
		for _, h := range x.start {
			if h.broker == g.broker && h.dir != model.None && g.dir != model.None && h.dir != g.dir {
				list = append(list, dirGoal{g.broker, g.dir})
			}
		}
	}
	if k.o.JoinDirMoves && len(x.chain) > 0 && x.chain[0].kind == Move {
		x.chain[0].dirs = list
		return
	}
	if len(x.chain) == 0 && !slices.Equal(brokersOf(x.start), order) && len(list) > 0 {
		x.chain = append(x.chain, action{kind: Order, add: model.None, order: order})
	}
	for _, d := range list {
		x.chain = append(x.chain, action{kind: DirMove, add: model.None, dirs: []dirGoal{d}, order: order})
	}
}

// election adds the election of the wanted leader, unless it leads at the end.
func (k *compiler) election(x *part, order []int32) {
	leader := x.leader
	for i := range x.chain {
		leader = leaderAfter(&x.chain[i], leader)
	}
	if leader != x.goal && x.goal == order[0] {
		x.chain = append(x.chain, action{kind: Elect, add: model.None, order: order})
	}
}

// leaderAfter is who leads after an action: Kafka keeps the leader while it is
// a replica, and takes the first one otherwise.
func leaderAfter(a *action, leader int32) int32 {
	if a.kind == Elect {
		return a.order[0]
	}
	if leader != model.None && slices.Contains(a.remove, leader) {
		return a.order[0]
	}
	return leader
}
