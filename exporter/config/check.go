package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/common/model"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
)

// Bounds of what can be configured.
const (
	// minInterval keeps a typing error from flooding a cluster with requests.
	minInterval                        = time.Second
	minHistoryPoints, maxHistoryPoints = 8, 1024
)

// checker finds what is well-formed but wrong.
type checker struct {
	*decoder
	known KnownFamilies
}

// report adds a mistake unless one was already found there or around it: what
// could not be read would only be said to be missing.
func (c *checker) report(p path, format string, args ...any) {
	for around := p; len(around) > 0; around = around[:len(around)-1] {
		if c.bad[around.String()] {
			return
		}
	}
	c.errs = append(c.errs, &Error{Line: c.line(p), Path: p.String(), Msg: fmt.Sprintf(format, args...)})
}

func (c *checker) config(cfg *Config) {
	p := path{"clusters"}
	if len(cfg.Clusters) == 0 && len(c.errs) == 0 {
		c.report(p, "no cluster is configured; list at least one with its name and bootstrap_servers")
	}
	lineOf := map[string]int{}
	for i := range cfg.Clusters {
		cluster, p := &cfg.Clusters[i], p.index(i)
		if first, used := lineOf[cluster.Name]; used && cluster.Name != "" {
			c.report(p.key("name"), "another cluster has this name already, on line %d; names must be unique", first)
		}
		lineOf[cluster.Name] = c.line(p.key("name"))
		c.cluster(cluster, p)
	}
}

func (c *checker) cluster(cl *Cluster, p path) {
	c.name(cl.Name, p.key("name"))
	c.connection(cl, p)
	c.atLeast(cl.Interval, minInterval, p.key("interval"))
	c.atLeast(cl.MaxAge, minInterval, p.key("max_age"))
	c.filter(&cl.Topics, p.key("topics"))
	c.filter(&cl.Groups, p.key("groups"))
	c.shard(cl.Shard, p.key("shard"))
	c.resourceGroups(cl.ResourceGroups, p.key("resource_groups"))
	for _, name := range slices.Sorted(maps.Keys(cl.Collectors)) {
		c.collector(cl, name, p.key("collectors").key(name))
	}
	c.lag(&cl.Lag, p.key("lag"))
	for _, name := range slices.Sorted(maps.Keys(cl.Metrics)) {
		m := cl.Metrics[name]
		c.metric(name, &m, p.key("metrics").key(name))
	}
}

func (c *checker) name(name string, p path) {
	switch {
	case name == "":
		c.report(p, "is missing; it becomes the kafka_cluster label")
	case strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl):
		c.report(p, "must not begin or end with a space, nor contain control characters")
	}
}

// connection applies the connection's own defaults and checks, and finds the
// lines of what they complain about.
func (c *checker) connection(cl *Cluster, p path) {
	for _, t := range []struct {
		key   string
		value model.Duration
	}{{"dial_timeout", cl.DialTimeout}, {"request_timeout", cl.RequestTimeout}} {
		if t.value == 0 && c.isSet(p.key(t.key)) {
			c.report(p.key(t.key), "must be longer than 0")
		}
	}
	cl.Config.SetDefaults()
	for _, err := range cl.Config.Validate() {
		var field *connect.FieldError
		if !errors.As(err, &field) {
			c.report(p, "%v", err)
			continue
		}
		at := p
		for key := range strings.SplitSeq(field.Path, ".") {
			at = at.key(key)
		}
		c.report(at, "%s", field.Problem)
	}
}

func (c *checker) atLeast(x model.Duration, least time.Duration, p path) {
	if time.Duration(x) < least {
		c.report(p, "must be at least %s, is %s", model.Duration(least), x)
	}
}

func (c *checker) filter(f *Filter, p path) {
	for key, list := range map[string][]Regexp{"include": f.Include, "exclude": f.Exclude} {
		for i, r := range list {
			if r.compiled != nil && r.source == "" {
				c.report(p.key(key).index(i), "is an empty expression, which matches no name; remove it")
			}
		}
	}
}

func (c *checker) shard(s Shard, p path) {
	switch {
	case s.Of < 1:
		c.report(p.key("of"), "must be at least 1, is %d", s.Of)
	case s.Index < 0 || s.Index >= s.Of:
		c.report(p.key("index"), "must be from 0 to %d (of is %d), is %d", s.Of-1, s.Of, s.Index)
	}
}

func (c *checker) resourceGroups(groups map[string]ResourceGroup, p path) {
	owner := map[int32]string{}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		brokers, p := groups[name].Brokers, p.key(name)
		c.name(name, p)
		if len(brokers) == 0 {
			c.report(p.key("brokers"), "is empty; list the group's broker ids")
		}
		for i, b := range brokers {
			other, taken := owner[b]
			switch {
			case b < 0:
				c.report(p.key("brokers").index(i), "broker ids are not negative, is %d", b)
			case taken && other == name:
				c.report(p.key("brokers").index(i), "broker %d is listed twice", b)
			case taken:
				c.report(p.key("brokers").index(i), "broker %d is in the group %q already; a broker is in at most one", b, other)
			}
			owner[b] = name
		}
	}
}

func (c *checker) collector(cl *Cluster, name string, p path) {
	info, ok := LookupCollector(name)
	if !ok {
		c.report(p, "%s", unknownName("collector", name, collectorNames()))
		return
	}
	set := cl.Collectors[name]
	if name == "topology" && set.Enabled != nil && !*set.Enabled {
		c.report(p.key("enabled"), "topology cannot be switched off: all other collectors stand on it")
	}
	if c.isSet(p.key("interval")) {
		c.atLeast(set.Interval, minInterval, p.key("interval"))
	}
	if c.isSet(p.key("timeout")) {
		c.timeout(set.Timeout, cl.Collector(name).Interval, p.key("timeout"))
	}
	if set.Granularity == "" || slices.Contains(info.Granularities, set.Granularity) {
		return
	}
	if len(info.Granularities) == 0 {
		c.report(p.key("granularity"), "the collector %s has no granularity to choose; remove it", name)
		return
	}
	c.report(p.key("granularity"), "must be one of %s, is %q", strings.Join(info.Granularities, ", "), set.Granularity)
}

func (c *checker) timeout(timeout model.Duration, interval time.Duration, p path) {
	switch {
	case timeout == 0:
		c.report(p, "must be longer than 0")
	case time.Duration(timeout) > interval:
		c.report(p, "must not be longer than the collector's interval (%s), is %s", model.Duration(interval), timeout)
	}
}

func (c *checker) lag(l *Lag, p path) {
	if l.Uncommitted != UncommittedSkip && l.Uncommitted != UncommittedFull {
		c.report(p.key("uncommitted"), "must be %s or %s, is %q", UncommittedSkip, UncommittedFull, l.Uncommitted)
	}
	c.atLeast(l.Window, time.Minute, p.key("window"))
	if l.HistoryPoints < minHistoryPoints || l.HistoryPoints > maxHistoryPoints {
		c.report(p.key("history_points"), "must be from %d to %d, is %d", minHistoryPoints, maxHistoryPoints, l.HistoryPoints)
	}
	if l.ExactGroups != nil {
		c.filter(l.ExactGroups, p.key("exact_groups"))
	}
}

func (c *checker) metric(name string, m *Metric, p path) {
	if m.MaxSeries < 0 {
		c.report(p.key("max_series"), "must not be negative, is %d", m.MaxSeries)
	}
	if c.known == nil {
		return
	}
	labels, ok := c.known[name]
	if !ok {
		c.report(p, "%s", unknownName("metric family", name, slices.Sorted(maps.Keys(c.known))))
		return
	}
	// Always there, whether the family lists it or not.
	labels = slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return l == clusterLabel })
	for i, l := range m.KeepLabels {
		if l != clusterLabel {
			c.label(l, labels, p.key("keep_labels").index(i))
		}
		if slices.Index(m.KeepLabels, l) < i {
			c.report(p.key("keep_labels").index(i), "label %q is listed twice", l)
		}
	}
	for key, exprs := range map[string]map[string]Regexp{"include": m.Include, "exclude": m.Exclude} {
		for l := range exprs {
			c.label(l, labels, p.key(key).key(l))
		}
	}
}

const clusterLabel = "kafka_cluster"

func (c *checker) label(label string, known []string, p path) {
	if !slices.Contains(known, label) {
		c.report(p, "the family has no label %q; it has %s", label, strings.Join(known, ", "))
	}
}

func collectorNames() []string {
	names := make([]string, len(collectorInfos))
	for i, c := range collectorInfos {
		names[i] = c.Name
	}
	return names
}

// unknownName says what is wrong with a name that must be one of a list.
func unknownName(kind, name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("unknown %s %q; did you mean %q?", kind, name, near)
	}
	if len(known) > 20 {
		return fmt.Sprintf("unknown %s %q; see docs/metrics.md for those there are", kind, name)
	}
	return fmt.Sprintf("unknown %s %q; known are %s", kind, name, strings.Join(known, ", "))
}
