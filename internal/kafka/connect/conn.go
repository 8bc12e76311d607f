package connect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// Request keys (KIP-35 numbering) that come before a connection is usable.
const (
	keySaslHandshake    = 17
	keyApiVersions      = 18
	keySaslAuthenticate = 36
)

const (
	// maxFirstFrame bounds the first response, that to ApiVersions (some
	// kilobytes). Both clients allocate what a frame's length field says, and
	// sarama does so without limit here: an HTTP server's answer reads as 1.2 GB.
	maxFirstFrame = 1 << 20
	// freshFor is how long after its opening a lost connection can be blamed
	// on what was first sent over it.
	freshFor = 30 * time.Second
)

// conn guards the connection of a Kafka client. It reads the first bytes of
// the peer to tell a TLS listener or another protocol from a Kafka listener,
// says what a connection closed during its set-up means, and lets rewrite
// replace requests on their way out.
type conn struct {
	net.Conn
	addr    string
	tls     bool
	sasl    bool
	opened  time.Time
	rewrite func(frame []byte) ([]byte, error) // nil: send as is
	probe   func(addr string) bool             // tells whether a listener speaks TLS; nil: not asked
	sarama  bool                               // the client is sarama: see uselessConn

	head    []byte                // first bytes received, until judged; used by the reader only
	judged  bool                  // used by the reader only
	verdict atomic.Pointer[error] // set if the peer is not a Kafka listener: the connection is of no use
	lastKey atomic.Int32          // key of the last request written, -1 before the first
	served  atomic.Bool           // a request after the set-up was answered
}

func newConn(c net.Conn, addr string, tls, sasl bool) *conn {
	g := &conn{Conn: c, addr: addr, tls: tls, sasl: sasl, opened: time.Now()}
	g.lastKey.Store(-1)
	return g
}

// Write sends one whole request: both clients write request by request.
func (c *conn) Write(p []byte) (int, error) {
	if v := c.verdict.Load(); v != nil {
		return 0, *v
	}
	if len(p) >= 6 {
		c.lastKey.Store(int32(int16(binary.BigEndian.Uint16(p[4:6]))))
	}
	if c.rewrite == nil {
		return c.Conn.Write(p)
	}
	out, err := c.rewrite(p)
	if err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(out)
	if n == len(out) {
		n = len(p)
	}
	return min(n, len(p)), err
}

func (c *conn) Read(p []byte) (int, error) {
	if v := c.verdict.Load(); v != nil {
		return 0, *v
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		if !c.judged {
			if bad := c.judge(p[:n]); bad != nil {
				return 0, c.condemn(bad)
			}
		}
		if !c.settingUp() {
			c.served.Store(true)
		}
	}
	if err != nil {
		err = c.explain(err)
	}
	return n, err
}

const needsTLS = "the listener speaks TLS but tls is not configured for this connection"

// judge looks at the first bytes received, once there are enough of them.
func (c *conn) judge(p []byte) error {
	c.head = append(c.head, p[:min(len(p), 5)]...)
	if len(c.head) < 4 {
		return nil
	}
	head := c.head
	c.judged, c.head = true, nil
	if (head[0] == 0x15 || head[0] == 0x16) && head[1] == 3 && head[2] <= 4 && !c.tls {
		return &TLSMismatchError{Addr: c.addr, Err: errors.New(needsTLS)}
	}
	if size := binary.BigEndian.Uint32(head); size < 4 || size > maxFirstFrame {
		return &NotKafkaError{Addr: c.addr, Head: head[:4]}
	}
	return nil
}

// condemn makes err the answer to every further use of the connection.
func (c *conn) condemn(err error) error {
	if c.sarama {
		err = uselessConn{err}
	}
	c.verdict.Store(&err)
	return err
}

// uselessConn is an error after which sarama gives a connection up, and so
// later opens a new one: it does so only on errors that it knows. franz-go
// gives up on any error, but would retry on this one.
type uselessConn struct{ error }

func (e uselessConn) Unwrap() error { return e.error }

// Is makes it count as net.ErrClosed.
func (e uselessConn) Is(target error) bool { return target == net.ErrClosed }

// settingUp reports whether the last request written belongs to the set-up of
// the connection, and so says nothing about whether the broker serves it.
func (c *conn) settingUp() bool {
	switch c.lastKey.Load() {
	case -1, keyApiVersions:
		return true
	case keySaslHandshake, keySaslAuthenticate:
		return c.sasl
	}
	return false
}

// explain adds what a lost connection means if it was lost during its set-up.
// Brokers close without a word when a client has not authenticated, and some
// TLS listeners do when they are spoken to in plaintext.
func (c *conn) explain(err error) error {
	if !isHangUp(err) || c.served.Load() || time.Since(c.opened) > freshFor {
		return err
	}
	key := c.lastKey.Load()
	switch {
	case key == keySaslHandshake || key == keySaslAuthenticate:
		return &HangUpError{Addr: c.addr, During: "SASL authentication", auth: true, Err: err}
	case key != keyApiVersions && key != -1 && !c.sasl:
		return &HangUpError{Addr: c.addr, During: "the first request (does the listener require SASL?)", auth: true, Err: err}
	case key == keyApiVersions && c.probe != nil && c.probe(c.addr):
		// Not an io.EOF any more: the clients have their own guesses about that.
		return c.condemn(&TLSMismatchError{Addr: c.addr, Err: fmt.Errorf("%s: %v", needsTLS, err)})
	case key == keyApiVersions:
		return &HangUpError{Addr: c.addr, During: "the first request", Err: err}
	}
	return err
}

// isHangUp reports whether err means that the peer closed the connection.
func isHangUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// TLSMismatchError says that one side of a connection speaks TLS and the other
// does not, or that a TLS handshake failed.
type TLSMismatchError struct {
	// Addr is the broker's address.
	Addr string
	// Err is what happened.
	Err error
}

func (e *TLSMismatchError) Error() string { return fmt.Sprintf("TLS with %s: %v", e.Addr, e.Err) }

// Unwrap returns the cause.
func (e *TLSMismatchError) Unwrap() error { return e.Err }

// NotKafkaError says that the peer speaks another protocol than Kafka's.
type NotKafkaError struct {
	// Addr is the dialled address.
	Addr string
	// Head are the first four bytes received.
	Head []byte
}

func (e *NotKafkaError) Error() string {
	return fmt.Sprintf("%s does not speak the Kafka protocol (its answer begins with %q): check host and port", e.Addr, e.Head)
}

// HangUpError says at which point of its set-up a connection was closed by the broker.
type HangUpError struct {
	// Addr is the broker's address.
	Addr string
	// During is the point of the set-up.
	During string
	// Err is the error of the connection, io.EOF as a rule.
	Err  error
	auth bool
}

func (e *HangUpError) Error() string {
	return fmt.Sprintf("%s closed the connection during %s: %v", e.Addr, e.During, e.Err)
}

// Unwrap returns the cause.
func (e *HangUpError) Unwrap() error { return e.Err }
