package exposition

import (
	"slices"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// self is the collector of families about the exporter.
const self = "self"

// Accounting are the families about the scrape itself. They count what was
// rendered before them, so they come last in a list of families.
func Accounting() []Family {
	return []Family{
		{
			Desc: Desc{
				Name:   "kafka_steward_collector_series",
				Help:   "Series in this scrape from the data of a collector of the exporter.",
				Labels: []string{"collector"},
			},
			Collector: self,
			Render:    renderCollectorSeries,
		},
		{
			Desc: Desc{
				Name: "kafka_steward_folded_series",
				Help: "Series of this scrape that exceeded the family's max_series and are part of the one series " +
					"whose labels are all \"other\".",
				Labels: []string{"family"},
			},
			Collector: self,
			Sparse:    "families that exceed it",
			Render: func(_ *snapshot.Cluster, e *Emitter) {
				e.accounts(func(f *Family, a *account) {
					if a.folded > 0 {
						e.Int(int64(a.folded), f.Name)
					}
				})
			},
		},
		{
			Desc: Desc{
				Name: "kafka_steward_dropped_series",
				Help: "Series of this scrape that were left out because they exceeded the family's limits and " +
					"their values cannot be merged.",
				Labels: []string{"family"},
			},
			Collector: self,
			Sparse:    "families that lost series",
			Render: func(_ *snapshot.Cluster, e *Emitter) {
				e.accounts(func(f *Family, a *account) {
					if a.dropped > 0 {
						e.Int(int64(a.dropped), f.Name)
					}
				})
			},
		},
		{
			Desc: Desc{
				Name:   "kafka_steward_failed_families",
				Help:   "1 for a family whose series are incomplete in this scrape because of an error in the exporter; its log tells which.",
				Labels: []string{"family"},
			},
			Collector: self,
			Sparse:    "families that failed",
			Render: func(_ *snapshot.Cluster, e *Emitter) {
				e.accounts(func(f *Family, a *account) {
					if a.failed {
						e.Int(1, f.Name)
					}
				})
			},
		},
	}
}

// accounts walks the accounts of the emitter's source.
func (e *Emitter) accounts(visit func(*Family, *account)) {
	s := e.scrape
	for fi := range s.families {
		if f := &s.families[fi]; f != e.family {
			visit(f, s.account(e.source, fi))
		}
	}
}

func renderCollectorSeries(_ *snapshot.Cluster, e *Emitter) {
	type count struct {
		collector string
		series    int
	}
	var counts []count
	e.accounts(func(f *Family, a *account) {
		i := slices.IndexFunc(counts, func(c count) bool { return c.collector == f.Collector })
		if i < 0 {
			i = len(counts)
			counts = append(counts, count{collector: f.Collector})
		}
		counts[i].series += a.series
	})
	for _, c := range counts {
		e.Int(int64(c.series), c.collector)
	}
}
