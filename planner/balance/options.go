package balance

import "github.com/kafka-steward/kafka-steward/planner/model"

// Options shape a plan. The zero value is not useful: start from Defaults.
type Options struct {
	// Band is how far from its fair share a broker may be: 0.05 is ±5 %.
	Band float64
	// Weights say how much a resource counts; 0 leaves it out. Under scales
	// the weight of what a broker lacks: too much load hurts, too little of it
	// only wastes.
	Weights, Under [model.NumResources]float64
	// CapacityShare is the share of a broker's capacity that a plan may fill.
	CapacityShare [model.NumResources]float64
	// DirBand is the band for log directories within a broker; 0 leaves
	// directories as they are.
	DirBand float64
	// DirShare is the share of a log directory's volume that a plan may fill.
	DirShare float64
	// MaxBytes and MaxMoves bound what the plan may copy; 0 is no bound.
	MaxBytes int64
	MaxMoves int
	// MinGain is the least relative improvement of the objective that makes a
	// plan worth having; a plan below it is empty.
	MinGain float64
	// LeaveIdle and LeaveEven keep topics without traffic, and topics that lie
	// evenly already, on their brokers. Idle ones stay in their log directories
	// too. Racks are repaired all the same.
	LeaveIdle, LeaveEven bool
	// Light touches only brokers outside the band (and volumes outside theirs),
	// besides those that receive. Racks are repaired everywhere.
	Light bool
	// StrictRacks makes it an error if racks cannot hold copies of a partition
	// apart.
	StrictRacks bool
	// Exclude lists topics whose partitions are left as they are.
	Exclude map[string]bool
	// Cordon lists brokers that must not receive anything.
	Cordon map[int32]bool
	// CountsFollowDisk gives bigger brokers more replicas and leaders.
	CountsFollowDisk bool
	// Seed starts the pseudo-random choice of partners. The same seed gives the
	// same plan.
	Seed uint64
}

// Defaults are the options for an ordinary plan. Traffic and disk count first;
// counts come last, so that they never keep a hot leader where it is. Leading
// little is no harm, so it weighs next to nothing.
func Defaults() Options {
	return Options{
		Band: 0.05, DirBand: 0.1, DirShare: 0.9, MinGain: 0.05, LeaveIdle: true, LeaveEven: true, Seed: 1,
		Weights:       [model.NumResources]float64{model.In: 1, model.Out: 1, model.Disk: 1, model.CPU: .5, model.Replicas: .2, model.Leaders: .1, model.LeaderIn: .2},
		Under:         [model.NumResources]float64{model.In: 1, model.Out: .2, model.Disk: 1, model.CPU: .2, model.Replicas: 1, model.Leaders: .08, model.LeaderIn: .02},
		CapacityShare: [model.NumResources]float64{model.In: .8, model.Out: .8, model.Disk: .8, model.CPU: .7, model.Replicas: 1, model.Leaders: 1, model.LeaderIn: 1},
	}
}

// settings are options made ready for one search.
type settings struct {
	Options
	eps, weight, under vec
	rackLimits         *rackLimits
	racks              int
	// bytesUnit is a quarter of the mean replica: what a change costs besides
	// its bytes.
	bytesUnit float64
	// drain marks brokers to be emptied; only, when not nil, the brokers that
	// alone may receive (expansion).
	drain, only []bool
}

// margin keeps the search a little inside the band that it promises, so that
// rounding does not put a broker just outside.
const margin = 0.001

func prepare(c *model.Cluster, o Options, drain, only []bool) *settings {
	s := &settings{Options: o, drain: drain, only: only}
	for k := range K {
		s.eps[k], s.weight[k], s.under[k] = o.Band-margin, o.Weights[k], o.Weights[k]*o.Under[k]
	}
	s.rackLimits = newRackLimits(c, func(b int) bool { return s.member(c, b) })
	s.racks = max(1, s.rackLimits.racks(model.None))
	for r := range c.Size {
		s.bytesUnit += float64(c.Size[r])
	}
	s.bytesUnit = max(1, s.bytesUnit/float64(4*max(1, len(c.Size))))
	return s
}

func (s *settings) member(c *model.Cluster, b int) bool {
	return !c.Brokers[b].Dead && !s.leaves(int32(b))
}

func (s *settings) mayReceive(c *model.Cluster, b int) bool {
	return !s.Cordon[c.Brokers[b].ID] && (s.only == nil || s.only[b])
}

func (s *settings) mayLead(_ *model.Cluster, b int) bool { return s.only == nil || s.only[b] }

// leaves tells whether a broker is to be emptied.
func (s *settings) leaves(b int32) bool { return s.drain != nil && s.drain[b] }

// outside is the penalty of a load that is d above (or below) its fair share,
// in shares of it.
func (s *settings) outside(k int, d float64) float64 {
	if d > s.eps[k] {
		d -= s.eps[k]
		return s.weight[k] * d * d
	}
	if d = -d - s.eps[k]; d > 0 {
		return s.under[k] * d * d
	}
	return 0
}
