package connect

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// tlsSource makes TLS client configurations from files that may change while
// the process runs. Each handshake gets its own configuration, so verification
// is the standard library's own, always against the newest good files.
type tlsSource struct {
	cfg        TLS
	minVersion uint16
	roots      *watched[*x509.CertPool]
	pair       *watched[*tls.Certificate]
}

// newTLSSource reads the files once, so that a wrong path fails at start.
func newTLSSource(cfg TLS, log *slog.Logger) (*tlsSource, error) {
	version, err := parseTLSVersion(cfg.MinVersion)
	if err != nil {
		return nil, &TLSFileError{Err: err}
	}
	s := &tlsSource{cfg: cfg, minVersion: version}
	if cfg.CAFile != "" {
		s.roots = &watched[*x509.CertPool]{
			log: log, files: []string{cfg.CAFile},
			load: func() (*x509.CertPool, error) { return loadCAs(cfg.CAFile) },
		}
	}
	if cfg.CertFile != "" {
		s.pair = &watched[*tls.Certificate]{
			log: log, files: []string{cfg.CertFile, cfg.KeyFile},
			load: func() (*tls.Certificate, error) { return loadKeyPair(cfg.CertFile, cfg.KeyFile) },
		}
	}
	_, err = s.config("")
	return s, err
}

// config returns the configuration for one handshake with host, a name or an
// IP address without brackets.
func (s *tlsSource) config(host string) (*tls.Config, error) {
	name := s.cfg.ServerName
	if name == "" {
		name, _, _ = strings.Cut(host, "%") // certificates know no IPv6 zones
	}
	c := &tls.Config{
		ServerName:         name,
		MinVersion:         s.minVersion,
		InsecureSkipVerify: s.cfg.InsecureSkipVerify,
	}
	if s.roots != nil {
		pool, err := s.roots.get()
		if err != nil {
			return nil, err
		}
		c.RootCAs = pool
	}
	if s.pair != nil {
		pair, err := s.pair.get()
		if err != nil {
			return nil, err
		}
		// The callback presents the certificate even if the broker's list of
		// authorities does not have its issuer: "unknown authority" from the
		// broker says more than "certificate required".
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
	}
	return c, nil
}

// watched is a value made from files, made again when one of them changed. A
// file that went bad keeps the last good value and is reported once.
type watched[T any] struct {
	log   *slog.Logger
	files []string
	load  func() (T, error)

	mu       sync.Mutex
	value    T
	good     bool
	prints   []os.FileInfo
	loadedAt time.Time
	reported string
}

func (w *watched[T]) get() (T, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	prints := stat(w.files)
	if w.good && w.reported == "" && !w.changed(prints) {
		return w.value, nil
	}
	// The state of the files is taken before they are read: a change during
	// the reading is then seen the next time.
	w.prints, w.loadedAt = prints, time.Now()
	value, err := w.load()
	switch {
	case err == nil:
		if w.good {
			w.log.Debug("TLS files read again", "files", w.files)
		}
		w.value, w.good, w.reported = value, true, ""
	case !w.good:
		return value, &TLSFileError{Err: err}
	case err.Error() != w.reported:
		w.reported = err.Error()
		w.log.Warn("TLS files changed but cannot be used; the last good ones stay in use until this is repaired",
			"files", w.files, "err", err)
	}
	return w.value, nil
}

// settled is how old a file must be, at its reading, for an unchanged
// modification time to prove that it has not changed since.
const settled = 2 * time.Second

func (w *watched[T]) changed(now []os.FileInfo) bool {
	for i, info := range now {
		before := w.prints[i]
		if info == nil || before == nil {
			return true
		}
		if !os.SameFile(before, info) || before.Size() != info.Size() || !before.ModTime().Equal(info.ModTime()) ||
			w.loadedAt.Sub(before.ModTime()) < settled {
			return true
		}
	}
	return false
}

// stat returns one entry per file, nil for one that cannot be looked at.
func stat(files []string) []os.FileInfo {
	infos := make([]os.FileInfo, len(files))
	for i, f := range files {
		if info, err := os.Stat(f); err == nil {
			infos[i] = info
		}
	}
	return infos
}
