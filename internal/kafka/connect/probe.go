package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

const (
	// probeTimeout bounds the search for the reason of a closed connection.
	probeTimeout = 3 * time.Second
	// probeAgain is how long an answer is kept: a client that retries must not
	// double the connections that a broker sees.
	probeAgain = time.Minute
	// probesKept bounds the memory; there is one entry per failing address.
	probesKept = 1000
)

// tlsProbe finds out whether a listener that closed a plaintext connection
// without a word wants TLS. Kafka itself sends a TLS alert, which needs no
// probe; proxies and older Java versions do not.
type tlsProbe struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	mu    sync.Mutex
	known map[string]probeResult
}

type probeResult struct {
	tls bool
	at  time.Time
}

// speaksTLS reports whether the listener at addr answers a TLS greeting with TLS.
func (p *tlsProbe) speaksTLS(addr string) bool {
	p.mu.Lock()
	r, ok := p.known[addr]
	p.mu.Unlock()
	if ok && time.Since(r.at) < probeAgain {
		return r.tls
	}
	r = probeResult{tls: p.greet(addr), at: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= probesKept {
		p.known = map[string]probeResult{}
	}
	p.known[addr] = r
	return r.tls
}

func (p *tlsProbe) greet(addr string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	raw, err := p.dial(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer raw.Close()
	host, _, _ := net.SplitHostPort(addr)
	// Nothing is sent over this connection and nothing it says is trusted:
	// any TLS answer is the answer, also from an unknown authority.
	err = tls.Client(raw, &tls.Config{ServerName: host, InsecureSkipVerify: true}).HandshakeContext(ctx)
	if err == nil {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error" // a TLS alert
}
