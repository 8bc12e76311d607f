package planner

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/check"
	"github.com/kafka-steward/kafka-steward/planner/migration"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/placement"
)

// ByResource is a figure for each resource. In JSON it is an object with the
// resources' names as keys.
type ByResource [model.NumResources]float64

// MarshalJSON writes the figures in the order of model.Resource.
func (v ByResource) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for k, x := range v {
		if k > 0 {
			out = append(out, ',')
		}
		b, err := json.Marshal(x)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", model.Resource(k), err)
		}
		out = append(append(append(out, '"'), model.ResourceNames[k]...), '"', ':')
		out = append(out, b...)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes. What is absent stays as it is.
func (v *ByResource) UnmarshalJSON(b []byte) error {
	var m map[string]float64
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	for name, x := range m {
		k := slices.Index(model.ResourceNames[:], name)
		if k < 0 {
			return fmt.Errorf("%q is no resource: they are %v", name, model.ResourceNames)
		}
		v[k] = x
	}
	return nil
}

// Options shape plans of every operation. Start from Defaults. In JSON they are
// part of a plan's document, so that it can be checked by the rules that it was
// made by.
type Options struct {
	// Band is how far from its fair share a broker may be: 0.05 is ±5 %. DirBand
	// is the same for log directories within a broker; 0 leaves these alone.
	Band    float64 `json:"band"`
	DirBand float64 `json:"dir_band"`
	// Weights say how much a resource counts, Under scales that for what a
	// broker lacks.
	Weights ByResource `json:"weights"`
	Under   ByResource `json:"under"`
	// CapacityShare is the share of a broker's capacity that a plan may fill,
	// DirShare that of a log directory's volume.
	CapacityShare ByResource `json:"capacity_share"`
	DirShare      float64    `json:"dir_share"`
	// MaxBytes and MaxMoves bound what a plan may copy; 0 is no bound.
	MaxBytes int64 `json:"max_bytes,omitempty"`
	MaxMoves int   `json:"max_moves,omitempty"`
	// MinGain is the least relative improvement that makes a plan worth having.
	MinGain float64 `json:"min_gain"`
	// LeaveIdle and LeaveEven leave topics alone that have no traffic or lie
	// evenly already.
	LeaveIdle bool `json:"leave_idle"`
	LeaveEven bool `json:"leave_even"`
	// Light relieves only brokers outside the band.
	Light bool `json:"light,omitempty"`
	// StrictRacks refuses what cannot have every copy in a rack of its own.
	StrictRacks bool `json:"strict_racks,omitempty"`
	// Exclude lists topics that stay as they are, Cordon brokers that must not
	// receive anything; both sorted.
	Exclude []string `json:"exclude,omitempty"`
	Cordon  []int32  `json:"cordon,omitempty"`
	// CountsFollowDisk gives brokers with more disk more replicas and leaders.
	CountsFollowDisk bool `json:"counts_follow_disk,omitempty"`
	// Weighted places new partitions in proportion to capacity.
	Weighted bool `json:"weighted,omitempty"`
	// Seed starts the pseudo-random choices. The same seed gives the same plan.
	Seed uint64 `json:"seed"`
	// Schedule bounds the batches.
	Schedule Schedule `json:"schedule"`
	// Progress, if set, hears what begins: "searching", "checking" …
	Progress func(phase string) `json:"-"`
}

// Schedule is migration.Options with names for JSON.
type Schedule struct {
	BrokerIn      int            `json:"broker_in,omitempty"`
	BrokerOut     int            `json:"broker_out,omitempty"`
	PerDisk       int            `json:"per_disk,omitempty"`
	Elections     int            `json:"elections,omitempty"`
	BatchSteps    int            `json:"batch_steps,omitempty"`
	DiskReserve   float64        `json:"disk_reserve,omitempty"`
	SmallFirst    bool           `json:"small_first,omitempty"`
	JoinDirMoves  bool           `json:"join_dir_moves,omitempty"`
	NoTemporary   bool           `json:"no_temporary,omitempty"`
	Exclude       map[int32]bool `json:"-"`
	Bandwidth     int64          `json:"bandwidth,omitempty"`
	DiskBandwidth int64          `json:"disk_bandwidth,omitempty"`
	Throttle      int64          `json:"throttle,omitempty"`
	DirThrottle   int64          `json:"dir_throttle,omitempty"`
	Budget        int64          `json:"budget,omitempty"`
}

// Defaults are the options for an ordinary plan.
func Defaults() Options {
	b := balance.Defaults()
	return Options{
		Band: b.Band, DirBand: b.DirBand, Weights: b.Weights, Under: b.Under, CapacityShare: b.CapacityShare,
		DirShare: b.DirShare, MinGain: b.MinGain, LeaveIdle: b.LeaveIdle, LeaveEven: b.LeaveEven, Seed: b.Seed,
	}
}

// Balance are the options as package balance takes them.
func (o *Options) Balance() balance.Options {
	b := balance.Defaults()
	b.Band, b.DirBand, b.Weights, b.Under, b.CapacityShare, b.DirShare = o.Band, o.DirBand, o.Weights, o.Under, o.CapacityShare, o.DirShare
	b.MaxBytes, b.MaxMoves, b.MinGain, b.LeaveIdle, b.LeaveEven = o.MaxBytes, o.MaxMoves, o.MinGain, o.LeaveIdle, o.LeaveEven
	b.Light, b.StrictRacks, b.CountsFollowDisk, b.Seed = o.Light, o.StrictRacks, o.CountsFollowDisk, o.Seed
	b.Exclude, b.Cordon = set(o.Exclude), set(o.Cordon)
	return b
}

func (o *Options) placement() placement.Options {
	return placement.Options{Exclude: set(o.Cordon), Strict: o.StrictRacks, Weighted: o.Weighted, CapacityShare: o.CapacityShare}
}

// migration are the options of the schedule; nothing is parked on brokers that
// are to be emptied.
func (o *Options) migration(drain []int32) migration.Options {
	m := migration.Options(o.Schedule)
	m.Exclude = set(append(slices.Clone(o.Cordon), drain...))
	return m
}

// searchMargin is how much narrower than the band package balance aims.
const searchMargin = 0.001

func (o *Options) rules() check.Rules {
	return check.Rules{
		Band: o.Band, Margin: searchMargin, Weights: o.Weights, Under: o.Under, CapacityShare: o.CapacityShare, DirShare: o.DirShare,
		CountsFollowDisk: o.CountsFollowDisk, Exclude: set(o.Exclude), Cordon: set(o.Cordon), MaxBytes: o.MaxBytes, MaxMoves: o.MaxMoves,
	}
}

func (o *Options) progress(phase string) {
	if o.Progress != nil {
		o.Progress(phase)
	}
}

func set[T comparable](list []T) map[T]bool {
	if len(list) == 0 {
		return nil
	}
	m := make(map[T]bool, len(list))
	for _, x := range list {
		m[x] = true
	}
	return m
}
