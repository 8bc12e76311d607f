package kafkatest

import (
	"fmt"
	"slices"
	"strings"
)

// Mode names one kind of cluster: a Kafka version and where it keeps its
// metadata.
type Mode string

// The modes.
const (
	// ZK39 is Kafka 3.9 with a ZooKeeper 3.9 ensemble.
	ZK39 Mode = "zk39"
	// KRaft39 is Kafka 3.9 in KRaft mode, combined controllers and brokers.
	KRaft39 Mode = "kraft39"
	// KRaft4 is the newest Kafka 4, combined controllers and brokers.
	KRaft4 Mode = "kraft4"
	// ZK28 is Kafka 2.8 with a ZooKeeper 3.9 ensemble.
	ZK28 Mode = "zk28"
)

// Modes lists every mode.
var Modes = []Mode{KRaft4, KRaft39, ZK39, ZK28}

// ParseMode returns the mode named s; "kraft" stands for KRaft4 and "zk" for
// ZK39.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(strings.ToLower(s)); m {
	case "kraft":
		return KRaft4, nil
	case "zk":
		return ZK39, nil
	default:
		if slices.Contains(Modes, m) {
			return m, nil
		}
	}
	return "", fmt.Errorf("unknown mode %q: use one of %v, or the aliases kraft and zk", s, Modes)
}

// KRaft reports whether the mode keeps its metadata in KRaft rather than in
// ZooKeeper.
func (m Mode) KRaft() bool { return m == KRaft39 || m == KRaft4 }

// Version returns the Kafka version of the mode, such as "4.4.0".
func (m Mode) Version() string { return m.kafkaSet().version }

// jarSet is one set of jars that Maven resolves together.
type jarSet struct {
	title    string   // for messages, "Kafka"
	version  string   // version of the main artifact
	megabyte int      // measured size of the resolved set, for messages
	deps     []string // group:artifact:version
}

// name returns the short name of the set, such as "kafka-4.4.0".
func (s jarSet) name() string { return strings.ToLower(s.title) + "-" + s.version }

// Every version of the test bed is pinned here and nowhere else.
const (
	kafka4Version    = "4.4.0"
	kafka39Version   = "3.9.2"
	kafka28Version   = "2.8.2"
	zooKeeperVersion = "3.9.5"

	reload4jBinding = "org.slf4j:slf4j-reload4j:1.7.36"
	log4j2Binding   = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.5"
)

// zooKeeperSet holds what the ZooKeeper jar leaves optional but its server
// needs: the AdminServer's Jetty, JSON, metrics and a logging back end.
var zooKeeperSet = jarSet{title: "ZooKeeper", version: zooKeeperVersion, megabyte: 19, deps: []string{
	"org.apache.zookeeper:zookeeper:" + zooKeeperVersion,
	"org.eclipse.jetty:jetty-server:9.4.58.v20250814",
	"org.eclipse.jetty:jetty-servlet:9.4.58.v20250814",
	"com.fasterxml.jackson.core:jackson-databind:2.18.2",
	"io.dropwizard.metrics:metrics-core:4.1.12.1",
	"org.xerial.snappy:snappy-java:1.1.10.7",
	"commons-cli:commons-cli:1.5.0",
	"ch.qos.logback:logback-classic:1.3.15",
}}

var kafkaSets = map[Mode]jarSet{
	KRaft4:  kafkaSet(kafka4Version, 54, log4j2Binding),
	KRaft39: kafkaSet(kafka39Version, 56, reload4jBinding),
	ZK39:    kafkaSet(kafka39Version, 56, reload4jBinding),
	ZK28:    kafkaSet(kafka28Version, 43), // brings its own log4j binding
}

func kafkaSet(version string, megabyte int, more ...string) jarSet {
	return jarSet{title: "Kafka", version: version, megabyte: megabyte, deps: append([]string{
		"org.apache.kafka:kafka_2.13:" + version,
		"org.apache.kafka:kafka-tools:" + version,
	}, more...)}
}

func (m Mode) kafkaSet() jarSet { return kafkaSets[m] }

// jarSets lists every set that the mode needs.
func (m Mode) jarSets() []jarSet {
	if m.KRaft() {
		return []jarSet{m.kafkaSet()}
	}
	return []jarSet{m.kafkaSet(), zooKeeperSet}
}
