package collector

import (
	"iter"
	"maps"
	"slices"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// The walks below go through sorted parts of a snapshot and leave out what
// repeats its neighbour's name. A reader that saw a topic or group twice, say
// while a coordinator moved, thus cannot cause a series twice.

// topics walks the topics; none if the topology is not known.
func topics(c *cluster) iter.Seq[*snapshot.Topic] {
	return func(yield func(*snapshot.Topic) bool) {
		if c.Topology == nil {
			return
		}
		all := c.Topology.Topics
		for i := range all {
			if i > 0 && all[i].Name == all[i-1].Name {
				continue
			}
			if !yield(&all[i]) {
				return
			}
		}
	}
}

// namesOf walks the keys of a part that is a map by topic: in the order of the
// topology, and only topics that exist, if that is known; else sorted.
func namesOf[V any](c *cluster, part map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if c.Topology == nil {
			for _, name := range slices.Sorted(maps.Keys(part)) {
				if !yield(name, part[name]) {
					return
				}
			}
			return
		}
		for t := range topics(c) {
			if v, ok := part[t.Name]; ok && !yield(t.Name, v) {
				return
			}
		}
	}
}

// eachGroup walks the groups with their index, which is that of their lag.
func eachGroup(c *cluster) iter.Seq2[int, *snapshot.Group] {
	return func(yield func(int, *snapshot.Group) bool) {
		if c.Groups == nil {
			return
		}
		all := c.Groups.Groups
		for i := range all {
			if i > 0 && all[i].Name == all[i-1].Name {
				continue
			}
			if !yield(i, &all[i]) {
				return
			}
		}
	}
}

// lags walks the groups whose lag is known.
func lags(c *cluster) iter.Seq2[*snapshot.Group, *snapshot.GroupLag] {
	return func(yield func(*snapshot.Group, *snapshot.GroupLag) bool) {
		if c.Lag == nil {
			return
		}
		for i, g := range eachGroup(c) {
			if i >= len(c.Lag.Groups) {
				return
			}
			if !yield(g, &c.Lag.Groups[i]) {
				return
			}
		}
	}
}

// topicLags walks the topics of all groups whose lag is known.
func topicLags(c *cluster) iter.Seq2[*snapshot.Group, *snapshot.TopicLag] {
	return func(yield func(*snapshot.Group, *snapshot.TopicLag) bool) {
		for g, l := range lags(c) {
			for i := range l.Topics {
				if i > 0 && l.Topics[i].Topic == l.Topics[i-1].Topic {
					continue
				}
				if !yield(g, &l.Topics[i]) {
					return
				}
			}
		}
	}
}

// id is a broker label; "" for none.
func id(broker int32) string {
	if broker < 0 {
		return ""
	}
	return exposition.Itoa(broker)
}

// truth is a label that is a boolean.
func truth(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
