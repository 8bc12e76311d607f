package kafkatest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// renderProperties returns a Java properties file, sorted by key.
func renderProperties(props map[string]string) string {
	var b strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	for _, k := range slices.Sorted(maps.Keys(props)) {
		fmt.Fprintf(&b, "%s=%s\n", k, escape.Replace(props[k]))
	}
	return b.String()
}

// brokerProperties returns the server.properties of one broker.
func (l *layout) brokerProperties(b BrokerState) map[string]string {
	p := l.commonProperties(b)
	maps.Copy(p, l.listenerProperties(b))
	maps.Copy(p, l.saslProperties())
	if l.opts.TLS {
		maps.Copy(p, l.tlsProperties())
	}
	if l.Mode.KRaft() {
		maps.Copy(p, l.kraftProperties(b))
	} else {
		maps.Copy(p, l.zkProperties(b))
	}
	maps.Copy(p, l.opts.Properties)
	maps.Copy(p, l.opts.BrokerProperties[b.ID])
	return p
}

func (l *layout) commonProperties(b BrokerState) map[string]string {
	rf := strconv.Itoa(min(3, l.opts.Brokers))
	isr := strconv.Itoa(min(2, l.opts.Brokers))
	superUsers := append([]string{"User:admin", "User:ANONYMOUS"}, l.opts.SuperUsers...)
	return map[string]string{
		"broker.rack":                              b.Rack,
		"log.dirs":                                 strings.Join(b.LogDirs, ","),
		"auto.create.topics.enable":                strconv.FormatBool(!l.opts.NoAutoCreateTopics),
		"allow.everyone.if.no.acl.found":           strconv.FormatBool(l.opts.AllowEveryone),
		"super.users":                              strings.Join(superUsers, ";"),
		"offsets.topic.num.partitions":             "6",
		"offsets.topic.replication.factor":         rf,
		"transaction.state.log.num.partitions":     "4",
		"transaction.state.log.replication.factor": rf,
		"transaction.state.log.min.isr":            isr,
		"group.initial.rebalance.delay.ms":         "0",
		// Small, for the small heap: the default buffer alone is 128 MB.
		"log.cleaner.dedupe.buffer.size": "16777216",
		"num.network.threads":            "2",
		"num.io.threads":                 "4",
	}
}

func (l *layout) listenerProperties(b BrokerState) map[string]string {
	var listeners, protocols []string
	add := func(name, addr, protocol string) {
		listeners = append(listeners, name+"://"+addr)
		protocols = append(protocols, name+":"+protocol)
	}
	for _, name := range l.opts.listeners() {
		protocol := name
		if name == ListenerIPv6 {
			protocol = ListenerPlaintext
		}
		add(name, b.Listeners[name], protocol)
	}
	advertised := strings.Join(listeners, ",")
	if l.Mode.KRaft() {
		add(listenerController, l.controllers[b.ID], ListenerPlaintext)
	}
	return map[string]string{
		"listeners":                      strings.Join(listeners, ","),
		"advertised.listeners":           advertised,
		"listener.security.protocol.map": strings.Join(protocols, ","),
		"inter.broker.listener.name":     ListenerPlaintext,
	}
}

func (l *layout) saslProperties() map[string]string {
	const jaas = "org.apache.kafka.common.security."
	plain := jaas + "plain.PlainLoginModule required"
	for _, u := range Users {
		plain += fmt.Sprintf(` user_%s="%s"`, u, Password(u))
	}
	mechanisms := []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}
	p := map[string]string{}
	names := []string{ListenerSASLPlaintext}
	if l.opts.TLS {
		names = append(names, ListenerSASLSSL)
	}
	if l.opts.OAuth != nil {
		mechanisms = append(mechanisms, "OAUTHBEARER")
	}
	for _, name := range names {
		prefix := "listener.name." + strings.ToLower(name) + "."
		p[prefix+"sasl.enabled.mechanisms"] = strings.Join(mechanisms, ",")
		p[prefix+"plain.sasl.jaas.config"] = plain + ";"
		for _, m := range []string{"scram-sha-256", "scram-sha-512"} {
			p[prefix+m+".sasl.jaas.config"] = jaas + "scram.ScramLoginModule required;"
		}
		if l.opts.OAuth != nil {
			maps.Copy(p, l.opts.OAuth.properties(prefix+"oauthbearer."))
		}
	}
	return p
}

// properties returns the settings of the OAUTHBEARER mechanism under prefix.
func (o *OAuth) properties(prefix string) map[string]string {
	const module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
	if o.JWKSURL == "" {
		return map[string]string{prefix + "sasl.jaas.config": module + ` unsecuredLoginStringClaim_sub="broker";`}
	}
	p := map[string]string{
		prefix + "sasl.jaas.config":                          module + ";",
		prefix + "sasl.server.callback.handler.class":        "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
		prefix + "sasl.oauthbearer.jwks.endpoint.url":        o.JWKSURL,
		prefix + "sasl.oauthbearer.jwks.endpoint.refresh.ms": "60000",
	}
	if o.Audience != "" {
		p[prefix+"sasl.oauthbearer.expected.audience"] = o.Audience
	}
	if o.Issuer != "" {
		p[prefix+"sasl.oauthbearer.expected.issuer"] = o.Issuer
	}
	return p
}

func (l *layout) tlsProperties() map[string]string {
	p := map[string]string{}
	for name, auth := range map[string]string{ListenerSSL: "required", ListenerSASLSSL: "none"} {
		prefix := "listener.name." + strings.ToLower(name) + ".ssl."
		// Inline, since Kafka 2.8 takes no PEM file without a key password.
		p[prefix+"keystore.type"] = "PEM"
		p[prefix+"keystore.key"] = l.pem.key
		p[prefix+"keystore.certificate.chain"] = l.pem.cert + l.pem.ca
		p[prefix+"truststore.type"] = "PEM"
		p[prefix+"truststore.certificates"] = l.pem.ca
		p[prefix+"client.auth"] = auth
	}
	return p
}

func (l *layout) kraftProperties(b BrokerState) map[string]string {
	var voters []string
	for _, id := range slices.Sorted(maps.Keys(l.controllers)) {
		voters = append(voters, fmt.Sprintf("%d@%s", id, l.controllers[id]))
	}
	p := map[string]string{
		"process.roles":             "broker,controller",
		"node.id":                   strconv.Itoa(b.ID),
		"controller.quorum.voters":  strings.Join(voters, ","),
		"controller.listener.names": listenerController,
		// Apart from the log directories, so that a test can break one of them
		// without breaking the controller.
		"metadata.log.dir":      b.Dir + "/metadata",
		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
	}
	if l.Mode == KRaft4 {
		rf := min(3, l.opts.Brokers)
		p["share.coordinator.state.topic.num.partitions"] = "4"
		p["share.coordinator.state.topic.replication.factor"] = strconv.Itoa(rf)
		p["share.coordinator.state.topic.min.isr"] = strconv.Itoa(min(2, rf))
	} else {
		p["group.coordinator.rebalance.protocols"] = "classic,consumer"
	}
	return p
}

func (l *layout) zkProperties(b BrokerState) map[string]string {
	return map[string]string{
		"broker.id":             strconv.Itoa(b.ID),
		"zookeeper.connect":     l.zkConnect(),
		"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
		// The ensemble starts at the same time as the brokers.
		"zookeeper.connection.timeout.ms": "60000",
		"zookeeper.session.timeout.ms":    "9000",
	}
}

func (l *layout) zkConnect() string {
	var addrs []string
	for _, z := range l.ZooKeepers {
		addrs = append(addrs, z.Addr)
	}
	return strings.Join(addrs, ",")
}
