package connect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// Connector makes the client options of one cluster. It is built once per
// cluster and is safe for concurrent use. Its printed form holds no secret.
type Connector struct {
	cfg       Config
	addresses []Address
	mechanism string // standard name, empty without SASL
	log       *slog.Logger
	version   string
	dialRaw   func(ctx context.Context, network, addr string) (net.Conn, error)
	probe     *tlsProbe // for plaintext connections
	tls       *tlsSource
	tokens    *tokenSource
}

// Option changes how a Connector works.
type Option func(*Connector)

// WithLogger sets where file problems and franz-go's own messages are logged.
// The default discards them.
func WithLogger(log *slog.Logger) Option { return func(c *Connector) { c.log = log } }

// WithVersion sets the version of this software that franz-go tells the brokers.
func WithVersion(version string) Option { return func(c *Connector) { c.version = version } }

// New makes a Connector from cfg, with the defaults filled in. It reads the
// TLS files, so that a wrong path is an error at start, but no secret and no
// network: see CheckSecrets. The error joins all mistakes found.
func New(cfg Config, opts ...Option) (*Connector, error) {
	cfg = cfg.clone()
	cfg.SetDefaults()
	if errs := cfg.Validate(); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	c := &Connector{cfg: cfg, log: slog.New(slog.DiscardHandler), version: "dev", dialRaw: new(net.Dialer).DialContext}
	for _, opt := range opts {
		opt(c)
	}
	c.probe = &tlsProbe{dial: c.dialRaw}
	var err error
	if c.addresses, err = ParseAddresses(cfg.BootstrapServers); err != nil {
		return nil, err
	}
	if cfg.TLS != nil {
		if c.tls, err = newTLSSource(*cfg.TLS, c.log); err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
		if cfg.TLS.InsecureSkipVerify {
			c.log.Warn("tls.insecure_skip_verify is set: anyone on the way can read and change what is sent")
		}
	}
	return c, c.prepareSASL()
}

func (c *Connector) prepareSASL() (err error) {
	if c.cfg.SASL == nil {
		return nil
	}
	if c.mechanism, err = ParseMechanism(c.cfg.SASL.Mechanism); err != nil {
		return err
	}
	if c.mechanism == MechanismPlain && c.tls == nil {
		c.log.Warn("SASL/PLAIN without TLS sends the password unencrypted: set tls or use SCRAM")
	}
	if c.mechanism == MechanismOAuthBearer {
		c.tokens, err = newTokenSource(*c.cfg.SASL.OAuth, time.Duration(c.cfg.RequestTimeout), c.log)
	}
	return err
}

// Addresses returns the bootstrap addresses in the order given.
func (c *Connector) Addresses() []Address { return slices.Clone(c.addresses) }

// Servers returns the bootstrap addresses as sarama.NewClient wants them.
func (c *Connector) Servers() []string {
	servers := make([]string, len(c.addresses))
	for i, a := range c.addresses {
		servers[i] = a.String()
	}
	return servers
}

// CheckSecrets reads every secret once, without any connection, and reports
// those that are missing or empty. It is for a start-up or config check; a
// failure need not be fatal, since secrets are read again at each connection.
func (c *Connector) CheckSecrets() error {
	switch {
	case c.cfg.SASL == nil:
		return nil
	case c.mechanism == MechanismOAuthBearer:
		_, err := c.tokens.secret.read()
		return err
	case c.mechanism == MechanismGSSAPI:
		client, err := c.cfg.SASL.Kerberos.login()
		if err == nil {
			client.Destroy()
		}
		return err
	}
	_, err := c.password()
	return err
}

// password reads the password of PLAIN and SCRAM as it is now.
func (c *Connector) password() (string, error) {
	return passwordFor(secretSource{field: "sasl.password", file: c.cfg.SASL.PasswordFile, env: c.cfg.SASL.PasswordEnv})
}

// saslMechanism returns franz-go's form of the mechanism, which the adapters
// for sarama use as well.
func (c *Connector) saslMechanism() sasl.Mechanism {
	switch c.mechanism {
	case MechanismPlain:
		return quietMechanism{plain.Plain(func(context.Context) (plain.Auth, error) {
			secret, err := c.password()
			return plain.Auth{User: c.cfg.SASL.Username, Pass: secret}, err
		})}
	case MechanismOAuthBearer:
		return c.tokens.mechanism()
	case MechanismGSSAPI:
		return c.cfg.SASL.Kerberos.mechanism()
	}
	return scramMechanism(c.mechanism, c.cfg.SASL.Username, c.password)
}

// principal returns the user the brokers see, as far as it is configured.
func (c *Connector) principal() string {
	switch {
	case c.cfg.SASL == nil:
		return ""
	case c.cfg.SASL.OAuth != nil:
		return c.cfg.SASL.OAuth.ClientID
	case c.cfg.SASL.Kerberos != nil:
		return c.cfg.SASL.Kerberos.Username + "@" + c.cfg.SASL.Kerberos.Realm
	}
	return c.cfg.SASL.Username
}

// String names the cluster and the kind of security, and nothing secret.
func (c *Connector) String() string {
	security := "plaintext"
	if c.tls != nil {
		security = "TLS"
	}
	if c.mechanism != "" {
		security += ", " + c.mechanism
	}
	return fmt.Sprintf("%v (%s)", c.Servers(), security)
}

// Format prints String for every verb: %+v would otherwise walk into the
// private key and the current access token.
func (c *Connector) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// LogValue logs String.
func (c *Connector) LogValue() slog.Value { return slog.StringValue(c.String()) }
