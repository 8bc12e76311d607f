package balance

import "github.com/kafka-steward/kafka-steward/planner/model"

// K is the number of balanced resources.
const K = int(model.NumResources)

// vec is a load by resource. The values are whole numbers: float64 holds them
// exactly up to 2^53 (9 PB, 9 PB/s), so sums do not depend on their order.
type vec [K]float64

// replica is a slot's replica now, together in memory since a search reads all
// of it at once.
type replica struct {
	in, disk, cpu float64
	part, at      int32
	// leads: it leads its partition. away: it lies where the partition had no
	// replica at the start, and so costs its size. held: it may not move.
	leads, away, held bool
}

// state is a cluster in the course of a search. Replicas keep their slot; what
// changes is the broker of a slot and the leader of a partition.
type state struct {
	c *model.Cluster
	o *settings

	B, P, R int

	rep  []replica
	lead []int32 // partition → leading slot now, model.None without one

	// What leading costs on top of following, by partition; in LeaderIn it is
	// the replica's own In.
	out, leadCPU []float64

	load []vec // broker
	inv  []vec // 1/target, 0 where the broker takes no part
	pen  []float64
	penK []vec // penalty by resource
	limK []vec // what a broker may carry at most, +Inf without a limit

	byB [][]int32 // broker → slots
	pos []int32   // slot → index in byB
	// lists is byB with what a search asks of a replica, nil before gather.
	lists [][]listed

	// cnt[topic*B+broker] counts replicas; top[topic] is the most that one
	// broker should have (ceil(average)+1).
	cnt []uint16
	top []uint16
	// topicStart to topicEnd are a topic's partitions.
	topicStart, topicEnd []int32

	// bulk[b] is how big a broker is: its capacity for traffic, else its disk's,
	// else 1. bulkSum[group+1] sums it over the brokers that a topic may use.
	bulk    []float64
	bulkSum []float64

	rack, group []int32 // by broker

	volumes  [][]volume // broker → file systems, nil if they are not known
	vol      []int32    // slot → its volume now, None if not known
	firstVol []int32    // and at the start

	fixed   []bool // partition may not be changed
	member  []bool // broker has a fair share: it is alive and stays
	receive []bool // broker may receive replicas
	leadsOK []bool // broker may be given leadership
	keeps   []bool // broker gives nothing away (light plans)

	// forcing is set while hard goals are pursued: a topic's spread does not
	// count then, and topics without a group may change between groups' brokers.
	forcing bool

	// version[b] changes with b's load.
	version []uint32
	// undo, when not nil, remembers the leaders that elect replaces.
	undo []int32

	// firstLoad and firstUsed (by volume) are the loads when ordering began.
	firstLoad []vec
	firstUsed [][]float64

	// deltaOf and delta are memory for deltas.
	deltaOf []int32
	delta   []vec

	moved int64 // bytes that the changes so far cost
	steps int64 // evaluations so far
}

func newState(c *model.Cluster, o *settings) *state {
	s := &state{c: c, o: o, B: len(c.Brokers), P: c.NumPartitions(), R: c.NumReplicas()}
	s.rep, s.lead = make([]replica, s.R), append([]int32(nil), c.Leader...)
	s.out, s.leadCPU = make([]float64, s.P), make([]float64, s.P)
	s.cnt, s.top = make([]uint16, len(c.Topics)*s.B), make([]uint16, len(c.Topics))
	s.byB, s.pos = make([][]int32, s.B), make([]int32, s.R)
	s.load, s.inv, s.pen, s.penK, s.limK = make([]vec, s.B), make([]vec, s.B), make([]float64, s.B), make([]vec, s.B), make([]vec, s.B)
	s.version = make([]uint32, s.B)
	s.rack, s.group = c.RackOf, make([]int32, s.B)
	for b := range s.B {
		s.group[b] = c.Brokers[b].Group
	}
	s.fixed = make([]bool, s.P)
	s.member, s.receive, s.leadsOK, s.keeps = make([]bool, s.B), make([]bool, s.B), make([]bool, s.B), make([]bool, s.B)
	for p := range s.P {
		s.out[p], s.leadCPU[p] = float64(c.OutRate[p]), float64(c.LeadCPU[p])
		for r := c.Off[p]; r < c.Off[p+1]; r++ {
			b := c.Broker[r]
			s.rep[r] = replica{in: float64(c.InRate[r]), disk: float64(c.Size[r]), cpu: float64(c.CPU[r]), part: int32(p), at: b, leads: c.Leader[p] == r}
			s.pos[r] = int32(len(s.byB[b]))
			s.byB[b] = append(s.byB[b], r)
			s.cnt[int(c.Topic[p])*s.B+int(b)]++
			v := s.vec(r)
			for k := range K {
				s.load[b][k] += v[k]
			}
		}
	}
	s.setVolumes()
	s.setTargets()
	return s
}

// vec is what a replica costs its broker now.
func (s *state) vec(r int32) vec {
	x := &s.rep[r]
	v := vec{model.In: x.in, model.Disk: x.disk, model.CPU: x.cpu, model.Replicas: 1}
	if x.leads {
		v[model.Out], v[model.Leaders], v[model.LeaderIn] = s.out[x.part], 1, x.in
		v[model.CPU] += s.leadCPU[x.part]
	}
	return v
}

// leadVec is what leading costs on top of following.
func (s *state) leadVec(r int32) vec {
	p := s.rep[r].part
	return vec{model.Out: s.out[p], model.CPU: s.leadCPU[p], model.Leaders: 1, model.LeaderIn: s.rep[r].in}
}

// rate computes a broker's penalty anew: squares of what lies outside the band.
func (s *state) rate(b int32) {
	load, inv, pk := &s.load[b], &s.inv[b], &s.penK[b]
	sum := 0.0
	for k := range K {
		pk[k] = 0
		if inv[k] == 0 {
			continue
		}
		pk[k] = s.o.outside(k, load[k]*inv[k]-1)
		sum += pk[k]
	}
	s.pen[b] = sum
	s.version[b]++
}

// change is the difference of penalty when a broker's load changes by sign·v.
func (s *state) change(b int32, v *vec, sign float64) float64 {
	s.steps++
	load, inv, pk, o := &s.load[b], &s.inv[b], &s.penK[b], s.o
	sum := 0.0
	for k := range K {
		if v[k] == 0 || inv[k] == 0 {
			continue
		}
		sum -= pk[k]
		if d := (load[k]+sign*v[k])*inv[k] - 1; d > o.eps[k] {
			d -= o.eps[k]
			sum += o.weight[k] * d * d
		} else if d = -d - o.eps[k]; d > 0 {
			sum += o.under[k] * d * d
		}
	}
	return sum
}

// total is the objective.
func (s *state) total() float64 {
	sum := 0.0
	for b := range s.B {
		sum += s.pen[b]
	}
	return sum
}
