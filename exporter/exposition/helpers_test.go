package exposition

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// fataler is what *testing.T and *rapid.T share.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// row is one emitted series.
type row struct {
	labels []string
	value  int64
}

// rowsFamily emits the given rows.
func rowsFamily(d Desc, rows []row) Family {
	return Family{Desc: d, Collector: "test", Render: func(_ *snapshot.Cluster, e *Emitter) {
		for _, r := range rows {
			e.Int(r.value, r.labels...)
		}
	}}
}

func source(name string, limits map[string]Limits) Source {
	return Source{Snapshot: &snapshot.Cluster{Name: name}, Limits: limits}
}

func renderTo(t fataler, f format, families []Family, sources []Source) []byte {
	t.Helper()
	var b bytes.Buffer
	s := newScrape(&b, f, families, sources)
	defer s.free()
	if err := s.run(context.Background()); err != nil {
		t.Fatalf("rendering: %v", err)
	}
	s.out.flush()
	return b.Bytes()
}

// parsed are the families of a body, checked for duplicates.
type parsed map[string]*dto.MetricFamily

func parse(t fataler, f expfmt.Format, body []byte) parsed {
	t.Helper()
	got := parsed{}
	if f.FormatType() == expfmt.TypeTextPlain {
		// This parser, unlike the decoder, refuses families that are not contiguous.
		p := expfmt.NewTextParser(model.UTF8Validation)
		families, err := p.TextToMetricFamilies(bytes.NewReader(body))
		if err != nil {
			t.Fatalf("parsing: %v\n%s", err, body)
		}
		got = families
	} else {
		d := expfmt.NewDecoder(bytes.NewReader(body), f)
		for {
			mf := &dto.MetricFamily{}
			err := d.Decode(mf)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("decoding %s: %v", f, err)
			}
			if got[mf.GetName()] != nil {
				t.Fatalf("family %s occurs twice", mf.GetName())
			}
			got[mf.GetName()] = mf
		}
	}
	for name, mf := range got {
		seen := map[string]bool{}
		for _, m := range mf.Metric {
			k := key(m)
			if seen[k] {
				t.Fatalf("duplicate series %s%s", name, k)
			}
			seen[k] = true
		}
	}
	return got
}

// key is a metric's label set.
func key(m *dto.Metric) string {
	var pairs []string
	for _, l := range m.Label {
		pairs = append(pairs, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}

func value(m *dto.Metric) float64 {
	if m.Counter != nil {
		return m.Counter.GetValue()
	}
	return m.Gauge.GetValue()
}

// values are a family's values by label set.
func (p parsed) values(name string) map[string]float64 {
	vs := map[string]float64{}
	if mf := p[name]; mf != nil {
		for _, m := range mf.Metric {
			vs[key(m)] = value(m)
		}
	}
	return vs
}

func textValues(t fataler, families []Family, sources []Source) parsed {
	t.Helper()
	return parse(t, expfmt.FmtText, renderTo(t, text, families, sources))
}

func mustEqual(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
