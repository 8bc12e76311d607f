package fake

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// cacheLimit bounds the encoded bytes (bodies and responses) that are kept.
const cacheLimit = 256 << 20

// cache holds encoded responses by identical request. A response is kept only
// when its request is seen for the second time: clients that fill a request
// from a Go map never send the same bytes twice, and such requests would fill
// the cache in vain.
type cache struct {
	on  atomic.Bool
	gen atomic.Uint64

	mu    sync.RWMutex
	m     map[fullKey][]byte
	seen  map[uint64]struct{} // hashes of requests seen once
	bytes int
	seed  maphash.Seed

	hits, misses atomic.Int64
}

type cacheKey struct {
	broker       int32 // 0 when all brokers answer the same
	key, version int16
}

type fullKey struct {
	cacheKey
	body string
}

// CacheStats are the figures of the response cache of a frozen cluster.
type CacheStats struct {
	Hits, Misses int64 // requests since Freeze
	Entries      int   // responses kept
	Bytes        int   // bytes of request bodies and responses kept
}

// Freeze starts to serve identical requests (same broker, API, version, body)
// from encoded bytes, from their third time on; the first two times prove that
// a client repeats itself, and fill the cache. Requests to which a rule applies
// and those that change the state or wait are not cached. Update stays
// possible; it empties the cache.
func (c *Cluster) Freeze() {
	c.cache.clear()
	c.cache.hits.Store(0)
	c.cache.misses.Store(0)
	c.cache.on.Store(true)
}

// CacheStats returns the figures of the response cache.
func (c *Cluster) CacheStats() CacheStats {
	c.cache.mu.RLock()
	defer c.cache.mu.RUnlock()
	return CacheStats{c.cache.hits.Load(), c.cache.misses.Load(), len(c.cache.m), c.cache.bytes}
}

func (k *cache) init() {
	k.seed = maphash.MakeSeed()
	k.clear()
}

func (k *cache) frozen() bool       { return k.on.Load() }
func (k *cache) generation() uint64 { return k.gen.Load() }

func (k *cache) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gen.Add(1)
	k.m, k.seen, k.bytes = map[fullKey][]byte{}, map[uint64]struct{}{}, 0
}

func (k *cache) get(ck cacheKey, body []byte) []byte {
	k.mu.RLock()
	tail := k.m[fullKey{ck, string(body)}]
	k.mu.RUnlock()
	if tail == nil {
		k.misses.Add(1)
	} else {
		k.hits.Add(1)
	}
	return tail
}

// put keeps a response that was made from the state of generation gen.
func (k *cache) put(gen uint64, ck cacheKey, body, tail []byte) {
	var h maphash.Hash
	h.SetSeed(k.seed)
	h.Write([]byte{byte(ck.broker), byte(ck.broker >> 8), byte(ck.broker >> 16), byte(ck.key), byte(ck.version)})
	h.Write(body)
	sum := h.Sum64()

	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gen.Load() != gen {
		return
	}
	if _, again := k.seen[sum]; !again {
		if len(k.seen) >= 1<<20 {
			clear(k.seen)
		}
		k.seen[sum] = struct{}{}
		return
	}
	if k.bytes+len(body)+len(tail) > cacheLimit {
		return
	}
	k.m[fullKey{ck, string(body)}] = tail
	k.bytes += len(body) + len(tail)
}

// cacheableKey is whether an API only reads the state and never waits.
func cacheableKey(key int16) bool {
	switch kmsg.Key(key) {
	case kmsg.Produce, kmsg.OffsetCommit, kmsg.InitProducerID, kmsg.Fetch, kmsg.SASLHandshake, kmsg.SASLAuthenticate:
		return false
	}
	return handlerFor(key) != nil
}

// cacheBroker is the broker to key a response by: 0 for the APIs that every
// broker answers alike, of which the large Metadata response is one.
func cacheBroker(key int16, broker int32) int32 {
	switch kmsg.Key(key) {
	case kmsg.Metadata, kmsg.FindCoordinator, kmsg.DescribeCluster, kmsg.ListPartitionReassignments,
		kmsg.DescribeClientQuotas, kmsg.DescribeACLs, kmsg.DescribeQuorum:
		return 0
	}
	return broker
}
