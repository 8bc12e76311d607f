package connect

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// trickySecret has what parsers and escapers of other tools break.
const trickySecret = `S3cr3t-π #=%41"w\'x`

// writeFile writes a file into a test's directory and returns its path.
func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// leaks returns the places where text has a secret, plain or in an encoding
// that travels in logs: base64 (also as the PLAIN message of alice and as
// steward's Basic authorization), URL encoding, Go quoting.
func leaks(text string, secrets ...string) []string {
	var found []string
	for _, secret := range secrets {
		quoted := strconv.Quote(secret)
		forms := []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), quoted[1 : len(quoted)-1],
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawStdEncoding.EncodeToString([]byte(secret)),
			base64.RawURLEncoding.EncodeToString([]byte(secret)),
			base64.StdEncoding.EncodeToString([]byte("\x00alice\x00" + secret)),
			base64.StdEncoding.EncodeToString([]byte("steward:" + url.QueryEscape(secret))),
		}
		for _, form := range forms {
			if i := strings.Index(text, form); i >= 0 {
				found = append(found, text[max(0, i-100):min(len(text), i+len(form)+20)])
			}
		}
	}
	return found
}

// refuseSecrets fails if text has a secret.
func refuseSecrets(t *testing.T, text string, secrets ...string) {
	t.Helper()
	for _, place := range leaks(text, secrets...) {
		t.Errorf("a secret shows up: ...%s...", place)
	}
}

func TestLeaksFindsSecrets(t *testing.T) {
	for _, text := range []string{
		trickySecret, url.QueryEscape(trickySecret), strconv.Quote(trickySecret),
		base64.StdEncoding.EncodeToString([]byte(trickySecret)), base64.StdEncoding.EncodeToString([]byte("\x00alice\x00" + trickySecret)),
	} {
		if len(leaks("x "+text+" y", trickySecret)) == 0 {
			t.Errorf("%q is not found", text)
		}
	}
}

func TestSecretFromFile(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ content, want string }{
		{"p#1\n", "p#1"},
		{"p#1\r\n", "p#1"},
		{"p#1", "p#1"},
		{"p#1\n\n", "p#1\n"},
		{"p#1\n\r\n", "p#1\n"},
		{" p \n", " p "},
		{"p\r", "p\r"},
		{"a=b", "a=b"},
		{"a%41", "a%41"},
		{`q"w\`, `q"w\`},
		{trickySecret + "\n", trickySecret},
		{"\xff\xfe\n", "\xff\xfe"},
		{"\ufeffp\n", "\ufeffp"},
	} {
		path := writeFile(t, dir, "secret", test.content)
		got, err := secretSource{field: "sasl.password", file: path}.read()
		if err != nil || got != test.want {
			t.Errorf("file %q gives %q, %v; want %q", test.content, got, err, test.want)
		}
	}
	for _, test := range []struct{ path, want string }{
		{writeFile(t, dir, "empty", ""), "empty is empty"},
		{writeFile(t, dir, "newline", "\n"), "newline is empty"},
		{filepath.Join(dir, "missing"), "no such file"},
		{dir, "not a regular file"},
		{writeFile(t, dir, "big", strings.Repeat("x", maxSecretBytes+1)), "larger than"},
	} {
		_, err := secretSource{field: "sasl.password", file: test.path}.read()
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "sasl.password_file: ") {
			t.Errorf("%s: error %v lacks %q", test.path, err, test.want)
		}
		if Classify(err) != ClassAuth {
			t.Errorf("%s: class %q", test.path, Classify(err))
		}
	}
}

func TestSecretFromEnvironment(t *testing.T) {
	const name = "STEWARD_TEST_SECRET"
	source := secretSource{field: "sasl.password", env: name}
	for _, secret := range []string{"p#1", trickySecret, "p\n"} {
		t.Setenv(name, secret)
		if got, err := source.read(); err != nil || got != secret {
			t.Errorf("got %q, %v; want %q", got, err, secret)
		}
	}
	t.Setenv(name, "")
	if _, err := source.read(); err == nil || !strings.Contains(err.Error(), name+" is empty") {
		t.Errorf("empty variable: %v", err)
	}
	_ = os.Unsetenv(name)
	_, err := source.read()
	if err == nil || !strings.Contains(err.Error(), name+" is not set") {
		t.Errorf("missing variable: %v", err)
	}
	if s, ok := errors.AsType[*SecretError](err); !ok || s.Field != "sasl.password_env" {
		t.Errorf("error is %#v", err)
	}
}

func TestCheckSecrets(t *testing.T) {
	dir := t.TempDir()
	password := filepath.Join(dir, "pw")
	plain := newConnector(t, "k1", func(c *Config) {
		c.SASL = &SASL{Mechanism: "PLAIN", Username: "alice", PasswordFile: password}
	})
	if err := plain.CheckSecrets(); err == nil || !strings.Contains(err.Error(), password) {
		t.Errorf("missing file: %v", err)
	}
	writeFile(t, dir, "pw", "x\x00y")
	if err := plain.CheckSecrets(); err == nil || !strings.Contains(err.Error(), "NUL") {
		t.Errorf("NUL in a password: %v", err)
	}
	writeFile(t, dir, "pw", "x")
	if err := plain.CheckSecrets(); err != nil {
		t.Error(err)
	}
	oauth := newConnector(t, "k1", func(c *Config) {
		c.SASL = &SASL{Mechanism: "OAUTHBEARER", OAuth: &OAuth{TokenURL: "https://t", ClientID: "i", ClientSecretEnv: "STEWARD_TEST_NONE"}}
	})
	if err := oauth.CheckSecrets(); err == nil || !strings.Contains(err.Error(), "sasl.oauthbearer.client_secret_env") {
		t.Errorf("missing client secret: %v", err)
	}
	kerberos := newConnector(t, "k1", func(c *Config) {
		c.SASL = &SASL{Mechanism: "GSSAPI", Kerberos: &Kerberos{Realm: "R", Username: "u", KeytabFile: "/nowhere", Krb5ConfFile: writeFile(t, dir, "krb5", "[libdefaults]\ndefault_realm = R\n")}}
	})
	if err := kerberos.CheckSecrets(); err == nil || !strings.Contains(err.Error(), "sasl.gssapi.keytab_file") {
		t.Errorf("missing keytab: %v", err)
	}
	if err := newConnector(t, "k1", nil).CheckSecrets(); err != nil {
		t.Error(err)
	}
}

func TestWithAuthBytes(t *testing.T) {
	if _, err := withAuthBytes(bytes.Repeat([]byte{0}, 40), nil); !errors.Is(err, errBadFrame) {
		t.Errorf("a frame of a wrong size: %v", err)
	}
}
