package exposition

import (
	"fmt"
	"math"
)

// Emitter takes the series of one family of one cluster. It belongs to the
// scrape that made it: render functions must not keep it, nor use it from
// another goroutine.
type Emitter struct {
	out  *output
	acct *account
	// scrape and source tell families of accounting where to look.
	scrape *scrape
	source int

	family *Family
	arity  int
	limits Limits

	// direct: rows go to pass as they are, neither filtered nor merged.
	direct  bool
	filters []filter
	merger  merger
	gate    gate
	line    line
}

// Add emits a series. There is one value per label of the family's Desc.
func (e *Emitter) Add(value float64, labelValues ...string) {
	e.emit(newFloat(value), labelValues)
}

// Int emits a series with a whole value.
func (e *Emitter) Int(value int64, labelValues ...string) {
	e.emit(number{kind: integer, i: value}, labelValues)
}

// Bool emits a series of 1 or 0.
func (e *Emitter) Bool(value bool, labelValues ...string) {
	n := number{kind: integer}
	if value {
		n.i = 1
	}
	e.emit(n, labelValues)
}

// Millis emits a number of milliseconds, a duration or a Unix time, in seconds.
func (e *Emitter) Millis(ms int64, labelValues ...string) {
	e.emit(number{kind: thousandths, i: ms}, labelValues)
}

// Seconds emits seconds rounded to milliseconds, so that no digits are shown
// that a float32 does not have.
func (e *Emitter) Seconds(s float64, labelValues ...string) {
	if math.IsInf(s, 0) || math.IsNaN(s) || math.Abs(s) > 1e15 {
		e.emit(newFloat(s), labelValues)
		return
	}
	e.emit(number{kind: thousandths, i: int64(math.Round(s * 1000))}, labelValues)
}

// Merging tells whether series are folded because labels are dropped. A family
// that leaves out series which say nothing new must not do so then, or sums
// would lack them.
func (e *Emitter) Merging() bool { return e.merger.on }

// emit must not let labels escape to the heap: the caller's variadic slice
// then lives on its stack and a series costs no allocation.
func (e *Emitter) emit(n number, labels []string) {
	if len(labels) != e.arity {
		panic(fmt.Sprintf("family %s has %d labels, a series was given %d", e.family.Name, e.arity, len(labels)))
	}
	if e.direct {
		e.pass(n, 1, labels)
		return
	}
	for i := range e.filters {
		if !e.filters[i].match(labels) {
			return
		}
	}
	if e.merger.on {
		e.merge(n, labels)
		return
	}
	e.pass(n, 1, labels)
}

// begin prepares the emitter for a family and a source.
func (e *Emitter) begin(f *Family, l Limits, cluster string, acct *account) {
	e.family, e.arity, e.limits, e.acct = f, len(f.Labels), l, acct
	e.filters = appendFilters(e.filters[:0], f.Labels, &l)
	kept := e.merger.begin(&f.Desc, l.KeepLabels)
	e.gate = gate{max: l.MaxSeries, bounded: l.MaxSeries > 0 && len(kept) > 0}
	e.line.begin(e.out.format, f, cluster, kept)
	e.direct = len(e.filters) == 0 && !e.merger.on
}

// finish writes what was held back.
func (e *Emitter) finish() {
	if e.merger.on {
		e.flushMerged()
	}
	if e.gate.folded {
		e.write(e.gate.value, e.line.others())
	}
}

// pass lets a series through unless there are too many; rows is how many
// emitted series it stands for.
func (e *Emitter) pass(n number, rows int, labels []string) {
	if e.gate.bounded {
		if e.line.rows >= e.gate.max {
			e.overflow(n, rows)
			return
		}
		// A real series of this name would be a duplicate of the folded one.
		if e.family.Fold != None && isOther(labels) {
			e.gate.add(e.family.Fold, n)
			return
		}
	}
	e.write(n, labels)
}

func (e *Emitter) overflow(n number, rows int) {
	if e.family.Fold == None {
		e.acct.dropped += rows
		return
	}
	e.acct.folded += rows
	e.gate.add(e.family.Fold, n)
}

// gate bounds the number of series.
type gate struct {
	bounded bool
	max     int
	folded  bool
	value   number
}

func (g *gate) add(how Fold, n number) {
	if g.folded {
		n = fold(how, g.value, n)
	}
	g.folded, g.value = true, n
}

func isOther(labels []string) bool {
	for _, l := range labels {
		if l != OtherValue {
			return false
		}
	}
	return len(labels) > 0
}

// write puts one series out.
func (e *Emitter) write(n number, labels []string) {
	if !e.line.set(labels) {
		e.acct.duplicates++
		return
	}
	e.acct.series++
	e.out.row(e.family, e.line.text, n)
}
