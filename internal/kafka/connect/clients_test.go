package connect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/rcrowley/go-metrics"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestSaramaConfig(t *testing.T) {
	c := newConnector(t, "k1:1,[::1]:2", nil)
	cfg, err := c.Sarama()
	if err != nil {
		t.Fatal(err)
	}
	got := []any{
		cfg.Version, cfg.ApiVersionsRequest, cfg.Metadata.AllowAutoTopicCreation, cfg.Metadata.Full, cfg.ClientID,
		cfg.Net.DialTimeout, cfg.Net.ReadTimeout, cfg.Net.WriteTimeout, cfg.Net.SASL.Enable, cfg.Consumer.Offsets.AutoCommit.Enable,
	}
	want := []any{sarama.MaxVersion, true, false, false, "kafka-steward", 2 * time.Second, 2 * time.Second, 2 * time.Second, false, false}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b sarama.KafkaVersion) bool { return a == b })); diff != "" {
		t.Errorf("configuration differs (-want +got):\n%s", diff)
	}
	other, _ := c.Sarama()
	if other == cfg {
		t.Error("two calls share one configuration")
	}
	if diff := cmp.Diff([]string{"k1:1", "[::1]:2"}, c.Servers()); diff != "" {
		t.Error(diff)
	}
}

func TestSaramaConfigHoldsNoPassword(t *testing.T) {
	file := writeFile(t, t.TempDir(), "pw", trickySecret)
	for _, mechanism := range []string{MechanismPlain, MechanismScramSHA256, MechanismScramSHA512} {
		cfg, err := newConnector(t, "k1", withPassword(mechanism, file)).Sarama()
		if err != nil {
			t.Fatal(err)
		}
		refuseSecrets(t, fmt.Sprintf("%+v", cfg), trickySecret)
		if string(cfg.Net.SASL.Mechanism) != mechanism || !cfg.Net.SASL.Enable || cfg.Net.SASL.User != "alice" {
			t.Errorf("%s: SASL is %+v", mechanism, cfg.Net.SASL)
		}
	}
}

func TestKerberosConfig(t *testing.T) {
	dir := t.TempDir()
	password := writeFile(t, dir, "pw", "secret\n")
	for _, k := range []*Kerberos{
		{Realm: "EXAMPLE.COM", Username: "steward", KeytabFile: "/etc/steward.keytab", DisablePAFXFast: true},
		{Realm: "EXAMPLE.COM", Username: "steward", PasswordFile: password},
	} {
		c := newConnector(t, "k1", func(c *Config) { c.SASL = &SASL{Mechanism: "gssapi", Kerberos: k} })
		cfg, err := c.Sarama()
		if err != nil {
			t.Fatal(err)
		}
		want := sarama.GSSAPIConfig{
			AuthType: sarama.KRB5_KEYTAB_AUTH, KeyTabPath: k.KeytabFile, KerberosConfigPath: "/etc/krb5.conf",
			ServiceName: "kafka", Username: "steward", Realm: "EXAMPLE.COM", DisablePAFXFAST: k.DisablePAFXFast,
		}
		if k.KeytabFile == "" {
			want.AuthType, want.Password = sarama.KRB5_USER_AUTH, "secret"
		}
		if diff := cmp.Diff(want, cfg.Net.SASL.GSSAPI); diff != "" {
			t.Errorf("GSSAPI settings differ (-want +got):\n%s", diff)
		}
		if _, err := c.Kgo(); err != nil {
			t.Error(err)
		}
		if got := c.principal(); got != "steward@EXAMPLE.COM" {
			t.Errorf("principal %q", got)
		}
	}
	c := newConnector(t, "k1", func(c *Config) {
		c.SASL = &SASL{Mechanism: "gssapi", Kerberos: &Kerberos{Realm: "R", Username: "u", PasswordFile: dir + "/none"}}
	})
	if _, err := c.Sarama(); Classify(err) != ClassAuth {
		t.Errorf("missing password file: %v", err)
	}
}

func TestKgoOptions(t *testing.T) {
	opts, err := newConnector(t, "k1:1,[::1]:2", nil, WithVersion("1.2.3")).Kgo()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	got := []any{
		client.OptValue(kgo.AllowAutoTopicCreation), client.OptValue(kgo.ClientID), client.OptValue(kgo.SeedBrokers),
		client.OptValue(kgo.RequestTimeoutOverhead), client.OptValue(kgo.DisableClientMetrics),
	}
	want := []any{false, "kafka-steward", []string{"k1:1", "[::1]:2"}, 2 * time.Second, true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options differ (-want +got):\n%s", diff)
	}
}

// TestMetricsDoNotGrow connects often and looks for anything kept.
func TestMetricsDoNotGrow(t *testing.T) {
	var r metrics.Registry = noMetrics{}
	for i := range 100 {
		if _, ok := metrics.GetOrRegisterMeter(fmt.Sprint("m", i), r).(metrics.NilMeter); !ok {
			t.Fatal("a meter that is kept")
		}
	}
	if _, ok := metrics.GetOrRegisterCounter("c", r).(metrics.NilCounter); !ok {
		t.Error("a counter that is kept")
	}
	if len(r.GetAll()) != 0 {
		t.Error("metrics are kept")
	}
	broker := startFake(t, nil, nil)
	c := newConnector(t, broker.addr(), nil)
	for range 3 {
		if err := pingSarama(t.Context(), c); err != nil {
			t.Fatal(err) // sarama panics on a metric of a wrong type
		}
	}
}

func TestPlainRewriterLeavesTheRestAlone(t *testing.T) {
	rewrite := plainRewriter("alice", func() (string, error) { return trickySecret, nil })
	for version := range int16(3) {
		for _, clientID := range []*string{nil, kmsg.StringPtr(""), kmsg.StringPtr("kafka-steward")} {
			formatter := kmsg.NewRequestFormatter()
			if clientID != nil {
				formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID(*clientID))
			}
			req := kmsg.NewPtrSASLAuthenticateRequest()
			req.Version, req.SASLAuthBytes = version, []byte("\x00alice\x00"+placeholder)
			got, err := rewrite(formatter.AppendRequest(nil, req, 7))
			if err != nil {
				t.Fatal(err)
			}
			req.SASLAuthBytes = []byte("\x00alice\x00" + trickySecret)
			if diff := cmp.Diff(formatter.AppendRequest(nil, req, 7), got); diff != "" {
				t.Errorf("version %d, client id %v (-want +got):\n%s", version, clientID, diff)
			}
		}
	}
	other := kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrMetadataRequest(), 7)
	if got, err := rewrite(other); err != nil || &got[0] != &other[0] {
		t.Errorf("another request is changed: %v", err)
	}
	bad := binary.BigEndian.AppendUint16(make([]byte, 4, 40), keySaslAuthenticate)
	for _, frame := range [][]byte{append(bad, 0, 0), append(bad, 0, 9, 1, 2, 3, 4, 0, 0, 0), append(bad, make([]byte, 20)...)} {
		if _, err := rewrite(frame); !errors.Is(err, errBadFrame) {
			t.Errorf("frame % x: %v", frame, err)
		}
	}
}

// TestLogsHoldNoSecret fails and succeeds to log in with every mechanism, with
// everything that can be logged logged, and searches it for the secrets.
func TestLogsHoldNoSecret(t *testing.T) {
	var all syncBuffer
	oldLogger, oldDebug := sarama.Logger, sarama.DebugLogger
	sarama.Logger, sarama.DebugLogger = log.New(&all, "", 0), log.New(&all, "", 0)
	defer func() { sarama.Logger, sarama.DebugLogger = oldLogger, oldDebug }()

	const clientSecret = `cl1ent-S3cr3t π&=%`
	dir := t.TempDir()
	password := writeFile(t, dir, "pw", trickySecret)
	secret := writeFile(t, dir, "secret", clientSecret)
	tokens := startTokens(t, clientSecret, time.Hour, nil)
	refusing := startTokens(t, "other", time.Hour, nil)
	accept := func(string) saslServer { return nilSASL }
	refuse := func(string) saslServer { return func([]byte) ([]byte, int16) { return nil, codeAuthFailed } }
	challenge := func(string) saslServer { return func([]byte) ([]byte, int16) { return []byte("nonsense"), 0 } }
	scramOK := func(m string) saslServer {
		s := &scramServer{hash: scramHashes[m], user: "alice", password: trickySecret, iterations: 4096, nonce: "x", salt: []byte("s")}
		return s.step
	}
	for _, test := range []struct {
		edit func(*Config)
		sasl func(string) saslServer
		want Class
	}{
		{withPassword("PLAIN", password), accept, ClassNone},
		{withPassword("PLAIN", password), refuse, ClassAuth},
		{withPassword("SCRAM-SHA-256", password), scramOK, ClassNone},
		{withPassword("SCRAM-SHA-512", password), refuse, ClassAuth},
		{withPassword("SCRAM-SHA-512", password), challenge, ClassAuth},
		{oauthConfig(tokens.URL, secret), accept, ClassNone},
		{oauthConfig(tokens.URL, secret), refuse, ClassAuth},
		{oauthConfig(refusing.URL, secret), accept, ClassAuth},
	} {
		c := newConnector(t, startFake(t, nil, test.sasl).addr(), test.edit, logTo(&all))
		for name, ping := range clients {
			err := ping(t.Context(), c)
			if Classify(err) != test.want {
				t.Errorf("%s with %s: class %q, want %q: %v", name, c, Classify(err), test.want, err)
			}
			fmt.Fprintf(&all, "%v\n%+v\n%v\n", err, err, c.Describe(err, "connect", "broker"))
			fmt.Fprintf(&all, "%v %+v %#v %s %v\n", c, c, c, c, *c)
			c.log.Info("connector", "c", c, "cfg", c.cfg)
		}
	}
	text := all.String()
	refuseSecrets(t, text, trickySecret, clientSecret, "token-1")
	for _, want := range []string{"using proxy", "SASLAuthenticate", "Closed connection to broker"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %q: is it connected?\n%s", want, text)
		}
	}
}
