package kafkatest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
)

// signer signs tokens with a key that it serves as a JWKS.
type signer struct {
	t   *testing.T
	key *rsa.PrivateKey
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{t: t, key: key}
}

func (s *signer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	enc := base64.RawURLEncoding.EncodeToString
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"keys": []map[string]string{{
		"kty": "RSA", "kid": "k1", "use": "sig", "alg": "RS256",
		"n": enc(s.key.N.Bytes()), "e": enc(big.NewInt(int64(s.key.E)).Bytes()),
	}}})
}

// token returns a signed token for the subject and audience.
func (s *signer) token(subject, audience string) string {
	now := time.Now().Unix()
	claims, err := json.Marshal(map[string]any{
		"sub": subject, "aud": audience, "iss": "test", "iat": now, "exp": now + 600, "scope": "kafka",
	})
	if err != nil {
		s.t.Fatal(err)
	}
	enc := base64.RawURLEncoding.EncodeToString
	text := enc([]byte(`{"alg":"RS256","kid":"k1"}`)) + "." + enc(claims)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	if err != nil {
		s.t.Fatal(err)
	}
	return text + "." + enc(sig)
}

// TestSignedTokens checks that brokers accept tokens of the given issuer only.
func TestSignedTokens(t *testing.T) {
	good, stranger := newSigner(t), newSigner(t)
	jwks := httptest.NewServer(good)
	t.Cleanup(jwks.Close)
	for _, mode := range []Mode{KRaft4, KRaft39} {
		t.Run(string(mode), func(t *testing.T) {
			c := Private(t, Options{Mode: mode, Brokers: 1, OAuth: &OAuth{JWKSURL: jwks.URL, Audience: "kafka", Issuer: "test"}})
			if err := c.CreateTopic(t.Context(), "any", 1, 1, nil); err != nil {
				t.Fatal(err)
			}
			for name, tt := range map[string]struct {
				token string
				want  error
			}{
				"accepted":       {good.token("admin", "kafka"), nil},
				"wrong audience": {good.token("admin", "other"), kerr.SaslAuthenticationFailed},
				"wrong key":      {stranger.token("admin", "kafka"), kerr.SaslAuthenticationFailed},
				"unsigned":       {unsecuredToken(t, "admin"), kerr.SaslAuthenticationFailed},
			} {
				n, err := countTopics(t, c, ListenerSASLPlaintext, kgo.SASL(oauth.Auth{Token: tt.token}.AsMechanism()))
				if !errors.Is(err, tt.want) || (tt.want == nil && n != 1) {
					t.Errorf("%s: %d topics, error %v; want %v", name, n, err, tt.want)
				}
			}
		})
	}
}
