package fake

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

func TestVersionRanges(t *testing.T) {
	c := sample(t)
	c.SetVersions(kmsg.ListOffsets, 99, 100)
	_, err := kadmClient(t, c).ListEndOffsets(t.Context(), "orders")
	if err == nil {
		t.Error("franz-go spoke ListOffsets 99")
	}
	t.Logf("franz-go: %v", err)
	if _, err := saramaClient(t, c).GetOffset("orders", 0, sarama.OffsetNewest); err == nil {
		t.Error("sarama spoke ListOffsets 99")
	} else {
		t.Logf("sarama: %v", err)
	}
	if c.Count(kmsg.Metadata) == 0 {
		t.Error("other APIs should go on")
	}

	// A client that asks nevertheless is cut off, as by a real broker.
	c.SetVersions(kmsg.ListOffsets, 3, 5)
	c.RemoveBrokerAPI(1, kmsg.ListGroups)
	for _, frame := range [][]byte{
		{0, 0, 0, 10, 0, 2, 0, 2, 0, 0, 0, 1, 0xff, 0xff},   // ListOffsets v2
		{0, 0, 0, 10, 0, 16, 0, 0, 0, 0, 0, 1, 0xff, 0xff},  // ListGroups v0
		{0, 0, 0, 10, 3, 232, 0, 0, 0, 0, 0, 1, 0xff, 0xff}, // no such API
		{0xff, 0, 0, 0},     // frame too large
		{0, 0, 0, 2, 0, 18}, // frame too small
	} {
		if got := exchange(t, c.Addr(1), frame); len(got) != 0 {
			t.Errorf("frame % x: answer % x, want a closed connection", frame, got)
		}
	}
}

func TestApiVersionsOfTheFuture(t *testing.T) {
	c := sample(t)
	nc := must(net.Dial("tcp", c.Addr(1)))(t)
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := nc.Write([]byte{0, 0, 0, 10, 0, 18, 0, 99, 0, 0, 0, 7, 0xff, 0xff}); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 20)
	n := must(nc.Read(buf))(t)
	var resp kmsg.ApiVersionsResponse
	if n < 8 || buf[7] != 7 {
		t.Fatalf("answer % x", buf[:n])
	}
	if err := resp.ReadFrom(buf[8:n]); err != nil || resp.ErrorCode != errUnsupportedVersion || len(resp.ApiKeys) != 1 || resp.ApiKeys[0].MaxVersion != 5 {
		t.Errorf("%+v, %v", resp, err)
	}
}

// exchange writes raw bytes and reads until the broker closes.
func exchange(t *testing.T, addr string, frame []byte) []byte {
	t.Helper()
	nc := must(net.Dial("tcp", addr))(t)
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := nc.Write(frame); err != nil {
		t.Fatal(err)
	}
	var out []byte
	buf := make([]byte, 512)
	for {
		n, err := nc.Read(buf)
		out = append(out, buf[:n]...)
		if err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				t.Fatalf("frame % x: the connection stays open", frame)
			}
			return out
		}
	}
}

func TestSASLPlain(t *testing.T) {
	c := sample(t, WithUsers(map[string]string{"alice": `p#1"w\`}))
	login := func(user, pw string) error {
		cl := kgoClient(t, c, kgo.SASL(plain.Auth{User: user, Pass: pw}.AsMechanism()))
		_, err := ask(t, cl, 2*time.Second)
		return err
	}
	if err := login("alice", `p#1"w\`); err != nil {
		t.Errorf("right password: %v", err)
	}
	if err := login("alice", "wrong"); !errors.Is(err, kerr.SaslAuthenticationFailed) {
		t.Errorf("wrong password: %v", err)
	}
	if _, err := ask(t, kgoClient(t, c), 2*time.Second); err == nil {
		t.Error("answered without login")
	}
	for pw, ok := range map[string]bool{`p#1"w\`: true, "wrong": false} {
		conf := saramaConfig()
		conf.Net.SASL.Enable, conf.Net.SASL.User, conf.Net.SASL.Password = true, "alice", pw
		cl, err := sarama.NewClient(c.Addrs(), conf)
		if (err == nil) != ok {
			t.Errorf("sarama with %q: %v", pw, err)
		}
		if err == nil {
			cl.Close()
		}
	}
}

func TestTLSAndIPv6(t *testing.T) {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	tpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv6loopback}}
	der := must(x509.CreateCertificate(rand.Reader, tpl, tpl, &key.PublicKey, key))(t)
	pool := x509.NewCertPool()
	pool.AddCert(must(x509.ParseCertificate(der))(t))

	if ln, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skipf("no IPv6 on this machine: %v", err)
	} else {
		ln.Close()
	}
	c := sample(t, WithIPv6(), WithTLS(&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}))
	if !strings.HasPrefix(c.Addr(1), "[::1]:") {
		t.Errorf("address %s", c.Addr(1))
	}
	cl := kgoClient(t, c, kgo.DialTLSConfig(&tls.Config{RootCAs: pool}))
	if _, err := ask(t, cl, 2*time.Second); err != nil {
		t.Error(err)
	}
	if _, err := ask(t, kgoClient(t, c), 2*time.Second); err == nil {
		t.Error("a plaintext client was answered")
	}
}
