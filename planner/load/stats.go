// Package load measures what partitions carry: from Prometheus, or without it
// from two readings of the offsets. What is measured is cleaned and put into a
// model.Cluster, with a report that says how much it can be trusted.
package load

import (
	"math"
	"slices"
)

// Stats say how samples become one figure. Start from DefaultStats.
//
// The order is: samples that are no numbers or negative are missing; short runs
// of zeros between traffic are gaps of measuring and are dropped; spikes and
// drops are found by a moving Hampel filter and dropped; the Percentile of the
// rest is the figure.
//
// The filter (F. R. Hampel, The Influence Curve and its Role in Robust
// Estimation, JASA 69, 1974; R. K. Pearson, Outliers in Process Modeling and
// Identification, IEEE Trans. Control Systems Technology 10, 2002) compares a
// sample with the median m of its window: it is an outlier if it is further
// from m than Threshold × 1.4826 × the median of the window's distances from m
// (1.4826 makes that the standard deviation where samples are normal).
type Stats struct {
	// Percentile is between 0 and 1.
	Percentile float64
	// Window is how many samples the filter looks at, the sample itself among
	// them. At the ends the window is moved inwards.
	Window int
	// Threshold is how many scaled median absolute deviations are allowed.
	Threshold float64
	// Floor is the least deviation that the filter reckons with, as a share of the
	// median: where most samples are equal, harmless noise must not be an outlier.
	Floor float64
	// MaxOutliers is the share of the samples (at least one) that may be spikes,
	// and that may be drops. Where there are more they recur, and are what the
	// partition carries: then they are kept, but for the highest, up to this
	// share, which are clipped to the next. So the figure stays below the highest
	// sample that is none of them, however high they are. It has to be below
	// 1 - Percentile.
	MaxOutliers float64
	// ZeroGap is the longest run of zeros between traffic that is a gap.
	ZeroGap int
	// MinSamples is how many samples a partition must have; 0 is 12, or half of
	// what the window could give if that is less.
	MinSamples int
}

// DefaultStats are for hourly means.
func DefaultStats() Stats {
	return Stats{Percentile: 0.95, Window: 7, Threshold: 3, Floor: 0.05, MaxOutliers: 0.04, ZeroGap: 2}
}

// Estimate is the outcome for one series.
type Estimate struct {
	// Value is the figure, 0 without samples.
	Value float64
	// Samples counts those that were there: numbers, before filtering.
	Samples int
	// Zeros, Spikes and Drops count what was dropped, Clipped what was lowered.
	Zeros, Spikes, Drops, Clipped int
	// Worst is the sample that was furthest from its window's median, and Median
	// that median; both are 0 where nothing was dropped as a spike or drop
	// or clipped.
	Worst, Median float64
}

// scaledMAD makes a median absolute deviation a standard deviation.
const scaledMAD = 1.4826

// Estimate reduces samples in order of time, NaN where one is missing. The
// samples are not changed. O(n × Window).
func (s Stats) Estimate(samples []float64) Estimate {
	xs := make([]float64, 0, len(samples))
	for _, x := range samples {
		if !math.IsNaN(x) && !math.IsInf(x, 0) && x >= 0 {
			xs = append(xs, x)
		}
	}
	e := Estimate{Samples: len(xs)}
	xs, e.Zeros = s.dropGaps(xs)
	xs = s.dropOutliers(xs, &e)
	e.Value = Percentile(xs, s.Percentile)
	return e
}

// dropGaps drops runs of at most ZeroGap zeros that have traffic on both sides.
func (s Stats) dropGaps(xs []float64) ([]float64, int) {
	out := xs[:0:0]
	dropped := 0
	for i := 0; i < len(xs); {
		j := i
		for j < len(xs) && xs[j] == 0 {
			j++
		}
		if n := j - i; n > 0 && n <= s.ZeroGap && i > 0 && j < len(xs) {
			dropped += n
		} else {
			out = append(out, xs[i:j]...)
		}
		for ; j < len(xs) && xs[j] != 0; j++ {
			out = append(out, xs[j])
		}
		i = j
	}
	return out, dropped
}

func (s Stats) dropOutliers(xs []float64, e *Estimate) []float64 {
	if len(xs) < 3 || s.Window < 3 {
		return xs
	}
	side := make([]int8, len(xs)) // 1 above, -1 below
	medians := make([]float64, len(xs))
	window := make([]float64, 0, s.Window)
	spikes, drops := 0, 0
	for i, x := range xs {
		m, deviation := s.window(xs, i, window)
		medians[i] = m
		switch {
		case x-m > s.Threshold*deviation:
			side[i] = 1
			spikes++
		case m-x > s.Threshold*deviation:
			side[i] = -1
			drops++
		}
	}
	most := max(1, int(s.MaxOutliers*float64(len(xs))))
	limit := math.Inf(1)
	if spikes > most {
		limit = nextHighest(xs, side, most)
		spikes = 0
	}
	if drops > most {
		drops = 0
	}
	e.Spikes, e.Drops = spikes, drops
	out := make([]float64, 0, len(xs))
	for i, x := range xs {
		clipped := side[i] > 0 && x > limit
		dropped := side[i] > 0 && spikes > 0 || side[i] < 0 && drops > 0
		if clipped {
			e.Clipped++
		}
		if (clipped || dropped) && math.Abs(x-medians[i]) > math.Abs(e.Worst-e.Median) {
			e.Worst, e.Median = x, medians[i]
		}
		if !dropped {
			out = append(out, min(x, limit))
		}
	}
	return out
}

// nextHighest is the highest sample above its window but for n.
func nextHighest(xs []float64, side []int8, n int) float64 {
	var high []float64
	for i, x := range xs {
		if side[i] > 0 {
			high = append(high, x)
		}
	}
	slices.Sort(high)
	return high[len(high)-1-n]
}

// window returns the median and the scaled deviation around sample i.
func (s Stats) window(xs []float64, i int, buf []float64) (median, deviation float64) {
	n := min(s.Window, len(xs))
	from := min(max(0, i-n/2), len(xs)-n)
	w := append(buf[:0], xs[from:from+n]...)
	slices.Sort(w)
	median = Percentile(w, 0.5)
	for j := range w {
		w[j] = math.Abs(w[j] - median)
	}
	slices.Sort(w)
	return median, max(scaledMAD*Percentile(w, 0.5), s.Floor*median)
}

// Percentile is the p-quantile, 0 ≤ p ≤ 1, by linear interpolation between the
// two nearest samples (definition 7 of Hyndman and Fan, The American
// Statistician 50, 1996); 0 without samples. xs need not be sorted and is not
// changed.
func Percentile(xs []float64, p float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	if !slices.IsSorted(xs) {
		xs = slices.Sorted(slices.Values(xs))
	}
	at := p * float64(len(xs)-1)
	i := min(int(at), len(xs)-1)
	j := min(i+1, len(xs)-1)
	if xs[i] == xs[j] {
		return xs[i] // exactly, also where a difference would be rounded
	}
	return xs[i] + (at-float64(i))*(xs[j]-xs[i])
}

// bytes is a figure as the model has it: whole, not negative and far from
// overflow even when a million of them are added.
func bytes(v float64) int64 {
	if math.IsNaN(v) || v <= 0 {
		return 0
	}
	return int64(math.Round(min(v, 1e12)))
}
