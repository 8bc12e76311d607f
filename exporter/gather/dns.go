package gather

import (
	"context"
	"net"
	"sync"
	"time"
)

// resolver turns advertised host names into addresses without ever holding up
// a round: a name is looked up in the background and known from the next round on.
type resolver struct {
	mu    sync.Mutex
	known map[string]resolved
}

type resolved struct {
	ip      string
	at      time.Time
	pending bool
}

const (
	resolveEvery   = 5 * time.Minute
	resolveTimeout = 5 * time.Second
)

func newResolver() *resolver { return &resolver{known: map[string]resolved{}} }

// lookup returns the host's first address, "" while it is not known.
func (r *resolver) lookup(ctx context.Context, host string) string {
	if ip := net.ParseIP(host); ip != nil {
		return ip.String()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.known[host]
	if !e.pending && time.Since(e.at) > resolveEvery {
		e.pending = true
		r.known[host] = e
		go r.resolve(context.WithoutCancel(ctx), host)
	}
	return e.ip
}

func (r *resolver) resolve(ctx context.Context, host string) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	ips, err := net.DefaultResolver.LookupHost(ctx, host)
	r.mu.Lock()
	defer r.mu.Unlock()
	e := resolved{at: time.Now(), ip: r.known[host].ip}
	if err == nil && len(ips) > 0 {
		e.ip = ips[0]
	}
	r.known[host] = e
}
