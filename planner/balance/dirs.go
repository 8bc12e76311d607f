package balance

import (
	"cmp"
	"math"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// dirs decides where replicas lie in their brokers' log directories once all
// changes are made. Volumes are kept even, since they are what gets full and
// busy; directories of one volume share what it holds. Brokers whose
// directories are not known take no part.
type dirs struct {
	s      *state
	broker []int32 // slot → broker after the plan
	at     []int32 // slot → directory there, None if unknown
	vols   [][]dirVolume
	of     [][]int32 // broker → directory → volume
	size   [][]float64
}

// dirVolume is a volume with what lies on it after the plan.
type dirVolume struct {
	volume
	in float64
	// share is the volume's part in its broker's capacity.
	share float64
	slots []int32
}

// newDirs finds directories for what changes bring to brokers, and, if even is
// set, evens out the volumes of each broker. It returns the changes with those
// that this needs besides.
func newDirs(s *state, changes []*change, even bool) (*dirs, []*change) {
	d := &dirs{s: s, broker: slices.Clone(s.c.Broker), at: slices.Clone(s.c.Dir)}
	d.vols, d.of, d.size = make([][]dirVolume, s.B), make([][]int32, s.B), make([][]float64, s.B)
	for b := range s.B {
		vols, of := volumesOf(&s.c.Brokers[b], s.o.DirShare)
		d.of[b], d.size[b] = of, make([]float64, len(of))
		for _, v := range vols {
			d.vols[b] = append(d.vols[b], dirVolume{volume: v})
		}
		setShares(d.vols[b])
	}
	d.settle(changes)
	if !even || s.o.DirBand <= 0 {
		return d, changes
	}
	for b := range int32(s.B) {
		if s.member[b] && len(d.vols[b]) > 1 {
			d.even(b)
		}
	}
	return d, d.withDirMoves(changes)
}

// setShares divides a broker's load over its volumes: by capacity where all are
// known, else in equal parts. Volumes offline have none.
func setShares(vols []dirVolume) {
	sum, n, known := 0.0, 0, true
	for i := range vols {
		if len(vols[i].dirs) > 0 {
			n++
			sum += vols[i].capacity
			known = known && vols[i].capacity > 0 && !math.IsInf(vols[i].capacity, 1)
		}
	}
	for i := range vols {
		switch {
		case len(vols[i].dirs) == 0:
		case known:
			vols[i].share = vols[i].capacity / sum
		default:
			vols[i].share = 1 / float64(n)
		}
	}
}

// settle enters what stays, and gives each arrival a directory, biggest first.
func (d *dirs) settle(changes []*change) {
	var list []int32
	for _, ch := range changes {
		for i, r := range ch.slots {
			if d.s.c.Broker[r] != ch.brokers[i] {
				d.broker[r], d.at[r] = ch.brokers[i], model.None
				list = append(list, r)
			}
		}
	}
	for r := range int32(d.s.R) {
		if b, dir := d.broker[r], d.at[r]; dir != model.None && int(dir) < len(d.of[b]) {
			d.put(r, dir)
		}
	}
	sortBySize(list, d.s.rep)
	for _, r := range list {
		if dir := d.emptiest(r, d.used); dir != model.None {
			d.put(r, dir)
		}
	}
}

func (d *dirs) used(b int32, v int) float64 { return d.vols[b][v].used }

func (d *dirs) put(r, dir int32) {
	b := d.broker[r]
	v := &d.vols[b][d.of[b][dir]]
	v.used += d.s.rep[r].disk
	v.in += d.s.rep[r].in
	v.slots = append(v.slots, r)
	d.size[b][dir] += d.s.rep[r].disk
	d.at[r] = dir
}

func (d *dirs) take(r int32) {
	b, dir := d.broker[r], d.at[r]
	v := &d.vols[b][d.of[b][dir]]
	v.used -= d.s.rep[r].disk
	v.in -= d.s.rep[r].in
	i := slices.Index(v.slots, r)
	v.slots = slices.Delete(v.slots, i, i+1)
	d.size[b][dir] -= d.s.rep[r].disk
	d.at[r] = model.None
}

// emptiest is the directory for a replica on its broker: on the volume that it
// fills least among those with room, the directory that holds least. None if
// no volume has room; used tells what each holds.
func (d *dirs) emptiest(r int32, used func(b int32, v int) float64) int32 {
	b := d.broker[r]
	x := &d.s.rep[r]
	size, in := x.disk, x.in
	for i := range d.vols[b] {
		size += d.vols[b][i].used
		in += d.vols[b][i].in
	}
	best, bestFill := -1, math.Inf(1)
	for i := range d.vols[b] {
		v := &d.vols[b][i]
		if len(v.dirs) == 0 || x.disk > 0 && used(b, i)+x.disk > v.capacity {
			continue
		}
		f := max(over(v.used+x.disk, size*v.share), over(v.in+x.in, in*v.share))
		if f < bestFill {
			best, bestFill = i, f
		}
	}
	if best < 0 {
		return model.None
	}
	return d.leastDir(b, best)
}

// over is load/share, 0 where there is nothing to share.
func over(load, share float64) float64 {
	if share <= 0 {
		return 0
	}
	return load / share
}

func (d *dirs) leastDir(b int32, v int) int32 {
	return slices.MinFunc(d.vols[b][v].dirs, func(x, y int32) int {
		return cmp.Or(cmp.Compare(d.size[b][x], d.size[b][y]), cmp.Compare(x, y))
	})
}

// withDirMoves enters moves within brokers into the changes of their
// partitions, or makes changes for them.
func (d *dirs) withDirMoves(changes []*change) []*change {
	byPart := map[int32]bool{}
	for _, ch := range changes {
		byPart[ch.part] = true
	}
	for r := range int32(d.s.R) {
		p := d.s.rep[r].part
		if d.broker[r] != d.s.c.Broker[r] || d.at[r] == d.s.c.Dir[r] || byPart[p] {
			continue
		}
		byPart[p] = true
		ch := d.s.asItIs(p)
		ch.index = len(changes)
		b := &d.s.c.Brokers[d.broker[r]]
		ch.why = "the volume of log directory " + b.Dirs[d.s.c.Dir[r]].Path + " of broker " + itoa(b.ID) + " holds more than its share"
		changes = append(changes, ch)
	}
	return changes
}

// asItIs is a change that changes nothing yet.
func (s *state) asItIs(p int32) *change {
	from, to := s.slots(p)
	ch := &change{part: p, leader: s.c.Leader[p]}
	if ch.leader != model.None {
		ch.slots = append(ch.slots, ch.leader)
	}
	for r := from; r < to; r++ {
		if r != ch.leader {
			ch.slots = append(ch.slots, r)
		}
	}
	for _, r := range ch.slots {
		ch.brokers = append(ch.brokers, s.c.Broker[r])
	}
	return ch
}

// replicas lists a partition's replicas as they are, in order of preference.
func (s *state) replicas(p int32) []plan.Replica {
	from, to := s.slots(p)
	out := make([]plan.Replica, 0, to-from)
	for r := from; r < to; r++ {
		b := &s.c.Brokers[s.c.Broker[r]]
		out = append(out, plan.Replica{Broker: b.ID, Dir: dirPath(b, s.c.Dir[r])})
	}
	return out
}

func dirPath(b *model.Broker, dir int32) string {
	if dir == model.None || int(dir) >= len(b.Dirs) {
		return ""
	}
	return b.Dirs[dir].Path
}
