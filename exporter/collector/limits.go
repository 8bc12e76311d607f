package collector

import (
	"slices"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
)

// Bounds on the number of series of a family and cluster, unless the
// configuration sets one. Members come and go and name themselves.
const (
	defaultMaxSeries = 1_000_000
	memberMaxSeries  = 20_000
)

// Limits translates a cluster's configuration, granularity and metrics, to
// limits by family name. What metrics says about a family overrides what
// follows from granularity.
func Limits(c *config.Cluster) map[string]exposition.Limits {
	limits := map[string]exposition.Limits{}
	for _, f := range Families() {
		l := granular(c, &f, exposition.Limits{Enabled: !f.OptIn, MaxSeries: maxSeries(&f)})
		if m, ok := c.Metrics[f.Name]; ok {
			l = override(l, m)
		}
		limits[f.Name] = l
	}
	return limits
}

func maxSeries(f *family) int {
	if slices.Contains(f.Labels, "member") {
		return memberMaxSeries
	}
	return defaultMaxSeries
}

func override(l exposition.Limits, m config.Metric) exposition.Limits {
	if m.Enabled != nil {
		l.Enabled = *m.Enabled
	}
	if m.KeepLabels != nil {
		l.KeepLabels = m.KeepLabels
	}
	if m.MaxSeries > 0 {
		l.MaxSeries = m.MaxSeries
	}
	l.Include, l.Exclude = matchers(m.Include), matchers(m.Exclude)
	return l
}

func matchers(rs map[string]config.Regexp) map[string]exposition.Matcher {
	if len(rs) == 0 {
		return nil
	}
	ms := make(map[string]exposition.Matcher, len(rs))
	for label, r := range rs {
		ms[label] = r
	}
	return ms
}

// granular applies the granularity of the collector that feeds the family.
func granular(c *config.Cluster, f *family, l exposition.Limits) exposition.Limits {
	switch f.Collector {
	case endOffsets, startOffsets, stableOffsets, lastRecord:
		// All offsets follow the one collector that lets choose: sums of start
		// and end only compare at one granularity.
		if c.Collector(endOffsets).Granularity == config.GranularityTopic {
			l.KeepLabels = without(f.Labels, "partition")
		}
	case groups:
		switch c.Collector(groups).Granularity {
		case config.GranularityTopic:
			l.KeepLabels = without(f.Labels, "partition")
		case config.GranularityGroup:
			l.KeepLabels = without(f.Labels, "partition", "topic")
		}
	case logDirs:
		switch c.Collector(logDirs).Granularity {
		case config.GranularityPartition:
			l.Enabled = true
		case config.GranularityLogDir:
			if f.Name == dirTopicSize {
				l.Enabled = false
			}
		}
	}
	return l
}

// without is labels without those dropped, nil (keep all) if none is.
func without(labels []string, drop ...string) []string {
	kept := make([]string, 0, len(labels))
	for _, l := range labels {
		if !slices.Contains(drop, l) {
			kept = append(kept, l)
		}
	}
	if len(kept) == len(labels) {
		return nil
	}
	return kept
}
