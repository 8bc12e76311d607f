package connect

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// FieldError is one mistake in a Config.
type FieldError struct {
	// Path is the setting within the Config, for example tls.key_file.
	Path string
	// Problem says what is wrong and what to do.
	Problem string
}

func (e *FieldError) Error() string { return e.Path + ": " + e.Problem }

// fieldErrors collects mistakes; the prefix keeps paths whole in nested settings.
type fieldErrors struct {
	errs []error
}

func (f *fieldErrors) add(path, format string, args ...any) {
	f.errs = append(f.errs, &FieldError{Path: path, Problem: fmt.Sprintf(format, args...)})
}

func (f *fieldErrors) require(path, value string) {
	if value == "" {
		f.add(path, "is missing: set it")
	}
}

// Validate returns every mistake that can be seen without touching files,
// environment or network, each a *FieldError. Call SetDefaults first.
func (c *Config) Validate() []error {
	var f fieldErrors
	c.validateAddresses(&f)
	if strings.ContainsFunc(c.ClientID, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(c.ClientID) > 249 {
		f.add("client_id", "must have at most 249 bytes and no control characters")
	}
	validateTimeout(&f, "dial_timeout", c.DialTimeout)
	validateTimeout(&f, "request_timeout", c.RequestTimeout)
	c.TLS.validate(&f, "tls")
	c.SASL.validate(&f)
	return f.errs
}

func validateTimeout(f *fieldErrors, path string, d Duration) {
	if t := time.Duration(d); t < 100*time.Millisecond || t > 15*time.Minute {
		f.add(path, "%s is out of range: use 100ms to 15m", d)
	}
}

func (c *Config) validateAddresses(f *fieldErrors) {
	if len(c.BootstrapServers) == 0 {
		f.add("bootstrap_servers", "is missing: list at least one broker as host:port")
		return
	}
	if _, err := ParseAddresses(c.BootstrapServers); err != nil {
		for _, e := range unjoin(err) {
			f.add("bootstrap_servers", "%s", e)
		}
	}
	for _, item := range splitItems(c.BootstrapServers) {
		if a, scheme, err := parseAddress(item); err == nil && scheme != "" {
			c.validateScheme(f, a, scheme)
		}
	}
}

// validateScheme refuses a scheme that promises other security than is
// configured: the scheme is dropped, so it would otherwise be a silent lie.
func (c *Config) validateScheme(f *fieldErrors, a Address, scheme string) {
	want := listenerSchemes[scheme]
	switch {
	case want.tls && c.TLS == nil:
		f.add("bootstrap_servers", "%s://%s needs TLS: add a tls section (tls: {} trusts the system's certificates)", scheme, a)
	case !want.tls && c.TLS != nil:
		f.add("bootstrap_servers", "%s://%s says plaintext but tls is set: remove the tls section or the scheme", scheme, a)
	}
	switch {
	case want.sasl && c.SASL == nil:
		f.add("bootstrap_servers", "%s://%s needs authentication: add a sasl section", scheme, a)
	case !want.sasl && c.SASL != nil:
		f.add("bootstrap_servers", "%s://%s says no authentication but sasl is set: use SASL_%s or no scheme", scheme, a, scheme)
	}
}

func (t *TLS) validate(f *fieldErrors, path string) {
	if t == nil {
		return
	}
	if t.CertFile != "" && t.KeyFile == "" {
		f.add(path+".key_file", "set together with %s.cert_file", path)
	}
	if t.KeyFile != "" && t.CertFile == "" {
		f.add(path+".cert_file", "set together with %s.key_file", path)
	}
	if _, err := parseTLSVersion(t.MinVersion); err != nil {
		f.add(path+".min_version", "%s", err)
	}
}

func (s *SASL) validate(f *fieldErrors) {
	if s == nil {
		return
	}
	mechanism, err := ParseMechanism(s.Mechanism)
	if err != nil {
		f.add("sasl.mechanism", "%s", err)
		return
	}
	password := mechanism == MechanismPlain || mechanism == MechanismScramSHA256 || mechanism == MechanismScramSHA512
	s.validatePassword(f, mechanism, password)
	switch {
	case mechanism == MechanismOAuthBearer && s.OAuth == nil:
		f.add("sasl.oauthbearer", "is missing: %s needs it", mechanism)
	case mechanism == MechanismOAuthBearer:
		s.OAuth.validate(f)
	case s.OAuth != nil:
		f.add("sasl.oauthbearer", "is not used by %s: remove it or set sasl.mechanism to %s", mechanism, MechanismOAuthBearer)
	}
	switch {
	case mechanism == MechanismGSSAPI && s.Kerberos == nil:
		f.add("sasl.gssapi", "is missing: %s needs it", mechanism)
	case mechanism == MechanismGSSAPI:
		s.Kerberos.validate(f)
	case s.Kerberos != nil:
		f.add("sasl.gssapi", "is not used by %s: remove it or set sasl.mechanism to %s", mechanism, MechanismGSSAPI)
	}
}

func (s *SASL) validatePassword(f *fieldErrors, mechanism string, needed bool) {
	if !needed {
		for _, field := range [][2]string{{"username", s.Username}, {"password_file", s.PasswordFile}, {"password_env", s.PasswordEnv}} {
			if field[1] != "" {
				f.add("sasl."+field[0], "is not used by %s: remove it", mechanism)
			}
		}
		return
	}
	f.require("sasl.username", s.Username)
	if strings.ContainsRune(s.Username, 0) {
		f.add("sasl.username", "contains a NUL byte, which SASL cannot carry")
	}
	validateSource(f, "sasl.password", s.PasswordFile, s.PasswordEnv)
}

func validateSource(f *fieldErrors, path, file, env string) {
	switch {
	case file != "" && env != "":
		f.add(path+"_env", "set either %[1]s_file or %[1]s_env, not both", path)
	case file == "" && env == "":
		f.add(path+"_file", "is missing: name the file (or with %s_env the environment variable) that holds the secret", path)
	}
}

var (
	// extensionName and extensionValue are the forms of KIP-342; "auth" is reserved.
	extensionName  = regexp.MustCompile(`^[A-Za-z]+$`)
	extensionValue = regexp.MustCompile(`^[\x21-\x7e \t\r\n]+$`)
)

func (o *OAuth) validate(f *fieldErrors) {
	const path = "sasl.oauthbearer"
	f.require(path+".client_id", o.ClientID)
	validateSource(f, path+".client_secret", o.ClientSecretFile, o.ClientSecretEnv)
	validateTokenURL(f, path+".token_url", o.TokenURL)
	for _, name := range slices.Sorted(maps.Keys(o.Extensions)) {
		if !extensionName.MatchString(name) || name == "auth" {
			f.add(path+".extensions", "name %q must be letters only and not \"auth\"", name)
		} else if !extensionValue.MatchString(o.Extensions[name]) {
			f.add(path+".extensions", "the value of %q must be printable ASCII and not empty", name)
		}
	}
	o.TLS.validate(f, path+".tls")
	if o.TLS != nil && strings.HasPrefix(strings.ToLower(o.TokenURL), "http:") {
		f.add(path+".tls", "is not used with an http token_url: remove it or use https")
	}
}

// validateTokenURL never repeats the URL: a user may have put a secret there.
func validateTokenURL(f *fieldErrors, path, raw string) {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		f.add(path, "is missing: set the token endpoint, https://...")
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		f.add(path, "is not an http or https URL")
	case u.User != nil:
		f.add(path, "must not contain credentials: use client_id and client_secret_file")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		f.add(path, "would send the client secret unencrypted: use https (http is for loopback only)")
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

func (k *Kerberos) validate(f *fieldErrors) {
	const path = "sasl.gssapi"
	f.require(path+".realm", k.Realm)
	f.require(path+".username", k.Username)
	f.require(path+".service_name", k.ServiceName)
	f.require(path+".krb5_conf_file", k.Krb5ConfFile)
	if k.KeytabFile == "" {
		validateSource(f, path+".password", k.PasswordFile, k.PasswordEnv)
	} else if k.PasswordFile != "" || k.PasswordEnv != "" {
		f.add(path+".keytab_file", "set either keytab_file or a password, not both")
	}
}

// unjoin takes apart what errors.Join put together.
func unjoin(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}
