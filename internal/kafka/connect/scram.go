package connect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// scramMechanism is franz-go's SCRAM with the password read at each
// authentication. It checks the broker's signature and refuses fewer than
// 4096 iterations.
func scramMechanism(name, user string, password func() (string, error)) sasl.Mechanism {
	auth := func(context.Context) (scram.Auth, error) {
		secret, err := password()
		return scram.Auth{User: user, Pass: secret}, err
	}
	if name == MechanismScramSHA256 {
		return quietMechanism{scram.Sha256(auth)}
	}
	return quietMechanism{scram.Sha512(auth)}
}

// AuthError says that an authentication failed on this side of the exchange.
type AuthError struct {
	// Mechanism is the SASL mechanism.
	Mechanism string
	// Err is what went wrong.
	Err error
}

func (e *AuthError) Error() string {
	return fmt.Sprintf("SASL/%s authentication: %v", e.Mechanism, e.Err)
}

// Unwrap returns the cause.
func (e *AuthError) Unwrap() error { return e.Err }

// quietMechanism types a mechanism's errors and keeps derived keys out of them.
type quietMechanism struct{ sasl.Mechanism }

func (m quietMechanism) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	session, first, err := m.Mechanism.Authenticate(ctx, host)
	if err != nil {
		return nil, nil, &AuthError{Mechanism: m.Name(), Err: err}
	}
	return quietSession{session, m.Name()}, first, nil
}

type quietSession struct {
	sasl.Session
	name string
}

func (s quietSession) Challenge(in []byte) (bool, []byte, error) {
	done, out, err := s.Session.Challenge(in)
	if err == nil {
		return done, out, nil
	}
	// The original text has the expected signature, enough to try passwords on.
	if strings.Contains(err.Error(), "signature mismatch") {
		err = errors.New("the broker's signature is wrong: it does not know this user's password, so it is not to be trusted")
	}
	return false, nil, &AuthError{Mechanism: s.name, Err: err}
}

// saramaScram adapts a mechanism to sarama, whose password argument is ignored:
// the mechanism reads its own.
type saramaScram struct {
	mechanism sasl.Mechanism
	session   sasl.Session
	first     []byte
	done      bool
}

// Begin starts one exchange.
func (s *saramaScram) Begin(_, _, _ string) (err error) {
	s.done = false
	s.session, s.first, err = s.mechanism.Authenticate(context.Background(), "")
	return err
}

// Step answers the broker's challenge; the first step has none.
func (s *saramaScram) Step(challenge string) (string, error) {
	if s.first != nil {
		first := string(s.first)
		s.first = nil
		return first, nil
	}
	done, out, err := s.session.Challenge([]byte(challenge))
	s.done = done
	return string(out), err
}

// Done reports whether the broker has proved that it knows the password.
func (s *saramaScram) Done() bool { return s.done }
