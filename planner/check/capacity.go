package check

import (
	"fmt"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// capacity carries the changes out one after the other and holds every broker
// and every volume against its limit after each of them: a plan may be stopped
// anywhere. What is above its limit before may stay there but not rise.
func (k *checker) capacity() {
	s := newSimulation(k.c, k.r)
	last := map[string]breach{}
	var order []string
	for i := range k.changes {
		for _, b := range s.step(&k.changes[i]) {
			b.step = i
			if _, known := last[b.what]; !known {
				order = append(order, b.what)
				last[b.what] = b
			}
		}
	}
	// What is above its limit at the end too is said once, by its end.
	ends := map[string]breach{}
	for b := range k.c.Brokers {
		for _, x := range s.judge(int32(b)) {
			ends[x.what] = x
		}
	}
	for _, what := range order {
		b := last[what]
		if end, ok := ends[what]; ok {
			k.bad(b.where, "carries %d of %s after the plan, above its limit of %.0f and the %d before", end.load, b.resource, b.limit, b.before)
			continue
		}
		r := &k.changes[b.step]
		if b.arrival {
			k.bad(r.name(), "does not fit when it arrives: %s would carry %d, above its limit of %.0f", b.where, b.load, b.limit)
			continue
		}
		k.bad(r.name(), "is change %d: after it %s carries %d of %s, above its limit of %.0f and the %d before: the order is wrong", b.step+1, b.where, b.load, b.resource, b.limit, b.before)
	}
}

// breach is something above its limit.
type breach struct {
	what, where, resource string
	load, before          int64
	limit                 float64
	step                  int
	// arrival tells that the change itself does not fit, whatever comes later.
	arrival bool
}

// simulation is a cluster in the course of a plan.
type simulation struct {
	c      *model.Cluster
	r      *Rules
	before []model.Vector
	load   []model.Vector
	vols   [][]volume
	volOf  [][]int32 // broker, log dir → volume
}

// volume is one file system of a broker: log dirs that share their capacity.
type volume struct {
	name         string
	capacity     int64
	online       bool
	before, used int64
}

func newSimulation(c *model.Cluster, r *Rules) *simulation {
	s := &simulation{c: c, r: r, before: c.BrokerLoads(), load: c.BrokerLoads()}
	for b := range c.Brokers {
		vols, of := volumes(&c.Brokers[b])
		s.vols, s.volOf = append(s.vols, vols), append(s.volOf, of)
	}
	for i, b := range c.Broker {
		if d := c.Dir[i]; d != model.None {
			v := &s.vols[b][s.volOf[b][d]]
			v.before += c.Size[i]
			v.used += c.Size[i]
		}
	}
	return s
}

func volumes(b *model.Broker) (vols []volume, of []int32) {
	var numbers []int32
	for _, d := range b.Dirs {
		i := slices.Index(numbers, d.Volume)
		if i < 0 {
			i = len(numbers)
			numbers = append(numbers, d.Volume)
			vols = append(vols, volume{name: d.Path, capacity: d.Capacity})
		}
		v := &vols[i]
		v.capacity = min(v.capacity, d.Capacity)
		v.online = v.online || !d.Offline
		of = append(of, int32(i))
	}
	return vols, of
}

// step carries a change out and returns what is above its limit then.
func (s *simulation) step(r *resolved) []breach {
	found := s.homeless(r)
	if r.part != model.None {
		from, to := s.c.Slots(int(r.part))
		for i := from; i < to; i++ {
			s.put(s.c.Broker[i], s.c.Dir[i], i, int(r.part), s.c.Leader[r.part] == i, -1)
		}
	}
	leader := r.leaderSlot()
	for i := range r.to {
		t := &r.to[i]
		if t.slot == model.None {
			s.load[t.broker][model.Replicas]++
			if i == leader {
				s.load[t.broker][model.Leaders]++
			}
			continue
		}
		s.put(t.broker, t.dir, t.slot, int(r.part), i == leader, 1)
	}
	for i := range r.to {
		found = append(found, s.judge(r.to[i].broker)...)
	}
	return found
}

// put adds (or takes away) a copy with the figures of slot.
func (s *simulation) put(broker, dir, slot int32, p int, leads bool, sign int64) {
	v := s.c.Load(p, slot, leads)
	for k := range v {
		s.load[broker][k] += sign * v[k]
	}
	if dir != model.None {
		s.vols[broker][s.volOf[broker][dir]].used += sign * v[model.Disk]
	}
}

// homeless finds copies that no single volume can hold when they arrive: those
// whose broker chooses the log dir, and those that go from one log dir to
// another of the same volume and are there twice meanwhile.
func (s *simulation) homeless(r *resolved) []breach {
	var found []breach
	for i := range r.to {
		t := &r.to[i]
		size := t.size(s.c)
		id := s.c.Brokers[t.broker].ID
		vols := s.vols[t.broker]
		if t.changesDir(s.c) {
			to, from := s.volOf[t.broker][t.dir], s.volOf[t.broker][s.c.Dir[t.slot]]
			if v := vols[to]; to == from && v.used+size > v.capacity {
				where := fmt.Sprintf("the volume of %s on broker %d, with both copies,", v.name, id)
				found = append(found, breach{what: where + r.name(), where: where, load: v.used + size, limit: float64(v.capacity), arrival: true})
			}
		}
		if !t.copied || t.dir != model.None || len(vols) < 2 {
			continue
		}
		fits := func(v volume) bool { return v.online && float64(v.used+size) <= s.volumeLimit(&v) }
		if !slices.ContainsFunc(vols, fits) {
			where := fmt.Sprintf("even the emptiest log dir of broker %d", id)
			best := slices.MaxFunc(vols, func(x, y volume) int { return int(min(1, max(-1, x.free()-y.free()))) })
			found = append(found, breach{what: where + r.name(), where: where, load: best.used + size, limit: s.volumeLimit(&best), arrival: true})
		}
	}
	return found
}

func (v *volume) free() int64 {
	if !v.online {
		return -1
	}
	return v.capacity - v.used
}

// judge holds a broker and its volumes against their limits.
func (s *simulation) judge(b int32) []breach {
	var found []breach
	br := &s.c.Brokers[b]
	where := fmt.Sprintf("broker %d", br.ID)
	for k := range s.load[b] {
		load, before := s.load[b][k], s.before[b][k]
		if limit, ok := limit(br.Capacity[k], s.r.CapacityShare[k]); ok && float64(load) > limit && s.rose(load, before) {
			name := model.Resource(k).String()
			found = append(found, breach{what: where + name, where: where, resource: name, load: load, before: before, limit: limit})
		}
	}
	for i := range s.vols[b] {
		v := &s.vols[b][i]
		if limit := s.volumeLimit(v); v.capacity != model.Unlimited && float64(v.used) > limit && s.rose(v.used, v.before) {
			where := fmt.Sprintf("broker %d, volume of %s,", br.ID, v.name)
			found = append(found, breach{what: where, where: where, resource: "disk", load: v.used, before: v.before, limit: limit})
		}
	}
	return found
}

// rose tells whether a load is above what it was before by more than drift.
func (s *simulation) rose(load, before int64) bool {
	return float64(load-before) > s.r.Drift*float64(before)
}

// limit is the part of a capacity that a plan may use; false if none is known.
func limit(capacity int64, share float64) (float64, bool) {
	return float64(capacity) * share, capacity != model.Unlimited
}

func (s *simulation) volumeLimit(v *volume) float64 {
	return float64(v.capacity) * s.r.DirShare
}
