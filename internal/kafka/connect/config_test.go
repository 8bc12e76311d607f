package connect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// parse reads settings strictly, as steward.yml is read.
func parse(t *testing.T, text string) Config {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	var c Config
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConfigFromYAML(t *testing.T) {
	got := parse(t, `
bootstrap_servers: ["k1:9093", "[::1]:9093"]
tls: {ca_file: ca.pem, cert_file: c.pem, key_file: k.pem, server_name: kafka, min_version: "1.3"}
sasl: {mechanism: scram-sha-512, username: alice, password_file: pw}
dial_timeout: 1m30s
`)
	got.SetDefaults()
	want := Config{
		BootstrapServers: []string{"k1:9093", "[::1]:9093"}, ClientID: "kafka-steward",
		TLS:         &TLS{CAFile: "ca.pem", CertFile: "c.pem", KeyFile: "k.pem", ServerName: "kafka", MinVersion: "1.3"},
		SASL:        &SASL{Mechanism: "scram-sha-512", Username: "alice", PasswordFile: "pw"},
		DialTimeout: Duration(90 * time.Second), RequestTimeout: Duration(10 * time.Second),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings differ (-want +got):\n%s", diff)
	}
	if errs := got.Validate(); len(errs) > 0 {
		t.Errorf("valid settings are refused: %v", errs)
	}
	empty := parse(t, "bootstrap_servers: [k1]\ntls: {}\n")
	empty.SetDefaults()
	if empty.TLS == nil || empty.TLS.MinVersion != "1.2" || empty.ClientID != DefaultClientID {
		t.Errorf("defaults are %+v, %+v", empty, empty.TLS)
	}
}

func TestConfigHasNoInlineSecret(t *testing.T) {
	for _, text := range []string{
		"sasl: {password: x}", "sasl: {oauthbearer: {client_secret: x}}", "sasl: {gssapi: {password: x}}", "tls: {key: x}",
	} {
		d := yaml.NewDecoder(strings.NewReader(text))
		d.KnownFields(true)
		if err := d.Decode(&Config{}); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

func TestValidate(t *testing.T) {
	const base = "bootstrap_servers: [k1]\n"
	for _, test := range []struct{ text, want string }{
		{"{}", "bootstrap_servers: is missing: list at least one broker as host:port"},
		{`bootstrap_servers: ["k1:", "k2:x"]`, `bootstrap_servers: address "k2:x"`},
		{`bootstrap_servers: ["SSL://k1"]`, "bootstrap_servers: SSL://k1:9092 needs TLS: add a tls section"},
		{`bootstrap_servers: ["SASL_SSL://k1"]` + "\ntls: {}", "needs authentication: add a sasl section"},
		{`bootstrap_servers: ["PLAINTEXT://k1"]` + "\ntls: {}", "says plaintext but tls is set"},
		{`bootstrap_servers: ["SSL://k1"]` + "\ntls: {}\nsasl: {mechanism: PLAIN, username: u, password_env: P}", "use SASL_SSL or no scheme"},
		{base + "tls: {cert_file: c.pem}", "tls.key_file: set together with tls.cert_file"},
		{base + "tls: {key_file: k.pem}", "tls.cert_file: set together with tls.key_file"},
		{base + `tls: {min_version: "1.1"}`, `tls.min_version: "1.1" is not supported: use 1.2 or 1.3`},
		{base + "sasl: {mechanism: FOO}", `sasl.mechanism: unknown mechanism "FOO": use one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI`},
		{base + "sasl: {username: u, password_env: P}", "sasl.mechanism: no mechanism: use one of PLAIN"},
		{base + "sasl: {mechanism: plain, password_env: P}", "sasl.username: is missing"},
		{base + "sasl: {mechanism: plain, username: u}", "sasl.password_file: is missing"},
		{base + "sasl: {mechanism: plain, username: u, password_env: P, password_file: f}", "sasl.password_env: set either sasl.password_file or sasl.password_env, not both"},
		{base + "sasl: {mechanism: OAUTHBEARER}", "sasl.oauthbearer: is missing"},
		{base + "sasl: {mechanism: OAUTHBEARER, username: u, oauthbearer: {token_url: 'https://t', client_id: i, client_secret_env: E}}", "sasl.username: is not used by OAUTHBEARER"},
		{base + "sasl: {mechanism: OAUTHBEARER, oauthbearer: {token_url: 'ftp://t', client_id: i, client_secret_env: E}}", "sasl.oauthbearer.token_url: is not an http or https URL"},
		{base + "sasl: {mechanism: OAUTHBEARER, oauthbearer: {token_url: 'https://u:S3cr3t@t', client_id: i, client_secret_env: E}}", "sasl.oauthbearer.token_url: must not contain credentials"},
		{base + "sasl: {mechanism: OAUTHBEARER, oauthbearer: {token_url: 'http://t', client_id: i, client_secret_env: E}}", "sasl.oauthbearer.token_url: would send the client secret unencrypted"},
		{base + "sasl: {mechanism: OAUTHBEARER, oauthbearer: {token_url: 'https://t', client_id: i, client_secret_env: E, extensions: {auth: x}}}", `sasl.oauthbearer.extensions: name "auth"`},
		{base + "sasl: {mechanism: OAUTHBEARER, oauthbearer: {token_url: 'https://t', client_id: i}}", "sasl.oauthbearer.client_secret_file: is missing"},
		{base + "sasl: {mechanism: OAUTHBEARER, oauthbearer: {token_url: 'https://t', client_id: i, client_secret_env: E, tls: {key_file: k}}}", "sasl.oauthbearer.tls.cert_file: set together"},
		{base + "sasl: {mechanism: GSSAPI}", "sasl.gssapi: is missing"},
		{base + "sasl: {mechanism: gssapi, gssapi: {username: u, keytab_file: k}}", "sasl.gssapi.realm: is missing"},
		{base + "sasl: {mechanism: gssapi, gssapi: {username: u, realm: R, keytab_file: k, password_env: P}}", "sasl.gssapi.keytab_file: set either"},
		{base + "sasl: {mechanism: PLAIN, username: u, password_env: P, gssapi: {realm: R}}", "sasl.gssapi: is not used by PLAIN"},
		{base + "dial_timeout: 1ms", "dial_timeout: 1ms is out of range"},
		{base + "request_timeout: 1h", "request_timeout: 1h is out of range"},
		{base + `client_id: "a\nb"`, "client_id: must have"},
	} {
		c := parse(t, test.text)
		c.SetDefaults()
		var all []string
		for _, err := range c.Validate() {
			all = append(all, err.Error())
		}
		if text := strings.Join(all, "\n"); !strings.Contains(text, test.want) || strings.Contains(text, "S3cr3t") {
			t.Errorf("%s\n  errors %q\n  want   %q", test.text, all, test.want)
		}
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: New returns %v", test.text, err)
		}
	}
}

func TestParseMechanism(t *testing.T) {
	for in, want := range map[string]string{
		"PLAIN": "PLAIN", "plain": "PLAIN", " Plain ": "PLAIN",
		"SCRAM-SHA-512": "SCRAM-SHA-512", "scram-sha-512": "SCRAM-SHA-512", "scram-sha512": "SCRAM-SHA-512", "SCRAM_SHA_512": "SCRAM-SHA-512",
		"SCRAM-SHA-256": "SCRAM-SHA-256", "scramsha256": "SCRAM-SHA-256",
		"OAUTHBEARER": "OAUTHBEARER", "oauthbearer": "OAUTHBEARER", "GSSAPI": "GSSAPI", "gssapi": "GSSAPI",
	} {
		if got, err := ParseMechanism(in); got != want || err != nil {
			t.Errorf("ParseMechanism(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"FOO", "", "SCRAM", "SCRAM-SHA-1", "PLAINTEXT", "SCRAM-SHA-5122"} {
		got, err := ParseMechanism(in)
		if err == nil || got != "" {
			t.Errorf("ParseMechanism(%q) = %q, want an error", in, got)
			continue
		}
		for _, name := range mechanisms {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("the error for %q does not list %s: %v", in, name, err)
			}
		}
	}
}

func TestConfigPrintsAndMarshals(t *testing.T) {
	t.Setenv("STEWARD_TEST_PW", trickySecret)
	c := parse(t, "bootstrap_servers: [k1]\nsasl: {mechanism: plain, username: alice, password_env: STEWARD_TEST_PW}\n")
	connector, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	saramaConfig, err := connector.Sarama()
	if err != nil {
		t.Fatal(err)
	}
	y, _ := yaml.Marshal(c)
	j, _ := json.Marshal(c)
	jc, _ := json.Marshal(map[string]any{"connector": connector})
	out := fmt.Sprintf("%+v %#v %v %s %s %s %+v %#v %+v %+v", c, c, c.SASL, y, j, jc, connector, *connector, connector, saramaConfig.Net)
	refuseSecrets(t, out, trickySecret)
	if !strings.Contains(string(y), "password_env: STEWARD_TEST_PW") {
		t.Errorf("the YAML form lost a setting:\n%s", y)
	}
	if !cmp.Equal(parse(t, string(y)), c) {
		t.Errorf("the YAML form does not parse back:\n%s", y)
	}
}

func TestNewDoesNotChangeTheCallersConfig(t *testing.T) {
	c := Config{BootstrapServers: []string{"k1"}, TLS: &TLS{}}
	if _, err := New(c); err != nil {
		t.Fatal(err)
	}
	if c.TLS.MinVersion != "" || c.ClientID != "" {
		t.Errorf("New wrote defaults into the caller's settings: %+v %+v", c, c.TLS)
	}
}
