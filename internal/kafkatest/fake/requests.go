package fake

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request is one recorded request.
type Request struct {
	Broker       int32
	Key, Version int16
	ClientID     string

	body string
}

// Name is the API's name, such as "Metadata".
func (r Request) Name() string { return kmsg.NameForKey(r.Key) }

// Decode decodes the request anew; the result is the caller's. It fails for
// an API or version that kmsg does not know and for a malformed body.
func (r Request) Decode() (kmsg.Request, error) {
	return decode(header{key: r.Key, version: r.Version}, []byte(r.body), false)
}

// Mentions is whether the request contains name as a Kafka string (a topic,
// a group …), in either of the protocol's two encodings. Topic ids are not
// looked at.
func (r Request) Mentions(name string) bool {
	long := string(binary.BigEndian.AppendUint16(nil, uint16(len(name)))) + name
	compact := string(binary.AppendUvarint(nil, uint64(len(name)+1))) + name
	return strings.Contains(r.body, long) || strings.Contains(r.body, compact)
}

// AskedFor returns the recorded requests that name a topic, or carry its id
// (that of the state, or if it has no such topic the one AddTopic would give).
func (c *Cluster) AskedFor(topic string) []Request {
	id := TopicID(topic)
	c.View(func(s *State) {
		if t := s.Topics[topic]; t != nil {
			id = t.ID
		}
	})
	var out []Request
	for _, r := range c.Requests() {
		if r.Mentions(topic) || strings.Contains(r.body, string(id[:])) {
			out = append(out, r)
		}
	}
	return out
}

// As decodes those requests that are of type R, for example
// As[*kmsg.MetadataRequest](c.Requests()); malformed ones are left out.
func As[R kmsg.Request](requests []Request) []R {
	var out []R
	for _, r := range requests {
		if req, err := r.Decode(); err == nil {
			if t, ok := req.(R); ok {
				out = append(out, t)
			}
		}
	}
	return out
}

// CountKey is what requests are counted by.
type CountKey struct {
	Broker       int32
	Key, Version int16
}

// requestLog records requests: all are counted, the first limit are kept.
type requestLog struct {
	mu      sync.Mutex
	limit   int
	kept    []Request
	counts  map[CountKey]int
	bodies  map[string]string // interned, since clients repeat themselves
	dropped int
}

func (l *requestLog) init(limit int) {
	l.limit, l.counts, l.bodies = limit, map[CountKey]int{}, map[string]string{}
}

func (l *requestLog) add(broker int32, h header, body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[CountKey{broker, h.key, h.version}]++
	if len(l.kept) >= l.limit {
		l.dropped++
		return
	}
	s, ok := l.bodies[string(body)]
	if !ok {
		s = string(body)
		l.bodies[s] = s
	}
	l.kept = append(l.kept, Request{broker, h.key, h.version, h.clientID, s})
}

// Requests returns the requests since the start or ResetRequests, in order of
// arrival per connection, of the given APIs (none given: all). Those that a
// black hole or a refused version left unanswered are among them.
func (c *Cluster) Requests(keys ...kmsg.Key) []Request {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	var out []Request
	for _, r := range c.log.kept {
		if len(keys) == 0 || containsKey(keys, r.Key) {
			out = append(out, r)
		}
	}
	return out
}

// Counts returns how often each API version was asked at each broker.
func (c *Cluster) Counts() map[CountKey]int {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	out := make(map[CountKey]int, len(c.log.counts))
	for k, n := range c.log.counts {
		out[k] = n
	}
	return out
}

// Count returns how many requests of the given APIs came (none given: of all).
func (c *Cluster) Count(keys ...kmsg.Key) int {
	n := 0
	for k, v := range c.Counts() {
		if len(keys) == 0 || containsKey(keys, k.Key) {
			n += v
		}
	}
	return n
}

// UnkeptRequests is how many requests were counted but not kept, because the
// limit of WithRequestLog was reached.
func (c *Cluster) UnkeptRequests() int {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	return c.log.dropped
}

// ResetRequests forgets all recorded requests and counts.
func (c *Cluster) ResetRequests() {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.log.kept, c.log.dropped = nil, 0
	clear(c.log.counts)
	clear(c.log.bodies)
}

func containsKey(keys []kmsg.Key, key int16) bool {
	for _, k := range keys {
		if k.Int16() == key {
			return true
		}
	}
	return false
}
