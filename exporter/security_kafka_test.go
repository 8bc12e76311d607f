package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// passwords are forms that careless parsers of properties, URLs and JAAS break
// (C-17), by user. The last one stands in its file before a newline.
var passwords = map[string]string{"u1": "p#1", "u2": "a=b", "u3": "a%41", "u4": `q"w\`, "u5": "in a file"}

const (
	scramSecret = "S3cr3t-π/scram"
	wrongSecret = "S3cr3t-π/wrong?"
	oauthSecret = "S3cr3t-π/oauth&x"
)

// secure is a one-broker cluster with every kind of listener.
type secure struct {
	*kafkatest.Cluster
	tokens *tokenServer
	dir    string // of secret files
}

// TestSecurity logs in in every way that the exporter offers.
func TestSecurity(t *testing.T) {
	kafkatest.SkipIfOff(t)
	tokens := newTokenServer(t, oauthSecret)
	supers := []string{"User:CN=client", "User:scram"}
	jaas := "org.apache.kafka.common.security.plain.PlainLoginModule required"
	for _, user := range append([]string{"alice"}, users()...) {
		password := passwords[user]
		if user == "alice" {
			password = kafkatest.Password(user)
		} else {
			supers = append(supers, "User:"+user)
		}
		jaas += fmt.Sprintf(" user_%s=%s", user, strconv.Quote(password))
	}
	c := kafkatest.Private(t, kafkatest.Options{
		Brokers: 1, TLS: true, IPv6: kafkatest.HasIPv6(), SuperUsers: supers,
		OAuth: &kafkatest.OAuth{JWKSURL: tokens.url + "/jwks", Audience: "kafka", Issuer: "test"},
		Properties: map[string]string{
			"listener.name.sasl_plaintext.plain.sasl.jaas.config": jaas + ";",
			// The broker ends connections whose token has expired.
			"listener.name.sasl_plaintext.oauthbearer.connections.max.reauth.ms": "3600000",
		},
	})
	s := &secure{c, tokens, t.TempDir()}
	s.scramUsers(t)
	must(t, c.CreateTopic(t.Context(), "orders", 2, 1, nil))
	must(t, c.Produce(t.Context(), "orders", 0, 10, 10))
	must(t, c.Commit(t.Context(), "readers", map[string]map[int32]int64{"orders": {0: 4}}))

	renewed := s.oauth(t)
	t.Run("password forms", s.passwordForms)
	t.Run("wrong password", s.wrongPassword)
	t.Run("TLS", s.tlsForms)
	t.Run("IPv6", s.ipv6)
	t.Run("secrets", s.secrets)
	t.Run("few ACLs", s.fewACLs)
	t.Run("documented ACLs", s.minimalACLs)
	t.Run("OAuth", renewed)
	checkBrokerLogs(t, c)
	t.Run("start without Kafka", func(t *testing.T) { startWithoutKafka(t, c) })
}

func users() []string { return []string{"u1", "u2", "u3", "u4", "u5"} }

// scramUsers makes every user of passwords, and "scram", known to both SCRAM mechanisms.
func (s *secure) scramUsers(t *testing.T) {
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		upserts := []kadm.UpsertSCRAM{{User: "scram", Mechanism: mechanism, Iterations: 4096, Password: scramSecret}}
		for user, password := range passwords {
			upserts = append(upserts, kadm.UpsertSCRAM{User: user, Mechanism: mechanism, Iterations: 4096, Password: password})
		}
		altered, err := s.Admin().AlterUserSCRAMs(t.Context(), nil, upserts)
		must(t, err)
		must(t, altered.Error())
	}
}

// file writes a secret and returns the file's name.
func (s *secure) file(t *testing.T, name, secret string) string {
	file := filepath.Join(s.dir, name)
	write(t, file, secret)
	return file
}

func saslYAML(mechanism, user, file string) string {
	return fmt.Sprintf("sasl: {mechanism: %s, username: %s, password_file: %q}", mechanism, user, file)
}

// only switches all collectors off but those.
func only(names ...string) string {
	var b strings.Builder
	b.WriteString("interval: 2s\ncollectors:\n")
	for _, c := range config.CollectorInfos() {
		on := false
		for _, n := range names {
			on = on || n == c.Name
		}
		fmt.Fprintf(&b, "  %s: {enabled: %v}\n", c.Name, on)
	}
	return b.String()
}

// works waits until the cluster of that name is read.
func works(t *testing.T, p *process, name string) {
	t.Helper()
	until(t, p, "cluster "+name+" to be read", 30*time.Second, func(s scraped) (bool, string) {
		c := s.of(name)
		return c.is(`kafka_steward_collector_success{collector="topology"}`, 1) && c.is("kafka_cluster_brokers", 1), readyText(p)
	})
}

// fails waits until the cluster of that name has failed for the reason, which
// the page for people says in those words.
func fails(t *testing.T, p *process, within time.Duration, name, reason, words string) {
	t.Helper()
	until(t, p, "cluster "+name+" to fail for "+reason, within, func(s scraped) (bool, string) {
		c := s.of(name)
		return c.series[fmt.Sprintf(`kafka_steward_collector_errors_total{collector="topology",reason=%q}`, reason)] > 0, readyText(p)
	})
	ready := readyText(p)
	for line := range strings.Lines(ready) {
		if strings.HasPrefix(line, name+": ") && strings.Contains(line, "("+reason+")") && strings.Contains(strings.ToLower(line), strings.ToLower(words)) {
			return
		}
	}
	t.Errorf("/-/ready does not say of %s %q and %q: %s", name, reason, words, ready)
}

func (s *secure) passwordForms(t *testing.T) {
	var sections, names []string
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "scram-sha-512"} {
		for _, user := range users() {
			secret := passwords[user]
			if user == "u5" {
				secret += "\n"
			}
			name := strings.ToLower(mechanism) + "-" + user
			names = append(names, name)
			sections = append(sections, section(name, s.BootstrapFor(kafkatest.ListenerSASLPlaintext),
				saslYAML(mechanism, user, s.file(t, "password-"+user, secret)), only("topology")))
		}
	}
	p := launch(t, sections...)
	for _, name := range names {
		works(t, p, name)
	}
}

// wrongPassword: within one interval it is told, and a changed file heals it.
func (s *secure) wrongPassword(t *testing.T) {
	mechanisms := map[string]string{"plain": "PLAIN", "scram": "SCRAM-SHA-512"}
	var sections []string
	for name, mechanism := range mechanisms {
		sections = append(sections, section(name, s.BootstrapFor(kafkatest.ListenerSASLPlaintext),
			saslYAML(mechanism, "u1", s.file(t, "changing-"+name, wrongSecret)), strings.Replace(only("topology"), "2s", "5s", 1)))
	}
	p := launch(t, sections...)
	for name := range mechanisms {
		fails(t, p, 5*time.Second, name, "auth", "authentication")
		p.eventually("logs that "+name+" was not let in", func() bool {
			for line := range strings.Lines(p.log()) {
				if strings.Contains(line, "kafka_cluster="+name) && !strings.Contains(line, "level=DEBUG") && strings.Contains(strings.ToLower(line), "authentication") {
					return true
				}
			}
			return false
		})
	}
	for name := range mechanisms {
		s.file(t, "changing-"+name, passwords["u1"])
	}
	for name := range mechanisms {
		works(t, p, name)
	}
}

func (s *secure) tlsForms(t *testing.T) {
	files := s.State().TLS
	ca := fmt.Sprintf("tls: {ca_file: %q}", files.CA)
	mutual := fmt.Sprintf("tls: {ca_file: %q, cert_file: %q, key_file: %q}", files.CA, files.Cert, files.Key)
	ssl := s.BootstrapFor(kafkatest.ListenerSSL)
	p := launch(t,
		section("plain-to-tls", ssl, only("topology")),
		section("tls-to-plain", s.Bootstrap(), ca, only("topology")),
		section("no-certificate", ssl, ca, only("topology")),
		section("unknown-ca", ssl, "tls: {}", only("topology")),
		section("mutual", ssl, mutual, only("topology", "groups", "offsets", "logdirs", "acls", "quorum")),
		section("sasl-ssl", s.BootstrapFor(kafkatest.ListenerSASLSSL), ca, saslYAML("SCRAM-SHA-512", "scram", s.file(t, "scram", scramSecret)), only("topology")),
	)
	for _, name := range []string{"plain-to-tls", "tls-to-plain", "no-certificate", "unknown-ca"} {
		fails(t, p, 30*time.Second, name, "tls", "tls")
	}
	works(t, p, "mutual")
	works(t, p, "sasl-ssl")
	until(t, p, "all of the cluster by mutual TLS", 20*time.Second, func(s scraped) (bool, string) {
		c := s.of("mutual")
		ok := c.is(`kafka_group_lag_records{group="readers",topic="orders",partition="0"}`, 6) && len(c.with("kafka_log_dir_online")) == 2 &&
			c.is("kafka_quorum_leader_id", 1) && c.is("kafka_authorizer_enabled", 1)
		return ok, fmt.Sprint(c.with("kafka_group_lag"), c.with("kafka_log_dir_online"), c.with("kafka_quorum_leader_id"), c.with("kafka_steward_collector_success"))
	})
}

// oauth starts an exporter with tokens that live for seconds; the test it
// returns, called later, says that they were renewed without a failure.
func (s *secure) oauth(t *testing.T) (check func(*testing.T)) {
	before, _ := s.tokens.counts()
	p := launch(t, section("oauth", s.BootstrapFor(kafkatest.ListenerSASLPlaintext), s.tokens.sasl("/token", s.file(t, "oauth", oauthSecret)), often()))
	began := time.Now()
	return func(t *testing.T) {
		until(t, p, "more tokens", 60*time.Second, func(scraped) (bool, string) {
			n, _ := s.tokens.counts()
			return n >= before+3 && time.Since(began) > 2*s.tokens.lifetime, fmt.Sprint(n-before, " tokens")
		})
		last := complete(t, p)
		for _, series := range last.with("kafka_steward_collector_errors_total") {
			if !strings.HasSuffix(series, " 0") {
				t.Errorf("a renewal of the token shows as an error: %s", series)
			}
		}
		n, _ := s.tokens.counts()
		t.Logf("%d tokens in %v", n-before, time.Since(began))
	}
}

// ipv6: a broker on [::1] is read, and named in one form (C-16).
func (s *secure) ipv6(t *testing.T) {
	bootstrap := s.BootstrapFor(kafkatest.ListenerIPv6)
	if bootstrap == "" {
		t.Skip("this machine has no IPv6 loopback")
	}
	p := launch(t, section("six", bootstrap, often()), section("nobody", "[::1]:1", only("topology")))
	untilOf(t, p, "six", `kafka_broker_info{broker="1",host="::1",broker_ip="::1",rack="rack-a",resource_group=""}`, 1)
	untilOf(t, p, "six", `kafka_group_lag_records{group="readers",topic="orders",partition="0"}`, 6)
	untilOf(t, p, "six", `kafka_steward_collector_success{collector="logdirs"}`, 1)
	fails(t, p, 20*time.Second, "nobody", "network", "[::1]:1")
}

func untilOf(t *testing.T, p *process, cluster, series string, want float64) {
	t.Helper()
	until(t, p, series, 30*time.Second, func(s scraped) (bool, string) {
		c := s.of(cluster)
		return c.is(series, want), fmt.Sprint(c.with(series[:strings.IndexByte(series, '{')]), readyText(p))
	})
}

// secrets: nothing shows a secret or a token, whatever works or fails (C-53).
func (s *secure) secrets(t *testing.T) {
	sasl := s.BootstrapFor(kafkatest.ListenerSASLPlaintext)
	_, refused := s.tokens.counts()
	p := launch(t,
		section("in", sasl, saslYAML("SCRAM-SHA-256", "scram", s.file(t, "scram", scramSecret)), often()),
		section("out-plain", sasl, saslYAML("PLAIN", "alice", s.file(t, "wrong", wrongSecret)), only("topology")),
		section("out-scram", sasl, saslYAML("SCRAM-SHA-512", "scram", s.file(t, "wrong", wrongSecret)), only("topology")),
		section("token-in", sasl, s.tokens.sasl("/token", s.file(t, "oauth", oauthSecret)), only("topology", "quorum")),
		section("token-out", sasl, s.tokens.sasl("/refuse", s.file(t, "oauth", oauthSecret)), only("topology")),
		section("token-wrong", sasl, s.tokens.sasl("/token", s.file(t, "wrong", wrongSecret)), only("topology")),
	)
	works(t, p, "in")
	works(t, p, "token-in")
	for _, name := range []string{"out-plain", "out-scram", "token-out", "token-wrong"} {
		fails(t, p, 30*time.Second, name, "auth", "authentication")
	}
	if _, now := s.tokens.counts(); now == refused {
		t.Error("the token endpoint that repeats secrets was never asked")
	}
	s.searchSecrets(t, p)
}

func (s *secure) searchSecrets(t *testing.T, p *process) {
	places := map[string]string{}
	for _, path := range []string{"/", "/metrics", "/status", "/status.json", "/-/ready", "/-/healthy", "/-/reload", "/config", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/vars"} {
		_, places[path] = p.do("GET", path)
	}
	_, places["reload"] = p.do("POST", "/-/reload")
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, file := range processes {
		if text, err := os.ReadFile(file); err == nil { // it may have ended
			places[file] = string(text)
		}
	}
	if !strings.Contains(places[fmt.Sprintf("/proc/%d/cmdline", p.Process.Pid)], "--log.level=debug") {
		t.Error("the exporter does not log at level debug: nothing was tested")
	}
	p.signal(os.Interrupt)
	must(t, p.Wait())
	places["the log"] = p.log()
	for _, name := range []string{"in", "out-plain", "out-scram", "token-in", "token-out", "token-wrong"} {
		if !strings.Contains(places["the log"], "kafka_cluster="+name) {
			t.Errorf("the log does not speak of %s: nothing was tested", name)
		}
	}
	hidden := map[string][]string{}
	for _, secret := range []string{scramSecret, wrongSecret, oauthSecret} {
		hidden[secret] = forms(secret)
	}
	s.tokens.mu.Lock()
	for i, token := range s.tokens.issued {
		// Its last part is what makes it worth anything.
		hidden[fmt.Sprint("token ", i)] = []string{token, token[strings.LastIndexByte(token, '.'):]}
	}
	s.tokens.mu.Unlock()
	for place, text := range places {
		for secret, all := range hidden {
			for _, form := range all {
				if strings.Contains(text, form) {
					t.Errorf("%s shows %q as %q", place, secret, form)
				}
			}
		}
	}
}
