package promtest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestModuleVersion holds the version of the cache folder and of the module
// that is built into it together.
func TestModuleVersion(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("../..", toolsModule, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "github.com/prometheus/prometheus " + moduleVersion; !strings.Contains(string(mod), want) {
		t.Errorf("%s/go.mod does not say %s", toolsModule, want)
	}
}

// target serves one series whose value grows with each scrape.
func target(t *testing.T) string {
	scrapes := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		scrapes++
		fmt.Fprintf(w, "# TYPE test_scrapes_total counter\ntest_scrapes_total{shop=\"a \\\"b\\\"\"} %d\n", scrapes)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestServer(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.yml")
	const text = "groups:\n  - name: test\n    rules:\n      - record: test:doubled\n        expr: test_scrapes_total * 2\n"
	if err := os.WriteFile(rules, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s := New(t, Options{
		ScrapeTargets: map[string][]string{"test": {target(t)}},
		RuleFiles:     []string{rules},
		Interval:      200 * time.Millisecond,
	})
	got := s.WaitFor(t, "test:doubled", 30*time.Second, func(v []Sample) bool { return v[0].Value >= 4 })
	if got[0].Labels["shop"] != `a "b"` || got[0].Labels["job"] != "test" {
		t.Errorf("labels %v", got[0].Labels)
	}
	if age := time.Since(got[0].Time); age < -time.Second || age > time.Minute {
		t.Errorf("the sample is %v old", age)
	}
	if v, err := s.Query(t.Context(), "scalar(vector(3))"); err != nil || len(v) != 1 || v[0].Value != 3 {
		t.Errorf("scalar: %v, %v", v, err)
	}
	if _, err := s.Query(t.Context(), "1 +"); err == nil || !strings.Contains(err.Error(), "parse error") {
		t.Errorf("a broken expression: %v", err)
	}
	if _, err := s.Query(t.Context(), "test_scrapes_total[1m]"); err == nil || !strings.Contains(err.Error(), "range selector") {
		t.Errorf("a range: %v", err)
	}
	if status, _, err := get(t.Context(), s.Link(t.Context(), "up")); err != nil || status != http.StatusOK {
		t.Errorf("link %s: status %d, %v", s.Link(t.Context(), "up"), status, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.Await(ctx, "nothing_of_the_kind", nil); err == nil || !strings.Contains(err.Error(), "0 series") {
		t.Errorf("a wait in vain: %v", err)
	}
	s.Stop()
	if s.Err() == nil {
		t.Error("it runs after Stop")
	}
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	tools := MustFind(t)
	rules := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(rules, []byte("groups: [{name: x, rules: [{record: y, expr: '1 +'}]}]"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Tools: tools, RuleFiles: []string{rules}})
	if err == nil || !strings.Contains(err.Error(), rules) {
		t.Errorf("got %v", err)
	}
}

func TestDecodeRefusesNonsense(t *testing.T) {
	for _, body := range []string{
		"", "<html>", `{"status":"success"}`,
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":["x",1]}]}}`,
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"x"]}]}}`,
		`{"status":"error","error":"boom"}`,
	} {
		if v, err := decode([]byte(body)); err == nil {
			t.Errorf("%q gives %v", body, v)
		}
	}
}
