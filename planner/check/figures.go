package check

import (
	"fmt"
	"math"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// figures computes the plan's summary anew and compares.
func (k *checker) figures() {
	s := &k.p.Summary
	k.sums(s)
	before, after := k.c.BrokerLoads(), k.after.BrokerLoads()
	if k.brief() {
		k.brokerCounts(s, before, after)
		return
	}
	base := before
	if k.resized() {
		base = after
	}
	shares := fairShares(k.c, base, k.receive, k.r.CountsFollowDisk)
	k.spreads(s, before, after, shares)
	k.brokerFigures(s, before, after, shares)
	k.equal("rack_violations_before", s.RackViolationsBefore, k.racks.violations(k.c))
	k.equal("rack_violations_after", s.RackViolationsAfter, k.racks.violations(k.after))
	k.equal("topic_excess_before", s.TopicExcessBefore, topicExcess(k.c, k.receive))
	k.equal("topic_excess_after", s.TopicExcessAfter, topicExcess(k.after, k.receive))
	k.bounds(s)
}

// brief tells that a plan that is not about evenness gives no figures about it.
func (k *checker) brief() bool {
	switch k.p.Operation {
	case plan.Place, plan.AddParts, plan.ChangeRF, plan.Elect:
		return len(k.p.Summary.Resources) == 0
	}
	return false
}

// brokerCounts compares the figures by broker that a brief summary has. What
// partitions to be created will carry is not known here: only counts are.
func (k *checker) brokerCounts(s *plan.Summary, before, after []model.Vector) {
	if len(s.Brokers) != len(k.c.Brokers) {
		k.bad("summary", "has figures of %d brokers, the cluster has %d", len(s.Brokers), len(k.c.Brokers))
		return
	}
	in, _ := k.copied()
	for b := range s.Brokers {
		where := k.brokerName(b)
		for r := range model.NumResources {
			k.differs(where, r.String()+" before", s.Brokers[b].Before[r], before[b][r])
			if !creates(k.p.Operation) || r == model.Replicas || r == model.Leaders {
				k.differs(where, r.String()+" after", s.Brokers[b].After[r], after[b][r])
			}
		}
		k.differs(where, "bytes_in", s.Brokers[b].BytesIn, in[b])
	}
}

func (k *checker) brokerName(b int) string { return fmt.Sprintf("broker %d", k.c.Brokers[b].ID) }

func (k *checker) equal(what string, says, is int) {
	if says != is {
		k.bad("summary", "says %s %d, it is %d", what, says, is)
	}
}

// sums compares counts with the sums over changes.
func (k *checker) sums(s *plan.Summary) {
	var moves, leaders, dirMoves int
	var bytes, dirBytes int64
	for i := range k.changes {
		r := &k.changes[i]
		moves += r.moves()
		dirMoves += r.dirMoves(k.c)
		bytes += r.bytes(k.c)
		dirBytes += r.dirBytes(k.c)
		if r.OldLeader != r.NewLeader && r.part != model.None {
			leaders++
		}
	}
	k.equal("replica_moves", s.ReplicaMoves, moves)
	k.equal("leader_changes", s.LeaderChanges, leaders)
	k.equal("dir_moves", s.DirMoves, dirMoves)
	k.equal("bytes", int(s.Bytes), int(bytes))
	k.equal("dir_bytes", int(s.DirBytes), int(dirBytes))
}

// spread is a Spread with the range that rounding leaves to its InBand.
type spread struct {
	plan.Spread
	leastIn, mostIn float64
}

func spreadOf(k model.Resource, loads []model.Vector, shares [][model.NumResources]float64, band float64) spread {
	s := spread{Spread: plan.Spread{Min: math.Inf(1)}}
	squares, n, least, most := 0.0, 0, 0, 0
	for b := range loads {
		if shares[b][k] == 0 {
			continue
		}
		x := float64(loads[b][k]) / shares[b][k]
		n++
		s.Max, s.Min = max(s.Max, x), min(s.Min, x)
		squares += (x - 1) * (x - 1)
		if math.Abs(x-1) <= band-1e-9 {
			least++
		}
		if math.Abs(x-1) <= band+1e-9 {
			most++
		}
	}
	if n == 0 {
		return spread{}
	}
	s.CV = math.Sqrt(squares / float64(n))
	s.leastIn, s.mostIn = float64(least)/float64(n), float64(most)/float64(n)
	s.InBand = s.mostIn
	return s
}

// spreads compares the figures by resource.
func (k *checker) spreads(s *plan.Summary, before, after []model.Vector, shares [][model.NumResources]float64) {
	if len(s.Resources) != int(model.NumResources) {
		k.bad("summary", "has figures of %d resources, not of %d", len(s.Resources), model.NumResources)
		return
	}
	for r := range model.NumResources {
		f := &s.Resources[r]
		if f.Resource != r.String() {
			k.bad("summary", "has figures of %q in the place of %q", f.Resource, r)
			continue
		}
		k.spread(r, "before", f.Before, spreadOf(r, before, shares, k.r.Band))
		k.spread(r, "after", f.After, spreadOf(r, after, shares, k.r.Band))
	}
}

func (k *checker) spread(r model.Resource, when string, says plan.Spread, is spread) {
	differ := func(what string, x, y float64) {
		if !near(x, y) {
			k.bad("summary", "says %s of %s is %.9g %s, it is %.9g", what, r, x, when, y)
		}
	}
	differ("max", says.Max, is.Max)
	differ("min", says.Min, is.Min)
	differ("cv", says.CV, is.CV)
	if says.InBand < is.leastIn-tolerance || says.InBand > is.mostIn+tolerance {
		differ("in_band", says.InBand, is.InBand)
	}
}

func near(x, y float64) bool { return math.Abs(x-y) <= tolerance*max(1, math.Abs(x), math.Abs(y)) }

// brokerFigures compares the figures by broker.
func (k *checker) brokerFigures(s *plan.Summary, before, after []model.Vector, shares [][model.NumResources]float64) {
	if len(s.Brokers) != len(k.c.Brokers) {
		k.bad("summary", "has figures of %d brokers, the cluster has %d", len(s.Brokers), len(k.c.Brokers))
		return
	}
	in, out := k.copied()
	dirs := dirFigures(k.c, k.after)
	for b := range s.Brokers {
		f, br := &s.Brokers[b], &k.c.Brokers[b]
		where := k.brokerName(b)
		if f.Broker != br.ID || f.Rack != br.Rack || f.Dead != br.Dead {
			k.bad(where, "has figures of broker %d, rack %q, dead %t in its place; it is in rack %q, dead %t", f.Broker, f.Rack, f.Dead, br.Rack, br.Dead)
			continue
		}
		for r := range model.NumResources {
			k.differs(where, r.String()+" before", f.Before[r], before[b][r])
			k.differs(where, r.String()+" after", f.After[r], after[b][r])
			if d := math.Abs(float64(f.Share[r]) - shares[b][r]); d > 1 && d > 1e-9*shares[b][r] {
				k.bad(where, "says %s share %d, it is %.1f", r, f.Share[r], shares[b][r])
			}
		}
		k.differs(where, "bytes_in", f.BytesIn, in[b])
		k.differs(where, "bytes_out", f.BytesOut, out[b])
		k.dirFigures(where, f.Dirs, dirs[b])
	}
}

func (k *checker) differs(where, what string, says, is int64) {
	if says != is {
		k.bad(where, "says %s %d, it is %d", what, says, is)
	}
}

// copied sums the bytes that are copied to brokers, and from brokers: those
// that lead the partitions before the plan.
func (k *checker) copied() (in, out []int64) {
	in, out = make([]int64, len(k.c.Brokers)), make([]int64, len(k.c.Brokers))
	for i := range k.changes {
		r := &k.changes[i]
		for j := range r.to {
			if t := &r.to[j]; t.copied {
				in[t.broker] += t.size(k.c)
			}
		}
		if b, ok := k.c.BrokerIndex(r.OldLeader); ok {
			out[b] += r.bytes(k.c)
		}
	}
	return in, out
}

// dirFigures are the log dirs' figures by broker.
func dirFigures(before, after *model.Cluster) [][]plan.DirFigures {
	out := make([][]plan.DirFigures, len(before.Brokers))
	for b := range before.Brokers {
		for _, d := range before.Brokers[b].Dirs {
			out[b] = append(out[b], plan.DirFigures{Path: d.Path, Capacity: d.Capacity})
		}
	}
	for s, b := range before.Broker {
		if d := before.Dir[s]; d != model.None {
			out[b][d].SizeBefore += before.Size[s]
			out[b][d].InBefore += before.InRate[s]
		}
	}
	for s, b := range after.Broker {
		if d := after.Dir[s]; d != model.None {
			out[b][d].SizeAfter += after.Size[s]
			out[b][d].InAfter += after.InRate[s]
		}
	}
	return out
}

func (k *checker) dirFigures(where string, says, is []plan.DirFigures) {
	if len(says) != len(is) {
		k.bad(where, "has figures of %d log dirs, it has %d", len(says), len(is))
		return
	}
	for i := range is {
		if says[i] != is[i] {
			k.bad(where, "says of log dir %d %+v, it is %+v", i, says[i], is[i])
		}
	}
}

// topicExcess sums the replicas of topics above ceil(average)+1 on a broker.
// The average is over the brokers that may receive replicas of the topic.
func topicExcess(c *model.Cluster, receive []bool) int {
	brokers := make([]int, len(c.Groups)+1)
	for b := range c.Brokers {
		if receive[b] {
			brokers[0]++
			if g := c.Brokers[b].Group; g != model.None {
				brokers[g+1]++
			}
		}
	}
	count := make([]int, len(c.Brokers))
	excess := 0
	for p := 0; p < len(c.Topic); {
		end := p
		for end < len(c.Topic) && c.Topic[end] == c.Topic[p] {
			end++
		}
		slots := c.Broker[c.Off[p]:c.Off[end]]
		for _, b := range slots {
			count[b]++
		}
		if n := brokers[c.Topics[c.Topic[p]].Group+1]; n > 0 {
			top := (len(slots)+n-1)/n + 1
			for _, b := range slots {
				excess += max(0, count[b]-top)
				count[b] = 0
			}
		}
		for _, b := range slots {
			count[b] = 0
		}
		p = end
	}
	return excess
}

// bounds compares the plan with what its summary says nothing can beat. The
// bounds are for plans that leave racks as they should be.
func (k *checker) bounds(s *plan.Summary) {
	if k.resized() || s.RackViolationsAfter > 0 || len(s.Resources) != int(model.NumResources) {
		return
	}
	for r := range s.Resources {
		if f := &s.Resources[r]; f.After.Max < f.Bound*(1-tolerance) {
			k.bad("summary", "says that no plan gets the worst broker's %s below %.9g, and that this one gets it to %.9g", f.Resource, f.Bound, f.After.Max)
		}
	}
	if s.Resources[model.In].After.InBand == 1 && s.Resources[model.Disk].After.InBand == 1 && s.Bytes < s.BytesBound {
		k.bad("summary", "says that no plan copies less than %d bytes, and that this one copies %d", s.BytesBound, s.Bytes)
	}
}
