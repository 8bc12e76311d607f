package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// tokenServer is an OAuth token endpoint for the client-credentials grant, and
// the place where brokers find the key that its tokens are signed with.
type tokenServer struct {
	t      testing.TB
	url    string
	key    *rsa.PrivateKey
	secret string // of the client "steward"
	// subject is the principal that tokens are for, lifetime how long they live.
	subject  string
	lifetime time.Duration

	mu      sync.Mutex
	issued  []string
	refused int
}

func newTokenServer(t testing.TB, secret string) *tokenServer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	s := &tokenServer{t: t, key: key, secret: secret, subject: "admin", lifetime: 10 * time.Second}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /jwks", s.keys)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /refuse", s.refuse)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

var base64url = base64.RawURLEncoding.EncodeToString

func (s *tokenServer) keys(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"keys": []map[string]string{{
		"kty": "RSA", "kid": "k1", "use": "sig", "alg": "RS256",
		"n": base64url(s.key.N.Bytes()), "e": base64url(big.NewInt(int64(s.key.E)).Bytes()),
	}}})
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// credentials finds the client's id and secret where RFC 6749 allows them.
func credentials(r *http.Request) (id, secret string) {
	if id, secret, ok := r.BasicAuth(); ok {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
		return id, secret
	}
	return r.FormValue("client_id"), r.FormValue("client_secret")
}

func (s *tokenServer) token(w http.ResponseWriter, r *http.Request) {
	if id, secret := credentials(r); id != "steward" || secret != s.secret || r.FormValue("grant_type") != "client_credentials" {
		reply(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	now := time.Now()
	token := s.sign(map[string]any{
		"sub": s.subject, "aud": "kafka", "iss": "test", "scope": "kafka", "jti": fmt.Sprint(now.UnixNano()),
		"iat": now.Unix(), "exp": now.Add(s.lifetime).Unix() + 1, // whole seconds
	})
	s.mu.Lock()
	s.issued = append(s.issued, token)
	s.mu.Unlock()
	reply(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(s.lifetime.Seconds())})
}

// refuse answers as a careless server does: with all that it was sent.
func (s *tokenServer) refuse(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, secret, _ := r.BasicAuth()
	s.mu.Lock()
	s.refused++
	s.mu.Unlock()
	reply(w, http.StatusUnauthorized, map[string]string{
		"error": "invalid_client", "error_description": fmt.Sprintf("%s %s %s", secret, r.Header.Get("Authorization"), body),
	})
}

func (s *tokenServer) sign(claims map[string]any) string {
	text, err := json.Marshal(claims)
	must(s.t, err)
	signed := base64url([]byte(`{"alg":"RS256","kid":"k1"}`)) + "." + base64url(text)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	must(s.t, err)
	return signed + "." + base64url(signature)
}

func (s *tokenServer) counts() (issued, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.issued), s.refused
}

// sasl is the configuration that gets tokens at a path of the server.
func (s *tokenServer) sasl(path, secretFile string) string {
	return strings.Join([]string{
		"sasl:", "  mechanism: OAUTHBEARER", "  oauthbearer:", "    token_url: " + s.url + path,
		"    client_id: steward", "    client_secret_file: " + secretFile, "    audience: kafka",
	}, "\n")
}
