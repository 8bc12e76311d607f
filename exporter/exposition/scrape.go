package exposition

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
)

// account is what happened to one family of one source in one scrape.
type account struct {
	// series were written; folded ones are part of the series that stands for
	// the rest; dropped ones could not be merged; duplicates were given twice.
	series, folded, dropped, duplicates int
	failed                              bool
}

// scrape renders once. It is reused, so that a scrape needs no memory of its own.
type scrape struct {
	out      output
	emitter  Emitter
	families []Family
	sources  []Source
	// accounts of source s, family f: s*len(families)+f.
	accounts []account
	// panics that render functions ended in.
	panics []renderPanic
}

type renderPanic struct {
	family, cluster, stack string
	value                  any
}

var scrapes = sync.Pool{New: func() any {
	s := &scrape{}
	s.out.buf = make([]byte, 0, chunk+chunk/4)
	s.emitter.out, s.emitter.scrape = &s.out, s
	return s
}}

func newScrape(w io.Writer, f format, families []Family, sources []Source) *scrape {
	s := scrapes.Get().(*scrape)
	s.out = output{w: w, format: f, buf: s.out.buf[:0]}
	s.families, s.sources = families, sources
	n := len(families) * len(sources)
	s.accounts = slices.Grow(s.accounts[:0], n)[:n]
	clear(s.accounts)
	return s
}

// free gives the scrape back, with no hold on any snapshot.
func (s *scrape) free() {
	e := &s.emitter
	e.line.names = nil // a family's own
	for _, held := range [][]string{e.line.last, e.merger.labels, e.merger.seen} {
		clear(held[:cap(held)])
	}
	clear(e.filters[:cap(e.filters)])
	e.merger.reset()
	e.family, e.acct, e.limits = nil, nil, Limits{}
	s.families, s.sources, s.panics, s.out.w = nil, nil, nil, nil
	scrapes.Put(s)
}

// run renders all families, each for all sources before the next.
func (s *scrape) run(ctx context.Context) error {
	for i := range s.families {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("scrape given up before family %s: %w", s.families[i].Name, err)
		}
		if s.out.format == protobuf {
			s.sized(ctx, i)
		} else {
			s.out.headed = false
			s.family(ctx, i)
		}
		if s.out.err != nil {
			return fmt.Errorf("writing family %s: %w", s.families[i].Name, s.out.err)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("scrape given up in its last family: %w", err)
	}
	return nil
}

// sized writes a protobuf family, whose size comes first: it is rendered
// twice, once for the size. A snapshot never changes, so both agree.
func (s *scrape) sized(ctx context.Context, i int) {
	s.out.sizing, s.out.size = true, 0
	s.family(ctx, i)
	s.out.sizing = false
	if s.out.size == 0 || ctx.Err() != nil {
		return
	}
	for si := range s.sources {
		*s.account(si, i) = account{}
	}
	s.out.protoHeader(&s.families[i])
	s.family(ctx, i)
}

// family renders one family for all sources.
func (s *scrape) family(ctx context.Context, i int) {
	for si := range s.sources {
		if s.out.err != nil || ctx.Err() != nil {
			return
		}
		if l := s.sources[si].limits(&s.families[i]); l.Enabled {
			s.render(i, si, l)
		}
	}
}

// render renders one family for one source. A panic of the render function
// costs the family's remaining series, never the scrape.
func (s *scrape) render(fi, si int, l Limits) {
	f, c := &s.families[fi], s.sources[si].Snapshot
	a := s.account(si, fi)
	s.emitter.source = si
	s.emitter.begin(f, l, c.Name, a)
	defer func() {
		if p := recover(); p != nil {
			a.failed = true
			if !s.out.sizing {
				s.panics = append(s.panics, renderPanic{f.Name, c.Name, string(debug.Stack()), p})
			}
		}
	}()
	f.Render(c, &s.emitter)
	s.emitter.finish()
}

func (s *scrape) account(source, family int) *account {
	return &s.accounts[source*len(s.families)+family]
}

// WriteText writes all families of all sources in the text format 0.0.4. The
// error is the writer's.
func WriteText(w io.Writer, families []Family, sources []Source) error {
	s := newScrape(w, text, families, sources)
	defer s.free()
	if err := s.run(context.Background()); err != nil {
		return err
	}
	s.out.flush()
	return s.out.err
}
