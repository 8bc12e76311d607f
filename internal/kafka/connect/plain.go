package connect

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// placeholder stands in sarama's configuration where it insists on a password.
const placeholder = "read-at-every-authentication"

var errBadFrame = errors.New("cannot add the credentials to a SaslAuthenticate request: unexpected form of the request (a fault of this program)")

// plainRewriter returns a function that puts the present credentials into each
// SaslAuthenticate request and leaves other requests alone.
func plainRewriter(user string, password func() (string, error)) func([]byte) ([]byte, error) {
	return func(frame []byte) ([]byte, error) {
		if len(frame) < 8 || int16(binary.BigEndian.Uint16(frame[4:])) != keySaslAuthenticate {
			return frame, nil
		}
		secret, err := password()
		if err != nil {
			return nil, err
		}
		return withAuthBytes(frame, []byte("\x00"+user+"\x00"+secret))
	}
}

// withAuthBytes returns a copy of a framed SaslAuthenticate request (size,
// header, body) that carries auth.
func withAuthBytes(frame, auth []byte) ([]byte, error) {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.SetVersion(int16(binary.BigEndian.Uint16(frame[6:])))
	if req.GetVersion() < 0 || req.GetVersion() > req.MaxVersion() {
		return nil, fmt.Errorf("%w: version %d", errBadFrame, req.GetVersion())
	}
	header, err := headerLength(frame, req.IsFlexible())
	if err != nil {
		return nil, err
	}
	if err := req.ReadFrom(frame[header:]); err != nil {
		return nil, fmt.Errorf("%w: %w", errBadFrame, err)
	}
	req.SASLAuthBytes = auth
	out := append(make([]byte, 0, len(frame)+len(auth)), frame[:header]...)
	out = req.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out, nil
}

// headerLength returns where the body begins in a frame: after the size (4),
// key, version (2 each), correlation id (4), client id (2 and its length, -1
// for none) and, in flexible versions, an empty set of tags (1).
func headerLength(frame []byte, flexible bool) (int, error) {
	const fixed = 14
	if len(frame) < fixed || int(binary.BigEndian.Uint32(frame)) != len(frame)-4 {
		return 0, errBadFrame
	}
	n := fixed + max(0, int(int16(binary.BigEndian.Uint16(frame[fixed-2:]))))
	if flexible {
		if n >= len(frame) || frame[n] != 0 {
			return 0, errBadFrame
		}
		n++
	}
	if n >= len(frame) {
		return 0, errBadFrame
	}
	return n, nil
}
