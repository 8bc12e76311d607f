package kafkatest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// authority is a certificate authority made for one cluster.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certTemplate(1, "Kafka test bed CA")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, pem: pemBlock("CERTIFICATE", der)}, nil
}

func certTemplate(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour), NotAfter: now.Add(30 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// issue returns a certificate for loopback and its key, as PEM.
func (a *authority) issue(serial int64, name string) (cert, key []byte, err error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := certTemplate(serial, name)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames = []string{"localhost"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, k.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return nil, nil, err
	}
	return pemBlock("CERTIFICATE", der), pemBlock("PRIVATE KEY", pkcs8), nil
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// brokerPEM is what every broker's configuration holds: one certificate
// (CN=broker) and its key, and the CA to check clients by.
type brokerPEM struct{ cert, key, ca string }

// writeCertificates makes the CA and the certificates and writes the clients'
// files (CN=client).
func (l *layout) writeCertificates() error {
	ca, err := newAuthority()
	if err != nil {
		return fmt.Errorf("make the CA: %w", err)
	}
	brokerCert, brokerKey, err := ca.issue(2, "broker")
	if err != nil {
		return fmt.Errorf("make the broker certificate: %w", err)
	}
	clientCert, clientKey, err := ca.issue(3, "client")
	if err != nil {
		return fmt.Errorf("make the client certificate: %w", err)
	}
	l.pem = brokerPEM{cert: string(brokerCert), key: string(brokerKey), ca: string(ca.pem)}
	w := fileWriter{}
	w.dir(l.tlsFile(""))
	w.file(l.TLS.CA, string(ca.pem))
	w.file(l.TLS.Cert, string(clientCert))
	w.file(l.TLS.Key, string(clientKey))
	return w.err
}

// TLSConfig returns a client configuration for the SSL and SASL_SSL listeners,
// with the client certificate (CN=client).
func (c *Cluster) TLSConfig() (*tls.Config, error) {
	files := c.state().TLS
	if files == nil {
		return nil, errors.New("the cluster has no TLS listeners: start it with Options.TLS")
	}
	ca, err := os.ReadFile(files.CA)
	if err != nil {
		return nil, fmt.Errorf("read the CA certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("no certificate in %s", files.CA)
	}
	cert, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return nil, fmt.Errorf("read the client certificate: %w", err)
	}
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}
