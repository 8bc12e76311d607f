package connect

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// realPasswords are the password forms of users u0, u1, ... of the real
// brokers. PLAIN's are ASCII only, since Kafka reads its files as Latin-1.
var (
	realPlain = []string{`p#1`, `a=b`, `a%41`, `q"w\`, `a,b c`}
	realScram = append(slices.Clone(realPlain), `S3cr3t-π`)
)

// startReal starts one broker with every listener and the test's users.
func startReal(t *testing.T, mode kafkatest.Mode) *kafkatest.Cluster {
	t.Helper()
	jaas := `org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="adm"`
	for i, p := range realPlain {
		jaas += fmt.Sprintf(` user_u%d="%s"`, i, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p))
	}
	properties := map[string]string{
		"listener.name.sasl_plaintext.plain.sasl.jaas.config":          jaas + ";",
		"listener.name.sasl_plaintext.plain.connections.max.reauth.ms": "2000",
		"listener.name.sasl_ssl.sasl.enabled.mechanisms":               "SCRAM-SHA-512",
	}
	cluster := kafkatest.Private(t, kafkatest.Options{
		Mode: mode, Brokers: 1, ZooKeepers: 1, TLS: true, IPv6: kafkatest.HasIPv6(), OAuth: &kafkatest.OAuth{}, Properties: properties,
	})
	for _, m := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} { // KRaft takes a user once per request
		var users []kadm.UpsertSCRAM
		for i, p := range realScram {
			users = append(users, kadm.UpsertSCRAM{User: fmt.Sprint("u", i), Mechanism: m, Iterations: 4096, Password: p})
		}
		altered, err := cluster.Admin().AlterUserSCRAMs(t.Context(), nil, users)
		if err == nil {
			err = altered.Error()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return cluster
}

// realClients add sarama's own client, whose errors are wrapped once more.
func realClients() map[string]func(context.Context, *Connector) error {
	all := maps.Clone(clients)
	all[saramaClient] = func(_ context.Context, c *Connector) error {
		cfg, err := c.Sarama()
		if err != nil {
			return err
		}
		cfg.Metadata.Full = true
		client, err := sarama.NewClient(c.Servers(), cfg)
		if err != nil {
			return err
		}
		defer client.Close()
		_, err = client.Controller()
		return err
	}
	return all
}

type realCase struct {
	name, listener string
	edit           func(*Config)
	want           Class
	// lost marks the errors that sarama's client drops: of the codes in a
	// broker's answer it keeps only SASL_AUTHENTICATION_FAILED. See Classify.
	lost bool
}

const saramaClient = "sarama client"

func TestRealKafka(t *testing.T) {
	for _, mode := range []kafkatest.Mode{kafkatest.KRaft4, kafkatest.ZK39} {
		t.Run(string(mode), func(t *testing.T) {
			cluster := startReal(t, mode)
			cases := slices.Concat(loginCases(t), mismatchCases(t, cluster))
			for _, test := range cases {
				t.Run(test.name, func(t *testing.T) {
					for name, ping := range realClients() {
						ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
						err := ping(ctx, newConnector(t, cluster.BootstrapFor(test.listener), func(c *Config) {
							c.DialTimeout, c.RequestTimeout = 0, 0
							if test.edit != nil {
								test.edit(c)
							}
						}))
						cancel()
						want := test.want
						if name == saramaClient && test.lost {
							want = ClassNetwork
						}
						if Classify(err) != want {
							t.Errorf("%s: class %q, want %q: %v", name, Classify(err), want, err)
						}
					}
				})
			}
			t.Run("healing", func(t *testing.T) { realHealing(t, cluster) })
			t.Run("reauthentication", func(t *testing.T) { realReauthentication(t, cluster) })
			t.Run("OAuth", func(t *testing.T) { realOAuth(t, cluster) })
			t.Run("no topic is created", func(t *testing.T) { realNoTopic(t, cluster) })
			log, err := os.ReadFile(cluster.Broker(1).ServerLog())
			if err != nil {
				t.Fatal(err)
			}
			if i := strings.Index(string(log), "UnsupportedVersion"); i >= 0 {
				t.Errorf("the broker's log has: %.300s", log[i:])
			}
		})
	}
}

func loginCases(t *testing.T) []realCase {
	dir := t.TempDir()
	var cases []realCase
	add := func(mechanism string, i int, password string, want Class) {
		file := writeFile(t, dir, fmt.Sprintf("%s-%d-%s", mechanism, i, want), password+"\n")
		cases = append(cases, realCase{
			fmt.Sprintf("%s %s", mechanism, password), kafkatest.ListenerSASLPlaintext,
			func(c *Config) {
				c.SASL = &SASL{Mechanism: mechanism, Username: fmt.Sprint("u", i), PasswordFile: file}
			}, want, false,
		})
	}
	for i, p := range realPlain {
		add("plain", i, p, ClassNone)
	}
	for _, m := range []string{"scram-sha256", "SCRAM-SHA-512"} {
		for i, p := range realScram {
			add(m, i, p, ClassNone)
		}
		add(m, 0, "wrong", ClassAuth)
		add(m, 99, "no such user", ClassAuth)
	}
	add("PLAIN", 0, "wrong", ClassAuth)
	return cases
}

func mismatchCases(t *testing.T, cluster *kafkatest.Cluster) []realCase {
	files := cluster.State().TLS
	trust := func(c *Config) { c.TLS = &TLS{CAFile: files.CA} }
	mutual := func(c *Config) { c.TLS = &TLS{CAFile: files.CA, CertFile: files.Cert, KeyFile: files.Key} }
	file := writeFile(t, t.TempDir(), "pw", realScram[0])
	login := func(c *Config) { c.SASL = &SASL{Mechanism: "SCRAM-SHA-512", Username: "u0", PasswordFile: file} }
	cases := []realCase{
		{"plaintext", kafkatest.ListenerPlaintext, nil, ClassNone, false},
		{"mutual TLS", kafkatest.ListenerSSL, mutual, ClassNone, false},
		{"TLS and SCRAM", kafkatest.ListenerSASLSSL, func(c *Config) { trust(c); login(c) }, ClassNone, false},
		{"mutual TLS without a certificate", kafkatest.ListenerSSL, trust, ClassTLS, false},
		{"unknown authority", kafkatest.ListenerSASLSSL, func(c *Config) { c.TLS = &TLS{}; login(c) }, ClassTLS, false},
		{"plaintext to TLS", kafkatest.ListenerSSL, nil, ClassTLS, false},
		{"plaintext and SASL to TLS", kafkatest.ListenerSASLSSL, login, ClassTLS, false},
		{"TLS to plaintext", kafkatest.ListenerPlaintext, trust, ClassTLS, false},
		{"no SASL to SASL", kafkatest.ListenerSASLPlaintext, nil, ClassAuth, false},
		{"SASL to a listener without", kafkatest.ListenerPlaintext, login, ClassAuth, true},
		{"disabled mechanism", kafkatest.ListenerSASLSSL, func(c *Config) {
			trust(c)
			c.SASL = &SASL{Mechanism: "SCRAM-SHA-256", Username: "u0", PasswordFile: file}
		}, ClassAuth, true},
	}
	if kafkatest.HasIPv6() {
		cases = append(cases, realCase{"IPv6", kafkatest.ListenerIPv6, nil, ClassNone, false})
	}
	return cases
}

// realHealing repairs the secret under one long-lived client of each kind.
func realHealing(t *testing.T, cluster *kafkatest.Cluster) {
	dir := t.TempDir()
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-512"} {
		file := writeFile(t, dir, "pw", "wrong\n")
		c := newConnector(t, cluster.BootstrapFor(kafkatest.ListenerSASLPlaintext), func(c *Config) {
			c.SASL = &SASL{Mechanism: mechanism, Username: "u0", PasswordFile: file}
		})
		cfg, err := c.Sarama()
		if err != nil {
			t.Fatal(err)
		}
		opts, _ := c.Kgo()
		k, err := kgo.NewClient(opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		s, err := sarama.NewClient(c.Servers(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, step := range []struct {
			password string
			want     Class
		}{{"wrong\n", ClassAuth}, {realPlain[0] + "\n", ClassNone}} {
			writeFile(t, dir, "pw", step.password)
			_, err := s.LeastLoadedBroker().GetMetadata(sarama.NewMetadataRequest(cfg.Version, nil))
			for name, err := range map[string]error{"sarama": err, "franz-go": k.Ping(t.Context())} {
				if Classify(err) != step.want {
					t.Errorf("%s %s with %q: class %q, want %q: %v", name, mechanism, step.password, Classify(err), step.want, err)
				}
			}
		}
	}
}

// realReauthentication keeps connections longer than their SASL session.
func realReauthentication(t *testing.T, cluster *kafkatest.Cluster) {
	file := writeFile(t, t.TempDir(), "pw", realPlain[0])
	c := newConnector(t, cluster.BootstrapFor(kafkatest.ListenerSASLPlaintext), func(c *Config) {
		c.SASL = &SASL{Mechanism: "PLAIN", Username: "u0", PasswordFile: file}
	})
	cfg, err := c.Sarama()
	if err != nil {
		t.Fatal(err)
	}
	b := sarama.NewBroker(c.Servers()[0])
	if err := b.Open(cfg); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	opts, _ := c.Kgo()
	k, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	start := time.Now()
	eventually(t, "5s of requests over sessions of 2s", func() bool {
		if _, err := b.GetMetadata(sarama.NewMetadataRequest(cfg.Version, nil)); err != nil {
			t.Fatalf("sarama after %s: %v", time.Since(start), err)
		}
		if err := k.Ping(t.Context()); err != nil {
			t.Fatalf("franz-go after %s: %v", time.Since(start), err)
		}
		return time.Since(start) > 5*time.Second
	})
}

// realOAuth logs in with unsecured tokens of short life: later connections
// need later tokens.
func realOAuth(t *testing.T, cluster *kafkatest.Cluster) {
	var issued atomic.Int32
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		issued.Add(1)
		claims := fmt.Sprintf(`{"sub":"steward","iat":%d,"exp":%d}`, time.Now().Unix(), time.Now().Add(4*time.Second).Unix())
		encode := base64.RawURLEncoding.EncodeToString
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"%s.%s.","token_type":"bearer","expires_in":3}`, encode([]byte(`{"alg":"none"}`)), encode([]byte(claims)))
	}))
	defer tokens.Close()
	secret := writeFile(t, t.TempDir(), "secret", "s")
	c := newConnector(t, cluster.BootstrapFor(kafkatest.ListenerSASLPlaintext), func(c *Config) {
		c.SASL = &SASL{Mechanism: "OAUTHBEARER", OAuth: &OAuth{TokenURL: tokens.URL, ClientID: "x", ClientSecretFile: secret}}
	})
	eventually(t, "logins over three tokens", func() bool {
		for name, ping := range realClients() {
			if err := ping(t.Context(), c); err != nil {
				t.Fatalf("%s, token %d: %v", name, issued.Load(), err)
			}
		}
		return issued.Load() >= 3
	})
}

// realNoTopic asks for a topic that does not exist; the broker would create it.
func realNoTopic(t *testing.T, cluster *kafkatest.Cluster) {
	c := newConnector(t, cluster.Bootstrap(), nil)
	cfg, _ := c.Sarama()
	s, err := sarama.NewClient(c.Servers(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.RefreshMetadata("asked-by-sarama"); !errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		t.Errorf("sarama: %v", err)
	}
	opts, _ := c.Kgo()
	k, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if _, err := kadm.NewClient(k).Metadata(t.Context(), "asked-by-franz-go"); err != nil {
		t.Error(err)
	}
	topics, err := cluster.Admin().ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range topics.Names() {
		if strings.HasPrefix(name, "asked-by") {
			t.Errorf("topic %s was created", name)
		}
	}
	// The proof that this test can fail: the broker does create topics.
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr("asked-with-creation")
	req.Topics, req.AllowAutoTopicCreation = append(req.Topics, topic), true
	eventually(t, "a topic created by asking", func() bool {
		_, err := cluster.Client(t).Request(t.Context(), req)
		topics, listErr := cluster.Admin().ListTopics(t.Context())
		return err == nil && listErr == nil && topics.Has("asked-with-creation")
	})
}
