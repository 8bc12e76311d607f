package connect

import (
	"time"

	"github.com/IBM/sarama"
	"github.com/rcrowley/go-metrics"
)

// Sarama returns a new configuration for sarama clients, to be changed freely
// by the caller. The same configuration serves any number of connections over
// any time: secrets and TLS files are read at each of them (but see the
// package documentation for a Kerberos password).
//
// Request versions are negotiated with each broker: there is no version to
// configure. Topics are never created by asking for them, the client's own
// metrics are not kept, offsets are never committed unasked. Channels for
// errors and successes are on, so whoever builds a consumer or an asynchronous
// producer from it drains them.
func (c *Connector) Sarama() (*sarama.Config, error) {
	cfg := sarama.NewConfig()
	cfg.ClientID = c.cfg.ClientID
	cfg.Version = sarama.MaxVersion
	cfg.ApiVersionsRequest = true
	cfg.MetricRegistry = noMetrics{}

	request := time.Duration(c.cfg.RequestTimeout)
	cfg.Net.DialTimeout = time.Duration(c.cfg.DialTimeout)
	cfg.Net.ReadTimeout = request
	cfg.Net.WriteTimeout = request
	// The broker's own time limit ends first, so that its answer is still read.
	cfg.Admin.Timeout = request * 4 / 5

	cfg.Metadata.AllowAutoTopicCreation = false
	cfg.Metadata.Full = false
	cfg.Metadata.Retry.Max = 1
	cfg.Metadata.Timeout = time.Duration(c.cfg.DialTimeout) + request

	cfg.Producer.RequiredAcks = sarama.WaitForAll
	cfg.Producer.Return.Successes = true
	cfg.Producer.Return.Errors = true
	cfg.Consumer.Return.Errors = true
	cfg.Consumer.Offsets.AutoCommit.Enable = false

	dialer := saramaDialer{c: c}
	if c.mechanism == MechanismPlain {
		dialer.rewrite = plainRewriter(c.cfg.SASL.Username, c.password)
	}
	cfg.Net.Proxy.Enable = true
	cfg.Net.Proxy.Dialer = dialer
	if err := c.saramaSASL(cfg); err != nil {
		return nil, err
	}
	return cfg, cfg.Validate()
}

func (c *Connector) saramaSASL(cfg *sarama.Config) (err error) {
	if c.cfg.SASL == nil {
		return nil
	}
	s := &cfg.Net.SASL
	s.Enable = true
	s.Handshake = true
	s.Version = sarama.SASLHandshakeV1
	s.Mechanism = sarama.SASLMechanism(c.mechanism)
	switch c.mechanism {
	case MechanismOAuthBearer:
		s.TokenProvider = c.tokens
	case MechanismGSSAPI:
		s.GSSAPI, err = c.cfg.SASL.Kerberos.sarama()
	default:
		s.User, s.Password = c.cfg.SASL.Username, placeholder
		s.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
			return &saramaScram{mechanism: c.saslMechanism()}
		}
	}
	return err
}

// noMetrics is a registry that keeps nothing: sarama's default one grows with
// every broker and topic, and each meter in it is updated by a ticker for ever.
type noMetrics struct{}

func (noMetrics) Each(func(string, any))            {}
func (noMetrics) Get(string) any                    { return nil }
func (noMetrics) GetAll() map[string]map[string]any { return nil }
func (noMetrics) Register(string, any) error        { return nil }
func (noMetrics) RunHealthchecks()                  {}
func (noMetrics) Unregister(string)                 {}
func (noMetrics) UnregisterAll()                    {}
func (noMetrics) GetOrRegister(_ string, metric any) any {
	switch metric.(type) {
	case func() metrics.Meter, metrics.Meter:
		return metrics.NilMeter{}
	case func() metrics.Histogram, metrics.Histogram:
		return metrics.NilHistogram{}
	case func() metrics.Counter, metrics.Counter:
		return metrics.NilCounter{}
	case func() metrics.Gauge, metrics.Gauge:
		return metrics.NilGauge{}
	case func() metrics.Timer, metrics.Timer:
		return metrics.NilTimer{}
	}
	return metric
}
