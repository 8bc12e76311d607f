package connect

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// TLSFileError says that a certificate or key file cannot be used.
type TLSFileError struct {
	// Err names the file, what is wrong with it, and what to do.
	Err error
}

func (e *TLSFileError) Error() string { return "TLS files: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *TLSFileError) Unwrap() error { return e.Err }

func parseTLSVersion(s string) (uint16, error) {
	switch strings.TrimPrefix(strings.TrimPrefix(strings.ToUpper(s), "TLS"), "V") {
	case "1.2", "12":
		return tls.VersionTLS12, nil
	case "1.3", "13":
		return tls.VersionTLS13, nil
	}
	return 0, fmt.Errorf("%q is not supported: use 1.2 or 1.3", s)
}

// loadCAs reads a PEM bundle strictly: a broken certificate is an error, not
// skipped, since a chain that fails later would not name the file.
func loadCAs(path string) (*x509.CertPool, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool, count := x509.NewCertPool(), 0
	for rest := raw; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		count++
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate number %d: %w", path, count, err)
		}
		pool.AddCert(cert)
	}
	if count == 0 {
		return nil, fmt.Errorf("%s: %s", path, noPEM(raw, "CERTIFICATE"))
	}
	return pool, nil
}

func loadKeyPair(certFile, keyFile string) (*tls.Certificate, error) {
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	if !hasBlock(cert, func(t string) bool { return t == "CERTIFICATE" }) {
		return nil, fmt.Errorf("%s: %s", certFile, noPEM(cert, "CERTIFICATE"))
	}
	if bytes.Contains(key, []byte("ENCRYPTED")) {
		return nil, fmt.Errorf("%s: the private key is encrypted: decrypt it (openssl pkey) and protect the file by its mode", keyFile)
	}
	if !hasBlock(key, func(t string) bool { return strings.HasSuffix(t, "PRIVATE KEY") }) {
		return nil, fmt.Errorf("%s: %s", keyFile, noPEM(key, "PRIVATE KEY"))
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", certFile, keyFile, err)
	}
	return &pair, nil
}

func hasBlock(raw []byte, match func(blockType string) bool) bool {
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if match(block.Type) {
			return true
		}
	}
	return false
}

// noPEM words what is missing, and knows the stores of Java by their first bytes.
func noPEM(raw []byte, want string) error {
	switch {
	case len(raw) == 0:
		return errors.New("the file is empty")
	case bytes.HasPrefix(raw, []byte{0xfe, 0xed, 0xfe, 0xed}):
		return errors.New("this is a Java key store (JKS): export it to PEM (keytool, then openssl pkcs12)")
	case raw[0] == 0x30:
		return errors.New("this is DER or PKCS#12, not PEM: convert it (openssl x509 or openssl pkcs12)")
	}
	return fmt.Errorf("no PEM block of type %s in it", want)
}
