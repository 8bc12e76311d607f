package balance

import (
	"math"
	"slices"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// volume is a file system of a broker: log directories with the same number
// share its capacity, which counts once.
type volume struct {
	dirs []int32 // online ones
	// capacity in bytes that a plan may fill, +Inf if not known.
	capacity float64
	used     float64
}

// volumesOf lists a broker's volumes, and the volume of each directory.
// Volumes without a directory online keep their place but take nothing.
func volumesOf(b *model.Broker, share float64) (out []volume, of []int32) {
	var numbers []int32
	for i := range b.Dirs {
		d := &b.Dirs[i]
		v := slices.Index(numbers, d.Volume)
		if v < 0 {
			v = len(numbers)
			numbers = append(numbers, d.Volume)
			out = append(out, volume{capacity: math.Inf(1)})
		}
		if d.Capacity != model.Unlimited {
			out[v].capacity = min(out[v].capacity, float64(d.Capacity)*share)
		}
		if !d.Offline {
			out[v].dirs = append(out[v].dirs, int32(i))
		}
		of = append(of, int32(v))
	}
	return out, of
}

// setVolumes enters what volumes hold. Directories that are not known count
// nowhere.
func (s *state) setVolumes() {
	s.volumes, s.vol = make([][]volume, s.B), make([]int32, s.R)
	of := make([][]int32, s.B)
	for b := range s.B {
		s.volumes[b], of[b] = volumesOf(&s.c.Brokers[b], s.o.DirShare)
	}
	for r := range s.R {
		s.vol[r] = model.None
		if b, d := s.c.Broker[r], s.c.Dir[r]; d != model.None && int(d) < len(of[b]) {
			s.backToVolume(int32(r), of[b][d])
		}
	}
	s.firstVol = slices.Clone(s.vol)
}

// roomiest is the most that one volume of a broker can still take: a replica
// needs its room on one, not in sum. +Inf where volumes are not known.
func (s *state) roomiest(b int32) float64 {
	if len(s.volumes[b]) == 0 {
		return math.Inf(1)
	}
	best := math.Inf(-1)
	for i := range s.volumes[b] {
		if v := &s.volumes[b][i]; len(v.dirs) > 0 {
			best = max(best, v.capacity-v.used)
		}
	}
	return best
}

// findsVolume tells whether a volume of a broker has room for a replica.
func (s *state) findsVolume(r, b int32) bool {
	if len(s.volumes[b]) == 0 {
		return true
	}
	room := s.roomiest(b)
	return s.rep[r].disk <= room || s.rep[r].disk == 0 && room > -inf
}

func (s *state) leaveVolume(r int32) {
	if v := s.vol[r]; v != model.None {
		s.volumes[s.rep[r].at][v].used -= s.rep[r].disk
		s.vol[r] = model.None
	}
}

func (s *state) backToVolume(r, v int32) {
	if v != model.None {
		s.vol[r] = v
		s.volumes[s.rep[r].at][v].used += s.rep[r].disk
	}
}

// enterVolume thinks of a replica that comes to b as lying on the volume with
// the most room, or where it lay if it comes back. Which log directory it gets
// in the plan is decided at the end.
func (s *state) enterVolume(r, b int32) {
	best := model.None
	if s.c.Broker[r] == b {
		best = s.firstVol[r]
	} else {
		most := math.Inf(-1)
		for i := range s.volumes[b] {
			if v := &s.volumes[b][i]; len(v.dirs) > 0 && v.capacity-v.used > most {
				best, most = int32(i), v.capacity-v.used
			}
		}
	}
	if s.vol[r] = best; best != model.None {
		s.volumes[b][best].used += s.rep[r].disk
	}
}
