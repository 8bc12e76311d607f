package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// dial opens a connection to a broker, ready for the Kafka protocol. The
// context and the dial timeout bound all of it, the TLS handshake included.
func (c *Connector) dial(ctx context.Context, network, addr string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.cfg.DialTimeout))
	defer cancel()
	raw, err := c.dialRaw(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if c.tls == nil {
		plain := newConn(raw, addr, false, c.cfg.SASL != nil)
		plain.probe = c.probe.speaksTLS
		return plain, nil
	}
	secured, err := handshake(ctx, raw, addr, c.tls)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return newConn(secured, addr, true, c.cfg.SASL != nil), nil
}

func handshake(ctx context.Context, raw net.Conn, addr string, source *tlsSource) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	cfg, err := source.config(host)
	if err != nil {
		return nil, err
	}
	client := tls.Client(raw, cfg)
	err = client.HandshakeContext(ctx)
	var timeout interface{ Timeout() bool }
	switch {
	case err == nil:
		return client, nil
	case errors.Is(err, context.Canceled), errors.As(err, &timeout) && timeout.Timeout():
		// Nothing was heard: that says nothing about TLS.
		return nil, fmt.Errorf("TLS handshake with %s: %w", addr, err)
	case isHangUp(err):
		err = fmt.Errorf("the connection was closed during the handshake, as a listener without TLS does: %w", err)
	}
	return nil, &TLSMismatchError{Addr: addr, Err: err}
}

// saramaDialer lets sarama dial through a Connector. Each connection is
// sarama's own goroutine without a context; the dial timeout ends it.
type saramaDialer struct {
	c       *Connector
	rewrite func(frame []byte) ([]byte, error)
}

// Dial implements the dialer of sarama's proxy settings.
func (d saramaDialer) Dial(network, addr string) (net.Conn, error) {
	c, err := d.c.dial(context.Background(), network, addr)
	if err != nil {
		return nil, err
	}
	c.rewrite, c.sarama = d.rewrite, true
	return c, nil
}
