package connect

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tokenServer is a token endpoint for the client-credentials grant.
type tokenServer struct {
	*httptest.Server
	mu       sync.Mutex
	secret   string
	lifetime time.Duration // 0: expires_in is not told
	issued   int
	down     bool
	forms    []url.Values
}

func startTokens(t *testing.T, secret string, lifetime time.Duration, cfg *tls.Config) *tokenServer {
	s := &tokenServer{secret: secret, lifetime: lifetime}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.handle))
	s.Config.ErrorLog = nil
	if cfg == nil {
		s.Start()
	} else {
		s.TLS = cfg
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *tokenServer) handle(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	id, secret, _ := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case s.down:
		w.WriteHeader(http.StatusServiceUnavailable)
	case id != "steward" || secret != s.secret:
		w.WriteHeader(http.StatusUnauthorized)
		// A careless server that repeats what it was sent.
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":%q}`, "bad secret "+secret+r.Form.Get("client_secret"))
	default:
		s.issued++
		s.forms = append(s.forms, r.PostForm)
		expires := ""
		if s.lifetime > 0 {
			expires = fmt.Sprintf(`,"expires_in":%d`, int(s.lifetime.Seconds()))
		}
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer"%s}`, s.issued, expires)
	}
}

func (s *tokenServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func oauthConfig(url, secretFile string) func(*Config) {
	return func(c *Config) {
		c.SASL = &SASL{Mechanism: "OAUTHBEARER", OAuth: &OAuth{
			TokenURL: url, ClientID: "steward", ClientSecretFile: secretFile,
			Scopes: []string{"kafka", "read"}, Audience: "cluster-1", Extensions: map[string]string{"logicalCluster": "lkc-1"},
		}}
	}
}

func TestOAuthBearer(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir, "secret", trickySecret+"\n")
	eachClient(t, func(t *testing.T, ping func(*Connector) error) {
		tokens := startTokens(t, trickySecret, time.Hour, nil)
		broker := startFake(t, nil, func(m string) saslServer {
			if m != MechanismOAuthBearer {
				return nil
			}
			return nilSASL
		})
		c := newConnector(t, broker.addr(), oauthConfig(tokens.URL+"/token", file))
		for range 3 {
			if err := ping(c); err != nil {
				t.Fatal(err)
			}
		}
		for _, auth := range broker.seenAuths() {
			if want := "n,,\x01auth=Bearer token-1\x01logicalCluster=lkc-1\x01\x01"; string(auth) != want {
				t.Errorf("authentication %q, want %q", auth, want)
			}
		}
		if n := len(broker.seenAuths()); n != 3 || tokens.issued != 1 {
			t.Errorf("%d connections used %d tokens, want 3 and 1", n, tokens.issued)
		}
		want := url.Values{"grant_type": {"client_credentials"}, "scope": {"kafka read"}, "audience": {"cluster-1"}}
		if diff := cmp.Diff(want, tokens.forms[0]); diff != "" {
			t.Errorf("token request differs (-want +got):\n%s", diff)
		}
	})
}

// TestOAuthRefresh moves the clock of the token source.
func TestOAuthRefresh(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir, "secret", "s1")
	tokens := startTokens(t, "s1", 1000*time.Second, nil)
	var log syncBuffer
	c := newConnector(t, "k1", oauthConfig(tokens.URL, file), logTo(&log))
	now := time.Now()
	c.tokens.now = func() time.Time { return now }
	expect := func(step, want string) {
		t.Helper()
		got, err := c.tokens.get(t.Context())
		if got != want || (want == "") != (err != nil) {
			t.Fatalf("%s: token %q, %v; want %q", step, got, err, want)
		}
		if err != nil && Classify(err) != ClassAuth {
			t.Errorf("%s: class %q of %v", step, Classify(err), err)
		}
	}
	expect("first", "token-1")
	now = now.Add(790 * time.Second)
	expect("before four fifths of the lifetime", "token-1")
	now = now.Add(20 * time.Second)
	expect("after four fifths", "token-2")
	now = now.Add(900 * time.Second)
	tokens.set(func() { tokens.down = true })
	expect("endpoint down, token alive", "token-2")
	if !strings.Contains(log.String(), "not renewed") {
		t.Errorf("the failed renewal is not logged:\n%s", log.String())
	}
	now = now.Add(101 * time.Second)
	expect("endpoint down, token expired", "")
	tokens.set(func() { tokens.down, tokens.secret = false, "s2" })
	expect("wrong secret", "")
	writeFile(t, dir, "secret", "s2")
	expect("secret repaired", "token-3")
	tokens.set(func() { tokens.lifetime = 0 })
	now = now.Add(1000 * time.Second)
	expect("lifetime not told", "token-4")
	now = now.Add(unknownLifetime)
	expect("after the assumed lifetime", "token-5")
}

func TestOAuthErrorsHoldNoSecret(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir, "secret", trickySecret)
	refusing := startTokens(t, "other", time.Hour, nil)
	silly := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		_, secret, _ := r.BasicAuth()
		fmt.Fprintf(w, `{"access_token": %s`, secret)
	}))
	defer silly.Close()
	redirecting := httptest.NewServer(http.RedirectHandler(refusing.URL, http.StatusTemporaryRedirect))
	defer redirecting.Close()
	for _, test := range []struct{ url, want string }{
		{refusing.URL + "/token?key=" + url.QueryEscape(trickySecret), "answered 401 Unauthorized (invalid_client): check token_url"},
		{silly.URL, "without a usable access_token"},
		{redirecting.URL, "answered 307"},
		{"http://127.0.0.1:1/token", "connection refused"},
	} {
		c := newConnector(t, "k1", oauthConfig(test.url, file))
		_, err := c.tokens.get(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) || Classify(err) != ClassAuth {
			t.Errorf("%s: error %v (class %q) lacks %q", test.url, err, Classify(err), test.want)
		}
		refuseSecrets(t, fmt.Sprintf("%v %+v", err, err), trickySecret)
	}
	if refusing.issued != 0 {
		t.Error("a redirect was followed")
	}
}

func TestOAuthOverTLS(t *testing.T) {
	ca := newAuthority(t, "ca")
	dir := t.TempDir()
	file := writeFile(t, dir, "secret", "s")
	caFile := writeFile(t, dir, "ca.pem", newAuthority(t, "other").pem)
	tokens := startTokens(t, "s", time.Hour, ca.serverTLS(nil))
	c := newConnector(t, "k1", func(c *Config) {
		oauthConfig(tokens.URL, file)(c)
		c.SASL.OAuth.TLS = &TLS{CAFile: caFile}
	})
	if _, err := c.tokens.get(t.Context()); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("wrong authority: %v", err)
	}
	writeFile(t, dir, "ca.pem", ca.pem)
	if token, err := c.tokens.get(t.Context()); err != nil || token != "token-1" {
		t.Errorf("after the repair of the authority: %q, %v", token, err)
	}
	_, err := New(Config{BootstrapServers: []string{"k1"}, SASL: &SASL{Mechanism: "OAUTHBEARER", OAuth: &OAuth{
		TokenURL: "https://t", ClientID: "i", ClientSecretFile: file, TLS: &TLS{CAFile: filepath.Join(dir, "none")},
	}}})
	if err == nil || !strings.Contains(err.Error(), "sasl.oauthbearer.tls") {
		t.Errorf("missing authority file: %v", err)
	}
}
