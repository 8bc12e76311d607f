package load

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/config"
	"go.yaml.in/yaml/v2"
)

var hour = Range{From: time.Unix(3600, 0), To: time.Unix(3600*4, 0), Step: time.Hour}

func serve(t *testing.T, h http.HandlerFunc) *Prometheus {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	p, err := NewPrometheus(s.URL+"/", config.DefaultHTTPClientConfig)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestQueryRange(t *testing.T) {
	p := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/api/v1/query_range" || r.FormValue("query") != "up" ||
			r.FormValue("start") != "3600.000" || r.FormValue("end") != "14400.000" || r.FormValue("step") != "3600" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Form)
		}
		fmt.Fprint(w, `{"status":"success","isPartial":false,"data":{"resultType":"matrix","stats":{"a":[1]},"result":[
			{"metric":{"topic":"a"},"values":[ [3600,"1"], [7200.001,"2.5"],[14400,"+Inf"]]},
			{"metric":{"topic":"b"},"values":[[10800,"NaN"],[99999,"7"],[0,"3"]],"histograms":[]},
			{"metric":{},"values":[]}]},"warnings":["w"],"infos":["i"]}`)
	})
	var got [][]float64
	warnings, err := p.QueryRange(t.Context(), "up", hour, func(s Series) error {
		got = append(got, append([]float64{}, s.Values...))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]float64{{1, 2.5, nan, math.Inf(1)}, {nan, nan, nan, nan}, {nan, nan, nan, nan}}
	if d := cmp.Diff(want, got, cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"w", "i"}, warnings); d != "" {
		t.Error(d)
	}
}

func TestQueryFallsBackToGet(t *testing.T) {
	p := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"q":%q},"value":[1,"3"]}]}}`, r.FormValue("query"))
	})
	n := 0
	if _, err := p.Query(t.Context(), `x{a="b"}`, time.Unix(1, 0), func(s Series) error {
		n++
		if s.Labels["q"] != `x{a="b"}` || s.Values[0] != 3 {
			t.Errorf("%+v", s)
		}
		return nil
	}); err != nil || n != 1 {
		t.Errorf("%v, %d series", err, n)
	}
}

func TestQueryErrors(t *testing.T) {
	for _, x := range []struct {
		status     int
		body, want string
	}{
		{400, `{"status":"error","errorType":"bad_data","error":"parse error"}`, "bad_data: parse error"},
		{422, `{"status":"error","data":null,"errorType":"execution","error":"too many samples"}`, "execution: too many samples"},
		{401, `Unauthorized`, "401 Unauthorized: check the credentials"},
		{502, `<html>`, "502 Bad Gateway"},
		{200, `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`, "gives a scalar, not series"},
		{200, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"x"]]}]}}`, "is not a time and a number"},
		{200, `{"status":"success","data":{"resultType":"matrix","result":[{"met`, "the answer cannot be read"},
		{200, `{"data":{"resultType":"matrix","result":[]}}`, `the answer's status is ""`},
		{200, ``, "the answer cannot be read"},
	} {
		p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(x.status)
			fmt.Fprint(w, x.body)
		})
		_, err := p.QueryRange(t.Context(), "up", hour, func(Series) error { return nil })
		if err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), "for up") {
			t.Errorf("%s: got %v, want %q", x.body, err, x.want)
		}
	}
}

func TestQueryEndsWithItsContext(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for name, before := range map[string]string{"before the answer": "", "in the answer": `{"status":"success","data":{"resultType":"matrix","result":[`} {
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if before != "" {
				fmt.Fprint(w, before)
				w.(http.Flusher).Flush()
			}
			select {
			case <-release:
			case <-r.Context().Done():
			}
		})
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, cause)
		_, err := p.QueryRange(ctx, "up", hour, func(Series) error { return nil })
		cancel()
		if !errors.Is(err, cause) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAuthentication asks a TLS server that wants a password or a token, and
// looks for both in every error.
func TestAuthentication(t *testing.T) {
	const password, token = "hunter2secret", "tok-3n-secret"
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, pass, _ := r.BasicAuth()
		if (user != "steward" || pass != password) && r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[]}}`)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // a handshake fails on purpose
	s.StartTLS()
	defer s.Close()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := file("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	good, bad := file("password", password+"\n"), file("bad", "wrong-but-secret")
	for _, x := range []struct{ name, yaml, want string }{
		{"password", "basic_auth: {username: steward, password_file: " + good + "}\ntls_config: {ca_file: " + ca + "}", ""},
		{"token", "authorization: {credentials_file: " + file("token", token) + "}\ntls_config: {ca_file: " + ca + "}", ""},
		{"wrong password", "basic_auth: {username: steward, password_file: " + bad + "}\ntls_config: {ca_file: " + ca + "}", "401 Unauthorized"},
		{"none", "tls_config: {ca_file: " + ca + "}", "401 Unauthorized"},
		{"unknown authority", "basic_auth: {username: steward, password_file: " + good + "}", "certificate"},
		{"no such file", "basic_auth: {username: steward, password_file: " + dir + "/nowhere}\ntls_config: {ca_file: " + ca + "}", "nowhere"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var auth config.HTTPClientConfig
			if err := yaml.UnmarshalStrict([]byte(x.yaml), &auth); err != nil {
				t.Fatal(err)
			}
			p, err := NewPrometheus(s.URL, auth)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.QueryRange(t.Context(), "up", hour, func(Series) error { return nil })
			if x.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("got %v, want %q", err, x.want)
			}
			for _, secret := range []string{password, token, "wrong-but-secret"} {
				if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, p), secret) {
					t.Errorf("a secret is in %v", err)
				}
			}
			if x.name == "unknown authority" {
				if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok {
					t.Errorf("the cause is gone: %#v", err)
				}
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	for _, address := range []string{"", "prometheus:9090", "ftp://x", "http://", "http://user:pa55word@x", "http://user:pa55word@x:bad%zz"} {
		p, err := NewPrometheus(address, config.DefaultHTTPClientConfig)
		if err == nil || p != nil || strings.Contains(err.Error(), "pa55word") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
