package kafkatest

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Options says what cluster to start. The zero value is a 3-broker KRaft4
// cluster.
type Options struct {
	Mode       Mode // default KRaft4
	Brokers    int  // default 3; their ids are 1, 2, …
	ZooKeepers int  // ensemble size in the ZooKeeper modes, default 3
	LogDirs    int  // log directories of each broker, default 2

	// AllowEveryone sets allow.everyone.if.no.acl.found (default false).
	AllowEveryone bool
	// NoAutoCreateTopics turns auto.create.topics.enable off. It is on by
	// default, as in Kafka, so that tests can prove that nothing triggers it.
	NoAutoCreateTopics bool
	// SuperUsers are principals besides User:admin and User:ANONYMOUS, such as
	// "User:CN=client".
	SuperUsers []string

	// IPv6 adds a plaintext listener named IPV6 on [::1].
	IPv6 bool
	// TLS adds the listeners SSL (a client certificate is required) and
	// SASL_SSL, with certificates of a generated CA; see Cluster.TLSConfig.
	TLS bool
	// OAuth adds the OAUTHBEARER mechanism to the SASL listeners.
	OAuth *OAuth

	// Properties are set on every broker and win over the defaults.
	Properties map[string]string
	// BrokerProperties are set on one broker, by id, and win over Properties.
	BrokerProperties map[int]map[string]string
	// ZooKeeperProperties are set on every ZooKeeper server.
	ZooKeeperProperties map[string]string

	BrokerHeap    string   // -Xmx of a broker, default "256m"
	ZooKeeperHeap string   // -Xmx of a ZooKeeper server, default "96m"
	BrokerJVM     []string // added to the broker's JVM flags, after the defaults
	ZooKeeperJVM  []string // added to the ZooKeeper's JVM flags, after the defaults
	// Classpath lists jars to add to the brokers' class path.
	Classpath []string

	// Dir is where the data directory is made, default os.TempDir().
	Dir string
	// Keep leaves the data directory in place at Stop; KAFKATEST_KEEP=1 does
	// the same.
	Keep bool
	// StartTimeout bounds the time from launching the processes to a ready
	// cluster, default 3 minutes. Fetching the jars is not counted.
	StartTimeout time.Duration
	// Log receives progress; nil discards it.
	Log *slog.Logger
}

// OAuth says how brokers check OAUTHBEARER tokens.
type OAuth struct {
	// JWKSURL is where the brokers fetch the signing keys. When it is empty,
	// Kafka's validator of unsecured tokens (alg "none") is used.
	JWKSURL  string
	Audience string // expected "aud"; empty: not checked
	Issuer   string // expected "iss"; empty: not checked
}

// Listener names, as used with Cluster.BootstrapFor.
const (
	ListenerPlaintext     = "PLAINTEXT"
	ListenerSASLPlaintext = "SASL_PLAINTEXT"
	ListenerSSL           = "SSL"
	ListenerSASLSSL       = "SASL_SSL"
	ListenerIPv6          = "IPV6"

	listenerController = "CONTROLLER"
)

// Users are the names that SASL/PLAIN knows from the start. SCRAM users can be
// created through the Kafka API.
var Users = []string{"admin", "alice", "bob"}

// Password returns the SASL/PLAIN password of one of Users.
func Password(user string) string { return user + "-secret" }

func (o Options) withDefaults() (Options, error) {
	if o.Mode == "" {
		o.Mode = KRaft4
	}
	m, err := ParseMode(string(o.Mode))
	if err != nil {
		return o, err
	}
	o.Mode = m
	setDefault(&o.Brokers, 3)
	setDefault(&o.ZooKeepers, 3)
	setDefault(&o.LogDirs, 2)
	setDefault(&o.BrokerHeap, "256m")
	setDefault(&o.ZooKeeperHeap, "96m")
	setDefault(&o.StartTimeout, 3*time.Minute)
	o.Log = orDiscard(o.Log)
	if o.Brokers < 1 || o.ZooKeepers < 1 || o.LogDirs < 1 {
		return o, fmt.Errorf("brokers (%d), ZooKeepers (%d) and log directories (%d) must be at least 1", o.Brokers, o.ZooKeepers, o.LogDirs)
	}
	if o.Mode == ZK28 && o.OAuth != nil && o.OAuth.JWKSURL != "" {
		return o, errors.New("mode zk28: its Kafka 2.8 has no validator of signed OAUTHBEARER tokens: leave OAuth.JWKSURL empty or use a newer mode")
	}
	for id := range o.BrokerProperties {
		if id < 1 || id > o.Brokers {
			return o, fmt.Errorf("properties for broker %d: the ids are 1 to %d", id, o.Brokers)
		}
	}
	return o, nil
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// listeners lists the client listeners that the options ask for.
func (o Options) listeners() []string {
	l := []string{ListenerPlaintext, ListenerSASLPlaintext}
	if o.TLS {
		l = append(l, ListenerSSL, ListenerSASLSSL)
	}
	if o.IPv6 {
		l = append(l, ListenerIPv6)
	}
	return l
}

// rack returns the rack of a broker: rack-a, rack-b and rack-c in turn.
func rack(id int) string { return "rack-" + string(rune('a'+(id-1)%3)) }
