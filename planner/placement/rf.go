package placement

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// ChangeRF plans another replication factor for topics. Partitions that have it
// are left alone. New replicas go behind the others: to racks without a copy
// first, among these to the least loaded broker of those that do not hold more
// of the topic than an even share. Replicas are taken from dead brokers and
// those outside the resource group first (they are also replaced when raising),
// then from racks with most copies, then from the most loaded broker; never
// from the leader while it may stay. Partitions that are moving, and those
// for which no broker is left, are refused. O(replicas × brokers).
func ChangeRF(c *model.Cluster, topics []string, rf int, o Options) (*plan.Plan, error) {
	if rf < 1 {
		return nil, fmt.Errorf("changing the replication factor: %d is none; give 1 or more", rf)
	}
	r := resizer{c: c, o: &o, rf: rf, out: &plan.Plan{Operation: plan.ChangeRF, Cluster: c.Name, SnapshotHash: c.Hash()}}
	names := slices.Clone(topics)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		t, ok := findTopic(c, name)
		if !ok {
			return nil, fmt.Errorf("changing the replication factor of topic %s: cluster %s does not have it", name, c.Name)
		}
		r.topics = append(r.topics, t)
	}
	r.rm = newRoom(c, &o, nil)
	for _, t := range r.topics {
		r.topic(t)
	}
	summarise(c, r.out, model.None, Load{})
	return r.out, nil
}

// resizer changes one partition after the other on what the former left.
type resizer struct {
	c      *model.Cluster
	o      *Options
	rf     int
	topics []int32
	rm     *room
	out    *plan.Plan

	sc *scope
	// count is how many replicas of the topic a broker has, top how many an
	// even spread would give one.
	count []int
	top   int
	// fair is a broker's fair share of the loads, for comparing.
	fair model.Vector
}

func (r *resizer) topic(t int32) {
	c := r.c
	from, to := partitionsOf(c, t)
	r.sc = newScope(c, r.o, c.Topics[t].Group)
	r.rm.sc = r.sc
	refusal, refused := r.sc.refuse(r.rf, r.o.Strict)
	if w := r.sc.rackWarning(c.Topics[t].Name, r.rf); w != "" && !refused {
		r.out.Warnings = append(r.out.Warnings, w)
	}
	r.count = make([]int, len(c.Brokers))
	for s := c.Off[from]; s < c.Off[to]; s++ {
		r.count[c.Broker[s]]++
	}
	r.top = ceil((to-from)*r.rf, max(1, len(r.sc.ring)))
	r.fair = model.Vector{}
	for _, b := range r.sc.ring {
		r.fair.Add(&r.rm.loads[b])
	}
	for p := from; p < to; p++ {
		if c.RF(p) == r.rf {
			continue
		}
		switch {
		case c.Moving[p]:
			r.refuse(p, plan.Refusal{Reason: "moving", Detail: "a reassignment of it is in flight; wait for it or cancel it first"})
		case refused && c.RF(p) < r.rf:
			r.refuse(p, refusal)
		default:
			r.partition(p)
		}
	}
}

func (r *resizer) refuse(p int, x plan.Refusal) {
	x.Topic, x.Partition = r.c.Topics[r.c.Topic[p]].Name, r.c.ID[p]
	r.out.Refusals = append(r.out.Refusals, x)
}

// partition brings one partition to the wanted number of replicas.
func (r *resizer) partition(p int) {
	c := r.c
	from, to := c.Slots(p)
	keep := make([]int32, 0, r.rf)
	for s := from; s < to; s++ {
		keep = append(keep, s)
	}
	for len(keep) > 0 && (len(keep) > r.rf || slices.ContainsFunc(keep, r.misplaced(p))) {
		s := r.worst(p, keep)
		if len(keep) <= r.rf && !r.misplaced(p)(s) {
			break
		}
		keep = slices.DeleteFunc(keep, func(x int32) bool { return x == s })
	}
	ch := plan.Change{Topic: c.Topics[c.Topic[p]].Name, Partition: c.ID[p], From: current(c, p), OldLeader: leaderID(c, p)}
	on := make([]int32, 0, r.rf)
	for _, s := range keep {
		ch.To = append(ch.To, replica(c, s))
		on = append(on, c.Broker[s])
	}
	source := from
	if c.Leader[p] != model.None {
		source = c.Leader[p]
	}
	if len(on) == 0 && r.dead(p) {
		r.refuse(p, plan.Refusal{Reason: "brokers", Detail: "all its replicas are on dead brokers, so there is none to copy from"})
		return
	}
	for len(on) < r.rf {
		b, rejected := r.best(p, on, c.Size[source], c.InRate[source])
		if b == model.None {
			r.undo(p, on[len(keep):], source)
			r.refuse(p, r.noBroker(p, len(on), rejected))
			return
		}
		on = append(on, b)
		ch.To = append(ch.To, plan.Replica{Broker: c.Brokers[b].ID, Dir: r.put(b, c.Size[source], c.InRate[source])})
	}
	r.gone(p, keep)
	ch.NewLeader = ch.To[0].Broker
	ch.Bytes = bytes(c, p, &ch)
	ch.Why = fmt.Sprintf("replication factor from %d to %d", c.RF(p), r.rf)
	r.out.Changes = append(r.out.Changes, ch)
}

// misplaced tells whether a replica may not stay where it is.
func (r *resizer) misplaced(p int) func(s int32) bool {
	g := r.c.Topics[r.c.Topic[p]].Group
	return func(s int32) bool {
		b := &r.c.Brokers[r.c.Broker[s]]
		return b.Dead || g != model.None && b.Group != g
	}
}

func (r *resizer) dead(p int) bool {
	for s := r.c.Off[p]; s < r.c.Off[p+1]; s++ {
		if !r.c.Brokers[r.c.Broker[s]].Dead {
			return false
		}
	}
	return true
}

// worst is the replica to take away first.
func (r *resizer) worst(p int, keep []int32) int32 {
	bad := r.misplaced(p)
	worse := func(x, y int32) int {
		return cmp.Or(
			compareBool(bad(x), bad(y)),
			compareBool(x != r.c.Leader[p], y != r.c.Leader[p]),
			compareBool(r.o.Exclude[r.id(x)], r.o.Exclude[r.id(y)]),
			cmp.Compare(r.inRack(x, keep), r.inRack(y, keep)),
			cmp.Compare(r.fullness(r.c.Broker[x]), r.fullness(r.c.Broker[y])),
			cmp.Compare(x, y))
	}
	return slices.MaxFunc(keep, worse)
}

func (r *resizer) id(s int32) int32 { return r.c.Brokers[r.c.Broker[s]].ID }

func (r *resizer) inRack(s int32, keep []int32) int {
	n := 0
	for _, q := range keep {
		if r.c.RackOf[r.c.Broker[q]] == r.c.RackOf[r.c.Broker[s]] {
			n++
		}
	}
	return n
}

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	default:
		return -1
	}
}

// fullness is a broker's load in thousandths of the mean, of the resource that
// it has most of among traffic in and disk.
func (r *resizer) fullness(b int32) int64 {
	n := float64(max(1, len(r.sc.ring)))
	most := int64(0)
	for _, k := range []model.Resource{model.In, model.Disk} {
		if r.fair[k] > 0 {
			most = max(most, int64(float64(r.rm.loads[b][k])*n*1000/float64(r.fair[k])))
		}
	}
	return most
}

// fullStep is the difference of fullness that counts: 2 % of the mean.
const fullStep = 20

// best is the broker for one more replica, or what every broker lacked.
func (r *resizer) best(p int, on []int32, size, in int64) (int32, []plan.Rejection) {
	lo, hi := r.sc.rackBounds(r.rf)
	inRack := make([]int, len(hi))
	for _, b := range on {
		if i := r.sc.pos[b]; i >= 0 {
			inRack[r.sc.rack[i]]++
		}
	}
	must := 0
	for k := range lo {
		must += max(0, lo[k]-inRack[k])
	}
	best, key := model.None, [5]int64{}
	var rejected []plan.Rejection
	for i, b := range r.sc.ring {
		if slices.Contains(on, b) {
			continue
		}
		k := r.sc.rack[i]
		if inRack[k] >= hi[k] || inRack[k] >= lo[k] && must >= r.rf-len(on) {
			rejected = append(rejected, plan.Rejection{Broker: r.c.Brokers[b].ID, Reason: "rack"})
			continue
		}
		if r.rm.replicas(i, Load{In: in, Bytes: size}) < 1 {
			rejected = append(rejected, r.rm.lacks(i, Load{In: in, Bytes: size}, 1))
			continue
		}
		over := int64(max(0, r.count[b]+1-r.top))
		is := [5]int64{int64(inRack[k]), over, r.fullness(b) / fullStep, int64(r.count[b]), int64(b)}
		if best == model.None || slices.Compare(is[:], key[:]) < 0 {
			best, key = b, is
		}
	}
	return best, rejected
}

func (r *resizer) put(b int32, size, in int64) string {
	r.count[b]++
	return r.rm.take(r.sc.pos[b], size, in)
}

// undo takes back what a partition that is refused had been given.
func (r *resizer) undo(p int, on []int32, source int32) {
	for _, b := range on {
		r.count[b]--
		v := &r.rm.loads[b]
		v[model.Disk] -= r.c.Size[source]
		v[model.In] -= r.c.InRate[source]
		v[model.Replicas]--
	}
	r.rm.giveBack(len(on))
}

// gone accounts for the replicas that are taken away. Their disk space comes
// free only after the copying, so it is not given to others in this plan.
func (r *resizer) gone(p int, keep []int32) {
	for s := r.c.Off[p]; s < r.c.Off[p+1]; s++ {
		if !slices.Contains(keep, s) {
			b := r.c.Broker[s]
			r.count[b]--
			r.rm.loads[b][model.In] -= r.c.InRate[s]
			r.rm.loads[b][model.Replicas]--
		}
	}
}

func (r *resizer) noBroker(p, have int, rejected []plan.Rejection) plan.Refusal {
	x := plan.Refusal{Reason: "capacity", Rejected: append(slices.Clone(r.sc.rejected), rejected...)}
	for _, j := range rejected {
		if j.Reason == "disk" {
			x.Reason = "disk"
		}
	}
	x.Detail = fmt.Sprintf("no broker can take replica %d of %d; it stays as it is rather than get fewer", have+1, r.rf)
	return x
}
