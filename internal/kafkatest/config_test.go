package kafkatest

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

func TestParseMode(t *testing.T) {
	for in, want := range map[string]Mode{"kraft": KRaft4, "zk": ZK39, "ZK28": ZK28, "kraft39": KRaft39} {
		if got, err := ParseMode(in); err != nil || got != want {
			t.Errorf("ParseMode(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	if _, err := ParseMode("redpanda"); err == nil || !strings.Contains(err.Error(), "kraft39") {
		t.Errorf("unknown mode: error %v does not list the modes", err)
	}
}

func TestOptionsDefaults(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if o.Mode != KRaft4 || o.Brokers != 3 || o.ZooKeepers != 3 || o.LogDirs != 2 || o.BrokerHeap != "256m" {
		t.Errorf("defaults: %+v", o)
	}
	for name, bad := range map[string]Options{
		"mode":              {Mode: "nope"},
		"brokers":           {Brokers: -1},
		"broker properties": {Brokers: 1, BrokerProperties: map[int]map[string]string{2: nil}},
		"JWKS before 3.1":   {Mode: ZK28, OAuth: &OAuth{JWKSURL: "http://127.0.0.1/"}},
	} {
		if _, err := bad.withDefaults(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// testPlan plans a cluster without starting anything.
func testPlan(t *testing.T, o Options) *layout {
	t.Helper()
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l, err := plan(o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l.ClusterID = newClusterID()
	return l
}

func TestBrokerProperties(t *testing.T) {
	for _, mode := range Modes {
		t.Run(string(mode), func(t *testing.T) {
			l := testPlan(t, Options{
				Mode: mode, Brokers: 2, IPv6: true, TLS: true, SuperUsers: []string{"User:CN=client"},
				Properties:       map[string]string{"num.io.threads": "7", "log.retention.ms": "5"},
				BrokerProperties: map[int]map[string]string{2: {"log.retention.ms": "6"}},
			})
			if err := l.write(); err != nil {
				t.Fatal(err)
			}
			b := l.Brokers[1]
			got := l.brokerProperties(b)
			want := map[string]string{
				"broker.rack":                      "rack-b",
				"log.dirs":                         b.Dir + "/data-1," + b.Dir + "/data-2",
				"num.io.threads":                   "7",
				"log.retention.ms":                 "6",
				"offsets.topic.num.partitions":     "6",
				"offsets.topic.replication.factor": "2",
				"auto.create.topics.enable":        "true",
				"allow.everyone.if.no.acl.found":   "false",
				"group.initial.rebalance.delay.ms": "0",
				"super.users":                      "User:admin;User:ANONYMOUS;User:CN=client",
				"listener.name.sasl_plaintext.sasl.enabled.mechanisms":      "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
				"listener.name.ssl.ssl.client.auth":                         "required",
				"listener.name.sasl_ssl.ssl.truststore.certificates":        l.pem.ca,
				"listener.name.sasl_plaintext.plain.sasl.jaas.config":       `org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="admin-secret" user_alice="alice-secret" user_bob="bob-secret";`,
				"advertised.listeners":                                      advertised(b),
				"listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": "",
			}
			if mode.KRaft() {
				want["process.roles"], want["node.id"] = "broker,controller", "2"
				want["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
				want["controller.quorum.voters"] = fmt.Sprintf("1@%s,2@%s", l.controllers[1], l.controllers[2])
			} else {
				want["broker.id"], want["zookeeper.connect"] = "2", l.zkConnect()
				want["authorizer.class.name"] = "kafka.security.authorizer.AclAuthorizer"
			}
			for k, v := range want {
				if got[k] != v {
					t.Errorf("%s = %q, want %q", k, got[k], v)
				}
			}
		})
	}
}

func advertised(b BrokerState) string {
	var l []string
	for _, name := range []string{"PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL", "IPV6"} {
		l = append(l, name+"://"+b.Listeners[name])
	}
	return strings.Join(l, ",")
}

func TestOAuthProperties(t *testing.T) {
	o := &OAuth{JWKSURL: "http://127.0.0.1:1/jwks", Audience: "kafka", Issuer: "me"}
	got := o.properties("p.")
	for k, v := range map[string]string{
		"p.sasl.oauthbearer.jwks.endpoint.url": o.JWKSURL,
		"p.sasl.oauthbearer.expected.audience": "kafka",
		"p.sasl.oauthbearer.expected.issuer":   "me",
	} {
		if got[k] != v {
			t.Errorf("%s = %q, want %q", k, got[k], v)
		}
	}
	if u := (&OAuth{}).properties("p."); !strings.Contains(u["p.sasl.jaas.config"], "unsecured") || len(u) != 1 {
		t.Errorf("unsecured: %v", u)
	}
}

func TestRenderProperties(t *testing.T) {
	got := renderProperties(map[string]string{"b": "x\ny", "a": `c:\d`})
	if want := "a=c:\\\\d\nb=x\\ny\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLoggingConfig(t *testing.T) {
	for _, mode := range Modes {
		l := testPlan(t, Options{Mode: mode, Brokers: 1})
		b := l.Brokers[0]
		_, text := l.brokerLogging(b)
		for _, want := range []string{b.ServerLog, b.RequestLog, "kafka.request.logger", "WARN"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", mode, want, text)
			}
		}
		if strings.Contains(text, "%!") || strings.Contains(text, "%%") {
			t.Errorf("%s: badly formatted:\n%s", mode, text)
		}
	}
}

func TestZooKeeperProperties(t *testing.T) {
	l := testPlan(t, Options{Mode: ZK39, ZooKeeperProperties: map[string]string{"tickTime": "500"}})
	p := l.zooKeeperProperties(l.ZooKeepers[2])
	if p["tickTime"] != "500" || p["standaloneEnabled"] != "false" || p["server.1"] == "" || p["server.3"] == "" || p["server.4"] != "" {
		t.Errorf("ensemble of three: %v", p)
	}
	l = testPlan(t, Options{Mode: ZK39, ZooKeepers: 1})
	if p := l.zooKeeperProperties(l.ZooKeepers[0]); p["standaloneEnabled"] != "true" || p["server.1"] != "" {
		t.Errorf("single server: %v", p)
	}
}

func TestPlanPortsDiffer(t *testing.T) {
	l := testPlan(t, Options{Mode: KRaft4, Brokers: 5, TLS: true, IPv6: true})
	seen := map[string]bool{}
	for _, b := range l.Brokers {
		for _, addr := range append([]string{l.controllers[b.ID]}, values(b.Listeners)...) {
			_, port, err := net.SplitHostPort(addr)
			if err != nil || seen[port] {
				t.Errorf("broker %d: port of %q is used twice (%v)", b.ID, addr, err)
			}
			seen[port] = true
		}
	}
	if len(seen) != 5*6 {
		t.Errorf("%d ports, want 30", len(seen))
	}
}

func values(m map[string]string) []string {
	var v []string
	for _, s := range m {
		v = append(v, s)
	}
	return v
}
