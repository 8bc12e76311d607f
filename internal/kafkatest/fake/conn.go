package fake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxFrame is Kafka's default socket.request.max.bytes.
const maxFrame = 100 << 20

// conn is one client connection. A reader goroutine takes frames off the
// socket, so that a client's hang-up is noticed while a request is held back;
// serve answers them one at a time, as a broker does.
type conn struct {
	c  *Cluster
	b  *listener
	nc net.Conn

	closed    chan struct{} // closed when the client hung up or the broker was stopped
	authState authState
}

// header is a decoded request header.
type header struct {
	key, version int16
	corr         int32
	clientID     string
}

var errHangUp = errors.New("hang up")

func (cn *conn) serve() {
	// With room for pipelined requests, so that the reader goes on to see the
	// end of the connection while one of them is held back.
	frames := make(chan []byte, 64)
	free := make(chan []byte, 1)
	var wg sync.WaitGroup
	quit := make(chan struct{})
	wg.Go(func() { cn.read(frames, free, quit) })
	for frame := range frames {
		if err := cn.handle(frame); err != nil {
			break
		}
		select {
		case free <- frame[:0]:
		default:
		}
	}
	cn.nc.Close()
	close(quit)
	wg.Wait()
}

// read sends the bodies of frames until the connection ends. Buffers come
// back through free.
func (cn *conn) read(frames chan<- []byte, free <-chan []byte, quit <-chan struct{}) {
	defer close(frames)
	defer close(cn.closed)
	var size [4]byte
	for {
		if _, err := io.ReadFull(cn.nc, size[:]); err != nil {
			return
		}
		n := binary.BigEndian.Uint32(size[:])
		if n < 8 || n > maxFrame {
			return
		}
		var buf []byte
		select {
		case buf = <-free:
		default:
		}
		if cap(buf) < int(n) {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		if _, err := io.ReadFull(cn.nc, buf); err != nil {
			return
		}
		select {
		case frames <- buf:
		case <-quit:
			return
		}
	}
}

// handle answers one request frame; an error closes the connection.
func (cn *conn) handle(frame []byte) error {
	h, body, err := parseHeader(frame)
	if err != nil {
		return err
	}
	cn.c.log.add(cn.b.id, h, body)
	if hole := cn.b.currentHole(); hole != nil {
		if err := cn.wait(hole); err != nil {
			return err
		}
	}
	if r, ok := cn.c.offered(cn.b.id, h.key); !ok || h.version < r.Min || h.version > r.Max {
		if ok && h.key == kmsg.ApiVersions.Int16() {
			return cn.write(h.corr, encode(cn.c.unsupportedApiVersions(cn.b.id)))
		}
		return fmt.Errorf("API %d version %d is not offered: %w", h.key, h.version, errHangUp)
	}
	if !cn.mayAsk(h.key) {
		return errHangUp
	}
	return cn.answer(h, body)
}

// answer lets rules and default handler answer a request.
func (cn *conn) answer(h header, body []byte) error {
	c := cn.c
	rules := c.rulesFor(h.key)
	cacheable := len(rules) == 0 && c.cache.frozen() && cacheableKey(h.key)
	ck := cacheKey{cacheBroker(h.key, cn.b.id), h.key, h.version}
	if cacheable {
		if tail := c.cache.get(ck, body); tail != nil {
			return cn.write(h.corr, tail)
		}
	}
	gen := c.cache.generation()
	req, err := decode(h, body, len(rules) == 0 && cacheableKey(h.key))
	if err != nil {
		return err
	}
	resp, act := applyRules(rules, cn.b.id, req)
	if act.kind != actPass {
		return cn.act(h, req, resp, act)
	}
	tail, err := cn.defaultTail(req)
	if err != nil || tail == nil {
		return err
	}
	if cacheable {
		c.cache.put(gen, ck, body, tail)
	}
	return cn.write(h.corr, tail)
}

// wait blocks until ch is closed; it fails when the connection ends first.
func (cn *conn) wait(ch <-chan struct{}) error {
	select {
	case <-ch:
		return nil
	case <-cn.closed:
		return errHangUp
	case <-cn.c.done:
		return errHangUp
	}
}

// write sends a response frame: size, correlation id, tail.
func (cn *conn) write(corr int32, tail []byte) error {
	head := frameHead(corr, len(tail))
	bufs := net.Buffers{head[:], tail}
	_, err := bufs.WriteTo(cn.nc)
	return err
}

func frameHead(corr int32, tail int) (head [8]byte) {
	binary.BigEndian.PutUint32(head[:4], uint32(4+tail))
	binary.BigEndian.PutUint32(head[4:], uint32(corr))
	return head
}

// parseHeader splits a frame into header and body. The header of an unknown
// API or version is parsed as far as it is the same in all versions.
func parseHeader(frame []byte) (h header, body []byte, err error) {
	if len(frame) < 10 {
		return h, nil, fmt.Errorf("request header of %d bytes: %w", len(frame), io.ErrUnexpectedEOF)
	}
	h.key = int16(binary.BigEndian.Uint16(frame))
	h.version = int16(binary.BigEndian.Uint16(frame[2:]))
	h.corr = int32(binary.BigEndian.Uint32(frame[4:]))
	n := int(int16(binary.BigEndian.Uint16(frame[8:])))
	body = frame[10:]
	if n > 0 {
		if n > len(body) {
			return h, nil, fmt.Errorf("client id of %d bytes: %w", n, io.ErrUnexpectedEOF)
		}
		h.clientID, body = string(body[:n]), body[n:]
	}
	if !flexible(h.key, h.version) {
		return h, body, nil
	}
	body, err = skipTags(body)
	return h, body, err
}

func flexible(key, version int16) bool {
	req := kmsg.RequestForKey(key)
	if req == nil || version < 0 || version > req.MaxVersion() {
		return false
	}
	req.SetVersion(version)
	return req.IsFlexible()
}

// skipTags drops the tagged fields in front of b.
func skipTags(b []byte) ([]byte, error) {
	num, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, fmt.Errorf("tag count: %w", io.ErrUnexpectedEOF)
	}
	b = b[n:]
	for range num {
		_, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, fmt.Errorf("tag: %w", io.ErrUnexpectedEOF)
		}
		size, m := binary.Uvarint(b[n:])
		if m <= 0 || uint64(len(b)-n-m) < size {
			return nil, fmt.Errorf("tag size: %w", io.ErrUnexpectedEOF)
		}
		b = b[n+m+int(size):]
	}
	return b, nil
}

// decode decodes a request's body. With alias its strings share the body's
// memory, which is only good until the response is encoded.
func decode(h header, body []byte, alias bool) (kmsg.Request, error) {
	req := kmsg.RequestForKey(h.key)
	if req == nil || h.version < 0 || h.version > req.MaxVersion() {
		return nil, fmt.Errorf("API %d version %d is not known to kmsg", h.key, h.version)
	}
	req.SetVersion(h.version)
	read := req.ReadFrom
	if u, ok := req.(kmsg.UnsafeReadFrom); ok && alias {
		read = u.UnsafeReadFrom
	}
	if err := read(body); err != nil {
		return nil, fmt.Errorf("decode %s v%d: %w", kmsg.NameForKey(h.key), h.version, err)
	}
	return req, nil
}

// encode encodes what follows the correlation id: the header's (empty) tags
// if the version has them, then the body. ApiVersions responses never have
// header tags, since a client reads them before it knows the broker.
func encode(resp kmsg.Response) []byte {
	var b []byte
	if resp.IsFlexible() && resp.Key() != kmsg.ApiVersions.Int16() {
		b = append(b, 0)
	}
	return resp.AppendTo(b)
}
