package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/IBM/sarama"
)

// refusing is a broker that reads the credentials and refuses them.
func refusing(t *testing.T) *sarama.MockBroker {
	t.Helper()
	b := sarama.NewMockBroker(t, 1)
	t.Cleanup(b.Close)
	b.SetHandlerByMap(map[string]sarama.MockResponse{
		"ApiVersionsRequest": sarama.NewMockApiVersionsResponse(t).SetApiKeys([]sarama.ApiVersionsResponseKey{
			{ApiKey: 3, MaxVersion: 9},  // Metadata
			{ApiKey: 17, MaxVersion: 1}, // SaslHandshake
			{ApiKey: 18, MaxVersion: 3}, // ApiVersions
			{ApiKey: 36, MaxVersion: 2}, // SaslAuthenticate
		}),
		"SaslHandshakeRequest": sarama.NewMockSaslHandshakeResponse(t).SetEnabledMechanisms([]string{"PLAIN"}),
		"SaslAuthenticateRequest": sarama.NewMockSequence(
			sarama.NewMockSaslAuthenticateResponse(t).SetError(sarama.ErrSASLAuthenticationFailed)),
	})
	return b
}

// sent tells whether the broker was sent the secret.
func sent(b *sarama.MockBroker, secret string) bool {
	for _, rr := range b.History() {
		if auth, ok := rr.Request.(*sarama.SaslAuthenticateRequest); ok && bytes.Contains(auth.SaslAuthBytes, []byte(secret)) {
			return true
		}
	}
	return false
}

// Neither the log at level debug, nor any page, nor the process list holds a
// secret, in whatever form, while logins fail.
func TestSecretsAreNotShown(t *testing.T) {
	const fromFile, fromEnv = "S3cr3t-π/file+1", "S3cr3t-π/env&2"
	dir := t.TempDir()
	write(t, filepath.Join(dir, "password"), fromFile+"\n")
	a, b := refusing(t), refusing(t)
	config := "clusters:\n" +
		clusterYAML("a", a.Addr()) + "    sasl: {mechanism: PLAIN, username: steward, password_file: " + filepath.Join(dir, "password") + "}\n" +
		clusterYAML("b", b.Addr()) + "    sasl: {mechanism: PLAIN, username: steward, password_env: KAFKA_TEST_PASSWORD}\n"
	file := filepath.Join(dir, "steward.yml")
	write(t, file, config)
	p := start(t, file, "KAFKA_TEST_PASSWORD="+fromEnv)
	p.eventually("logs in with both secrets", func() bool { return sent(a, fromFile) && sent(b, fromEnv) })
	p.eventually("says that both were refused", func() bool {
		_, body := p.do("GET", "/-/ready")
		return strings.Count(body, "auth") >= 2
	})

	places := map[string]string{}
	for _, path := range []string{"/", "/metrics", "/status", "/status.json", "/-/ready", "/-/healthy", "/config", "/debug/pprof/", "/debug/vars"} {
		_, places[path] = p.do("GET", path)
	}
	// Somebody writes the password itself where a reference belongs, thrice.
	for i, bad := range []string{"password: " + fromFile, "password_env: " + fromFile, "password_file: *" + fromFile} {
		write(t, file, "clusters:\n"+clusterYAML("a", a.Addr())+"    sasl:\n      mechanism: PLAIN\n      username: steward\n      "+bad+"\n")
		code, body := p.do("POST", "/-/reload")
		if code != 500 {
			t.Errorf("%s is answered with %d", bad, code)
		}
		places[fmt.Sprint("reload ", i)] = body
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	places["the process list"] = string(command)
	p.signal(os.Interrupt)
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGINT: %v", err)
	}
	places["the log"] = p.log()

	if !strings.Contains(places["/status"], "auth") || !strings.Contains(places["the log"], `kafka_cluster=a`) {
		t.Error("the status or the log does not say that the login failed: nothing was tested")
	}
	for place, text := range places {
		for _, secret := range []string{fromFile, fromEnv} {
			for _, form := range forms(secret) {
				if strings.Contains(text, form) {
					t.Errorf("%s shows a secret as %q", place, form)
				}
			}
		}
	}
}

// forms are the ways in which a secret may be written.
func forms(secret string) []string {
	plain := "\x00steward\x00" + secret
	return []string{
		secret, secret[:6], url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte(plain)), fmt.Sprintf("%x", secret), fmt.Sprint([]byte(secret)),
	}
}
