package migration

import (
	"fmt"
	"math"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// replay carries a schedule out by its steps alone and checks every bound at
// every event. It shares no code with the scheduler: replicas are kept by topic,
// partition and broker id, disks by broker id and volume.
type replay struct {
	c       *model.Cluster
	o       Options // with all bounds set
	s       *Schedule
	list    map[string][]plan.Replica
	size    map[string]int64 // by partition and broker
	leader  map[string]int32
	first   map[string][]plan.Replica
	used    map[string]int64 // by disk
	running map[string]bool
	in, out map[int32]int
	disk    map[string]int
	fault   error
}

func newReplay(c *model.Cluster, s *Schedule, o Options) *replay {
	if err := o.defaults(); err != nil {
		panic(err)
	}
	r := &replay{
		c: c, o: o, s: s, list: map[string][]plan.Replica{}, size: map[string]int64{}, leader: map[string]int32{}, first: map[string][]plan.Replica{},
		used: map[string]int64{}, running: map[string]bool{}, in: map[int32]int{}, out: map[int32]int{}, disk: map[string]int{},
	}
	for p := range c.Topic {
		name := c.PartitionName(p)
		r.leader[name] = model.None
		for i := c.Off[p]; i < c.Off[p+1]; i++ {
			b := &c.Brokers[c.Broker[i]]
			x := plan.Replica{Broker: b.ID}
			if c.Dir[i] != model.None {
				x.Dir = b.Dirs[c.Dir[i]].Path
			} else if len(b.Dirs) == 1 {
				x.Dir = b.Dirs[0].Path
			}
			r.list[name] = append(r.list[name], x)
			r.size[r.key(name, x.Broker)] = c.Size[i]
			if i == c.Leader[p] {
				r.leader[name] = b.ID
			}
			r.put(x, c.Size[i])
		}
		r.first[name] = r.list[name]
	}
	return r
}

func (r *replay) key(name string, broker int32) string { return fmt.Sprint(name, "@", broker) }

func (r *replay) bad(format string, args ...any) {
	if r.fault == nil {
		r.fault = fmt.Errorf(format, args...)
	}
}

func (r *replay) broker(id int32) *model.Broker {
	for i := range r.c.Brokers {
		if r.c.Brokers[i].ID == id {
			return &r.c.Brokers[i]
		}
	}
	r.bad("broker %d does not exist", id)
	return &r.c.Brokers[0]
}

// disksOf are the disks that a replica counts on: one, or all if its directory
// is not known.
func (r *replay) disksOf(x plan.Replica) []string {
	b := r.broker(x.Broker)
	if len(b.Dirs) == 0 {
		return []string{fmt.Sprint(b.ID)}
	}
	var out []string
	for _, d := range b.Dirs {
		if name := fmt.Sprint(b.ID, "/", d.Volume); (x.Dir == "" || x.Dir == d.Path) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func (r *replay) put(x plan.Replica, size int64) {
	for _, d := range r.disksOf(x) {
		r.used[d] += size
	}
}

// limit is what may lie on a replica's disk.
func (r *replay) limit(x plan.Replica) int64 {
	b := r.broker(x.Broker)
	capacity := b.Capacity[model.Disk]
	if len(b.Dirs) > 0 {
		for _, d := range b.Dirs {
			if slices.Contains(r.disksOf(x), fmt.Sprint(b.ID, "/", d.Volume)) {
				capacity = d.Capacity // the first directory's, as for all on the volume
				break
			}
		}
	}
	if capacity == model.Unlimited {
		return math.MaxInt64
	}
	return int64(float64(capacity) * (1 - r.o.DiskReserve))
}

func ids(list []plan.Replica) (out []int32) {
	for _, x := range list {
		out = append(out, x.Broker)
	}
	return out
}

func at(list []plan.Replica, id int32) *plan.Replica {
	for i := range list {
		if list[i].Broker == id {
			return &list[i]
		}
	}
	return nil
}

// copyOf is one copy that a step makes.
type copyOf struct {
	to, from plan.Replica
	size     int64
	within   bool
}

// copies lists what a step copies, judging it on the way.
func (r *replay) copies(t *Step) []copyOf {
	name := fmt.Sprintf("%s-%d", t.Topic, t.Partition)
	var out []copyOf
	adds, dirs := 0, 0
	var bytes, dirBytes int64
	src := r.source(name)
	for _, x := range t.To {
		old := at(t.From, x.Broker)
		switch {
		case old == nil:
			adds++
			bytes += t.Bytes
			out = append(out, copyOf{x, src, t.Bytes, false})
		case old.Dir != x.Dir:
			dirs++
			n := r.size[r.key(name, x.Broker)]
			dirBytes += n
			out = append(out, copyOf{x, *old, n, true})
		}
	}
	if adds > 1 {
		r.bad("%s: %v → %v adds %d replicas at once", name, t.From, t.To, adds)
	}
	if !r.o.JoinDirMoves && (dirs > 1 || dirs > 0 && adds > 0) {
		r.bad("%s: %v → %v moves between brokers and log dirs in one step", name, t.From, t.To)
	}
	if adds > 0 && bytes != t.Bytes || dirBytes != t.DirBytes {
		r.bad("%s: %v → %v says it copies %d and %d bytes, it copies %d and %d", name, t.From, t.To, t.Bytes, t.DirBytes, bytes, dirBytes)
	}
	return out
}

func (r *replay) source(name string) plan.Replica {
	if l := r.leader[name]; l != model.None && !r.broker(l).Dead {
		return *at(r.list[name], l)
	}
	for _, x := range r.list[name] {
		if !r.broker(x.Broker).Dead {
			return x
		}
	}
	return r.list[name][0]
}

// begin starts a step and returns its copies.
func (r *replay) begin(i int) []copyOf {
	t := &r.s.Steps[i]
	name := fmt.Sprintf("%s-%d", t.Topic, t.Partition)
	if r.running[name] {
		r.bad("step %d: %s is in two running steps", i, name)
	}
	if !slices.Equal(r.list[name], t.From) {
		r.bad("step %d: %s has %v, the step expects %v", i, name, r.list[name], t.From)
	}
	seen := map[int32]bool{}
	for _, x := range t.To {
		if seen[x.Broker] {
			r.bad("step %d: %s has broker %d twice in %v", i, name, x.Broker, t.To)
		}
		seen[x.Broker] = true
	}
	r.running[name] = true
	list := r.copies(t)
	for _, x := range list {
		if r.broker(x.to.Broker).Dead {
			r.bad("step %d: %s goes to dead broker %d", i, name, x.to.Broker)
		}
		r.put(x.to, x.size)
		for _, d := range r.disksOf(x.to) {
			if r.used[d] > r.limit(x.to) {
				r.bad("step %d: %s brings disk %s to %d bytes, its limit is %d", i, name, d, r.used[d], r.limit(x.to))
			}
		}
	}
	r.count(i, list, 1)
	return list
}

// count takes or gives back what running copies occupy and holds it against the
// bounds.
func (r *replay) count(i int, list []copyOf, n int) {
	for _, x := range list {
		if !x.within {
			r.in[x.to.Broker] += n
			r.out[x.from.Broker] += n
		}
		disks := r.disksOf(x.to)
		for _, d := range r.disksOf(x.from) {
			if !slices.Contains(disks, d) && len(r.disksOf(x.from)) == 1 {
				disks = append(disks, d)
			}
		}
		for _, d := range disks {
			r.disk[d] += n
			if n > 0 && r.disk[d] > max(r.o.PerDisk, len(list)) {
				r.bad("step %d: %d copies at once on disk %s", i, r.disk[d], d)
			}
		}
		if n > 0 && (r.in[x.to.Broker] > r.o.BrokerIn || r.out[x.from.Broker] > r.o.BrokerOut) {
			r.bad("step %d: %d copies at once to broker %d, %d from broker %d", i, r.in[x.to.Broker], x.to.Broker, r.out[x.from.Broker], x.from.Broker)
		}
	}
}

// end finishes a step.
func (r *replay) end(i int, list []copyOf) {
	t := &r.s.Steps[i]
	name := fmt.Sprintf("%s-%d", t.Topic, t.Partition)
	r.count(i, list, -1)
	for _, old := range t.From {
		x := at(t.To, old.Broker)
		if x == nil || x.Dir != old.Dir {
			r.put(old, -r.size[r.key(name, old.Broker)])
		}
	}
	for _, x := range list {
		r.size[r.key(name, x.to.Broker)] = x.size
	}
	r.list[name] = t.To
	if l := r.leader[name]; t.Kind == Elect || l != model.None && at(t.To, l) == nil {
		r.leader[name] = t.To[0].Broker
	}
	if r.leader[name] != t.Leader {
		r.bad("step %d: %s is led by %d, the step says %d", i, name, r.leader[name], t.Leader)
	}
	delete(r.running, name)
}
