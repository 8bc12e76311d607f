package migration

import (
	"math"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// run is one attempt to schedule all parts.
type run struct {
	c     *model.Cluster
	o     *Options
	parts []*part
	now   []progress // by part

	// Disks are volumes: directories on one file system are one disk. A broker
	// whose directories are not known has one disk.
	diskOf [][]int32 // by broker and directory
	first  []int32   // by broker: its first disk; the next one's is its end
	limit  []int64   // by disk: bytes that may be used
	used   []int64   // by disk, what is in flight included
	start  []int64   // by disk: used at the beginning

	// Tokens taken in the present batch.
	in, out, elected, busy []int

	classes  [65]class
	pending  int
	records  []record
	flows    []flow
	holds    []hold
	batchEnd []int
	refusals []plan.Refusal
	dead     []bool // parts that were refused
}

// progress is where a part stands.
type progress struct {
	at     []held
	chain  []action
	leader int32
	moved  bool // an action of it has been scheduled
}

// record is a scheduled step.
type record struct {
	part         int32
	kind         Kind
	temp         bool
	batch        int32
	prev         int32 // the part's former record, -1
	before, now  []held
	old, leader  int32
	flow, flowTo int32 // range in flows
	hold, holdTo int32 // range in holds
}

// flow is one copy. dst and src are brokers, equal for a move between log
// directories of a broker; disks are indexes, None for a source not known.
type flow struct {
	dst, src         int32
	dstDisk, srcDisk int32
	size             int64
}

// hold is disk space that comes free when a step ends.
type hold struct {
	disk int32
	size int64
}

func newRun(c *model.Cluster, o *Options, parts []*part) *run {
	n := len(c.Brokers)
	r := &run{
		c: c, o: o, parts: parts, now: make([]progress, len(parts)), diskOf: make([][]int32, n),
		in: make([]int, n), out: make([]int, n), elected: make([]int, n), dead: make([]bool, len(parts)),
	}
	for b := range c.Brokers {
		r.disks(b)
	}
	r.first = append(r.first, int32(len(r.limit)))
	r.used, r.busy = make([]int64, len(r.limit)), make([]int, len(r.limit))
	for s, b := range c.Broker {
		r.charge(held{b, c.Dir[s], c.Size[s]}, 1)
	}
	r.start = slices.Clone(r.used)
	n = len(parts) + len(parts)/4
	r.records, r.flows, r.holds = make([]record, 0, n), make([]flow, 0, n), make([]hold, 0, n)
	for i, x := range parts {
		r.now[i] = progress{at: x.start, chain: slices.Clone(x.chain), leader: x.leader}
	}
	return r
}

// disks numbers a broker's disks.
func (r *run) disks(b int) {
	br := &r.c.Brokers[b]
	r.first = append(r.first, int32(len(r.limit)))
	if len(br.Dirs) == 0 {
		r.limit = append(r.limit, r.usable(br.Capacity[model.Disk]))
		return
	}
	for i := range br.Dirs {
		disk := int32(len(r.limit))
		for j := range i {
			if br.Dirs[j].Volume == br.Dirs[i].Volume {
				disk = r.diskOf[b][j]
				break
			}
		}
		if disk == int32(len(r.limit)) {
			r.limit = append(r.limit, r.usable(br.Dirs[i].Capacity))
		}
		r.diskOf[b] = append(r.diskOf[b], disk)
	}
}

func (r *run) usable(capacity int64) int64 {
	if capacity == model.Unlimited {
		return math.MaxInt64
	}
	return int64(float64(capacity) * (1 - r.o.DiskReserve))
}

// disk is where a replica lies, None if its directory is not known.
func (r *run) disk(b, dir int32) int32 {
	if r.first[b+1]-r.first[b] == 1 {
		return r.first[b]
	}
	if dir == model.None {
		return model.None
	}
	return r.diskOf[b][dir]
}

// charge adds a replica to its disk, or takes it away. One whose directory is
// not known counts on every disk of the broker: too much rather than too little.
func (r *run) charge(h held, sign int64) {
	if d := r.disk(h.broker, h.dir); d != model.None {
		r.used[d] += sign * h.size
		return
	}
	for d := r.first[h.broker]; d < r.first[h.broker+1]; d++ {
		r.used[d] += sign * h.size
	}
}

// free is what a disk can still take.
func (r *run) free(d int32) int64 {
	if r.limit[d] == math.MaxInt64 {
		return math.MaxInt64
	}
	return r.limit[d] - r.used[d]
}

// obstacle is why an action cannot start in the present batch.
type obstacle int

const (
	none     obstacle = iota
	brokerIn          // the destination takes no more now
	other             // source or disk is busy, or elections are used up
	space             // no disk of the destination has room
)

// flowsOf lists the copies of an action, with the log directory chosen where
// any will do: the emptiest with room. O(replicas + dirs).
func (r *run) flowsOf(i int32, a *action, out []flow) ([]flow, obstacle) {
	at := &r.now[i]
	if a.add != model.None {
		src := source(r.c, at.leader, at.at)
		f := flow{dst: a.add, src: src, size: a.size, srcDisk: model.None}
		for _, h := range at.at {
			if h.broker == src {
				f.srcDisk = r.disk(src, h.dir)
			}
		}
		dir := a.dir
		if dir == model.None && len(r.c.Brokers[a.add].Dirs) > 0 {
			if dir = r.emptiest(a.add, a.size); dir == model.None {
				return out, space
			}
			a.dir = dir
		}
		f.dstDisk = r.disk(a.add, dir)
		out = append(out, f)
	}
	for _, g := range a.dirs {
		for _, h := range at.at {
			if h.broker == g.broker {
				out = append(out, flow{dst: g.broker, src: g.broker, dstDisk: r.disk(g.broker, g.dir), srcDisk: r.disk(g.broker, h.dir), size: h.size})
			}
		}
	}
	return out, none
}

// emptiest is the online directory with most free space, None if no directory
// has room.
func (r *run) emptiest(b int32, size int64) int32 {
	best := model.None
	for i := range r.c.Brokers[b].Dirs {
		d := r.diskOf[b][i]
		if r.c.Brokers[b].Dirs[i].Offline || r.free(d) < size {
			continue
		}
		if best == model.None || r.free(d) > r.free(r.diskOf[b][best]) {
			best = int32(i)
		}
	}
	return best
}

// try schedules a part's next action in the present batch if it may start.
func (r *run) try(i int32) obstacle {
	a := &r.now[i].chain[0]
	from := len(r.flows)
	wanted := a.dir
	flows, ob := r.flowsOf(i, a, r.flows)
	r.flows = flows
	if ob == none {
		ob = r.admit(flows[from:], a)
	}
	if ob != none {
		r.flows = r.flows[:from]
		a.dir = wanted
		return ob
	}
	for _, f := range r.flows[from:] {
		if f.dst != f.src {
			r.in[f.dst]++
			r.out[f.src]++
		}
		r.used[f.dstDisk] += f.size
		r.busy[f.dstDisk]++
		if f.srcDisk != model.None && f.srcDisk != f.dstDisk {
			r.busy[f.srcDisk]++
		}
	}
	if a.kind == Elect {
		r.elected[a.order[0]]++
	}
	r.record(i, from)
	return none
}

// admit checks the bounds of concurrency and space for all flows together.
func (r *run) admit(flows []flow, a *action) obstacle {
	if a.kind == Elect && r.elected[a.order[0]] >= r.o.Elections {
		return other
	}
	for k, f := range flows {
		size := f.size
		for _, g := range flows[:k] { // joined moves may share a disk
			if g.dstDisk == f.dstDisk {
				size += g.size
			}
		}
		if r.free(f.dstDisk) < size {
			return space
		}
		if f.dst != f.src {
			if r.in[f.dst] >= r.o.BrokerIn {
				return brokerIn
			}
			if r.out[f.src] >= r.o.BrokerOut {
				return other
			}
		}
		if r.full(f.dstDisk, len(flows)) || f.srcDisk != model.None && r.full(f.srcDisk, len(flows)) {
			return other
		}
	}
	return none
}

// full tells whether a disk takes no more copies in this batch. The copies of a
// joined step do not shut out each other.
func (r *run) full(d int32, n int) bool { return r.busy[d] > 0 && r.busy[d]+n > r.o.PerDisk }

// record writes the next action down and moves the part on. Disk space that
// comes free is noted, and given when the batch ends.
func (r *run) record(i int32, from int) {
	at := &r.now[i]
	a := &at.chain[0]
	rec := record{
		part: i, kind: a.kind, temp: a.temp, batch: int32(len(r.batchEnd)), before: at.at, old: at.leader,
		flow: int32(from), flowTo: int32(len(r.flows)), hold: int32(len(r.holds)),
	}
	next := make([]held, len(a.order))
	for k, b := range a.order {
		if b == a.add {
			next[k] = held{b, a.dir, a.size}
			continue
		}
		for _, h := range at.at {
			if h.broker == b {
				next[k] = h
			}
		}
		for _, g := range a.dirs {
			if g.broker == b {
				r.release(next[k])
				next[k].dir = g.dir
			}
		}
	}
	for _, b := range a.remove {
		for _, h := range at.at {
			if h.broker == b {
				r.release(h)
			}
		}
	}
	at.leader = leaderAfter(a, at.leader)
	at.at, at.chain, at.moved = next, at.chain[1:], true
	r.reelect(i, a)
	rec.now, rec.leader, rec.holdTo = next, at.leader, int32(len(r.holds))
	r.records = append(r.records, rec)
}

// reelect adds the election of the wanted leader at the end of a chain, or takes
// it away: parking and the order of steps change who leads.
func (r *run) reelect(i int32, last *action) {
	at, goal := &r.now[i], r.parts[i].goal
	switch {
	case len(at.chain) == 1 && at.chain[0].kind == Elect && at.leader == goal:
		at.chain = nil
	case len(at.chain) == 0 && at.leader != goal && goal == last.order[0]:
		at.chain = []action{{kind: Elect, add: model.None, order: last.order}}
	}
}

func (r *run) release(h held) {
	if d := r.disk(h.broker, h.dir); d != model.None {
		r.holds = append(r.holds, hold{d, h.size})
		return
	}
	for d := r.first[h.broker]; d < r.first[h.broker+1]; d++ {
		r.holds = append(r.holds, hold{d, h.size})
	}
}

// alive are the parts that were not refused.
func (r *run) alive() []*part {
	var out []*part
	for i, x := range r.parts {
		if !r.dead[i] {
			out = append(out, x)
		}
	}
	return out
}
