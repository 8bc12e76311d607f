package fake

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// Cost is what serving some requests took.
type Cost struct {
	Requests int
	Bytes    int64         // of response frames
	Wall     time.Duration // elapsed
	CPU      time.Duration // user + system of the whole process; 0 where the system does not tell
}

// MeasureHandling answers recorded requests in the calling goroutine, without
// sockets: what the fake spends on handlers, encoding and cache lookups, the
// lower bound of its share in a process. CPU is the whole process's, so the
// process should do nothing else meanwhile. Requests that change the state
// change it again; unanswerable ones are left out.
func (c *Cluster) MeasureHandling(requests []Request) (Cost, error) {
	var cost Cost
	start, cpu := time.Now(), ProcessCPU()
	for _, r := range requests {
		n, err := c.replay(r)
		if err != nil {
			return cost, fmt.Errorf("fake: replay %s v%d at broker %d: %w", r.Name(), r.Version, r.Broker, err)
		}
		if n > 0 {
			cost.Requests++
			cost.Bytes += int64(n)
		}
	}
	cost.Wall, cost.CPU = time.Since(start), ProcessCPU()-cpu
	return cost, nil
}

// replay answers one request as a connection does, without rules, and returns
// the size of the response frame, 0 when there is no handler.
func (c *Cluster) replay(r Request) (int, error) {
	h := handlerFor(r.Key)
	if h == nil {
		return 0, nil
	}
	body := []byte(r.body)
	cacheable := c.cache.frozen() && cacheableKey(r.Key)
	ck := cacheKey{cacheBroker(r.Key, r.Broker), r.Key, r.Version}
	if cacheable {
		if tail := c.cache.get(ck, body); tail != nil {
			return 8 + len(tail), nil
		}
	}
	gen := c.cache.generation()
	req, err := decode(header{key: r.Key, version: r.Version}, body, cacheableKey(r.Key))
	if err != nil {
		return 0, err
	}
	tail, _ := c.run(h, r.Broker, req)
	if cacheable {
		c.cache.put(gen, ck, body, tail)
	}
	return 8 + len(tail), nil
}

// MeasureServing sends recorded requests over real connections, one after the
// other, and throws the answers away: handling plus sockets plus the least that
// a client can do, the upper bound of the fake's share in a process. The
// requests are recorded again. It is not for clusters with TLS or SASL.
func (c *Cluster) MeasureServing(ctx context.Context, requests []Request) (Cost, error) {
	var cost Cost
	conns := map[int32]net.Conn{}
	defer func() {
		for _, nc := range conns {
			nc.Close()
		}
	}()
	for _, r := range requests {
		if conns[r.Broker] == nil {
			nc, err := new(net.Dialer).DialContext(ctx, "tcp", c.Addr(r.Broker))
			if err != nil {
				return cost, fmt.Errorf("fake: measure serving: dial broker %d: %w", r.Broker, err)
			}
			if t, ok := ctx.Deadline(); ok {
				_ = nc.SetDeadline(t)
			}
			conns[r.Broker] = nc
		}
	}
	buf := make([]byte, 0, 64<<10)
	discard := make([]byte, 256<<10)
	start, cpu := time.Now(), ProcessCPU()
	for _, r := range requests {
		n, err := roundTrip(conns[r.Broker], r, buf, discard)
		if err != nil {
			return cost, fmt.Errorf("fake: measure serving: %s v%d at broker %d: %w", r.Name(), r.Version, r.Broker, err)
		}
		cost.Requests++
		cost.Bytes += n
	}
	cost.Wall, cost.CPU = time.Since(start), ProcessCPU()-cpu
	return cost, nil
}

func roundTrip(nc net.Conn, r Request, buf, discard []byte) (int64, error) {
	buf = append(buf[:0], 0, 0, 0, 0)
	buf = binary.BigEndian.AppendUint16(buf, uint16(r.Key))
	buf = binary.BigEndian.AppendUint16(buf, uint16(r.Version))
	buf = append(buf, 0, 0, 0, 1, 0xff, 0xff) // correlation id 1, no client id
	if flexible(r.Key, r.Version) {
		buf = append(buf, 0)
	}
	buf = append(buf, r.body...)
	binary.BigEndian.PutUint32(buf, uint32(len(buf)-4))
	if _, err := nc.Write(buf); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(nc, discard[:4]); err != nil {
		return 0, err
	}
	size := int64(binary.BigEndian.Uint32(discard))
	for left := size; left > 0; {
		n, err := nc.Read(discard[:min(left, int64(len(discard)))])
		left -= int64(n)
		if err != nil && left > 0 {
			return 0, err
		}
	}
	return size + 4, nil
}
