// Package kafkatest starts real Apache Kafka clusters (and ZooKeeper, for the
// versions that need it) from their published Maven jars on loopback, for
// tests, demonstrations and people.
//
// A test takes a cluster that all packages of the run share:
//
//	c := kafkatest.Shared(t, kafkatest.KRaft4)
//	topic := c.Topic(t, 3, 2) // a new topic with a unique name, deleted at the end of the test
//	use(c.Bootstrap())
//
// or, when it breaks things, a private one:
//
//	c := kafkatest.Private(t, kafkatest.Options{Mode: kafkatest.ZK39})
//	if err := c.Broker(2).Kill(); err != nil { t.Fatal(err) }
//
// The jars are fetched once with Maven into a cache outside the source tree
// (environment variable KAFKA_STEWARD_CACHE, by default
// "<user cache directory>/kafka-steward"). java and mvn must be installed; mvn
// is needed only until the jars are cached.
//
// Environment variables:
//
//	KAFKA_STEWARD_CACHE   where the jars are kept
//	KAFKATEST=off         skip every test that needs Kafka
//	KAFKATEST_KEEP=1      keep the data directories (their paths are printed)
//	KAFKATEST_SHARED_DIR  set by "testbed run": where its supervisor listens
//
// The helpers talk to the brokers with franz-go, so that the Sarama code under
// test is never its own judge.
package kafkatest
