package fake

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Action says what happens to a request that a rule has seen. The zero value
// is Pass.
type Action struct {
	kind  actionKind
	until <-chan struct{}
	raw   []byte
}

type actionKind uint8

const (
	actPass actionKind = iota
	actAnswer
	actDrop
	actSwallow
	actDelay
	actGarbage
	actHalf
)

var (
	// Pass leaves the request to the next rule and, in the end, to the
	// default handler.
	Pass = Action{}
	// Answer answers with the rule's response (nil: the default one).
	Answer = Action{kind: actAnswer}
	// Drop closes the connection without an answer.
	Drop = Action{kind: actDrop}
	// Swallow never answers. Since a broker answers a connection's requests
	// in order, later requests of that connection stay unanswered too; the
	// connection stays open until the client closes it.
	Swallow = Action{kind: actSwallow}
	// HalfFrame sends the first half of the answer's frame (the rule's
	// response, or the default one if nil) and closes the connection.
	HalfFrame = Action{kind: actHalf}
)

// Delay holds the request back until ch is closed and then answers with the
// rule's response, or with the default handler's as of then if that is nil.
func Delay(ch <-chan struct{}) Action { return Action{kind: actDelay, until: ch} }

// Garbage writes b in place of the response frame (nothing is added, not even
// a size) and keeps the connection open.
func Garbage(b []byte) Action { return Action{kind: actGarbage, raw: slices.Clone(b)} }

// Rule looks at a request to a broker and decides. It runs on the
// connection's goroutine; it must not keep req. A response to return is best
// made by req.ResponseKind() or by [Cluster.Default].
type Rule func(broker int32, req kmsg.Request) (kmsg.Response, Action)

type rule struct {
	key int16 // -1 = any
	fn  Rule
}

// Intercept adds a rule for all requests. Rules are asked in the order in
// which they were added until one does not pass. The returned function removes
// the rule.
func (c *Cluster) Intercept(fn Rule) (remove func()) { return c.addRule(-1, fn) }

// OnKey is Intercept for one API. It does not make brokers offer an API that
// has no default handler: see SetVersions.
func (c *Cluster) OnKey(key kmsg.Key, fn Rule) (remove func()) { return c.addRule(key.Int16(), fn) }

func (c *Cluster) addRule(key int16, fn Rule) func() {
	r := &rule{key, fn}
	c.ctlMu.Lock()
	defer c.ctlMu.Unlock()
	c.rules = append(slices.Clip(c.rules), r)
	return func() {
		c.ctlMu.Lock()
		defer c.ctlMu.Unlock()
		c.rules = slices.DeleteFunc(slices.Clone(c.rules), func(o *rule) bool { return o == r })
	}
}

// Default returns what the default handler answers to req at a broker, for a
// rule that only wants to change a detail; nil when there is no such handler.
// A Fetch is answered at once, without its wait.
func (c *Cluster) Default(broker int32, req kmsg.Request) kmsg.Response {
	h := handlerFor(req.Key())
	if h == nil {
		return nil
	}
	tail, _ := c.run(h, broker, req)
	// Decoded anew, so that the caller's copy shares nothing with the state.
	resp := req.ResponseKind()
	if resp.IsFlexible() && resp.Key() != kmsg.ApiVersions.Int16() {
		tail = tail[1:]
	}
	if err := resp.ReadFrom(tail); err != nil {
		panic(fmt.Sprintf("fake: %s v%d: kmsg does not read what it wrote: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err))
	}
	return resp
}

func (c *Cluster) rulesFor(key int16) []*rule {
	c.ctlMu.RLock()
	defer c.ctlMu.RUnlock()
	for i, r := range c.rules {
		if r.key == key || r.key < 0 {
			return c.rules[i:]
		}
	}
	return nil
}

func applyRules(rules []*rule, broker int32, req kmsg.Request) (kmsg.Response, Action) {
	for _, r := range rules {
		if r.key != req.Key() && r.key >= 0 {
			continue
		}
		if resp, act := r.fn(broker, req); act.kind != actPass {
			return resp, act
		}
	}
	return nil, Pass
}

// act carries out a rule's decision; an error closes the connection.
func (cn *conn) act(h header, req kmsg.Request, resp kmsg.Response, act Action) error {
	switch act.kind {
	case actDrop:
		return errHangUp
	case actSwallow:
		return cn.wait(nil)
	case actGarbage:
		_, err := cn.nc.Write(act.raw)
		return err
	case actDelay:
		if err := cn.wait(act.until); err != nil {
			return err
		}
	}
	var tail []byte
	if resp != nil {
		resp.SetVersion(h.version)
		tail = encode(resp)
	} else {
		var err error
		if tail, err = cn.defaultTail(req); err != nil || tail == nil {
			return err
		}
	}
	if act.kind == actHalf {
		head := frameHead(h.corr, len(tail))
		frame := append(head[:], tail...)
		cn.nc.Write(frame[:max(len(frame)/2, 5)])
		return errHangUp
	}
	return cn.write(h.corr, tail)
}
