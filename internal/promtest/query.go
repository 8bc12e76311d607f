package promtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Sample is one series of an answer.
type Sample struct {
	// Labels include __name__ where the expression keeps it.
	Labels map[string]string
	Value  float64
	Time   time.Time
}

// Query evaluates an expression now. A scalar is one sample without labels.
func (s *Server) Query(ctx context.Context, promql string) ([]Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, body, err := get(ctx, s.url+"/api/v1/query?query="+url.QueryEscape(promql))
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", promql, err)
	}
	samples, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", promql, err)
	}
	return samples, nil
}

func decode(body []byte) ([]Sample, error) {
	type point [2]any
	var answer struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("the answer is no JSON: %w", err)
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s: %s", answer.Status, answer.Error)
	}
	var series []struct {
		Metric map[string]string
		Value  point
	}
	switch answer.Data.ResultType {
	case "vector":
		if err := json.Unmarshal(answer.Data.Result, &series); err != nil {
			return nil, err
		}
	case "scalar":
		series = slices.Grow(series, 1)[:1]
		if err := json.Unmarshal(answer.Data.Result, &series[0].Value); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("the result is a %s, not a vector: leave out the range selector", answer.Data.ResultType)
	}
	samples := make([]Sample, 0, len(series))
	for _, one := range series {
		seconds, ok1 := one.Value[0].(float64)
		text, ok2 := one.Value[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if !ok1 || !ok2 || err != nil {
			return nil, fmt.Errorf("the value %v is not [time, \"number\"]", one.Value)
		}
		samples = append(samples, Sample{Labels: one.Metric, Value: value, Time: time.UnixMilli(int64(seconds * 1000))})
	}
	return samples, nil
}

// Await evaluates an expression again and again until its answer has at least
// one series and ok (unless nil) accepts it, and returns that answer. It gives
// up when ctx ends, and the error tells the last answer.
func (s *Server) Await(ctx context.Context, promql string, ok func([]Sample) bool) ([]Sample, error) {
	var last []Sample
	var failed error
	err := poll(ctx, func() (bool, error) {
		if err := s.Err(); err != nil {
			return true, err
		}
		samples, err := s.Query(ctx, promql)
		if ctx.Err() == nil {
			last, failed = samples, err
		}
		return err == nil && len(samples) > 0 && (ok == nil || ok(samples)), nil
	})
	switch {
	case err == nil:
		return last, nil
	case failed != nil:
		return nil, fmt.Errorf("wait for %s: %w", promql, failed)
	}
	return nil, fmt.Errorf("wait for %s: %w; the last answer has %d series: %v", promql, err, len(last), last[:min(len(last), 5)])
}

// WaitFor is Await for tests: it fails the test when the answer does not come
// in time.
func (s *Server) WaitFor(t testing.TB, promql string, within time.Duration, ok func([]Sample) bool) []Sample {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), within, fmt.Errorf("not within %v", within))
	defer cancel()
	samples, err := s.Await(ctx, promql, ok)
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

// HasPage reports whether this Prometheus has its web page: the programs built
// from the Go module have not.
func (s *Server) HasPage(ctx context.Context) bool {
	status, _, err := get(ctx, s.url+"/graph")
	return err == nil && status == http.StatusOK
}

// Link returns the address at which a browser shows the answer to an
// expression: on the web page where there is one, else the API's JSON.
func (s *Server) Link(ctx context.Context, promql string) string {
	if s.HasPage(ctx) {
		return s.url + "/graph?" + url.Values{"g0.expr": {promql}, "g0.tab": {"1"}}.Encode()
	}
	return s.url + "/api/v1/query?" + url.Values{"query": {promql}}.Encode()
}

// poll calls try until it is done, fails, or ctx ends.
func poll(ctx context.Context, try func() (done bool, err error)) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := try(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func get(ctx context.Context, address string) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
