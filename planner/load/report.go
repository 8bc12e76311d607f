package load

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// Report tells where loads come from and how much they can be trusted.
type Report struct {
	// Source is prometheus or offsets.
	Source string
	// Methods tell which way of measuring was used for how many partitions.
	Methods []string
	// From and To bound the window, Step is the distance of samples.
	From, To time.Time
	Step     time.Duration
	Stats    Stats
	// Partitions were asked for; Sampled had enough samples of their own.
	Partitions, Sampled int
	// Filtered counts samples over all series.
	Filtered Filtered
	// Worst are the examples furthest from what is usual around them, at most ten.
	Worst []Outlier
	// Filled lists the partitions whose rates were taken from their topic.
	Filled []model.TopicPartitions
	// Notes are what else to know, for people, in a fixed order.
	Notes []string
}

// Filtered counts samples.
type Filtered struct {
	// Samples were there; Zeros, Spikes and Drops of them were dropped and Clipped
	// lowered.
	Samples, Zeros, Spikes, Drops, Clipped int
}

// Outlier is an example of what was filtered.
type Outlier struct {
	Topic     string
	Partition int32
	// What was measured, with its unit.
	What string
	// Value is the sample, Median that of the samples around it.
	Value, Median float64
}

// Coverage is the share of partitions with enough samples of their own; 1 if
// there are no partitions.
func (r *Report) Coverage() float64 {
	if r.Partitions == 0 {
		return 1
	}
	return float64(r.Sampled) / float64(r.Partitions)
}

// Note is the report as a snapshot keeps it.
func (r *Report) Note() model.LoadNote {
	n := model.LoadNote{Source: r.Source, Methods: r.Methods, From: r.From, To: r.To, Step: r.Step, Coverage: r.Coverage(), Filled: r.Filled}
	if r.Stats != (Stats{}) {
		n.Notes = append(n.Notes, fmt.Sprintf("percentile %g of the samples; of %d samples %d zero gaps, %d spikes and %d drops were dropped, %d recurring spikes clipped",
			r.Stats.Percentile, r.Filtered.Samples, r.Filtered.Zeros, r.Filtered.Spikes, r.Filtered.Drops, r.Filtered.Clipped))
	}
	for _, w := range r.Worst {
		n.Notes = append(n.Notes, fmt.Sprintf("filtered: %s-%d %s %.0f among %.0f", w.Topic, w.Partition, w.What, w.Value, w.Median))
	}
	n.Notes = append(n.Notes, r.Notes...)
	return n
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// count adds one series' outcome.
func (r *Report) count(topic string, partition int32, what string, e Estimate) {
	r.Filtered.Samples += e.Samples
	r.Filtered.Zeros += e.Zeros
	r.Filtered.Spikes += e.Spikes
	r.Filtered.Drops += e.Drops
	r.Filtered.Clipped += e.Clipped
	if e.Spikes+e.Drops+e.Clipped == 0 {
		return
	}
	r.Worst = append(r.Worst, Outlier{topic, partition, what, e.Worst, e.Median})
	if len(r.Worst) >= 1000 {
		r.keepWorst()
	}
}

// examples is how many outliers a report names.
const examples = 10

// keepWorst keeps those that are most times their median (or its inverse).
func (r *Report) keepWorst() {
	times := func(o Outlier) float64 {
		return math.Abs(math.Log((o.Value + 1) / (o.Median + 1)))
	}
	slices.SortFunc(r.Worst, func(a, b Outlier) int {
		return cmp.Or(-cmp.Compare(times(a), times(b)), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.What, b.What))
	})
	r.Worst = r.Worst[:min(examples, len(r.Worst))]
}
