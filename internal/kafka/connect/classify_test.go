package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
)

func TestClassify(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	alert := &net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}
	for _, test := range []struct {
		err  error
		want Class
	}{
		{nil, ClassNone},
		{errors.New("x"), ClassOther},
		{context.Canceled, ClassOther},
		{sarama.ErrClosedClient, ClassOther},
		{sarama.ErrUnknownTopicOrPartition, ClassOther},
		{sarama.ConfigurationError("x"), ClassOther},

		{sarama.ErrSASLAuthenticationFailed, ClassAuth},
		{sarama.Wrap(sarama.ErrSASLAuthenticationFailed, errors.New("Authentication failed")), ClassAuth},
		{sarama.ErrUnsupportedSASLMechanism, ClassAuth},
		{sarama.ErrIllegalSASLState, ClassAuth},
		{fmt.Errorf("x: %w", kerr.SaslAuthenticationFailed), ClassAuth},
		{kerr.UnsupportedSaslMechanism, ClassAuth},
		{&SecretError{Field: "f", Err: os.ErrNotExist}, ClassAuth},
		{&AuthError{Mechanism: "PLAIN", Err: refused}, ClassAuth},
		{&HangUpError{auth: true, Err: io.EOF}, ClassAuth},

		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, ClassTLS},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, ClassTLS},
		{x509.HostnameError{Certificate: &x509.Certificate{}, Host: "k1"}, ClassTLS},
		{fmt.Errorf("x: %w", alert), ClassTLS},
		{&net.OpError{Op: "read", Err: alert}, ClassTLS},
		{errors.New("tls: server selected unsupported protocol version 301"), ClassTLS},
		{&TLSMismatchError{Err: io.EOF}, ClassTLS},
		{&TLSFileError{Err: os.ErrNotExist}, ClassTLS},

		{sarama.ErrTopicAuthorizationFailed, ClassACL},
		{sarama.ErrGroupAuthorizationFailed, ClassACL},
		{sarama.ErrClusterAuthorizationFailed, ClassACL},
		{kerr.ClusterAuthorizationFailed, ClassACL},
		{kerr.ErrorForCode(29), ClassACL},
		{kerr.ErrorForCode(30), ClassACL},

		{sarama.ErrUnsupportedVersion, ClassUnsupported},
		{kerr.UnsupportedVersion, ClassUnsupported},
		{errors.New("broker is too old; the broker has already indicated it will not know how to handle the request"), ClassUnsupported},

		{context.DeadlineExceeded, ClassTimeout},
		{os.ErrDeadlineExceeded, ClassTimeout},
		{sarama.ErrRequestTimedOut, ClassTimeout},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, ClassTimeout},
		{&net.DNSError{IsTimeout: true}, ClassTimeout},

		{refused, ClassNetwork},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, ClassNetwork},
		{io.EOF, ClassNetwork},
		{io.ErrUnexpectedEOF, ClassNetwork},
		{net.ErrClosed, ClassNetwork},
		{sarama.ErrOutOfBrokers, ClassNetwork},
		{sarama.ErrNotConnected, ClassNetwork},
		{&NotKafkaError{}, ClassNetwork},
		{&HangUpError{Err: io.EOF}, ClassNetwork},
		{uselessConn{&TLSMismatchError{Err: errors.New("x")}}, ClassTLS},

		// Several brokers, several causes: the one that asks most for a person.
		{sarama.Wrap(sarama.ErrOutOfBrokers, refused, sarama.ErrSASLAuthenticationFailed), ClassAuth},
		{sarama.Wrap(sarama.ErrOutOfBrokers, refused, alert), ClassTLS},
		{sarama.Wrap(sarama.ErrOutOfBrokers, refused, context.DeadlineExceeded), ClassTimeout},
		{errors.Join(refused, kerr.GroupAuthorizationFailed), ClassACL},
	} {
		if got := Classify(test.err); got != test.want {
			t.Errorf("Classify(%v) = %q, want %q", test.err, got, test.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Setenv("STEWARD_TEST_PW", "S3cr3t")
	c := newConnector(t, "k1", func(c *Config) {
		c.SASL = &SASL{Mechanism: "scram-sha-512", Username: "x", PasswordEnv: "STEWARD_TEST_PW"}
	})
	failed := sarama.Wrap(sarama.ErrSASLAuthenticationFailed, errors.New("Invalid username or password"))
	err := c.Describe(failed, "list groups", "broker b1:9093")
	const head = `list groups at broker b1:9093: authentication failed for user "x" (SCRAM-SHA-512): `
	if !strings.HasPrefix(err.Error(), head) || !strings.Contains(err.Error(), ": check the user, the secret") {
		t.Errorf("got %q", err)
	}
	if !errors.Is(err, sarama.ErrSASLAuthenticationFailed) || Classify(err) != ClassAuth {
		t.Error("the cause is lost")
	}
	if again := Describe(fmt.Errorf("x: %w", err), "y", "z"); strings.Count(again.Error(), "check the user") != 1 {
		t.Errorf("described twice: %q", again)
	}
	if Describe(nil, "x", "y") != nil || c.Describe(nil, "x", "y") != nil {
		t.Error("no error became one")
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{io.EOF, "read metadata: no connection: EOF: check that the broker runs"},
		{kerr.TopicAuthorizationFailed, "permission denied: "},
		{context.DeadlineExceeded, "raise dial_timeout"},
		{kerr.UnsupportedVersion, "not supported by the broker"},
		{&TLSMismatchError{Addr: "k1:1", Err: io.EOF}, "tls.ca_file"},
		{errors.New("x"), "read metadata: failed: x"},
	} {
		if got := Describe(test.err, "read metadata", ""); !strings.Contains(got.Error(), test.want) {
			t.Errorf("Describe(%v) = %q lacks %q", test.err, got, test.want)
		}
	}
	if got := c.Describe(kerr.UnsupportedSaslMechanism, "x", ""); !strings.Contains(got.Error(), "sasl.enabled.mechanisms") {
		t.Errorf("got %q", got)
	}
}
