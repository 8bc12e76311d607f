package connect

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority issues certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := x509.ParseCertificate(der)
	return &authority{t: t, cert: cert, key: key, pem: toPEM("CERTIFICATE", der)}
}

func toPEM(blockType string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: blockType, Bytes: der}))
}

// issue returns a certificate for 127.0.0.1 and localhost, and its key, as PEM.
func (a *authority) issue(name string) (cert, key string) {
	a.t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &k.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return toPEM("CERTIFICATE", der), toPEM("PRIVATE KEY", raw)
}

// serverTLS returns a broker's configuration; clients, if set, must have issued
// the client's certificate.
func (a *authority) serverTLS(clients *authority) *tls.Config {
	a.t.Helper()
	pair, err := tls.X509KeyPair(asBytes(a.issue("broker")))
	if err != nil {
		a.t.Fatal(err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if clients != nil {
		cfg.ClientAuth, cfg.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		cfg.ClientCAs.AddCert(clients.cert)
	}
	return cfg
}

func asBytes(a, b string) ([]byte, []byte) { return []byte(a), []byte(b) }

func TestTLS(t *testing.T) {
	good, other := newAuthority(t, "good"), newAuthority(t, "other")
	dir := t.TempDir()
	goodCA, otherCA := writeFile(t, dir, "good.pem", good.pem), writeFile(t, dir, "other.pem", other.pem)
	cert, key := good.issue("client")
	certFile, keyFile := writeFile(t, dir, "c.pem", cert), writeFile(t, dir, "c.key", key)
	foreign, foreignKey := other.issue("client")
	foreignFile, foreignKeyFile := writeFile(t, dir, "f.pem", foreign), writeFile(t, dir, "f.key", foreignKey)

	old := good.serverTLS(nil)
	old.MaxVersion = tls.VersionTLS12
	simple := startFake(t, good.serverTLS(nil), nil).addr()
	mutual := startFake(t, good.serverTLS(good), nil).addr()
	tls12 := startFake(t, old, nil).addr()
	plaintext := startFake(t, nil, nil).addr()
	_, simplePort, _ := net.SplitHostPort(simple)

	for _, test := range []struct {
		name, addr string
		tls        *TLS
		want       string // text of the error, "" for success
	}{
		{"right authority", simple, &TLS{CAFile: goodCA}, ""},
		{"by name", "localhost:" + simplePort, &TLS{CAFile: goodCA}, ""},
		{"server_name", simple, &TLS{CAFile: goodCA, ServerName: "localhost"}, ""},
		{"wrong server_name", simple, &TLS{CAFile: goodCA, ServerName: "kafka.example"}, "kafka.example"},
		{"wrong authority", simple, &TLS{CAFile: otherCA}, "unknown authority"},
		{"system authorities", simple, &TLS{}, "unknown authority"},
		{"skip verify", simple, &TLS{InsecureSkipVerify: true}, ""},
		{"mutual", mutual, &TLS{CAFile: goodCA, CertFile: certFile, KeyFile: keyFile}, ""},
		{"mutual without certificate", mutual, &TLS{CAFile: goodCA}, "certificate required"},
		{"mutual with a foreign certificate", mutual, &TLS{CAFile: goodCA, CertFile: foreignFile, KeyFile: foreignKeyFile}, "unknown certificate authority"},
		{"version 1.3 asked of 1.2", tls12, &TLS{CAFile: goodCA, MinVersion: "1.3"}, "protocol version"},
		{"version 1.2", tls12, &TLS{CAFile: goodCA}, ""},
		{"TLS to a plaintext listener", plaintext, &TLS{CAFile: goodCA}, "closed during the handshake"},
		{"plaintext to a TLS listener", simple, nil, "the listener speaks TLS but tls is not configured"},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachClient(t, func(t *testing.T, ping func(*Connector) error) {
				err := ping(newConnector(t, test.addr, func(c *Config) { c.TLS = test.tls }))
				switch {
				case test.want == "" && err != nil:
					t.Fatal(err)
				case test.want == "":
				case err == nil || !strings.Contains(err.Error(), test.want):
					t.Errorf("error %v lacks %q", err, test.want)
				case Classify(err) != ClassTLS:
					t.Errorf("class %q of %v", Classify(err), err)
				}
			})
		})
	}
}

// TestTLSReload changes every file under a living Connector: it must follow
// good files, and keep the last good ones under bad files.
func TestTLSReload(t *testing.T) {
	first, second := newAuthority(t, "first"), newAuthority(t, "second")
	firstBroker := startFake(t, first.serverTLS(first), nil).addr()
	secondBroker := startFake(t, second.serverTLS(second), nil).addr()
	for name, ping := range clients {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(a *authority) {
				cert, key := a.issue("client")
				writeFile(t, dir, "ca.pem", a.pem)
				writeFile(t, dir, "c.pem", cert)
				writeFile(t, dir, "c.key", key)
			}
			write(first)
			var log syncBuffer
			c := newConnector(t, firstBroker+","+secondBroker, func(c *Config) {
				c.TLS = &TLS{CAFile: filepath.Join(dir, "ca.pem"), CertFile: filepath.Join(dir, "c.pem"), KeyFile: filepath.Join(dir, "c.key")}
			}, logTo(&log))
			// expect checks which of the two brokers the files open.
			expect := func(step string, good, bad string) {
				t.Helper()
				for addr, want := range map[string]Class{good: ClassNone, bad: ClassTLS} {
					one := *c
					one.addresses = []Address{mustParse(t, addr)}
					if err := ping(t.Context(), &one); Classify(err) != want {
						t.Errorf("%s: class %q, want %q: %v", step, Classify(err), want, err)
					}
				}
			}
			expect("start", firstBroker, secondBroker)
			write(second)
			expect("after the change", secondBroker, firstBroker)
			writeFile(t, dir, "ca.pem", "garbage")
			writeFile(t, dir, "c.key", "garbage")
			expect("with broken files", secondBroker, firstBroker)
			if n := strings.Count(log.String(), "last good ones stay in use"); n != 2 {
				t.Errorf("%d warnings about two broken files, want 2:\n%s", n, log.String())
			}
			if err := os.Remove(filepath.Join(dir, "ca.pem")); err != nil {
				t.Fatal(err)
			}
			expect("with a removed file", secondBroker, firstBroker)
			write(first)
			expect("after the repair", firstBroker, secondBroker)
		})
	}
}

func mustParse(t *testing.T, s string) Address {
	t.Helper()
	a, err := ParseAddress(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTLSFilesAreNotReadAgainForNothing lets a settled file be.
func TestTLSFilesAreNotReadAgainForNothing(t *testing.T) {
	path := writeFile(t, t.TempDir(), "f", "1")
	loads := 0
	w := &watched[int]{files: []string{path}, load: func() (int, error) { loads++; return loads, nil }}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := w.get(); err != nil {
			t.Fatal(err)
		}
	}
	if loads != 1 {
		t.Errorf("an unchanged file was read %d times", loads)
	}
}

func TestTLSFileErrors(t *testing.T) {
	a, b := newAuthority(t, "a"), newAuthority(t, "b")
	dir := t.TempDir()
	ca := writeFile(t, dir, "ca.pem", a.pem)
	cert, key := a.issue("x")
	_, otherKey := b.issue("x")
	certFile, keyFile := writeFile(t, dir, "c.pem", cert), writeFile(t, dir, "c.key", key)
	for _, test := range []struct {
		name string
		tls  TLS
		want string
	}{
		{"missing", TLS{CAFile: filepath.Join(dir, "none")}, "none: no such file"},
		{"empty", TLS{CAFile: writeFile(t, dir, "empty", "")}, "empty: the file is empty"},
		{"text", TLS{CAFile: writeFile(t, dir, "text", "hello")}, "no PEM block of type CERTIFICATE"},
		{"key as authority", TLS{CAFile: keyFile}, "no PEM block of type CERTIFICATE"},
		{"broken certificate", TLS{CAFile: writeFile(t, dir, "bad", a.pem+toPEM("CERTIFICATE", []byte("x")))}, "certificate number 2"},
		{"JKS", TLS{CAFile: writeFile(t, dir, "jks", "\xfe\xed\xfe\xed\x00")}, "Java key store"},
		{"PKCS#12", TLS{CAFile: writeFile(t, dir, "p12", "0\x82\x01")}, "PKCS#12"},
		{"wrong key", TLS{CAFile: ca, CertFile: certFile, KeyFile: writeFile(t, dir, "o.key", otherKey)}, "does not match"},
		{"certificate as key", TLS{CertFile: certFile, KeyFile: certFile}, "no PEM block of type PRIVATE KEY"},
		{"encrypted key", TLS{CertFile: certFile, KeyFile: writeFile(t, dir, "e.key", toPEM("ENCRYPTED PRIVATE KEY", []byte("x")))}, "private key is encrypted"},
		{"key as certificate", TLS{CertFile: keyFile, KeyFile: keyFile}, "no PEM block of type CERTIFICATE"},
	} {
		_, err := New(Config{BootstrapServers: []string{"k1"}, TLS: &test.tls})
		if err == nil || !strings.Contains(err.Error(), test.want) || Classify(err) != ClassTLS {
			t.Errorf("%s: error %v (class %q) lacks %q", test.name, err, Classify(err), test.want)
		}
	}
}
