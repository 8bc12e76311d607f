package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// progress tells on stderr what is being done and for how long. The zero value
// is silent.
type progress struct {
	w        io.Writer
	terminal bool

	mu    sync.Mutex
	phase string
	since time.Time
	done  chan struct{}
	wg    sync.WaitGroup
}

// newProgress speaks if asked to, or if w is a terminal.
func newProgress(w io.Writer, asked bool) *progress {
	p := &progress{}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.terminal = true
		}
	}
	if !asked && !p.terminal {
		return p
	}
	p.w, p.done = w, make(chan struct{})
	if p.terminal {
		p.wg.Go(p.tick)
	}
	return p
}

// begin names what is being done from now on.
func (p *progress) begin(phase string) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	p.phase, p.since = phase, time.Now()
	if !p.terminal {
		fmt.Fprintf(p.w, "%s\n", phase)
	} else {
		fmt.Fprintf(p.w, "\r\x1b[K%s", phase)
	}
}

// end says how long a phase took; p.mu is held.
func (p *progress) end() {
	if p.phase == "" {
		return
	}
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	} else if took := time.Since(p.since); took >= time.Second {
		fmt.Fprintf(p.w, "%s: %.0f s\n", p.phase, took.Seconds())
	}
	p.phase = ""
}

func (p *progress) tick() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-t.C:
			p.mu.Lock()
			if p.phase != "" {
				fmt.Fprintf(p.w, "\r\x1b[K%s (%.0f s)", p.phase, time.Since(p.since).Seconds())
			}
			p.mu.Unlock()
		}
	}
}

func (p *progress) stop() {
	if p.w == nil {
		return
	}
	close(p.done)
	p.wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	p.w = nil
}
