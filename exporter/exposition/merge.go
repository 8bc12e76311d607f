package exposition

import (
	"encoding/binary"
	"slices"
)

// filter decides by one label's value. Neighbours mostly share it, so the last
// decision is remembered.
type filter struct {
	label            int
	include, exclude Matcher
	seen             bool
	last             string
	lastOK           bool
}

func appendFilters(dst []filter, labels []string, l *Limits) []filter {
	if len(l.Include) == 0 && len(l.Exclude) == 0 {
		return dst
	}
	for i, name := range labels {
		f := filter{label: i, include: l.Include[name], exclude: l.Exclude[name]}
		if f.include != nil || f.exclude != nil {
			dst = append(dst, f)
		}
	}
	return dst
}

func (f *filter) match(labels []string) bool {
	v := labels[f.label]
	if f.seen && v == f.last {
		return f.lastOK
	}
	ok := (f.include == nil || f.include.MatchString(v)) && (f.exclude == nil || !f.exclude.MatchString(v))
	f.seen, f.last, f.lastOK = true, v, ok
	return ok
}

// merger folds series that differ only in dropped labels. Where series come
// grouped by the kept labels one running value does; else there is a map.
type merger struct {
	on     bool
	runs   bool
	keep   []int
	names  []string
	labels []string // kept values of the row at hand
	key    []byte

	open bool // runs: there is a running value
	run  merged
	seen []string // runs: its labels

	index  map[string]int
	all    []merged
	values []string // len(keep) for each of all
}

// merged is one folded series.
type merged struct {
	value number
	rows  int
}

// begin gives the labels that are kept.
func (m *merger) begin(d *Desc, keepLabels []string) []string {
	m.on, m.open = false, false
	m.reset()
	if keepLabels == nil && !d.Merge {
		return d.Labels
	}
	m.keep = m.keep[:0]
	if keepLabels == nil {
		keepLabels = d.Labels
	}
	m.keep = indexes(m.keep, d.Labels, keepLabels)
	if len(m.keep) == len(d.Labels) && !d.Merge {
		return d.Labels
	}
	m.on, m.runs = true, !d.Merge && len(m.keep) <= d.Grouped
	m.names = m.names[:0]
	for at, i := range m.keep {
		m.names = append(m.names, d.Labels[i])
		m.runs = m.runs && at == i
	}
	return m.names
}

func (m *merger) reset() {
	clear(m.index)
	clear(m.values)
	m.all, m.values = m.all[:0], m.values[:0]
}

func (e *Emitter) merge(n number, labels []string) {
	m := &e.merger
	m.labels = m.labels[:0]
	for _, i := range m.keep {
		m.labels = append(m.labels, labels[i])
	}
	if !m.runs {
		e.mergeMapped(n)
		return
	}
	if m.open && slices.Equal(m.labels, m.seen) {
		m.run = m.run.add(e.family.Fold, n)
		return
	}
	e.flushRun()
	m.open, m.run = true, merged{n, 1}
	m.seen = append(m.seen[:0], m.labels...)
}

func (a merged) add(how Fold, n number) merged {
	return merged{fold(how, a.value, n), a.rows + 1}
}

func (e *Emitter) mergeMapped(n number) {
	m := &e.merger
	i, ok := m.find()
	if ok {
		m.all[i] = m.all[i].add(e.family.Fold, n)
		return
	}
	// The map must not outgrow the bound: strangers choose some labels.
	if e.gate.bounded && len(m.all) >= e.gate.max {
		e.overflow(n, 1)
		return
	}
	m.insert(len(m.all))
	m.all = append(m.all, merged{n, 1})
	m.values = append(m.values, m.labels...)
}

// find looks the row at hand up. One label is its own key; several are made
// into one that cannot be ambiguous.
func (m *merger) find() (int, bool) {
	if len(m.labels) == 1 {
		i, ok := m.index[m.labels[0]]
		return i, ok
	}
	m.key = m.key[:0]
	for _, l := range m.labels {
		m.key = binary.AppendUvarint(m.key, uint64(len(l)))
		m.key = append(m.key, l...)
	}
	i, ok := m.index[string(m.key)]
	return i, ok
}

// insert files the row that find did not find under i.
func (m *merger) insert(i int) {
	if m.index == nil {
		m.index = map[string]int{}
	}
	if len(m.labels) == 1 {
		m.index[m.labels[0]] = i
		return
	}
	m.index[string(m.key)] = i
}

func (e *Emitter) flushMerged() {
	m := &e.merger
	if m.runs {
		e.flushRun()
		return
	}
	k := len(m.keep)
	for i, a := range m.all {
		e.passMerged(a, m.values[i*k:(i+1)*k])
	}
}

func (e *Emitter) flushRun() {
	if e.merger.open {
		e.passMerged(e.merger.run, e.merger.seen)
		e.merger.open = false
	}
}

func (e *Emitter) passMerged(a merged, labels []string) {
	if e.family.Fold == None && a.rows > 1 {
		e.acct.dropped += a.rows
		return
	}
	e.pass(a.value, a.rows, labels)
}
