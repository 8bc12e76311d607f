package exposition

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"pgregory.net/rapid"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

func TestTextLayout(t *testing.T) {
	gaugeOf := rowsFamily(Desc{Name: "kafka_x", Help: "Help with \\ and \n and \".", Labels: []string{"topic", "partition"}},
		[]row{{[]string{"a\"b", "0"}, 1}, {[]string{"a\"b", "1"}, -2}, {[]string{"c\\d", "1"}, 3}, {[]string{"e\nf", ""}, 4}})
	counterOf := rowsFamily(Desc{Name: "kafka_y_total", Help: "Y.", Type: Counter}, []row{{nil, math.MaxInt64}})
	empty := rowsFamily(Desc{Name: "kafka_empty", Help: "None."}, nil)
	families := []Family{gaugeOf, empty, counterOf}
	sources := []Source{source("one", nil), source("t\"wo", nil)}

	mustEqual(t, string(renderTo(t, text, families, sources)), `# HELP kafka_x Help with \\ and \n and ".
# TYPE kafka_x gauge
kafka_x{kafka_cluster="one",topic="a\"b",partition="0"} 1
kafka_x{kafka_cluster="one",topic="a\"b",partition="1"} -2
kafka_x{kafka_cluster="one",topic="c\\d",partition="1"} 3
kafka_x{kafka_cluster="one",topic="e\nf",partition=""} 4
kafka_x{kafka_cluster="t\"wo",topic="a\"b",partition="0"} 1
kafka_x{kafka_cluster="t\"wo",topic="a\"b",partition="1"} -2
kafka_x{kafka_cluster="t\"wo",topic="c\\d",partition="1"} 3
kafka_x{kafka_cluster="t\"wo",topic="e\nf",partition=""} 4
# HELP kafka_y_total Y.
# TYPE kafka_y_total counter
kafka_y_total{kafka_cluster="one"} 9223372036854775807
kafka_y_total{kafka_cluster="t\"wo"} 9223372036854775807
`)
	mustEqual(t, string(renderTo(t, openMetrics, families[2:], sources[:1])), `# HELP kafka_y Y.
# TYPE kafka_y counter
kafka_y_total{kafka_cluster="one"} 9223372036854775807
`)
}

func TestValues(t *testing.T) {
	f := Family{Desc: Desc{Name: "kafka_v", Help: "V.", Labels: []string{"n"}}, Render: func(_ *snapshot.Cluster, e *Emitter) {
		e.Add(0.5, "add")
		e.Add(3, "whole")
		e.Add(1e300, "big")
		e.Add(math.Inf(1), "inf")
		e.Bool(true, "true")
		e.Bool(false, "false")
		e.Millis(1764500000123, "ms")
		e.Millis(-1, "negative")
		e.Millis(2000, "seconds")
		e.Millis(50, "padded")
		e.Seconds(float64(float32(0.1)), "float32")
		e.Seconds(math.Inf(1), "secondsinf")
	}}
	mustEqual(t, string(renderTo(t, text, []Family{f}, []Source{source("c", nil)})), `# HELP kafka_v V.
# TYPE kafka_v gauge
kafka_v{kafka_cluster="c",n="add"} 0.5
kafka_v{kafka_cluster="c",n="whole"} 3
kafka_v{kafka_cluster="c",n="big"} 1e+300
kafka_v{kafka_cluster="c",n="inf"} +Inf
kafka_v{kafka_cluster="c",n="true"} 1
kafka_v{kafka_cluster="c",n="false"} 0
kafka_v{kafka_cluster="c",n="ms"} 1764500000.123
kafka_v{kafka_cluster="c",n="negative"} -0.001
kafka_v{kafka_cluster="c",n="seconds"} 2
kafka_v{kafka_cluster="c",n="padded"} 0.05
kafka_v{kafka_cluster="c",n="float32"} 0.1
kafka_v{kafka_cluster="c",n="secondsinf"} +Inf
`)
}

func TestNumberTextIsItsFloat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(
			rapid.Map(rapid.Int64(), func(i int64) number { return number{kind: integer, i: i} }),
			rapid.Map(rapid.Int64(), func(i int64) number { return number{kind: thousandths, i: i} }),
			rapid.Map(rapid.Float64(), newFloat),
		).Draw(t, "number")
		got, err := strconv.ParseFloat(string(n.appendText(nil)), 64)
		// Beyond 2^53 thousandths are rounded twice on the way to a float.
		exact := n.kind != thousandths || n.i <= 1<<53 && n.i >= -1<<53
		if err != nil || exact && got != n.float() || math.Abs(got-n.float()) > math.Abs(n.float())*1e-15 {
			t.Fatalf("%+v is written %s, read %v, want %v (%v)", n, n.appendText(nil), got, n.float(), err)
		}
	})
}

// anyName draws label values of any bytes, with the troublesome ones often.
func anyName() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringOfN(rapid.RuneFrom([]rune("ab\"\\\n\r\x00{}=, #é\u2028\ufffd")), 0, 12, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", OtherValue, "g\xff", "g\xfe", "# EOF", "a\\", "~invalid-utf8:01234567"}),
	)
}

// TestNamesRoundTrip: whatever Kafka holds, all formats read back what Label
// says, which is the name itself if that is valid.
func TestNamesRoundTrip(t *testing.T) {
	formats := map[format]expfmt.Format{text: expfmt.FmtText, protobuf: expfmt.FmtProtoDelim}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(anyName(), 1, 8, rapid.ID).Draw(t, "names")
		cluster := rapid.String().Draw(t, "cluster")
		var rows []row
		for i, n := range names {
			clean, rewritten := Label(n)
			if want := !utf8.ValidString(n) || hasMark(n); rewritten != want || !rewritten && clean != n {
				t.Fatalf("Label(%q) = %q, %v", n, clean, rewritten)
			}
			rows = append(rows, row{[]string{clean, "z"}, int64(i)})
		}
		f := rowsFamily(Desc{Name: "kafka_x", Help: "X.", Labels: []string{"name", "z"}}, rows)
		for ours, theirs := range formats {
			got := parse(t, theirs, renderTo(t, ours, []Family{f}, []Source{source(cluster, nil)}))["kafka_x"]
			if len(got.Metric) != len(names) {
				t.Fatalf("%s: %d series of %d names", theirs, len(got.Metric), len(names))
			}
			for i, m := range got.Metric {
				if m.Label[0].GetValue() != cluster || m.Label[1].GetValue() != rows[i].labels[0] || value(m) != float64(i) {
					t.Fatalf("%s: series %d is %v, want %q of %q", theirs, i, m, rows[i].labels[0], cluster)
				}
			}
		}
	})
}

// TestInvalidNeverPasses: names that nobody cleaned do not break the scrape.
func TestInvalidNeverPasses(t *testing.T) {
	f := rowsFamily(Desc{Name: "kafka_x", Help: "X.", Labels: []string{"g"}}, []row{{[]string{"g\xff"}, 1}, {[]string{"g\xfe\n"}, 2}})
	sources := []Source{source("c\x80", nil)}
	want := map[string]float64{}
	for i, g := range []string{"g\xff", "g\xfe\n"} {
		c, _ := Label("c\x80")
		clean, _ := Label(g)
		want[fmt.Sprintf("{g=%q,kafka_cluster=%q}", clean, c)] = float64(i + 1)
	}
	for ours, theirs := range map[format]expfmt.Format{text: expfmt.FmtText, protobuf: expfmt.FmtProtoDelim} {
		got := parse(t, theirs, renderTo(t, ours, []Family{f}, sources)).values("kafka_x")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", theirs, d)
		}
	}
}

func TestLabelKeepsNamesApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyName().Draw(t, "a"), anyName().Draw(t, "b")
		ca, _ := Label(a)
		cb, _ := Label(b)
		// A cleaned name is itself a name that somebody may have chosen.
		cca, _ := Label(ca)
		if !utf8.ValidString(ca) || (ca == cb) != (a == b) || ca != a && cca == ca {
			t.Fatalf("Label(%q) = %q, Label(%q) = %q, again %q", a, ca, b, cb, cca)
		}
	})
	for raw, want := range map[string]string{
		"\x00": "\x00", "": "", "a\"b\\c\nd": "a\"b\\c\nd", "é": "é",
		"g\xff":      `g\xff~invalid-utf8:`,
		"\\\xe9\x01": "\\\\\\xe9\x01~invalid-utf8:",
	} {
		got, rewritten := Label(raw)
		if rewritten {
			got = got[:len(got)-8]
		}
		if got != want {
			t.Errorf("Label(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestItoa(t *testing.T) {
	for _, n := range []int32{0, 9, 10, 99, 100, 16383, 16384, math.MaxInt32, -1, math.MinInt32} {
		if got := Itoa(n); got != strconv.Itoa(int(n)) {
			t.Errorf("Itoa(%d) = %s", n, got)
		}
	}
	for i := range smallInts {
		if smallInts[i] != strconv.Itoa(i) {
			t.Fatalf("Itoa(%d) = %s", i, smallInts[i])
		}
	}
}

// TestFormatsAgree: text and protobuf hold the same series and values.
func TestFormatsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, rows := drawRows(t)
		families := append([]Family{rowsFamily(d, rows), rowsFamily(Desc{Name: "kafka_none", Help: "N."}, nil)}, Accounting()...)
		families[0].Type = Counter
		l := drawLimits(t, d)
		sources := []Source{source("a", map[string]Limits{d.Name: l}), source("b", nil)}
		txt := parse(t, expfmt.FmtText, renderTo(t, text, families, sources))
		pb := parse(t, expfmt.FmtProtoDelim, renderTo(t, protobuf, families, sources))
		if diff := cmp.Diff(txt.values(d.Name), pb.values(d.Name)); diff != "" || len(txt) != len(pb) {
			t.Fatalf("text and protobuf differ:\n%s", diff)
		}
		for _, f := range Accounting() {
			if diff := cmp.Diff(txt.values(f.Name), pb.values(f.Name)); diff != "" {
				t.Fatalf("%s differs:\n%s", f.Name, diff)
			}
		}
		if mf := pb[d.Name]; mf != nil && (mf.GetHelp() != d.Help || mf.GetType() != txt[d.Name].GetType()) {
			t.Fatalf("family is %v %q", mf.GetType(), mf.GetHelp())
		}
	})
}
