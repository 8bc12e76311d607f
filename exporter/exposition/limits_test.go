package exposition

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// drawRows draws distinct series grouped by their first two labels, as a
// sorted snapshot gives them.
func drawRows(t *rapid.T) (Desc, []row) {
	d := Desc{
		Name: "kafka_rows", Help: "Rows.", Labels: []string{"group", "topic", "partition"},
		Grouped: rapid.IntRange(0, 2).Draw(t, "grouped"),
		Fold:    rapid.SampledFrom([]Fold{None, Sum, Max, Min}).Draw(t, "fold"),
	}
	names := rapid.SampledFrom([]string{"a", "b", "ab", "", OtherValue, "é\n", "\xff"})
	rows := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) row {
		return row{
			[]string{names.Draw(t, "g"), names.Draw(t, "t"), names.Draw(t, "p")},
			rapid.Int64Range(-1<<40, 1<<40).Draw(t, "v"),
		}
	}), 0, 40, func(r row) string { return fmt.Sprintf("%q", r.labels) }).Draw(t, "rows")
	slices.SortFunc(rows, func(a, b row) int { return slices.Compare(a.labels, b.labels) })
	return d, rows
}

func drawLimits(t *rapid.T, d Desc) Limits {
	l := Limits{Enabled: true, MaxSeries: rapid.IntRange(0, 12).Draw(t, "max")}
	if rapid.Bool().Draw(t, "drop") {
		l.KeepLabels = rapid.SliceOfNDistinct(rapid.SampledFrom(append([]string{"unknown"}, d.Labels...)), 0, -1, rapid.ID).Draw(t, "keep")
	}
	matchers := func(name string) map[string]Matcher {
		return rapid.MapOfN(rapid.SampledFrom(append([]string{"unknown"}, d.Labels...)),
			rapid.Map(rapid.SampledFrom([]string{"^a", "b", "^$", "other", "^[^b]*$"}), func(s string) Matcher { return regexp.MustCompile(s) }),
			0, 2).Draw(t, name)
	}
	l.Include, l.Exclude = matchers("include"), matchers("exclude")
	return l
}

// aggregate is what rows come to, worked out the slow way: the kept series in
// order of appearance, with how many rows each stands for.
func aggregate(d Desc, l Limits, rows []row) (out []row, counts []int) {
	at := map[string]int{}
	for _, r := range rows {
		ok := true
		var kept []string
		for i, name := range d.Labels {
			if m := l.Include[name]; m != nil && !m.MatchString(r.labels[i]) {
				ok = false
			}
			if m := l.Exclude[name]; m != nil && m.MatchString(r.labels[i]) {
				ok = false
			}
			if l.KeepLabels == nil || slices.Contains(l.KeepLabels, name) {
				kept = append(kept, r.labels[i])
			}
		}
		if !ok {
			continue
		}
		k := fmt.Sprintf("%q", kept)
		i, seen := at[k]
		if !seen {
			at[k] = len(out)
			out, counts = append(out, row{kept, r.value}), append(counts, 1)
			continue
		}
		counts[i]++
		switch d.Fold {
		case Sum:
			out[i].value += r.value
		case Max:
			out[i].value = max(out[i].value, r.value)
		case Min:
			out[i].value = min(out[i].value, r.value)
		}
	}
	return out, counts
}

// seriesKey is the label set of a row as parsing gives it.
func seriesKey(d Desc, l Limits, labels []string) string {
	pairs := []string{`kafka_cluster="c"`}
	i := 0
	for _, name := range d.Labels {
		if l.KeepLabels == nil || slices.Contains(l.KeepLabels, name) {
			clean, _ := Label(labels[i])
			pairs = append(pairs, fmt.Sprintf("%s=%q", name, clean))
			i++
		}
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}

// TestKeepLabelsIsAggregation compares filters and dropped labels with the
// slow way, with and without the promise that series come grouped.
func TestKeepLabelsIsAggregation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, rows := drawRows(t)
		l := drawLimits(t, d)
		l.MaxSeries = 0
		want := map[string]float64{}
		agg, counts := aggregate(d, l, rows)
		dropped := 0
		for i, r := range agg {
			if d.Fold == None && counts[i] > 1 {
				dropped += counts[i]
				continue
			}
			want[seriesKey(d, l, r.labels)] = float64(r.value)
		}
		got := textValues(t, append([]Family{rowsFamily(d, rows)}, Accounting()...), []Source{source("c", map[string]Limits{d.Name: l})})
		if diff := cmp.Diff(want, got.values(d.Name)); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
		checkAccount(t, got, d.Name, len(want), 0, dropped)
	})
}

func checkAccount(t fataler, got parsed, family string, series, folded, dropped int) {
	t.Helper()
	if n := got.values("kafka_steward_collector_series")[`{collector="test",kafka_cluster="c"}`]; n != float64(series) {
		t.Fatalf("%v series are counted, want %d", n, series)
	}
	k := fmt.Sprintf(`{family=%q,kafka_cluster="c"}`, family)
	if n, ok := got.values("kafka_steward_folded_series")[k]; n != float64(folded) || ok != (folded > 0) {
		t.Fatalf("%v folded series are counted (%v), want %d", n, ok, folded)
	}
	if n := got.values("kafka_steward_dropped_series")[k]; n != float64(dropped) {
		t.Fatalf("%v dropped series are counted, want %d", n, dropped)
	}
}

// TestMaxSeriesKeepsSums: no more than max series and one more, sums exact,
// the first ones as they are, everything accounted for.
func TestMaxSeriesKeepsSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, rows := drawRows(t)
		l := drawLimits(t, d)
		l.MaxSeries = rapid.IntRange(1, 12).Draw(t, "bound")
		d.Fold = Sum
		agg, _ := aggregate(d, l, rows)
		var want, got int64
		exact := map[string]float64{}
		for _, r := range agg {
			want += r.value
			exact[seriesKey(d, l, r.labels)] = float64(r.value)
		}
		out := textValues(t, append([]Family{rowsFamily(d, rows)}, Accounting()...), []Source{source("c", map[string]Limits{d.Name: l})})
		series := out.values(d.Name)
		other := seriesKey(d, l, []string{OtherValue, OtherValue, OtherValue})
		for k, v := range series {
			got += int64(v)
			if k != other && exact[k] != v {
				t.Fatalf("%s = %v, want %v", k, v, exact[k])
			}
		}
		if got != want {
			t.Fatalf("series sum up to %d, want %d", got, want)
		}
		if len(series) > l.MaxSeries+1 || len(series) < min(len(agg), l.MaxSeries) {
			t.Fatalf("%d series of %d with a bound of %d", len(series), len(agg), l.MaxSeries)
		}
		if len(agg) <= l.MaxSeries && len(series) != len(agg) {
			t.Fatalf("%d series of %d though the bound of %d is kept", len(series), len(agg), l.MaxSeries)
		}
	})
}

func TestMaxSeries(t *testing.T) {
	d := Desc{Name: "kafka_rows", Help: "Rows.", Labels: []string{"topic"}, Fold: Sum}
	rows := []row{{[]string{"a"}, 1}, {[]string{"b"}, 2}, {[]string{OtherValue}, 4}, {[]string{"x"}, 8}, {[]string{"y"}, 16}}
	for _, c := range []struct {
		fold                    Fold
		max                     int
		want                    map[string]float64
		folded, dropped, series int
	}{
		{Sum, 2, map[string]float64{"a": 1, "b": 2, OtherValue: 28}, 3, 0, 3},
		{Max, 2, map[string]float64{"a": 1, "b": 2, OtherValue: 16}, 3, 0, 3},
		{Min, 2, map[string]float64{"a": 1, "b": 2, OtherValue: 4}, 3, 0, 3},
		{None, 2, map[string]float64{"a": 1, "b": 2}, 0, 3, 2},
		// A real "other" series makes room for one more, never for a duplicate.
		{Sum, 3, map[string]float64{"a": 1, "b": 2, "x": 8, OtherValue: 20}, 1, 0, 4},
		{None, 3, map[string]float64{"a": 1, "b": 2, OtherValue: 4}, 0, 2, 3},
		{Sum, 5, map[string]float64{"a": 1, "b": 2, OtherValue: 4, "x": 8, "y": 16}, 0, 0, 5},
		{Sum, 0, map[string]float64{"a": 1, "b": 2, OtherValue: 4, "x": 8, "y": 16}, 0, 0, 5},
	} {
		d.Fold = c.fold
		l := Limits{Enabled: true, MaxSeries: c.max}
		got := textValues(t, append([]Family{rowsFamily(d, rows)}, Accounting()...), []Source{source("c", map[string]Limits{d.Name: l})})
		want := map[string]float64{}
		for topic, v := range c.want {
			want[seriesKey(d, l, []string{topic})] = v
		}
		if diff := cmp.Diff(want, got.values(d.Name)); diff != "" {
			t.Errorf("%v bounded by %d (-want +got):\n%s", c.fold, c.max, diff)
		}
		checkAccount(t, got, d.Name, c.series, c.folded, c.dropped)
	}
}

func TestSumsAreExact(t *testing.T) {
	big := int64(1)<<62 + 1
	for _, c := range []struct {
		values []int64
		want   string
	}{
		{[]int64{big, -big, 3}, "3"},
		{[]int64{1 << 53, 1, 1}, "9007199254740994"},
		{[]int64{big, big}, "9.223372036854776e+18"},
		{[]int64{-big, -big}, "-9.223372036854776e+18"},
	} {
		n := number{kind: integer}
		for _, v := range c.values {
			n = fold(Sum, n, number{kind: integer, i: v})
		}
		if got := string(n.appendText(nil)); got != c.want {
			t.Errorf("sum of %v is %s, want %s", c.values, got, c.want)
		}
	}
	if got := string(fold(Sum, number{kind: thousandths, i: 100}, number{kind: thousandths, i: 200}).appendText(nil)); got != "0.3" {
		t.Errorf("0.1 + 0.2 is %s", got)
	}
	if got := fold(Sum, newFloat(0.5), newFloat(2)).float(); got != 2.5 {
		t.Errorf("0.5 + 2 is %v", got)
	}
}

// TestMergeIsBounded: strangers who choose label values cannot fill the memory
// either, where series are merged in a map.
func TestMergeIsBounded(t *testing.T) {
	d := Desc{Name: "kafka_rows", Help: "Rows.", Labels: []string{"x", "name"}, Fold: Sum}
	held, want := 0, int64(0)
	f := Family{Desc: d, Render: func(_ *snapshot.Cluster, e *Emitter) {
		for i := range int32(1000) {
			e.Int(1, "x", Itoa(i%500))
			want++
		}
		held = len(e.merger.all)
	}}
	l := Limits{Enabled: true, KeepLabels: []string{"name"}, MaxSeries: 10}
	got := textValues(t, []Family{f}, []Source{source("c", map[string]Limits{d.Name: l})}).values(d.Name)
	if held != 10 || len(got) != 11 {
		t.Errorf("%d series are held, %d written with a bound of 10", held, len(got))
	}
	for _, v := range got {
		want -= int64(v)
	}
	if want != 0 {
		t.Errorf("the sum is off by %d", want)
	}
}

func TestMergedFamilies(t *testing.T) {
	d := Desc{Name: "kafka_rows", Help: "Rows.", Labels: []string{"topic"}, Fold: Sum, Merge: true}
	rows := []row{{[]string{"a"}, 1}, {[]string{"b"}, 2}, {[]string{"a"}, 4}}
	got := textValues(t, []Family{rowsFamily(d, rows)}, []Source{source("c", nil)}).values(d.Name)
	want := map[string]float64{`{kafka_cluster="c",topic="a"}`: 5, `{kafka_cluster="c",topic="b"}`: 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNeighboursOnce: a series given twice in a row is written once; without
// labels too.
func TestNeighboursOnce(t *testing.T) {
	a := rowsFamily(Desc{Name: "kafka_a", Help: "A.", Labels: []string{"x", "y"}}, []row{{[]string{"", ""}, 1}, {[]string{"", ""}, 1}, {[]string{"", "z"}, 1}})
	b := rowsFamily(Desc{Name: "kafka_b", Help: "B."}, []row{{nil, 1}, {nil, 2}})
	got := textValues(t, []Family{a, b}, []Source{source("c", nil), source("d", nil)})
	if n := len(got["kafka_a"].Metric); n != 4 {
		t.Errorf("kafka_a has %d series, want 4", n)
	}
	if n := len(got["kafka_b"].Metric); n != 2 {
		t.Errorf("kafka_b has %d series, want 2", n)
	}
}

func TestOptInAndDisabled(t *testing.T) {
	on, off := rowsFamily(Desc{Name: "kafka_on", Help: "On."}, []row{{nil, 1}}), rowsFamily(Desc{Name: "kafka_off", Help: "Off."}, []row{{nil, 1}})
	off.OptIn = true
	got := textValues(t, []Family{on, off}, []Source{
		source("default", nil),
		source("swapped", map[string]Limits{"kafka_on": {}, "kafka_off": {Enabled: true}}),
	})
	if diff := cmp.Diff(map[string]float64{`{kafka_cluster="default"}`: 1}, got.values("kafka_on")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]float64{`{kafka_cluster="swapped"}`: 1}, got.values("kafka_off")); diff != "" {
		t.Error(diff)
	}
}

// TestPanicCostsOneFamily of one cluster only, and shows.
func TestPanicCostsOneFamily(t *testing.T) {
	bad := Family{Desc: Desc{Name: "kafka_bad", Help: "Bad.", Labels: []string{"x"}, Fold: Sum}, Render: func(c *snapshot.Cluster, e *Emitter) {
		e.Int(1, "first")
		if c.Name == "c" {
			e.Int(1, "too", "many")
		}
		e.Int(1, "last")
	}}
	good := rowsFamily(Desc{Name: "kafka_good", Help: "Good."}, []row{{nil, 1}})
	got := textValues(t, append([]Family{bad, good}, Accounting()...), []Source{source("c", nil), source("d", nil)})
	for name, want := range map[string]int{"kafka_bad": 3, "kafka_good": 2} {
		if n := len(got[name].Metric); n != want {
			t.Errorf("%s has %d series, want %d", name, n, want)
		}
	}
	if diff := cmp.Diff(map[string]float64{`{family="kafka_bad",kafka_cluster="c"}`: 1}, got.values("kafka_steward_failed_families")); diff != "" {
		t.Error(diff)
	}
}
