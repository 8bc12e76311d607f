package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Class is the kind of an error, fit for a metric label.
type Class string

// The classes. ClassNone is the class of no error.
const (
	ClassNone        Class = ""
	ClassAuth        Class = "auth"        // not authenticated: credentials, mechanism, token
	ClassTLS         Class = "tls"         // handshake, certificates, TLS against plaintext
	ClassACL         Class = "acl"         // authenticated but not permitted
	ClassUnsupported Class = "unsupported" // the broker does not know the request or its version
	ClassTimeout     Class = "timeout"     // no answer in time
	ClassNetwork     Class = "network"     // no connection, or a lost one
	ClassOther       Class = "other"
)

// Classify returns the class of an error of sarama, franz-go, or this package.
// An error that joins several causes, as sarama's "run out of available
// brokers" does, gets the class that asks most for a person: auth before tls,
// acl, unsupported, timeout, network.
//
// sarama.Client drops some causes: when brokers answer its metadata request's
// connection with an error code other than SASL_AUTHENTICATION_FAILED (an
// unsupported mechanism, SASL on a listener without), it returns a bare
// sarama.ErrOutOfBrokers, which is network here. The errors of a
// sarama.Broker's own methods, and its Connected, keep them.
func Classify(err error) Class {
	if err == nil {
		return ClassNone
	}
	for _, c := range []struct {
		class Class
		match func(error) bool
	}{
		{ClassAuth, isAuth},
		{ClassTLS, isTLS},
		{ClassACL, func(err error) bool { return isAny(err, aclErrors) }},
		{ClassUnsupported, isUnsupported},
		{ClassTimeout, isTimeout},
		{ClassNetwork, isNetwork},
	} {
		if c.match(err) {
			return c.class
		}
	}
	return ClassOther
}

var (
	authErrors = []error{
		sarama.ErrSASLAuthenticationFailed, sarama.ErrUnsupportedSASLMechanism, sarama.ErrIllegalSASLState,
		kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState,
	}
	mechanismErrors = []error{sarama.ErrUnsupportedSASLMechanism, kerr.UnsupportedSaslMechanism}
	aclErrors       = []error{
		sarama.ErrTopicAuthorizationFailed, sarama.ErrGroupAuthorizationFailed, sarama.ErrClusterAuthorizationFailed,
		sarama.ErrTransactionalIDAuthorizationFailed, sarama.ErrDelegationTokenAuthorizationFailed,
		kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.TransactionalIDAuthorizationFailed, kerr.DelegationTokenAuthorizationFailed,
	}
	unsupportedErrors = []error{
		sarama.ErrUnsupportedVersion, sarama.ErrUnsupportedForMessageFormat,
		kerr.UnsupportedVersion, kerr.UnsupportedForMessageFormat,
	}
	timeoutErrors = []error{
		context.DeadlineExceeded, os.ErrDeadlineExceeded, syscall.ETIMEDOUT,
		sarama.ErrRequestTimedOut, kerr.RequestTimedOut,
	}
	networkErrors = []error{
		io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed,
		sarama.ErrOutOfBrokers, sarama.ErrNotConnected, sarama.ErrBrokerNotAvailable, sarama.ErrNetworkException,
		kerr.BrokerNotAvailable, kerr.NetworkException,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	}
)

func isAny(err error, targets []error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

func has[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func isAuth(err error) bool {
	if isAny(err, authErrors) || has[*AuthError](err) || has[*SecretError](err) {
		return true
	}
	hangUp, ok := errors.AsType[*HangUpError](err)
	return ok && hangUp.auth
}

func isTLS(err error) bool {
	return has[*TLSMismatchError](err) || has[*TLSFileError](err) ||
		has[tls.RecordHeaderError](err) || has[*tls.CertificateVerificationError](err) || has[tls.AlertError](err) ||
		has[x509.UnknownAuthorityError](err) || has[x509.HostnameError](err) || has[x509.CertificateInvalidError](err) ||
		anyOpError(err, func(op string) bool { return op == "remote error" || op == "local error" }) || // TLS alerts
		// Texts of errors that have no type: crypto/tls's own, and franz-go's guess from a plaintext connection.
		hasText(err, "tls: ", "appear to be a tls alert")
}

// isUnsupported knows franz-go's text because its error is not exported.
func isUnsupported(err error) bool {
	return isAny(err, unsupportedErrors) || hasText(err, "broker is too old")
}

func isTimeout(err error) bool {
	if isAny(err, timeoutErrors) {
		return true
	}
	netErr, ok := errors.AsType[net.Error](err)
	return ok && netErr.Timeout()
}

func isNetwork(err error) bool {
	return isAny(err, networkErrors) || has[*net.OpError](err) || has[*net.DNSError](err) ||
		has[*NotKafkaError](err) || hasText(err, "the broker connection has died")
}

// anyOpError searches all network operations in a tree of errors, where
// errors.As would stop at the first.
func anyOpError(err error, match func(op string) bool) bool {
	if op, ok := err.(*net.OpError); ok && match(op.Op) {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return e.Unwrap() != nil && anyOpError(e.Unwrap(), match)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if anyOpError(inner, match) {
				return true
			}
		}
	}
	return false
}

func hasText(err error, texts ...string) bool {
	s := err.Error()
	for _, t := range texts {
		if strings.Contains(s, t) {
			return true
		}
	}
	return false
}
