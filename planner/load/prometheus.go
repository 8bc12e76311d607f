package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/config"
)

// Prometheus asks a server that speaks Prometheus' HTTP API.
type Prometheus struct {
	url    string
	client *http.Client
}

// NewPrometheus makes a client. address is the server's URL up to and without
// /api/v1; it must not hold credentials. auth is Prometheus' own http_config:
// basic_auth with password_file, authorization with credentials_file (a bearer
// token), tls_config, proxies.
func NewPrometheus(address string, auth config.HTTPClientConfig) (*Prometheus, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of Prometheus is not a URL") // its text may hold a password
	}
	if u.User != nil {
		return nil, fmt.Errorf("the address of Prometheus %s holds credentials: put them in basic_auth", u.Redacted())
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the address of Prometheus %q is not http:// or https:// with a host", address)
	}
	if err := auth.Validate(); err != nil {
		return nil, fmt.Errorf("authentication against Prometheus: %w", err)
	}
	c, err := config.NewClientFromConfig(auth, "prometheus")
	if err != nil {
		return nil, fmt.Errorf("authentication against Prometheus: %w", err)
	}
	return &Prometheus{url: strings.TrimSuffix(u.String(), "/"), client: c}, nil
}

// Range is the times at which an expression is evaluated: From, and every Step
// until To, both included.
type Range struct {
	From, To time.Time
	Step     time.Duration
}

// Points is how many times that are.
func (r Range) Points() int {
	if r.Step <= 0 || r.To.Before(r.From) {
		return 0
	}
	return int(r.To.Sub(r.From)/r.Step) + 1
}

// Series is one series of an answer: a value for each point of the Range, NaN
// where there is none.
type Series struct {
	Labels map[string]string
	Values []float64
}

// QueryRange evaluates an expression over a range and calls each for every
// series while the answer is being read; Values is only valid during the call.
// It returns the server's warnings.
func (p *Prometheus) QueryRange(ctx context.Context, expr string, r Range, each func(Series) error) ([]string, error) {
	form := url.Values{"query": {expr}, "start": {seconds(r.From)}, "end": {seconds(r.To)}, "step": {strconv.FormatFloat(r.Step.Seconds(), 'f', -1, 64)}}
	values := make([]float64, r.Points())
	return p.ask(ctx, "query_range", expr, form, func(d *json.Decoder) error {
		var s struct {
			Metric map[string]string `json:"metric"`
			Values points            `json:"values"`
		}
		if err := d.Decode(&s); err != nil {
			return err
		}
		for i := range values {
			values[i] = math.NaN()
		}
		for _, v := range s.Values {
			// Servers may answer a little beside the points asked for.
			i := int(math.Round((v.at - float64(r.From.UnixMilli())/1000) / r.Step.Seconds()))
			if i >= 0 && i < len(values) {
				values[i] = v.value
			}
		}
		return each(Series{s.Metric, values})
	})
}

// Query evaluates an expression at one time, like QueryRange with one point.
func (p *Prometheus) Query(ctx context.Context, expr string, at time.Time, each func(Series) error) ([]string, error) {
	form := url.Values{"query": {expr}, "time": {seconds(at)}}
	return p.ask(ctx, "query", expr, form, func(d *json.Decoder) error {
		var s struct {
			Metric map[string]string `json:"metric"`
			Value  point             `json:"value"`
		}
		if err := d.Decode(&s); err != nil {
			return err
		}
		return each(Series{s.Metric, []float64{s.Value.value}})
	})
}

// shortened keeps an expression that names hundreds of topics out of messages.
func shortened(expr string) string {
	const most = 200
	if len(expr) <= most {
		return expr
	}
	return strings.ToValidUTF8(expr[:most], "") + "…"
}

func seconds(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}

func (p *Prometheus) ask(ctx context.Context, call, expr string, form url.Values, element func(*json.Decoder) error) ([]string, error) {
	res, err := p.post(ctx, call, form)
	if err != nil {
		return nil, fmt.Errorf("asking Prometheus at %s for %s: %w", p.url, shortened(expr), err)
	}
	defer res.Body.Close()
	a := answer{d: json.NewDecoder(bufio.NewReaderSize(res.Body, 1<<16)), element: element}
	err = a.read()
	switch {
	case err == nil && a.status == "success":
		return append(a.warnings, a.infos...), nil
	case a.message != "":
		err = fmt.Errorf("%s: %s", a.kind, a.message)
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		err = fmt.Errorf("%s: check the credentials", res.Status)
	case res.StatusCode/100 != 2:
		err = errors.New(res.Status)
	case err == nil:
		err = fmt.Errorf("the answer's status is %q", a.status)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		err = fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil, fmt.Errorf("asking Prometheus at %s for %s: %w", p.url, shortened(expr), err)
}

// post sends a form; servers and proxies that take no POST get a GET.
func (p *Prometheus) post(ctx context.Context, call string, form url.Values) (*http.Response, error) {
	address := p.url + "/api/v1/" + call
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := p.client.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	if res.StatusCode != http.StatusMethodNotAllowed && res.StatusCode != http.StatusNotImplemented {
		return res, nil
	}
	res.Body.Close()
	if req, err = http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+form.Encode(), nil); err != nil {
		return nil, err
	}
	res, err = p.client.Do(req)
	return res, withoutURL(err)
}

// withoutURL takes off what net/http puts around an error: the whole URL, which
// is long and already told.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// answer reads the API's envelope without holding the result in memory.
type answer struct {
	d       *json.Decoder
	element func(*json.Decoder) error

	status, kind, message string
	warnings, infos       []string
}

func (a *answer) read() error {
	return object(a.d, func(key string) error {
		switch key {
		case "status":
			return a.d.Decode(&a.status)
		case "errorType":
			return a.d.Decode(&a.kind)
		case "error":
			return a.d.Decode(&a.message)
		case "warnings":
			return a.d.Decode(&a.warnings)
		case "infos":
			return a.d.Decode(&a.infos)
		case "data":
			return a.data()
		}
		return skip(a.d)
	})
}

func (a *answer) data() error {
	return object(a.d, func(key string) error {
		switch key {
		case "resultType":
			var kind string
			if err := a.d.Decode(&kind); err != nil {
				return err
			}
			if kind != "matrix" && kind != "vector" {
				return fmt.Errorf("the expression gives a %s, not series", kind)
			}
			return nil
		case "result":
			t, err := a.d.Token()
			if err != nil || t == nil {
				return err
			}
			if t != json.Delim('[') {
				return fmt.Errorf("%v where a list should be", t)
			}
			for a.d.More() {
				if err := a.element(a.d); err != nil {
					return err
				}
			}
			_, err = a.d.Token()
			return err
		}
		return skip(a.d)
	})
}

func skip(d *json.Decoder) error {
	var v json.RawMessage
	return d.Decode(&v)
}

// object calls f for every key of an object; null has none.
func object(d *json.Decoder, f func(key string) error) error {
	t, err := d.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("%v where an object should be", t)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if err := f(key); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// point is a time in seconds and a value, in JSON [1435781430.781,"1"].
type point struct{ at, value float64 }

type points []point

// UnmarshalJSON reads a list of points by hand: there are millions of them.
func (ps *points) UnmarshalJSON(b []byte) error {
	text := strings.TrimSpace(string(b))
	if text == "null" {
		return nil
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	for text != "" {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return io.ErrUnexpectedEOF
		}
		var p point
		if err := p.parse(text[:end+1]); err != nil {
			return err
		}
		*ps = append(*ps, p)
		text = strings.TrimLeft(text[end+1:], ", \n\t\r")
	}
	return nil
}

// UnmarshalJSON reads one point.
func (p *point) UnmarshalJSON(b []byte) error { return p.parse(string(b)) }

func (p *point) parse(text string) error {
	inner := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "["), "]")
	at, value, ok := strings.Cut(inner, ",")
	var err1, err2 error
	p.at, err1 = strconv.ParseFloat(strings.TrimSpace(at), 64)
	p.value, err2 = strconv.ParseFloat(strings.Trim(strings.TrimSpace(value), `"`), 64)
	if !ok || err1 != nil || err2 != nil {
		return fmt.Errorf("%q is not a time and a number", text)
	}
	return nil
}
