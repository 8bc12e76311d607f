package fake

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka error codes that the default handlers answer.
const (
	errOffsetOutOfRange         = 1
	errUnknownTopicOrPartition  = 3
	errLeaderNotAvailable       = 5
	errNotLeader                = 6
	errReplicaNotAvailable      = 9
	errCoordinatorNotAvailable  = 15
	errNotCoordinator           = 16
	errTopicAuthorization       = 29
	errGroupAuthorization       = 30
	errUnsupportedSASL          = 33
	errIllegalSASLState         = 34
	errUnsupportedVersion       = 35
	errInvalidRequest           = 42
	errStorage                  = 56
	errSASLAuthentication       = 58
	errGroupIDNotFound          = 69
	errFetchSessionNotFound     = 70
	errFencedLeaderEpoch        = 74
	errUnknownLeaderEpoch       = 76
	errUnknownTopicID           = 100
	errTransactionalIDNotFound  = 105
	errInvalidRegularExpression = 128
	errMismatchedEndpointType   = 114
	errUnsupportedEndpointType  = 115
)

// noOperations is the answer for authorized operations that were not asked
// for.
const noOperations = -1 << 31

// handler is a default handler. It fills resp while the state is locked, for
// writing if writes is set. idle says that the request may wait for data.
type handler struct {
	writes bool
	fn     func(c *Cluster, broker int32, req kmsg.Request, resp kmsg.Response) (idle bool)
}

// on makes a handler that only reads the state.
func on[Q kmsg.Request, P kmsg.Response](fn func(s *State, broker int32, req Q, resp P)) *handler {
	return &handler{fn: func(c *Cluster, broker int32, req kmsg.Request, resp kmsg.Response) bool {
		fn(c.state, broker, req.(Q), resp.(P))
		return false
	}}
}

// writing makes a handler that changes the state.
func writing[Q kmsg.Request, P kmsg.Response](fn func(s *State, broker int32, req Q, resp P)) *handler {
	h := on(fn)
	h.writes = true
	return h
}

var handlers = [kmsg.MaxKey + 1]*handler{
	kmsg.ApiVersions: {fn: func(c *Cluster, broker int32, _ kmsg.Request, resp kmsg.Response) bool {
		c.apiVersions(broker, resp.(*kmsg.ApiVersionsResponse))
		return false
	}},
	kmsg.Fetch: {fn: func(c *Cluster, broker int32, req kmsg.Request, resp kmsg.Response) bool {
		return fetch(c.state, broker, req.(*kmsg.FetchRequest), resp.(*kmsg.FetchResponse))
	}},

	kmsg.Metadata:                   on(metadata),
	kmsg.DescribeCluster:            on(describeCluster),
	kmsg.FindCoordinator:            on(findCoordinator),
	kmsg.ListOffsets:                on(listOffsets),
	kmsg.OffsetForLeaderEpoch:       on(offsetForLeaderEpoch),
	kmsg.ListGroups:                 on(listGroups),
	kmsg.DescribeGroups:             on(describeGroups),
	kmsg.ConsumerGroupDescribe:      on(consumerGroupDescribe),
	kmsg.ShareGroupDescribe:         on(shareGroupDescribe),
	kmsg.StreamsGroupDescribe:       on(streamsGroupDescribe),
	kmsg.DescribeShareGroupOffsets:  on(describeShareGroupOffsets),
	kmsg.OffsetFetch:                on(offsetFetch),
	kmsg.DescribeLogDirs:            on(describeLogDirs),
	kmsg.DescribeConfigs:            on(describeConfigs),
	kmsg.ListPartitionReassignments: on(listPartitionReassignments),
	kmsg.DescribeClientQuotas:       on(describeClientQuotas),
	kmsg.DescribeACLs:               on(describeACLs),
	kmsg.ListTransactions:           on(listTransactions),
	kmsg.DescribeTransactions:       on(describeTransactions),
	kmsg.DescribeProducers:          on(describeProducers),
	kmsg.DescribeQuorum:             on(describeQuorum),
	kmsg.Produce:                    writing(produce),
	kmsg.OffsetCommit:               writing(offsetCommit),
	kmsg.InitProducerID:             on(initProducerID),
}

// handlerFor returns an API's default handler, or nil.
func handlerFor(key int16) *handler {
	if key < 0 || int(key) >= len(handlers) {
		return nil
	}
	return handlers[key]
}

// run lets a handler answer and encodes its response while the state is
// still locked, since responses share slices with the state.
func (c *Cluster) run(h *handler, broker int32, req kmsg.Request) (tail []byte, idle bool) {
	resp := req.ResponseKind()
	if h.writes {
		c.mu.Lock()
		defer c.mu.Unlock()
		defer c.touch()
	} else {
		c.mu.RLock()
		defer c.mu.RUnlock()
	}
	idle = h.fn(c, broker, req, resp)
	return encode(resp), idle
}

// defaultTail runs the default handler for a request of this connection. A
// nil tail without error means that nothing is answered.
func (cn *conn) defaultTail(req kmsg.Request) ([]byte, error) {
	switch req := req.(type) {
	case *kmsg.SASLHandshakeRequest:
		return encode(cn.handshake(req)), nil
	case *kmsg.SASLAuthenticateRequest:
		return encode(cn.authenticate(req)), nil
	case *kmsg.FetchRequest:
		return cn.fetchTail(req)
	}
	h := handlerFor(req.Key())
	if h == nil {
		return nil, fmt.Errorf("%s has no default handler: %w", kmsg.NameForKey(req.Key()), errHangUp)
	}
	tail, _ := cn.c.run(h, cn.b.id, req)
	if p, ok := req.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
		return nil, nil
	}
	return tail, nil
}

// fetchTail waits for data as long as the request allows.
func (cn *conn) fetchTail(req *kmsg.FetchRequest) ([]byte, error) {
	deadline := time.NewTimer(time.Duration(req.MaxWaitMillis) * time.Millisecond)
	defer deadline.Stop()
	for late := false; ; {
		cn.c.mu.RLock()
		changed := cn.c.changed
		cn.c.mu.RUnlock()
		tail, idle := cn.c.run(handlers[kmsg.Fetch], cn.b.id, req)
		if !idle || late || req.MinBytes == 0 {
			return tail, nil
		}
		select {
		case <-changed:
		case <-deadline.C:
			late = true
		case <-cn.closed:
			return nil, errHangUp
		case <-cn.c.done:
			return nil, errHangUp
		}
	}
}
