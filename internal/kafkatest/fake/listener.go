package fake

import (
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"sync"
)

// listener is the network side of one broker.
type listener struct {
	c    *Cluster
	id   int32
	host string
	port int // 0 until the first start

	mu    sync.Mutex
	ln    net.Listener // nil = stopped
	conns map[net.Conn]struct{}
	hole  chan struct{} // non-nil = black hole; closed on restore
}

func (b *listener) addr() string { return net.JoinHostPort(b.host, strconv.Itoa(b.port)) }

func (b *listener) start() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.c.done:
		return fmt.Errorf("fake: broker %d: the cluster is closed", b.id)
	default:
	}
	if b.ln != nil {
		return nil
	}
	ln, err := net.Listen("tcp", b.addr())
	if err != nil {
		return fmt.Errorf("fake: broker %d: listen on %s: %w (is the port taken, or the address family off?)", b.id, b.addr(), err)
	}
	b.ln, b.port = ln, ln.Addr().(*net.TCPAddr).Port
	if b.c.opts.tls != nil {
		ln = tls.NewListener(ln, b.c.opts.tls)
	}
	b.c.wg.Go(func() { b.accept(ln) })
	return nil
}

func (b *listener) accept(ln net.Listener) {
	for {
		nc, err := ln.Accept()
		if err != nil {
			return // closed
		}
		b.mu.Lock()
		if b.ln == nil {
			b.mu.Unlock()
			nc.Close()
			return
		}
		b.conns[nc] = struct{}{}
		b.mu.Unlock()
		b.c.wg.Go(func() {
			cn := &conn{c: b.c, b: b, nc: nc, closed: make(chan struct{})}
			cn.serve()
			b.mu.Lock()
			delete(b.conns, nc)
			b.mu.Unlock()
		})
	}
}

func (b *listener) stop() {
	b.mu.Lock()
	ln := b.ln
	b.ln = nil
	b.mu.Unlock()
	if ln != nil {
		ln.Close()
	}
	b.dropConns()
}

func (b *listener) dropConns() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for nc := range b.conns {
		nc.Close()
	}
}

func (b *listener) setHole(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case on && b.hole == nil:
		b.hole = make(chan struct{})
	case !on && b.hole != nil:
		close(b.hole)
		b.hole = nil
	}
}

func (b *listener) currentHole() chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hole
}
