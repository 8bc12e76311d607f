package connect

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fakeBroker speaks as much Kafka as a client needs to connect: ApiVersions,
// SaslHandshake, SaslAuthenticate and Metadata, over TLS if tls is set.
type fakeBroker struct {
	t        *testing.T
	listener net.Listener
	// sasl answers one SaslAuthenticate request; nil means a listener without
	// SASL. It is made anew per authentication.
	sasl func(mechanism string) saslServer
	// lifetime is the session lifetime told to clients (KIP-368), 0 for none.
	lifetime time.Duration

	mu         sync.Mutex
	handshakes []string
	auths      [][]byte
}

type saslServer func(in []byte) (out []byte, code int16)

const (
	codeAuthFailed = 58
	codeIllegal    = 34
	codeMechanism  = 33
)

func startFake(t *testing.T, cfg *tls.Config, sasl func(mechanism string) saslServer) *fakeBroker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if cfg != nil {
		l = tls.NewListener(l, cfg)
	}
	b := &fakeBroker{t: t, listener: l, sasl: sasl}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				stop := context.AfterFunc(t.Context(), func() { _ = c.Close() })
				defer stop()
				_ = b.serve(c)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return b
}

func (b *fakeBroker) addr() string { return b.listener.Addr().String() }

func (b *fakeBroker) seenAuths() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([][]byte(nil), b.auths...)
}

func (b *fakeBroker) serve(c net.Conn) error {
	var session saslServer
	authenticated := b.sasl == nil
	for {
		req, corr, err := readRequest(c)
		if err != nil {
			return err
		}
		var resp kmsg.Response
		switch r := req.(type) {
		case *kmsg.ApiVersionsRequest:
			resp = apiVersions(r)
		case *kmsg.SASLHandshakeRequest:
			resp, session = b.handshake(r)
		case *kmsg.SASLAuthenticateRequest:
			a := b.authenticate(r, session)
			authenticated = authenticated || a.ErrorCode == 0
			resp = a
		case *kmsg.MetadataRequest:
			if !authenticated {
				return errors.New("not authenticated") // real brokers close without a word
			}
			resp = b.metadata(r)
		default:
			return errors.New("unexpected request")
		}
		if err := writeResponse(c, req, resp, corr); err != nil {
			return err
		}
	}
}

func (b *fakeBroker) handshake(r *kmsg.SASLHandshakeRequest) (kmsg.Response, saslServer) {
	resp := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
	b.mu.Lock()
	b.handshakes = append(b.handshakes, r.Mechanism)
	b.mu.Unlock()
	if b.sasl == nil {
		resp.ErrorCode = codeIllegal
		return resp, nil
	}
	session := b.sasl(r.Mechanism)
	if session == nil {
		resp.ErrorCode = codeMechanism
	}
	return resp, session
}

func (b *fakeBroker) authenticate(r *kmsg.SASLAuthenticateRequest, session saslServer) *kmsg.SASLAuthenticateResponse {
	resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	b.mu.Lock()
	b.auths = append(b.auths, r.SASLAuthBytes)
	b.mu.Unlock()
	resp.SASLAuthBytes, resp.ErrorCode = session(r.SASLAuthBytes)
	if resp.ErrorCode != 0 {
		resp.ErrorMessage = kmsg.StringPtr("Authentication failed: Invalid username or password")
	}
	resp.SessionLifetimeMillis = b.lifetime.Milliseconds()
	return resp
}

func (b *fakeBroker) metadata(r *kmsg.MetadataRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.MetadataResponse)
	host, port, _ := net.SplitHostPort(b.addr())
	n, _ := strconv.Atoi(port)
	broker := kmsg.NewMetadataResponseBroker()
	broker.NodeID, broker.Host, broker.Port = 1, host, int32(n)
	resp.Brokers = append(resp.Brokers, broker)
	resp.ControllerID = 1
	return resp
}

func apiVersions(r *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ApiVersionsResponse)
	for key, maxVersion := range map[int16]int16{3: 12, 17: 1, 18: 4, 36: 2} {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = key, maxVersion
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	return resp
}

func readRequest(c io.Reader) (kmsg.Request, int32, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, 0, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 1<<20 {
		return nil, 0, errors.New("frame too large") // as a real broker does with a TLS ClientHello
	}
	frame := make([]byte, 4+n)
	if _, err := io.ReadFull(c, frame[4:]); err != nil {
		return nil, 0, err
	}
	copy(frame, size[:])
	req := kmsg.RequestForKey(int16(binary.BigEndian.Uint16(frame[4:])))
	if req == nil {
		return nil, 0, errors.New("unknown key")
	}
	req.SetVersion(int16(binary.BigEndian.Uint16(frame[6:])))
	header, err := headerLength(frame, req.IsFlexible())
	if err != nil {
		return nil, 0, err
	}
	return req, int32(binary.BigEndian.Uint32(frame[8:])), req.ReadFrom(frame[header:])
}

func writeResponse(c io.Writer, req kmsg.Request, resp kmsg.Response, corr int32) error {
	resp.SetVersion(req.GetVersion())
	out := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(corr))
	if resp.IsFlexible() && req.Key() != keyApiVersions {
		out = append(out, 0)
	}
	out = resp.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	_, err := c.Write(out)
	return err
}

// plainServer accepts one user and password.
func plainServer(user string, password func() string) func(string) saslServer {
	return func(mechanism string) saslServer {
		if mechanism != MechanismPlain {
			return nil
		}
		return func(in []byte) ([]byte, int16) {
			if string(in) == "\x00"+user+"\x00"+password() {
				return nil, 0
			}
			return nil, codeAuthFailed
		}
	}
}

// The two clients, each as a function that connects, asks for metadata, and
// closes again.
var clients = map[string]func(context.Context, *Connector) error{
	"sarama":   pingSarama,
	"franz-go": pingKgo,
}

// pingSarama works on the level of brokers: sarama's client asks nothing
// without a topic when Metadata.Full is off.
func pingSarama(_ context.Context, c *Connector) error {
	cfg, err := c.Sarama()
	if err != nil {
		return err
	}
	var errs []error
	for _, server := range c.Servers() {
		broker := sarama.NewBroker(server)
		if err := broker.Open(cfg); err != nil {
			return err
		}
		_, err := broker.GetMetadata(sarama.NewMetadataRequest(cfg.Version, nil))
		_ = broker.Close()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func pingKgo(ctx context.Context, c *Connector) error {
	opts, err := c.Kgo()
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Ping(ctx)
}

// eachClient runs a test with both clients.
func eachClient(t *testing.T, test func(t *testing.T, ping func(*Connector) error)) {
	for name, ping := range clients {
		t.Run(name, func(t *testing.T) {
			test(t, func(c *Connector) error {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				return ping(ctx, c)
			})
		})
	}
}

// newConnector makes a Connector with short time limits; edit changes its settings.
func newConnector(t *testing.T, addr string, edit func(*Config), opts ...Option) *Connector {
	t.Helper()
	cfg := Config{
		BootstrapServers: []string{addr},
		DialTimeout:      Duration(2 * time.Second), RequestTimeout: Duration(2 * time.Second),
	}
	if edit != nil {
		edit(&cfg)
	}
	c, err := New(cfg, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// logTo returns a logger at debug level that writes to w.
func logTo(w io.Writer) Option {
	return WithLogger(slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})))
}

// syncBuffer is a log sink that several goroutines write to.
type syncBuffer struct {
	mu  sync.Mutex
	buf []byte
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf = append(b.buf, p...)
	return len(p), nil
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.buf)
}

// eventually polls a condition and fails the test if it stays false.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); <-tick.C {
		if condition() {
			return
		}
	}
	t.Fatalf("%s: not within 15s", what)
}
