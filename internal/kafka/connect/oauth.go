package connect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

const (
	// refreshAt is the part of a token's lifetime after which the next
	// connection gets a new one, as in Kafka's own clients.
	refreshAt = 0.8
	// unknownLifetime is assumed of a token that does not say how long it lives.
	unknownLifetime = time.Minute
	// refreshRetry is the pause after a failed refresh while the old token lives.
	refreshRetry = 10 * time.Second
)

// tokenSource gets access tokens and keeps the current one for the
// connections of both clients.
type tokenSource struct {
	cfg     OAuth
	secret  secretSource
	tls     *tlsSource
	timeout time.Duration
	log     *slog.Logger
	now     func() time.Time

	mu      sync.Mutex // held while a token is fetched: one request at a time
	grant   clientcredentials.Config
	token   string
	expires time.Time
	refresh time.Time
}

func newTokenSource(cfg OAuth, timeout time.Duration, log *slog.Logger) (*tokenSource, error) {
	t := &tokenSource{
		cfg:     cfg,
		secret:  secretSource{field: "sasl.oauthbearer.client_secret", file: cfg.ClientSecretFile, env: cfg.ClientSecretEnv},
		timeout: timeout,
		log:     log,
		now:     time.Now,
		grant: clientcredentials.Config{
			ClientID: cfg.ClientID, TokenURL: cfg.TokenURL, Scopes: cfg.Scopes, EndpointParams: url.Values{},
		},
	}
	if cfg.Audience != "" {
		t.grant.EndpointParams.Set("audience", cfg.Audience)
	}
	files := TLS{MinVersion: defaultMinVersion}
	if cfg.TLS != nil {
		files = *cfg.TLS
	}
	var err error
	if t.tls, err = newTLSSource(files, log); err != nil {
		return nil, fmt.Errorf("sasl.oauthbearer.tls: %w", err)
	}
	return t, nil
}

// httpClient makes the client for one request to the token endpoint, with the
// TLS files as they are now. It follows no redirects, which would carry the
// client secret elsewhere.
func (t *tokenSource) httpClient() (*http.Client, error) {
	cfg, err := t.tls.config("") // net/http fills in the server name
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Timeout:       t.timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:             http.ProxyFromEnvironment,
			TLSClientConfig:   cfg,
			DisableKeepAlives: true, // one request per lifetime of a token
		},
	}, nil
}

// get returns a token that has not expired. It is renewed when most of its
// lifetime is over; if that fails while it lives, it is used on.
func (t *tokenSource) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if t.token != "" && now.Before(t.refresh) {
		return t.token, nil
	}
	err := t.fetch(ctx, now)
	if err == nil {
		return t.token, nil
	}
	if t.token != "" && now.Before(t.expires) {
		t.refresh = now.Add(min(refreshRetry, t.expires.Sub(now)))
		t.log.Warn("OAuth token not renewed; the present one stays in use until it expires", "expires", t.expires, "err", err)
		return t.token, nil
	}
	return "", &AuthError{Mechanism: MechanismOAuthBearer, Err: err}
}

func (t *tokenSource) fetch(ctx context.Context, now time.Time) error {
	secret, err := t.secret.read()
	if err != nil {
		return err
	}
	client, err := t.httpClient()
	if err != nil {
		return err
	}
	t.grant.ClientSecret = secret
	token, err := t.grant.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	t.grant.ClientSecret = ""
	if err != nil {
		return t.endpointError(err)
	}
	if strings.ContainsFunc(token.AccessToken, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("the token endpoint's access_token has characters that no bearer token may have")
	}
	lifetime := unknownLifetime
	if !token.Expiry.IsZero() {
		lifetime = time.Until(token.Expiry)
	}
	t.token, t.expires = token.AccessToken, now.Add(lifetime)
	t.refresh = now.Add(time.Duration(float64(lifetime) * refreshAt))
	return nil
}

// endpointError words a failure without the response body, which may repeat
// the request, and without the URL's query, which may hold a secret.
func (t *tokenSource) endpointError(err error) error {
	where := "the token endpoint"
	if u, parseErr := url.Parse(t.cfg.TokenURL); parseErr == nil {
		where = fmt.Sprintf("the token endpoint %s://%s", u.Scheme, u.Host)
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		hint := "check token_url, client_id and the client secret"
		if code := safeCode(refused.ErrorCode); code != "" {
			return fmt.Errorf("%s answered %s (%s): %s", where, refused.Response.Status, code, hint)
		}
		return fmt.Errorf("%s answered %s: %s", where, refused.Response.Status, hint)
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%s: %w", where, failed.Err)
	}
	// What is left are complaints about the answer, which may quote it.
	return fmt.Errorf("%s gave an answer without a usable access_token", where)
}

// safeCode returns an OAuth error code of the registered form, such as
// invalid_client, and nothing else that a server may send in its place.
func safeCode(code string) string {
	if len(code) > 40 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return code
}

// mechanism returns OAUTHBEARER for franz-go.
func (t *tokenSource) mechanism() sasl.Mechanism {
	return quietMechanism{oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		token, err := t.get(ctx)
		return oauth.Auth{Token: token, Extensions: t.cfg.Extensions}, err
	})}
}

// Token returns the token for sarama.
func (t *tokenSource) Token() (*sarama.AccessToken, error) {
	token, err := t.get(context.Background())
	if err != nil {
		return nil, err
	}
	return &sarama.AccessToken{Token: token, Extensions: t.cfg.Extensions}, nil
}
