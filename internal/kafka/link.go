package kafka

import (
	"net"
	"sync"

	"github.com/IBM/sarama"
)

// link is one connection, made or being made. Its other fields are set before
// ready is closed and fixed from then on.
type link struct {
	socket socket
	ready  chan struct{}

	broker   *sarama.Broker
	versions map[int16]versionRange
	err      error
}

func newLink() *link { return &link{ready: make(chan struct{})} }

// close ends the connection and whatever waits for it. It does not block.
func (l *link) close() {
	if l == nil {
		return
	}
	l.socket.close()
	select {
	case <-l.ready:
		if l.broker != nil {
			go closeQuietly(l.broker)
		}
	default: // conn.connect sees the end of the socket
	}
}

// closeQuietly closes a connection whose state is of no interest any more.
func closeQuietly(b *sarama.Broker) { _ = b.Close() }

// socket is the network connection under a sarama.Broker. sarama waits for an
// answer with its lock held, so that closing the Broker would wait too; closing
// the socket ends the wait.
type socket struct {
	dialer interface {
		Dial(network, addr string) (net.Conn, error)
	}

	mu     sync.Mutex
	conn   net.Conn
	closed bool
}

// Dial implements the dialer of sarama's proxy settings.
func (s *socket) Dial(network, addr string) (net.Conn, error) {
	conn, err := s.dialer.Dial(network, addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	s.conn = conn
	return conn, nil
}

func (s *socket) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.conn != nil {
		_ = s.conn.Close()
	}
}
