package connect

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxSecretBytes is far above any password and keeps a wrong path (a log, a
// device) from being read into memory.
const maxSecretBytes = 64 << 10

// SecretError says that a secret could not be read. It never holds the secret.
type SecretError struct {
	// Field is the setting that names the secret, for example sasl.password_file.
	Field string
	// Err says what is wrong and what to do.
	Err error
}

func (e *SecretError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *SecretError) Unwrap() error { return e.Err }

// secretSource names where a secret is. It holds no secret itself.
type secretSource struct {
	field     string // path of the setting without its _file or _env
	file, env string
}

// read returns the secret as it is now. Of a file, one trailing line break
// (\n or \r\n) is dropped, because editors and echo add one; everything else,
// and every byte of an environment variable, is part of the secret.
func (s secretSource) read() (string, error) {
	if s.env != "" {
		return s.fromEnv()
	}
	secret, err := readSecretFile(s.file)
	if err != nil {
		return "", &SecretError{Field: s.field + "_file", Err: err}
	}
	return secret, nil
}

func (s secretSource) fromEnv() (string, error) {
	secret, set := os.LookupEnv(s.env)
	switch {
	case !set:
		return "", &SecretError{Field: s.field + "_env", Err: fmt.Errorf("environment variable %s is not set: set it and restart", s.env)}
	case secret == "":
		return "", &SecretError{Field: s.field + "_env", Err: fmt.Errorf("environment variable %s is empty: set it and restart", s.env)}
	}
	return secret, nil
}

func readSecretFile(path string) (string, error) {
	// A pipe would block here and be empty at the second reading.
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file: it is read again at every connection", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
	if err != nil {
		return "", err
	}
	if len(raw) > maxSecretBytes {
		return "", fmt.Errorf("%s is larger than %d bytes: is it the right file?", path, maxSecretBytes)
	}
	secret := trimOneNewline(string(raw))
	if secret == "" {
		return "", fmt.Errorf("%s is empty: write the secret into it", path)
	}
	return secret, nil
}

func trimOneNewline(s string) string {
	if t, ok := strings.CutSuffix(s, "\r\n"); ok {
		return t
	}
	return strings.TrimSuffix(s, "\n")
}

// passwordFor reads the password of a mechanism that separates its fields with NUL.
func passwordFor(s secretSource) (string, error) {
	secret, err := s.read()
	if err == nil && strings.ContainsRune(secret, 0) {
		return "", &SecretError{Field: s.field, Err: errors.New("the password contains a NUL byte, which SASL/PLAIN cannot carry")}
	}
	return secret, err
}
