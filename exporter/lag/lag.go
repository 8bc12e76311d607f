// Package lag turns committed offsets and log offsets into lag: in records, in
// seconds, with a verdict. It keeps the little history that this needs, all of
// it bounded by what exists in the cluster.
package lag

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// Options shape the computation.
type Options struct {
	// Window is how far back the verdict looks.
	Window time.Duration
	// HistoryPoints bounds the time history of one partition.
	HistoryPoints int
	// UncommittedRecords asks for the size of partitions without a commit.
	UncommittedRecords bool
	// AssignedTopicsOnly leaves topics out that a stable group has no
	// partition of any more.
	AssignedTopicsOnly bool
}

// Tracker computes lag round after round. It is not safe for concurrent use.
// Memory: O(committed pairs) + O(partitions with commits × HistoryPoints).
type Tracker struct {
	opts  Options
	epoch time.Time
	round uint32

	partitions map[string]*topicHistory
	groups     map[string]*groupState
	// previous is the last result by group id, for stale groups.
	previous map[string]snapshot.GroupLag
	unseeded []TopicPartition
}

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

type topicHistory struct {
	name  string
	id    snapshot.TopicID
	parts []history
	round uint32
}

type groupState struct {
	topics map[string]*topicState
	round  uint32
}

type topicState struct {
	id         snapshot.TopicID
	pairs      []pair
	lost       uint64
	lastCommit int64
	round      uint32
}

// New makes a tracker.
func New(opts Options) *Tracker {
	return &Tracker{opts: opts, partitions: map[string]*topicHistory{}, groups: map[string]*groupState{}}
}

// Unseeded lists partitions in which a group stands before the first
// observation of the last round: how old its lag is can only be told after
// Seed. Each partition is listed once.
func (t *Tracker) Unseeded() []TopicPartition { return t.unseeded }

// Seed tells where a partition's end offset was at earlier moments, in order
// of time.
func (t *Tracker) Seed(p TopicPartition, at []time.Time, ends []int64) {
	h := t.partitions[p.Topic]
	if h == nil || int(p.Partition) >= len(h.parts) {
		return
	}
	ts := make([]uint32, len(at))
	for i := range at {
		ts[i] = t.tick(at[i])
	}
	h.parts[p.Partition].prepend(ts, ends, t.opts.HistoryPoints)
}

// tick is a moment in tenths of a second since shortly before the first round;
// 32 bits last 13 years, half the memory of a full timestamp.
const tickLength = 100 * time.Millisecond

// seedReach is how far before the first round a history may be seeded.
const seedReach = 30 * 24 * time.Hour

func (t *Tracker) tick(now time.Time) uint32 {
	if t.epoch.IsZero() {
		t.epoch = now.Add(-seedReach)
	}
	d := now.Sub(t.epoch) / tickLength
	return uint32(min(max(d, 1), math.MaxUint32))
}

// Compute takes one round's readings in. The result's groups run parallel to
// groups.Groups. O(committed pairs).
func (t *Tracker) Compute(now time.Time, topo *snapshot.Topology, offsets *snapshot.Offsets, groups *snapshot.Groups) *snapshot.Lag {
	tick := t.tick(now)
	t.round++
	out := &snapshot.Lag{ComputedAt: now, Groups: make([]snapshot.GroupLag, len(groups.Groups))}
	observed := map[string]*topicHistory{}
	previous := make(map[string]snapshot.GroupLag, len(groups.Groups))
	t.unseeded = t.unseeded[:0]
	for i := range groups.Groups {
		g := &groups.Groups[i]
		state := t.groups[g.ID]
		if state == nil {
			state = &groupState{topics: map[string]*topicState{}}
			t.groups[g.ID] = state
		}
		state.round = t.round
		switch {
		case g.Stale:
			// Old commits against new ends would be a lag that nobody has: what
			// was true when the group was read is shown until it is too old.
			out.Groups[i] = t.previous[g.ID]
		case g.CommitsKnown:
			r := groupRound{t: t, now: now, tick: tick, topo: topo, offsets: offsets, group: g, state: state, observed: observed}
			out.Groups[i] = r.compute()
		}
		previous[g.ID] = out.Groups[i]
	}
	t.previous = previous
	t.forget()
	return out
}

// forget drops what was not seen in this round.
func (t *Tracker) forget() {
	for id, g := range t.groups {
		if g.round != t.round {
			delete(t.groups, id)
		}
	}
	// A topic without a commit in one round may just be behind a coordinator
	// that did not answer: its history is kept for a while.
	const keepRounds = 20
	for name, h := range t.partitions {
		if t.round-h.round > keepRounds {
			delete(t.partitions, name)
		}
	}
}

// topicHistory returns a topic's history with this round's ends taken in.
func (t *Tracker) topicHistory(name string, o *snapshot.TopicOffsets, tick uint32, observed map[string]*topicHistory) *topicHistory {
	if h, ok := observed[name]; ok {
		return h
	}
	h := t.partitions[name]
	if h == nil || h.id != o.ID {
		h = &topicHistory{name: name, id: o.ID}
		t.partitions[name] = h
	}
	if missing := len(o.End) - len(h.parts); missing > 0 {
		h.parts = append(h.parts, make([]history, missing)...)
	}
	for p, end := range o.End {
		if end != snapshot.Unknown {
			h.parts[p].observe(tick, end, t.opts.HistoryPoints)
		}
	}
	h.round = t.round
	observed[name] = h
	return h
}

// groupRound is the computation of one group in one round.
type groupRound struct {
	t        *Tracker
	now      time.Time
	tick     uint32
	topo     *snapshot.Topology
	offsets  *snapshot.Offsets
	group    *snapshot.Group
	state    *groupState
	observed map[string]*topicHistory
}

func (r *groupRound) compute() snapshot.GroupLag {
	g := r.group
	out := snapshot.GroupLag{Topics: make([]snapshot.TopicLag, 0, len(g.Commits))}
	assigned := assignedPartitions(g)
	stable := g.State == "Stable" && len(assigned) > 0
	for i := range g.Commits {
		c := &g.Commits[i]
		topic := r.topo.Topic(c.Topic)
		if topic == nil {
			out.Orphaned += len(c.Partitions)
			continue
		}
		n, isAssigned := assigned[c.Topic]
		left := stable && !isAssigned
		if r.t.opts.AssignedTopicsOnly && left {
			continue
		}
		tl, orphaned := r.topic(topic, c)
		out.Orphaned += orphaned
		delete(assigned, c.Topic)
		if len(tl.Partitions) == 0 && !isAssigned {
			continue
		}
		tl.Assigned, tl.AssignedPartitions = isAssigned, n
		out.Topics = append(out.Topics, tl)
		if !left {
			// Nobody means to read on in a topic that a stable group has left.
			out.Verdict = max(out.Verdict, tl.Verdict)
		}
	}
	for name, n := range assigned {
		if topic := r.topo.Topic(name); topic != nil {
			tl, _ := r.topic(topic, &snapshot.TopicCommits{Topic: topic.Name})
			tl.Assigned, tl.AssignedPartitions = true, n
			out.Topics = append(out.Topics, tl)
		}
	}
	slices.SortFunc(out.Topics, func(a, b snapshot.TopicLag) int { return cmp.Compare(a.Topic, b.Topic) })
	for name, s := range r.state.topics {
		if s.round != r.t.round {
			delete(r.state.topics, name)
		}
	}
	return out
}

// assignedPartitions counts the partitions of each topic assigned to members.
func assignedPartitions(g *snapshot.Group) map[string]int {
	if len(g.Members) == 0 {
		return nil
	}
	n := map[string]int{}
	for i := range g.Members {
		for _, a := range g.Members[i].Assigned {
			n[a.Topic] += len(a.Partitions)
		}
	}
	return n
}

// topic computes a group's lag in one topic.
func (r *groupRound) topic(topic *snapshot.Topic, c *snapshot.TopicCommits) (snapshot.TopicLag, int) {
	offsets := r.offsets.Topic(topic.Name)
	if offsets == nil {
		offsets = &snapshot.TopicOffsets{ID: topic.ID}
	}
	var hist *topicHistory
	if len(c.Partitions) > 0 {
		hist = r.t.topicHistory(topic.Name, offsets, r.tick, r.observed)
	}
	state := r.topicState(topic)
	tl := snapshot.TopicLag{
		Topic:              topic.Name,
		Partitions:         make([]snapshot.PartitionLag, 0, len(c.Partitions)),
		UncommittedRecords: snapshot.Unknown,
	}
	orphaned := 0
	for _, commit := range c.Partitions {
		if topic.Partition(commit.Partition) == nil {
			orphaned++
			continue
		}
		pl := r.partition(commit, offsets, hist, state)
		if pl.Lag == snapshot.Unknown {
			tl.UnknownEnd++
		}
		tl.Verdict = max(tl.Verdict, pl.Verdict)
		tl.Partitions = append(tl.Partitions, pl)
	}
	tl.Uncommitted = len(topic.Partitions) - len(tl.Partitions)
	if r.t.opts.UncommittedRecords {
		tl.UncommittedRecords = uncommittedRecords(topic, offsets, tl.Partitions)
	}
	tl.Lost, tl.LastCommit = state.lost, state.lastCommit
	return tl, orphaned
}

func (r *groupRound) topicState(topic *snapshot.Topic) *topicState {
	s := r.state.topics[topic.Name]
	if s == nil {
		s = &topicState{id: topic.ID, lastCommit: snapshot.Unknown}
		r.state.topics[topic.Name] = s
	}
	if s.id != topic.ID {
		// Deleted and created anew: its offsets have nothing to do with the old
		// ones. What was lost stays counted.
		s.id = topic.ID
		clear(s.pairs)
	}
	if n := len(topic.Partitions); n > 0 {
		if missing := int(topic.Partitions[n-1].ID) + 1 - len(s.pairs); missing > 0 {
			s.pairs = append(s.pairs, make([]pair, missing)...)
		}
	}
	s.round = r.t.round
	return s
}

func (r *groupRound) partition(c snapshot.Commit, o *snapshot.TopicOffsets, hist *topicHistory, state *topicState) snapshot.PartitionLag {
	pl := snapshot.PartitionLag{Committed: c.Offset, Partition: c.Partition, Lag: snapshot.Unknown, StableLag: snapshot.Unknown, Seconds: -1}
	end, start, stable := snapshot.At(o.End, c.Partition), snapshot.At(o.Start, c.Partition), snapshot.At(o.Stable, c.Partition)
	if end == snapshot.Unknown {
		return pl
	}
	// What retention removed cannot be worked off: it is loss, not lag.
	from := max(c.Offset, start)
	pl.Lag = max(end-from, 0)
	pl.Clamped = c.Offset > end
	if stable != snapshot.Unknown {
		// The stable offset may have been read earlier than the end.
		pl.StableLag = max(min(stable, end)-from, 0)
	}
	p := &state.pairs[c.Partition]
	previous, seen := p.offset, p.firstSeen != 0
	state.lost += p.lost(c.Offset, start)
	p.update(r.tick, c.Offset, pl.Lag)
	if seen && previous != c.Offset {
		state.lastCommit = r.now.UnixMilli()
	}
	pl.Verdict = p.verdict(r.tick, ticks(r.t.opts.Window), r.group.Active())
	h := &hist.parts[c.Partition]
	pl.Seconds, pl.Truncated = secondsAt(r.tick, pl.Lag, from, h)
	if pl.Truncated && !h.seeded {
		h.seeded = true
		r.t.unseeded = append(r.t.unseeded, TopicPartition{hist.name, c.Partition})
	}
	return pl
}

// secondsAt is the age of the first unread record, which has the offset from.
func secondsAt(now uint32, lag, from int64, h *history) (seconds float64, truncated bool) {
	if lag == 0 {
		return 0, false
	}
	at, truncated, known := h.writtenAt(from)
	if !known {
		return -1, false
	}
	if truncated && at >= now {
		return -1, true // the first look: nothing is known of the past yet
	}
	return float64(now-at) * tickLength.Seconds(), truncated
}

func ticks(d time.Duration) uint32 { return uint32(d / tickLength) }

// uncommittedRecords sums end − start over the partitions without a commit.
// Both lists are sorted by partition.
func uncommittedRecords(topic *snapshot.Topic, o *snapshot.TopicOffsets, committed []snapshot.PartitionLag) int64 {
	var sum int64
	next := 0
	for i := range topic.Partitions {
		id := topic.Partitions[i].ID
		for next < len(committed) && committed[next].Partition < id {
			next++
		}
		if next < len(committed) && committed[next].Partition == id {
			continue
		}
		end, start := snapshot.At(o.End, id), snapshot.At(o.Start, id)
		if end != snapshot.Unknown && start != snapshot.Unknown && end > start {
			sum += end - start
		}
	}
	return sum
}

// Resolve computes seconds of truncated partitions again after Seed, in the
// result of the last Compute. That of stale groups is an earlier one and stays.
func (t *Tracker) Resolve(l *snapshot.Lag, groups *snapshot.Groups) {
	tick := t.tick(l.ComputedAt)
	for i := range l.Groups {
		if groups.Groups[i].Stale {
			continue
		}
		for j := range l.Groups[i].Topics {
			tl := &l.Groups[i].Topics[j]
			h := t.partitions[tl.Topic]
			if h == nil {
				continue
			}
			for k := range tl.Partitions {
				p := &tl.Partitions[k]
				if !p.Truncated || int(p.Partition) >= len(h.parts) {
					continue
				}
				p.Seconds, p.Truncated = secondsAt(tick, p.Lag, h.parts[p.Partition].newest()-p.Lag, &h.parts[p.Partition])
			}
		}
	}
}
