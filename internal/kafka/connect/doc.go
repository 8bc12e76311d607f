// Package connect turns one cluster's connection settings into ready client
// options for sarama and for franz-go, so that both clients see exactly the
// same addresses, TLS and SASL.
//
// # How a connection is made
//
// A Connector owns one dial function. It opens the TCP connection, performs
// the TLS handshake itself (with files re-read when they changed) and returns
// a guarded connection. Both clients use it: sarama through Net.Proxy.Dialer
// and franz-go through kgo.Dialer. That is why the sarama configuration that
// Connector.Sarama returns has Net.TLS.Enable off although TLS is in use, and
// why sarama's own logger says "using proxy" at every connection.
//
// # Where secrets live
//
// A secret has no inline field in Config: it is named by a file or by an
// environment variable, and it is read again at every authentication, also at
// the re-authentication of a living connection (KIP-368). A changed secret
// therefore heals without a restart, and no secret is held in a Config, a
// sarama.Config or a kgo option. The exceptions: the current OAuth access
// token and the TLS private key are kept in memory inside the Connector, and
// a Kerberos password (not a keytab) is copied into the sarama.Config when
// Connector.Sarama is called, because sarama gives no later moment.
//
// sarama reads a PLAIN password from its shared configuration while several
// connections may be opening. Writing a fresh password there would be a data
// race, so the configuration carries a placeholder and the guarded connection
// puts the real credentials into the SaslAuthenticate request on its way out.
//
// SCRAM passwords are used as the UTF-8 bytes they are, without SASLprep: that
// is what Kafka's own clients and brokers do.
//
// # Addresses
//
// The accepted forms are host, host:port, [IPv6], [IPv6]:port and a bare IPv6
// address, each optionally behind a Kafka listener scheme such as SSL://. The
// default port is 9092. A bare IPv6 address whose last group is four decimal
// digits from 1024 up (2001:db8::5:9092), while what stands before it is an
// address too, can be meant as an address with a port; it is refused with both
// readings spelled out rather than guessed.
// Every address has one printed form, see FormatHostPort.
//
// # Errors
//
// Classify sorts an error of either client into a small set of classes fit
// for a metric label, and Connector.Describe adds what failed, where, and what
// to do about it.
package connect
