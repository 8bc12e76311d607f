package connect

import (
	"time"

	"github.com/prometheus/common/model"
)

// DefaultClientID is the client.id that brokers see when none is configured.
const DefaultClientID = "kafka-steward"

const (
	defaultTimeout    = 10 * time.Second
	defaultMinVersion = "1.2"
	defaultKrb5Conf   = "/etc/krb5.conf"
	defaultKrbService = "kafka"
)

// Duration is a time span written as in Prometheus' own configuration: 10s, 1m30s.
type Duration = model.Duration

// Config is one cluster's connection, as written in steward.yml. It never
// contains a secret: secrets are named by file or by environment variable, so
// it may be printed, logged and marshalled.
type Config struct {
	// BootstrapServers are the first brokers to ask; see ParseAddresses for
	// the accepted forms.
	BootstrapServers []string `yaml:"bootstrap_servers" json:"bootstrap_servers"`
	// ClientID is the client.id sent with every request.
	ClientID string `yaml:"client_id,omitempty" json:"client_id,omitempty"`
	// TLS switches TLS on; nil means plaintext.
	TLS *TLS `yaml:"tls,omitempty" json:"tls,omitempty"`
	// SASL switches authentication on; nil means none (or mTLS only).
	SASL *SASL `yaml:"sasl,omitempty" json:"sasl,omitempty"`
	// DialTimeout bounds name resolution, TCP connect and TLS handshake together.
	DialTimeout Duration `yaml:"dial_timeout,omitempty" json:"dial_timeout,omitempty"`
	// RequestTimeout bounds the wait for one response of a broker, and one
	// request to an OAuth token endpoint.
	RequestTimeout Duration `yaml:"request_timeout,omitempty" json:"request_timeout,omitempty"`
}

// TLS are the settings of a TLS client. Files are PEM and are re-read when they change.
type TLS struct {
	// CAFile holds the certificates to trust; empty means the system's.
	CAFile string `yaml:"ca_file,omitempty" json:"ca_file,omitempty"`
	// CertFile and KeyFile are the client's certificate (with its chain) and
	// its unencrypted private key, for mutual TLS. Both or neither.
	CertFile string `yaml:"cert_file,omitempty" json:"cert_file,omitempty"`
	KeyFile  string `yaml:"key_file,omitempty" json:"key_file,omitempty"`
	// ServerName is the name to verify in place of the dialled host.
	ServerName string `yaml:"server_name,omitempty" json:"server_name,omitempty"`
	// InsecureSkipVerify accepts any server certificate. For experiments only.
	InsecureSkipVerify bool `yaml:"insecure_skip_verify,omitempty" json:"insecure_skip_verify,omitempty"`
	// MinVersion is the lowest TLS version to accept: 1.2 (default) or 1.3.
	MinVersion string `yaml:"min_version,omitempty" json:"min_version,omitempty"`
}

// SASL are the settings of the authentication to the brokers.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI;
	// see ParseMechanism for the spellings.
	Mechanism string `yaml:"mechanism" json:"mechanism"`
	// Username is the principal of PLAIN and SCRAM.
	Username string `yaml:"username,omitempty" json:"username,omitempty"`
	// PasswordFile or PasswordEnv names where the password of PLAIN and SCRAM
	// is. One trailing newline of a file is dropped, nothing else is changed.
	PasswordFile string `yaml:"password_file,omitempty" json:"password_file,omitempty"`
	PasswordEnv  string `yaml:"password_env,omitempty" json:"password_env,omitempty"`
	// OAuth is needed with OAUTHBEARER, Kerberos with GSSAPI.
	OAuth    *OAuth    `yaml:"oauthbearer,omitempty" json:"oauthbearer,omitempty"`
	Kerberos *Kerberos `yaml:"gssapi,omitempty" json:"gssapi,omitempty"`
}

// OAuth gets access tokens by the client-credentials grant (RFC 6749, 4.4).
type OAuth struct {
	// TokenURL is the token endpoint, http or https.
	TokenURL string `yaml:"token_url" json:"token_url"`
	ClientID string `yaml:"client_id" json:"client_id"`
	// ClientSecretFile or ClientSecretEnv names where the client secret is.
	ClientSecretFile string   `yaml:"client_secret_file,omitempty" json:"client_secret_file,omitempty"`
	ClientSecretEnv  string   `yaml:"client_secret_env,omitempty" json:"client_secret_env,omitempty"`
	Scopes           []string `yaml:"scopes,omitempty" json:"scopes,omitempty"`
	// Audience is sent as the "audience" parameter if set.
	Audience string `yaml:"audience,omitempty" json:"audience,omitempty"`
	// Extensions are the SASL extensions of KIP-342, for example logicalCluster.
	Extensions map[string]string `yaml:"extensions,omitempty" json:"extensions,omitempty"`
	// TLS is for the token endpoint; nil means the system's trust store.
	TLS *TLS `yaml:"tls,omitempty" json:"tls,omitempty"`
}

// Kerberos are the settings of SASL/GSSAPI.
type Kerberos struct {
	// ServiceName is the brokers' service, "kafka" by default.
	ServiceName  string `yaml:"service_name,omitempty" json:"service_name,omitempty"`
	Realm        string `yaml:"realm" json:"realm"`
	Krb5ConfFile string `yaml:"krb5_conf_file,omitempty" json:"krb5_conf_file,omitempty"`
	// Username is the principal without its realm.
	Username string `yaml:"username" json:"username"`
	// Exactly one of KeytabFile, PasswordFile and PasswordEnv.
	KeytabFile   string `yaml:"keytab_file,omitempty" json:"keytab_file,omitempty"`
	PasswordFile string `yaml:"password_file,omitempty" json:"password_file,omitempty"`
	PasswordEnv  string `yaml:"password_env,omitempty" json:"password_env,omitempty"`
	// DisablePAFXFast switches FAST pre-authentication off, which some Active
	// Directory servers need.
	DisablePAFXFast bool `yaml:"disable_pa_fx_fast,omitempty" json:"disable_pa_fx_fast,omitempty"`
}

// SetDefaults fills in what was left empty.
func (c *Config) SetDefaults() {
	if c.ClientID == "" {
		c.ClientID = DefaultClientID
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = Duration(defaultTimeout)
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = Duration(defaultTimeout)
	}
	c.TLS.setDefaults()
	if c.SASL == nil {
		return
	}
	if c.SASL.OAuth != nil {
		c.SASL.OAuth.TLS.setDefaults()
	}
	if k := c.SASL.Kerberos; k != nil {
		if k.ServiceName == "" {
			k.ServiceName = defaultKrbService
		}
		if k.Krb5ConfFile == "" {
			k.Krb5ConfFile = defaultKrb5Conf
		}
	}
}

func (t *TLS) setDefaults() {
	if t != nil && t.MinVersion == "" {
		t.MinVersion = defaultMinVersion
	}
}

// clone copies c deeply, so that a Connector is not changed from outside and
// SetDefaults does not write into the caller's settings.
func (c Config) clone() Config {
	c.BootstrapServers = append([]string(nil), c.BootstrapServers...)
	c.TLS = cloneOf(c.TLS)
	c.SASL = cloneOf(c.SASL)
	if c.SASL == nil {
		return c
	}
	c.SASL.Kerberos = cloneOf(c.SASL.Kerberos)
	c.SASL.OAuth = cloneOf(c.SASL.OAuth)
	if o := c.SASL.OAuth; o != nil {
		o.TLS = cloneOf(o.TLS)
	}
	return c
}

func cloneOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
