package connect

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// idleTimeout keeps franz-go's connections through several collection
// intervals; brokers close idle ones after ten minutes by default.
const idleTimeout = 5 * time.Minute

// Kgo returns the options for franz-go clients, with the same addresses, TLS
// and SASL as Sarama's. Topics are never created by asking for them, and the
// client does not push its own telemetry to the cluster. Options appended
// after these override them.
func (c *Connector) Kgo() ([]kgo.Opt, error) {
	request := time.Duration(c.cfg.RequestTimeout)
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Servers()...),
		kgo.ClientID(c.cfg.ClientID),
		kgo.SoftwareNameAndVersion(DefaultClientID, c.version),
		kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := c.dial(ctx, network, addr)
			if err != nil {
				return nil, err // a nil *conn in the interface would not be nil
			}
			return conn, nil
		}),
		kgo.RequestTimeoutOverhead(request),
		kgo.RetryTimeout(request),
		kgo.ConnIdleTimeout(idleTimeout),
		kgo.DisableClientMetrics(),
		kgo.WithLogger(kgoLogger{c.log}),
	}
	if c.cfg.SASL != nil {
		opts = append(opts, kgo.SASL(c.saslMechanism()))
	}
	return opts, nil
}

// kgoLogger passes franz-go's messages on to slog.
type kgoLogger struct{ log *slog.Logger }

var kgoLevels = map[kgo.LogLevel]slog.Level{
	kgo.LogLevelDebug: slog.LevelDebug,
	kgo.LogLevelInfo:  slog.LevelDebug, // its "info" is one line per request of ours
	kgo.LogLevelWarn:  slog.LevelInfo,  // what matters of these comes back as an error
	kgo.LogLevelError: slog.LevelInfo,
}

// Level returns the level up to which messages are wanted now.
func (l kgoLogger) Level() kgo.LogLevel {
	for _, level := range []kgo.LogLevel{kgo.LogLevelDebug, kgo.LogLevelWarn} {
		if l.log.Enabled(context.Background(), kgoLevels[level]) {
			return level
		}
	}
	return kgo.LogLevelNone
}

// Log logs one message.
func (l kgoLogger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	l.log.Log(context.Background(), kgoLevels[level], "franz-go: "+msg, keyvals...)
}
