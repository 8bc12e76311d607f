package connect

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// passwords have everything that other tools were seen to break.
var passwords = []string{`p#1`, `a=b`, `a%41`, `q"w\`, `π≠∅`, ` lead and trail `, "tab\tnew\nline", `a,b`, trickySecret, strings.Repeat("x", 300)}

func withPassword(mechanism, file string) func(*Config) {
	return func(c *Config) { c.SASL = &SASL{Mechanism: mechanism, Username: "alice", PasswordFile: file} }
}

func TestPlainPasswordsTravelByteExact(t *testing.T) {
	dir := t.TempDir()
	var current string
	broker := startFake(t, nil, plainServer("alice", func() string { return current }))
	eachClient(t, func(t *testing.T, ping func(*Connector) error) {
		for i, password := range passwords {
			current = password
			file := writeFile(t, dir, fmt.Sprint("pw", i), password+"\n")
			if err := ping(newConnector(t, broker.addr(), withPassword("plain", file))); err != nil {
				t.Errorf("password %q: %v", password, err)
			}
		}
	})
}

func TestScram(t *testing.T) {
	dir := t.TempDir()
	for _, mechanism := range []string{MechanismScramSHA256, MechanismScramSHA512} {
		for i, password := range passwords {
			broker := startFake(t, nil, func(m string) saslServer {
				if m != mechanism {
					return nil
				}
				s := &scramServer{hash: scramHashes[m], user: "alice", password: password, iterations: 4096, nonce: "srv", salt: []byte("salt")}
				return s.step
			})
			file := writeFile(t, dir, fmt.Sprint("pw", i), password+"\n")
			eachClient(t, func(t *testing.T, ping func(*Connector) error) {
				if err := ping(newConnector(t, broker.addr(), withPassword(mechanism, file))); err != nil {
					t.Errorf("%s, password %q: %v", mechanism, password, err)
				}
			})
		}
	}
}

// TestScramVector runs the exchange of RFC 7677, section 3.
func TestScramVector(t *testing.T) {
	nonce, err := base64.RawStdEncoding.DecodeString("rOprNGfwEbeRWgbNEkqO") // the client prints it as base64
	if err != nil {
		t.Fatal(err)
	}
	mechanism := quietMechanism{scram.Sha256(func(context.Context) (scram.Auth, error) {
		return scram.Auth{User: "user", Pass: "pencil", Nonce: nonce}, nil
	})}
	client := &saramaScram{mechanism: mechanism}
	if err := client.Begin("ignored", "ignored", ""); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ in, out string }{
		{"", "n,,n=user,r=rOprNGfwEbeRWgbNEkqO"},
		{
			"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
			"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
		},
		{"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", ""},
	} {
		if client.Done() {
			t.Fatal("done before the server's signature")
		}
		out, err := client.Step(step.in)
		if err != nil || out != step.out {
			t.Fatalf("Step(%q) = %q, %v; want %q", step.in, out, err, step.out)
		}
	}
	if !client.Done() {
		t.Error("not done after the server's signature")
	}
}

func TestScramDistrustsTheBroker(t *testing.T) {
	file := writeFile(t, t.TempDir(), "pw", "secret")
	for _, test := range []struct {
		name   string
		server scramServer
		want   string
	}{
		{"wrong signature", scramServer{password: "other", iterations: 4096, nonce: "x", wrongProof: true}, "signature is wrong"},
		{"few iterations", scramServer{password: "secret", iterations: 4095, nonce: "x"}, "4095"},
		{"wrong password", scramServer{password: "other", iterations: 4096, nonce: "x"}, "Invalid username or password"},
	} {
		t.Run(test.name, func(t *testing.T) {
			broker := startFake(t, nil, func(m string) saslServer {
				s := test.server
				s.hash, s.user, s.salt = scramHashes[m], "alice", []byte("salt")
				return s.step
			})
			eachClient(t, func(t *testing.T, ping func(*Connector) error) {
				err := ping(newConnector(t, broker.addr(), withPassword("scram-sha512", file)))
				if err == nil || !strings.Contains(err.Error(), test.want) || Classify(err) != ClassAuth {
					t.Errorf("error %v (class %q) lacks %q", err, Classify(err), test.want)
				}
				if err != nil && strings.Contains(err.Error(), "exp ") {
					t.Errorf("the expected signature is in the error: %v", err)
				}
			})
		})
	}
}

// TestChangedSecretHeals uses one configuration, made once, over a change of
// the secret: as a long-lived client does.
func TestChangedSecretHeals(t *testing.T) {
	for _, mechanism := range []string{MechanismPlain, MechanismScramSHA512} {
		t.Run(mechanism, func(t *testing.T) {
			dir := t.TempDir()
			file := writeFile(t, dir, "pw", "old\n")
			broker := startFake(t, nil, func(m string) saslServer {
				if m == MechanismPlain {
					return plainServer("alice", func() string { return "new" })(m)
				}
				s := &scramServer{hash: scramHashes[m], user: "alice", password: "new", iterations: 4096, nonce: "x", salt: []byte("s")}
				return s.step
			})
			c := newConnector(t, broker.addr(), withPassword(mechanism, file))
			cfg, err := c.Sarama()
			if err != nil {
				t.Fatal(err)
			}
			opts, _ := c.Kgo()
			client, err := kgo.NewClient(opts...)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			b := sarama.NewBroker(broker.addr())
			defer b.Close()
			try := func(want Class) {
				t.Helper()
				_ = b.Open(cfg)
				if _, err := b.GetMetadata(sarama.NewMetadataRequest(cfg.Version, nil)); Classify(err) != want {
					t.Errorf("sarama: class %q, want %q: %v", Classify(err), want, err)
				}
				if err := client.Ping(t.Context()); Classify(err) != want {
					t.Errorf("franz-go: class %q, want %q: %v", Classify(err), want, err)
				}
			}
			try(ClassAuth)
			writeFile(t, dir, "pw", "new\n")
			try(ClassNone)
		})
	}
}

// TestReauthentication lets a session expire under a living connection
// (KIP-368): the new authentication carries the secret of that moment.
func TestReauthentication(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir, "pw", "one")
	broker := startFake(t, nil, func(string) saslServer { return func([]byte) ([]byte, int16) { return nil, 0 } })
	broker.lifetime = 1500 * time.Millisecond
	cfg, err := newConnector(t, broker.addr(), withPassword("PLAIN", file)).Sarama()
	if err != nil {
		t.Fatal(err)
	}
	b := sarama.NewBroker(broker.addr())
	if err := b.Open(cfg); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.GetMetadata(sarama.NewMetadataRequest(cfg.Version, nil)); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "pw", "two, and longer")
	eventually(t, "a second authentication", func() bool {
		if _, err := b.GetMetadata(sarama.NewMetadataRequest(cfg.Version, nil)); err != nil {
			t.Fatal(err)
		}
		return len(broker.seenAuths()) >= 2
	})
	got := broker.seenAuths()
	want := [][]byte{[]byte("\x00alice\x00one"), []byte("\x00alice\x00two, and longer")}
	if diff := cmp.Diff(want, got[:2]); diff != "" {
		t.Errorf("authentications differ (-want +got):\n%s", diff)
	}
}

func TestMismatchedListeners(t *testing.T) {
	file := writeFile(t, t.TempDir(), "pw", "secret")
	plain := plainServer("alice", func() string { return "secret" })
	missing := filepath.Join(t.TempDir(), "missing")
	web := startRaw(t, "HTTP/1.1 400 Bad Request\r\n\r\n")
	mute, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	closed, _ := net.Listen("tcp", "127.0.0.1:0")
	_ = closed.Close()
	hangUp := startRaw(t, "")
	for _, test := range []struct {
		name, addr string
		edit       func(*Config)
		class      Class
		want       string
	}{
		{"no SASL to a SASL listener", startFake(t, nil, plain).addr(), nil, ClassAuth, "does the listener require SASL?"},
		{"SASL to a listener without", startFake(t, nil, nil).addr(), withPassword("PLAIN", file), ClassAuth, ""},
		{"other mechanism", startFake(t, nil, plain).addr(), withPassword("SCRAM-SHA-512", file), ClassAuth, ""},
		{"missing secret file", startFake(t, nil, plain).addr(), withPassword("PLAIN", missing), ClassAuth, missing},
		{"missing secret file, SCRAM", startFake(t, nil, func(string) saslServer { return nilSASL }).addr(), withPassword("SCRAM-SHA-256", missing), ClassAuth, missing},
		{"HTTP server", web, nil, ClassNetwork, "does not speak the Kafka protocol"},
		{"TLS alert", startRaw(t, "\x15\x03\x03\x00\x02\x02\x50"), nil, ClassTLS, "the listener speaks TLS"}, // as Kafka sends it
		{"mute peer", mute.Addr().String(), func(c *Config) { c.RequestTimeout = Duration(300 * time.Millisecond) }, ClassTimeout, ""},
		{"mute peer, TLS", mute.Addr().String(), func(c *Config) { c.TLS = &TLS{}; c.DialTimeout = Duration(300 * time.Millisecond) }, ClassTimeout, ""},
		{"nobody listens", closed.Addr().String(), nil, ClassNetwork, ""},
		{"peer hangs up", hangUp, nil, ClassNetwork, ""},
		{"peer hangs up, TLS", hangUp, func(c *Config) { c.TLS = &TLS{} }, ClassTLS, "closed during the handshake"},
		{"no such host", "no-such-host.invalid:9092", nil, ClassNetwork, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachClient(t, func(t *testing.T, ping func(*Connector) error) {
				err := ping(newConnector(t, test.addr, test.edit))
				if Classify(err) != test.class || !strings.Contains(fmt.Sprint(err), test.want) {
					t.Errorf("class %q, want %q; error %v lacks %q", Classify(err), test.class, err, test.want)
				}
			})
		})
	}
}

func nilSASL([]byte) ([]byte, int16) { return nil, 0 }

// startRaw starts a listener that reads the first byte of every connection,
// gives an answer, and closes.
func startRaw(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1))
			_, _ = c.Write([]byte(answer))
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}
