package gather

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
)

func partitionName(topic string, p int32) string { return topic + "-" + strconv.Itoa(int(p)) }

// Groups reads every group with members and commits: ListGroups per broker,
// then descriptions and commits per coordinator, all in parallel. previous
// fills in for coordinators that do not answer this time, marked stale.
func (r *Reader) Groups(ctx context.Context, t *snapshot.Topology, previous *snapshot.Groups) (*snapshot.Groups, Failures, error) {
	var failures Failures
	brokers := upBrokers(t)
	listed, failed := r.client.ListGroups(ctx, brokers)
	if err := whole(failed, len(brokers)); err != nil {
		return nil, nil, err
	}
	failures.brokers(failed)
	listed = slices.DeleteFunc(listed, func(g kafka.ListedGroup) bool { return !r.cfg.Groups.Match(g.ID) })

	out := &snapshot.Groups{ReadAt: r.now(), Groups: make([]snapshot.Group, len(listed))}
	index := make(map[string]*snapshot.Group, len(listed))
	names := map[string]bool{}
	labels := labeller{}
	for i, g := range listed {
		out.Groups[i] = snapshot.Group{Name: labels.unique(g.ID, names), ID: g.ID, Type: groupType(g), State: g.State, ProtocolType: g.ProtocolType, Coordinator: g.Coordinator, Epoch: -1}
		index[g.ID] = &out.Groups[i]
	}
	// Commits first: they must be older than the end offsets of the same round.
	gone := r.readCommits(ctx, t, out, index, &failures)
	r.describe(ctx, out, index, &failures, gone, labels)
	answered := map[int32]bool{}
	for _, id := range brokers {
		answered[id] = failed[id] == nil
	}
	carryOver(out, index, previous, answered, gone)
	out.RenamedLabels = labels
	return out, failures, nil
}

func groupType(g kafka.ListedGroup) string {
	switch strings.ToLower(g.Type) {
	case "":
		return snapshot.GroupClassic // brokers before 3.8 know no other kind
	case snapshot.GroupClassic, snapshot.GroupConsumer, snapshot.GroupShare, snapshot.GroupStreams:
		return strings.ToLower(g.Type)
	}
	return snapshot.GroupUnknown
}

// readCommits fills in what groups committed and returns the groups that must
// be taken from the previous round, with why.
func (r *Reader) readCommits(ctx context.Context, t *snapshot.Topology, out *snapshot.Groups, index map[string]*snapshot.Group, failures *Failures) map[string]bool {
	by := map[int32][]string{}
	for i := range out.Groups {
		g := &out.Groups[i]
		// Share groups have no committed offsets in this sense (KIP-932).
		if g.Type == snapshot.GroupShare || g.Type == snapshot.GroupUnknown {
			continue
		}
		by[g.Coordinator] = append(by[g.Coordinator], g.ID)
	}
	commits, failed := r.client.CommittedOffsets(ctx, by)
	failures.brokers(failed)
	topics := make(map[string]string, len(t.Topics))
	for i := range t.Topics {
		topics[t.Topics[i].Name] = t.Topics[i].Name
	}
	stale := map[string]bool{}
	for id := range failed {
		for _, g := range by[id] {
			stale[g] = true
		}
	}
	for i := range commits {
		g := index[commits[i].ID]
		if g == nil {
			continue
		}
		if err := commits[i].Err; err != nil {
			stale[g.ID] = true
			failures.item("group "+g.Name, -1, fmt.Errorf("committed offsets of group %q at broker %d: %w", g.Name, g.Coordinator, err))
			continue
		}
		delete(stale, g.ID)
		g.CommitsKnown = true
		g.Commits = r.convertCommits(&commits[i], topics)
	}
	return stale
}

func (r *Reader) convertCommits(c *kafka.GroupCommits, known map[string]string) []snapshot.TopicCommits {
	out := make([]snapshot.TopicCommits, 0, len(c.Topics))
	for i := range c.Topics {
		name := c.Topics[i].Topic
		// The topology's copy of the name, so that the answer can be freed.
		if k, ok := known[name]; ok {
			name = k
		} else if !r.wantsTopic(name) {
			continue
		}
		ps := make([]snapshot.Commit, len(c.Topics[i].Partitions))
		for j, p := range c.Topics[i].Partitions {
			ps[j] = snapshot.Commit(p)
		}
		slices.SortFunc(ps, func(a, b snapshot.Commit) int { return cmp.Compare(a.Partition, b.Partition) })
		out = append(out, snapshot.TopicCommits{Topic: name, Partitions: ps})
	}
	slices.SortFunc(out, func(a, b snapshot.TopicCommits) int { return cmp.Compare(a.Topic, b.Topic) })
	return out
}

// describe fills in members. A group that is described as Dead although its
// coordinator lists it alive was asked through the wrong API (brokers before
// 4.0 answer so for a consumer group): its listed state stands.
func (r *Reader) describe(ctx context.Context, out *snapshot.Groups, index map[string]*snapshot.Group, failures *Failures, stale map[string]bool, labels labeller) {
	kinds := map[string]map[int32][]string{}
	for i := range out.Groups {
		g := &out.Groups[i]
		if g.Type == snapshot.GroupUnknown || g.Type == snapshot.GroupStreams || stale[g.ID] {
			continue
		}
		if kinds[g.Type] == nil {
			kinds[g.Type] = map[int32][]string{}
		}
		kinds[g.Type][g.Coordinator] = append(kinds[g.Type][g.Coordinator], g.ID)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		described, failed := r.client.DescribeGroups(ctx, kind, kinds[kind])
		failures.brokers(failed)
		for i := range described {
			d := &described[i]
			g := index[d.ID]
			if g == nil {
				continue
			}
			if d.Err != nil {
				failures.item("group "+g.Name, -1, fmt.Errorf("description of group %q at broker %d: %w", g.Name, g.Coordinator, d.Err))
				continue
			}
			if d.State == "Dead" && g.State != "" && g.State != "Dead" {
				failures.item("group "+g.Name, -1, fmt.Errorf("group %q is listed as %s but described as Dead", g.Name, g.State))
				continue
			}
			fillDescription(g, d, labels)
		}
	}
}

func fillDescription(g *snapshot.Group, d *kafka.DescribedGroup, labels labeller) {
	g.State, g.Assignor, g.Epoch = d.State, labels.clean("assignor", d.Assignor), d.Epoch
	if d.ProtocolType != "" {
		g.ProtocolType = d.ProtocolType
	}
	g.MembersKnown = true
	g.Members = make([]snapshot.Member, 0, len(d.Members))
	for i := range d.Members {
		m := &d.Members[i]
		member := snapshot.Member{
			ID: labels.clean("member", m.ID), InstanceID: labels.clean("instance_id", m.InstanceID), Rack: labels.clean("rack", m.Rack),
			ClientID: labels.clean("client_id", m.ClientID), ClientIP: labels.clean("client_ip", clientIP(m.ClientHost)),
		}
		for _, topic := range slices.Sorted(maps.Keys(m.Assigned)) {
			ps := m.Assigned[topic]
			slices.Sort(ps)
			member.Assigned = append(member.Assigned, snapshot.TopicPartitions{Topic: topic, Partitions: ps})
		}
		g.Members = append(g.Members, member)
	}
	slices.SortFunc(g.Members, func(a, b snapshot.Member) int { return cmp.Compare(a.ID, b.ID) })
}

// clientIP strips what Java puts before an address that has no resolved name.
func clientIP(host string) string {
	host = strings.TrimPrefix(host, "/")
	if ip := net.ParseIP(host); ip != nil {
		return ip.String()
	}
	return host
}

// carryOver takes groups from the previous round whose coordinator did not
// answer, or is dead while its successor still loads: a paused broker must not
// make lag vanish and alerts resolve. They are marked stale; how long they live
// is bounded by the part's age limit.
func carryOver(out *snapshot.Groups, index map[string]*snapshot.Group, previous *snapshot.Groups, answered map[int32]bool, stale map[string]bool) {
	if previous == nil {
		return
	}
	var extra []snapshot.Group
	for i := range previous.Groups {
		old := previous.Groups[i]
		g := index[old.ID]
		switch {
		case g != nil && stale[old.ID] && old.CommitsKnown:
			old.Stale, old.ReadAt = true, staleSince(&old, previous)
			old.Coordinator = g.Coordinator
			*g = old
		case g == nil && !answered[old.Coordinator]:
			old.Stale, old.ReadAt = true, staleSince(&old, previous)
			extra = append(extra, old)
		}
	}
	if len(extra) > 0 {
		out.Groups = append(out.Groups, extra...)
		slices.SortFunc(out.Groups, func(a, b snapshot.Group) int { return cmp.Compare(a.ID, b.ID) })
	}
}

func staleSince(g *snapshot.Group, previous *snapshot.Groups) time.Time {
	if g.Stale {
		return g.ReadAt
	}
	return previous.ReadAt
}

// DropOlderThan removes stale groups that were read before a moment.
func DropOlderThan(g *snapshot.Groups, limit time.Time) {
	g.Groups = slices.DeleteFunc(g.Groups, func(x snapshot.Group) bool { return x.Stale && x.ReadAt.Before(limit) })
}
