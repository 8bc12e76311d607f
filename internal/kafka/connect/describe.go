package connect

import (
	"fmt"
	"strings"
)

// Described is an error with what failed, where, and what to do about it.
type Described struct {
	// What was attempted, for example "list groups".
	What string
	// Where it was attempted, for example "broker b1:9093"; may be empty.
	Where string
	// Class is the class of Err.
	Class Class
	// Err is the cause.
	Err error

	identity string // who could not authenticate, if known
}

// Describe wraps err with what was attempted, where, and a remedy that fits
// its class. It returns nil for no error, and an already described error as it
// is. Connector.Describe says more.
func Describe(err error, what, where string) error {
	return describe(err, what, where, "")
}

// Describe is like the function Describe and also names the user and the
// mechanism of a failed authentication.
func (c *Connector) Describe(err error, what, where string) error {
	identity := ""
	if c.mechanism != "" {
		identity = fmt.Sprintf(" for user %q (%s)", c.principal(), c.mechanism)
	}
	return describe(err, what, where, identity)
}

func describe(err error, what, where, identity string) error {
	if err == nil || has[*Described](err) {
		return err
	}
	return &Described{What: what, Where: where, Class: Classify(err), Err: err, identity: identity}
}

// Unwrap returns the cause.
func (d *Described) Unwrap() error { return d.Err }

func (d *Described) Error() string {
	var b strings.Builder
	b.WriteString(d.What)
	if d.Where != "" {
		b.WriteString(" at " + d.Where)
	}
	b.WriteString(": " + d.headline() + ": " + d.Err.Error())
	if remedy := d.remedy(); remedy != "" {
		b.WriteString(": " + remedy)
	}
	return b.String()
}

func (d *Described) headline() string {
	switch d.Class {
	case ClassAuth:
		return "authentication failed" + d.identity
	case ClassTLS:
		return "TLS failed"
	case ClassACL:
		return "permission denied" + d.identity
	case ClassUnsupported:
		return "not supported by the broker"
	case ClassTimeout:
		return "no answer in time"
	case ClassNetwork:
		return "no connection"
	}
	return "failed"
}

// remedy says what to do; errors of this package already say it themselves.
func (d *Described) remedy() string {
	switch {
	case has[*SecretError](d.Err), has[*TLSFileError](d.Err), has[*NotKafkaError](d.Err):
		return ""
	case d.Class == ClassAuth && d.identity == "":
		return "check whether the listener requires SASL, and the sasl section"
	case d.Class == ClassAuth && isAny(d.Err, mechanismErrors):
		return "check sasl.mechanism against the broker's sasl.enabled.mechanisms"
	case d.Class == ClassAuth:
		return "check the user, the secret and sasl.mechanism, and that the broker knows this user for this mechanism"
	case d.Class == ClassTLS:
		return "check that this listener uses TLS as configured, tls.ca_file, tls.server_name and, for mutual TLS, tls.cert_file"
	case d.Class == ClassACL:
		return "grant this principal the ACL, or switch off what needs it"
	case d.Class == ClassUnsupported:
		return "the broker is too old or too new for this request; the rest goes on"
	case d.Class == ClassTimeout:
		return "check the broker's load and the network, or raise dial_timeout and request_timeout"
	case d.Class == ClassNetwork:
		return "check that the broker runs, the address and port, its advertised.listeners, and firewalls"
	}
	return ""
}
