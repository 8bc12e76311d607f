package placement

import (
	"cmp"
	"fmt"
	"math"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// room keeps what is left on the brokers of a scope and on their disks while
// replicas are placed.
type room struct {
	c     *model.Cluster
	o     *Options
	sc    *scope
	loads []model.Vector // by broker index
	dirs  [][]dirRoom    // by broker index, nil where log dirs are not known
	// typical stands in for a size that is not known, to choose directories.
	typical int64
	// taken remembers what take charged, to give it back.
	taken []taken
}

type taken struct {
	broker, dir int32
	bytes, in   int64
}

// dirRoom is one log directory. Directories on one volume share free bytes.
type dirRoom struct {
	volume   int // index of the first directory on the same volume
	capacity int64
	free     int64 // only right in the volume's first directory
	in       int64 // bytes/s written
	offline  bool
}

func newRoom(c *model.Cluster, o *Options, sc *scope) *room {
	rm := &room{c: c, o: o, sc: sc, loads: c.BrokerLoads(), dirs: make([][]dirRoom, len(c.Brokers))}
	for b := range c.Brokers {
		list := c.Brokers[b].Dirs
		rm.dirs[b] = make([]dirRoom, len(list))
		for i := range list {
			d := dirRoom{volume: i, capacity: list[i].Capacity, offline: list[i].Offline, free: portion(list[i].Capacity, o.share(model.Disk))}
			for j := range i {
				if list[j].Volume == list[i].Volume {
					d.volume = j
					break
				}
			}
			rm.dirs[b][i] = d
		}
	}
	var sum int64
	for s, b := range c.Broker {
		rm.occupy(b, c.Dir[s], c.Size[s], c.InRate[s])
		sum += c.Size[s] / int64(len(c.Broker))
	}
	rm.typical = max(1, sum)
	return rm
}

// occupy charges a replica to its volume. One whose directory is not known
// counts on every volume of the broker: too much rather than too little.
func (rm *room) occupy(b, dir int32, bytes, in int64) {
	dirs := rm.dirs[b]
	for i := range dirs {
		if dir != model.None && int(dir) != i {
			continue
		}
		dirs[i].in += in
		if v := &dirs[dirs[i].volume]; v.free != model.Unlimited && (dir != model.None || dirs[i].volume == i) {
			v.free -= bytes
		}
	}
}

// portion is a share of a capacity, Unlimited of an unlimited one.
func portion(capacity int64, share float64) int64 {
	if capacity == model.Unlimited {
		return capacity
	}
	return int64(float64(capacity) * share)
}

// left is what a broker has left of a resource within its share.
func (rm *room) left(b int32, r model.Resource) int64 {
	limit := portion(rm.c.Brokers[b].Capacity[r], rm.o.share(r))
	if limit == model.Unlimited {
		return limit
	}
	return limit - rm.loads[b][r]
}

// times is how often need goes into left.
func times(left, need int64) int {
	if need <= 0 || left == model.Unlimited {
		return math.MaxInt
	}
	return int(max(0, left) / need)
}

// diskTimes is how many replicas of a size find room on a broker's disks.
func (rm *room) diskTimes(b int32, bytes int64) int {
	n := times(rm.left(b, model.Disk), bytes)
	if len(rm.dirs[b]) == 0 || bytes == 0 {
		return n
	}
	sum := 0
	for i := range rm.dirs[b] {
		d := &rm.dirs[b][i]
		if !rm.opens(b, i) {
			continue
		}
		k := times(d.free, bytes)
		if k == math.MaxInt {
			return n
		}
		sum += k
	}
	return min(n, sum)
}

// opens tells whether a directory heads a volume that takes replicas: a volume
// counts once, and if any directory on it is online.
func (rm *room) opens(b int32, i int) bool {
	dirs := rm.dirs[b]
	if dirs[i].volume != i {
		return false
	}
	for j := range dirs {
		if dirs[j].volume == i && !dirs[j].offline {
			return true
		}
	}
	return false
}

// replicas is how many replicas a ring position has room for, leaders its
// number of leaders.
func (rm *room) replicas(i int, each Load) int {
	b := rm.sc.ring[i]
	return min(rm.diskTimes(b, each.Bytes), times(rm.left(b, model.In), each.In), times(rm.left(b, model.Replicas), 1))
}

func (rm *room) leaders(i int, each Load) int {
	b := rm.sc.ring[i]
	return min(times(rm.left(b, model.Out), each.Out), times(rm.left(b, model.LeaderIn), each.In), times(rm.left(b, model.Leaders), 1))
}

// lacks tells what a broker has too little of for n replicas: of the resource
// that allows the fewest.
func (rm *room) lacks(i int, each Load, n int64) plan.Rejection {
	b := rm.sc.ring[i]
	r := plan.Rejection{Broker: rm.c.Brokers[b].ID, Reason: "disk", Need: each.Bytes * n, Free: rm.freeDisk(b)}
	fewest := rm.diskTimes(b, each.Bytes)
	if fewest < math.MaxInt && r.Free >= r.Need {
		r.Reason = fmt.Sprintf("disk: no log dir has %d bytes left", each.Bytes)
	}
	for _, x := range []struct {
		r    model.Resource
		need int64
	}{{model.In, each.In}, {model.Out, each.Out}, {model.LeaderIn, each.In}, {model.Replicas, 1}, {model.Leaders, 1}} {
		if k := times(rm.left(b, x.r), x.need); k < fewest {
			fewest = k
			r.Reason, r.Need, r.Free = x.r.String(), x.need*n, max(0, rm.left(b, x.r))
		}
	}
	return r
}

// freeDisk is what is free on a broker within the share, volumes counted once.
func (rm *room) freeDisk(b int32) int64 {
	free := max(0, rm.left(b, model.Disk))
	if len(rm.dirs[b]) == 0 {
		return free
	}
	var sum int64
	for i := range rm.dirs[b] {
		if !rm.opens(b, i) {
			continue
		}
		if rm.dirs[b][i].free == model.Unlimited {
			return free
		}
		sum += max(0, rm.dirs[b][i].free)
	}
	return min(free, sum)
}

// take chooses the log directory of a replica on a ring position and charges
// it: the one with most free space, in steps of a tenth of its capacity, then
// the one with least traffic. It returns the path, "" where none are known.
func (rm *room) take(i int, bytes, in int64) string {
	b := rm.sc.ring[i]
	rm.loads[b][model.Disk] += bytes
	rm.loads[b][model.In] += in
	rm.loads[b][model.Replicas]++
	d := rm.chooseDir(b, bytes)
	if d < 0 {
		rm.taken = append(rm.taken, taken{broker: b, dir: model.None})
		return ""
	}
	size := bytes
	if size == 0 {
		// Unknown sizes are guessed, so that not all go to the emptiest.
		size = rm.typical
	}
	rm.occupy(b, int32(d), size, in)
	rm.taken = append(rm.taken, taken{b, int32(d), size, in})
	return rm.c.Brokers[b].Dirs[d].Path
}

// giveBack undoes the last n charges to log directories.
func (rm *room) giveBack(n int) {
	for range n {
		t := rm.taken[len(rm.taken)-1]
		rm.taken = rm.taken[:len(rm.taken)-1]
		rm.occupy(t.broker, t.dir, -t.bytes, -t.in)
	}
}

func (rm *room) chooseDir(b int32, bytes int64) int {
	dirs := rm.dirs[b]
	best := -1
	for i := range dirs {
		if dirs[i].offline || bytes > 0 && dirs[dirs[i].volume].free < bytes {
			continue
		}
		if best < 0 || betterDir(dirs, i, best) {
			best = i
		}
	}
	return best
}

func betterDir(dirs []dirRoom, x, y int) bool {
	vx, vy := &dirs[dirs[x].volume], &dirs[dirs[y].volume]
	return cmp.Or(cmp.Compare(tenths(vy), tenths(vx)), cmp.Compare(dirs[x].in, dirs[y].in), cmp.Compare(vy.free, vx.free), cmp.Compare(x, y)) < 0
}

// tenths is a volume's free space in tenths of its capacity, rounded down.
func tenths(d *dirRoom) int64 {
	if d.capacity == model.Unlimited || d.capacity <= 0 {
		return 10
	}
	return d.free / max(1, d.capacity/10)
}
