package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kafka-steward/kafka-steward/internal/kafka"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

// disks is what the log directories hold, by broker and by partition.
type disks struct {
	byBroker map[int32][]disk // sorted by path
	// byPartition lists a partition's replicas, one for each broker.
	byPartition map[topicPartition][]place
	warnings    []string
}

type disk struct {
	*kafka.LogDir
	// held is what Kafka has in it, copies on their way from another directory
	// included.
	held     int64
	capacity int64
	volume   int32
}

// place is where a replica lies, or will lie once its move is done.
type place struct {
	broker int32
	dir    int32
	size   int64
	moving bool
}

func newDisks(dirs []kafka.LogDir, alive map[int32]bool, user *Capacities) *disks {
	d := &disks{byBroker: map[int32][]disk{}, byPartition: map[topicPartition][]place{}}
	for i := range dirs {
		// A broker that died between the answers counts as dead: its log dirs are
		// not known.
		if alive[dirs[i].Broker] {
			d.byBroker[dirs[i].Broker] = append(d.byBroker[dirs[i].Broker], disk{LogDir: &dirs[i]})
		}
	}
	ids := make([]int32, 0, len(d.byBroker))
	for id, ds := range d.byBroker {
		slices.SortFunc(ds, func(a, b disk) int { return cmp.Compare(a.Path, b.Path) })
		for i := range ds {
			d.index(id, int32(i), &ds[i])
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		d.volumes(id, user.of(id).Dirs)
		d.capacities(id, user.of(id).Dirs)
	}
	return d
}

// index notes where replicas lie. One that is on its way to another directory
// of the same broker is where it goes, as big as it is where it still is.
func (d *disks) index(broker, dir int32, x *disk) {
	for _, r := range x.Replicas {
		x.held += max(0, r.Size)
		key := topicPartition{r.Topic, r.Partition}
		at := d.byPartition[key]
		i := slices.IndexFunc(at, func(p place) bool { return p.broker == broker })
		other := i >= 0
		if !other {
			i = len(at)
			at = append(at, place{broker: broker})
			d.byPartition[key] = at
		}
		p := &at[i]
		p.moving = other || r.Future
		p.size = max(p.size, r.Size)
		if !other || r.Future {
			p.dir = dir
		}
	}
}

func (d *disks) places(topic string, id int32) []place {
	return d.byPartition[topicPartition{topic, id}]
}

// sameVolume tells whether two directories of a broker look like one file
// system: same capacity, and as much free as can be between two looks at a
// volume in use. Two disks that hold more together than either has in use are
// two.
func sameVolume(a, b *disk) bool {
	if a.Err != nil || b.Err != nil || a.Total <= 0 || a.Total != b.Total {
		return false
	}
	slack := min(64<<20, a.Total/1000)
	if max(a.Usable-b.Usable, b.Usable-a.Usable) > slack {
		return false
	}
	return a.Total-min(a.Usable, b.Usable)+slack >= a.held+b.held
}

func (d *disks) volumes(broker int32, user []DirCapacity) {
	ds := d.byBroker[broker]
	names := make([]string, len(ds))
	for i := range ds {
		for _, u := range user {
			if u.Path == ds[i].Path {
				names[i] = u.Volume
			}
		}
	}
	next := int32(0)
	for i := range ds {
		ds[i].volume = -1
		for j := range i {
			if names[i] != names[j] || names[i] == "" && !sameVolume(&ds[i], &ds[j]) {
				continue
			}
			ds[i].volume = ds[j].volume
			if names[i] == "" {
				d.warn("broker %d: %s and %s look like one volume (the same size and free space): its capacity counts once; if that is wrong, name their volumes in the capacities", broker, ds[j].Path, ds[i].Path)
			}
			break
		}
		if ds[i].volume < 0 {
			ds[i].volume = next
			next++
		}
	}
}

// foreignShare is what others may use of a volume before it is taken off.
const foreignShare = 20 // one part in

func (d *disks) capacities(broker int32, user []DirCapacity) {
	ds := d.byBroker[broker]
	held := map[int32]int64{}
	for i := range ds {
		held[ds[i].volume] += ds[i].held
	}
	for i := range ds {
		x := &ds[i]
		x.capacity = model.Unlimited
		switch {
		case x.Err != nil:
			d.warn("broker %d: log dir %s is offline: %v", broker, x.Path, x.Err)
		case x.Total >= mostDisk:
			d.warn("broker %d: log dir %s tells a size of %d bytes, which no volume has: taken as not known", broker, x.Path, x.Total)
		case x.Total > 0:
			x.capacity = x.Total
			// What others have written there, Kafka cannot use.
			if others := x.Total - x.Usable - held[x.volume]; x.Usable >= 0 && others > x.Total/foreignShare {
				x.capacity = x.Total - others
				d.warn("broker %d: log dir %s: %d of %d bytes are in use by others than Kafka and do not count", broker, x.Path, others, x.Total)
			}
		}
		for _, u := range user {
			if u.Path == x.Path && u.Capacity != nil {
				x.capacity = *u.Capacity
			}
		}
	}
	// One volume has one capacity, whatever directory tells it.
	for i := range ds {
		for j := range i {
			if ds[i].volume == ds[j].volume {
				least := min(ds[i].capacity, ds[j].capacity)
				ds[i].capacity, ds[j].capacity = least, least
			}
		}
	}
}

func (d *disks) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

// dirs are a broker's directories for the model, nil if it did not tell them.
func (d *disks) dirs(broker int32) []model.LogDir {
	var out []model.LogDir
	for _, x := range d.byBroker[broker] {
		out = append(out, model.LogDir{Path: x.Path, Capacity: x.capacity, Volume: x.volume, Offline: x.Err != nil})
	}
	return out
}

// unknownDir finds a directory that the user describes and a broker has not. A
// broker that did not tell its directories may have any.
func (d *disks) unknownDir(broker int32, user []DirCapacity) error {
	ds := d.byBroker[broker]
	if len(ds) == 0 {
		return nil
	}
	for _, u := range user {
		if !slices.ContainsFunc(ds, func(x disk) bool { return x.Path == u.Path }) {
			var has []string
			for _, x := range ds {
				has = append(has, x.Path)
			}
			return fmt.Errorf("the capacities name log dir %s of broker %d, which has %s", u.Path, broker, strings.Join(has, ", "))
		}
	}
	return nil
}

// diskCapacity sums the volumes of directories that work, each once; Unlimited
// if one is not known.
func diskCapacity(dirs []model.LogDir) int64 {
	sum, seen := int64(0), map[int32]bool{}
	for _, x := range dirs {
		if x.Offline || seen[x.Volume] {
			continue
		}
		seen[x.Volume] = true
		if x.Capacity == model.Unlimited {
			return model.Unlimited
		}
		sum += x.Capacity
	}
	if len(seen) == 0 {
		return model.Unlimited
	}
	return sum
}
