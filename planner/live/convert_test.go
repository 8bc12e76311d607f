package live

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"pgregory.net/rapid"
)

const tera = int64(1) << 40

// cluster is a raw answer of brokers 1 to n in racks a to d with /d1 and /d2,
// of different sizes, half full.
func cluster(n int32) *Raw {
	raw := &Raw{Metadata: &kafka.Metadata{ClusterID: "id"}, LogDirsFailed: map[int32]error{}}
	for id := int32(1); id <= n; id++ {
		raw.Metadata.Brokers = append(raw.Metadata.Brokers, kafka.Broker{ID: id, Addr: fmt.Sprintf("b%d:9092", id), Rack: string(rune('a' + id - 1))})
		for d := range int64(2) {
			raw.LogDirs = append(raw.LogDirs, kafka.LogDir{Broker: id, Path: fmt.Sprintf("/d%d", d+1), Total: (d + 1) * tera, Usable: (d + 1) * tera})
		}
	}
	return raw
}

func (r *Raw) topic(name string, partitions ...kafka.Partition) {
	for i := range partitions {
		partitions[i].ID = int32(i)
		if partitions[i].Leader == 0 {
			partitions[i].Leader = partitions[i].Replicas[0]
		}
	}
	r.Metadata.Topics = append(r.Metadata.Topics, kafka.Topic{Name: name, Partitions: partitions})
}

func (r *Raw) put(broker int32, dir, topic string, id int32, size int64, future bool) {
	for i := range r.LogDirs {
		if d := &r.LogDirs[i]; d.Broker == broker && d.Path == dir {
			d.Replicas = append(d.Replicas, kafka.LogDirReplica{Topic: topic, Partition: id, Size: size, Future: future})
			d.Usable -= size
			return
		}
	}
	panic("no such dir")
}

func convert(t interface{ Fatal(...any) }, raw *Raw, o Options) *model.Snapshot {
	o.Name = "prod"
	s, err := Convert(raw, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// place is a partition as text: leader, then broker:dir:size of each replica.
func placeOf(c *model.Cluster, p int) string {
	leader := model.None
	var parts []string
	for s := c.Off[p]; s < c.Off[p+1]; s++ {
		id := c.Brokers[c.Broker[s]].ID
		if c.Leader[p] == s {
			leader = id
		}
		parts = append(parts, fmt.Sprintf("%d:%d:%d", id, c.Dir[s], c.Size[s]))
	}
	text := fmt.Sprintf("%d [%s]", leader, strings.Join(parts, " "))
	if c.Moving[p] {
		text += " moving"
	}
	return text
}

func hasWarning(s *model.Snapshot, text string) bool {
	return slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, text) })
}

// TestMoveInFlight is C-28: the replicas of a partition that moves are those
// that it will have.
func TestMoveInFlight(t *testing.T) {
	raw := cluster(4)
	raw.topic("t", kafka.Partition{Replicas: []int32{2, 3, 4, 1}, Leader: 1}, kafka.Partition{Replicas: []int32{1, 2, 3, 4}}, kafka.Partition{Replicas: []int32{3, 2, 1}})
	for _, b := range []int32{1, 2, 3, 4} {
		size := int64(1000) - int64(b)
		if b == 4 {
			size = 10 // has only begun
		}
		raw.put(b, "/d1", "t", 0, size, false)
		raw.put(b, "/d2", "t", 1, 500, false)
	}
	for _, b := range []int32{1, 2, 3} {
		raw.put(b, "/d1", "t", 2, 100+int64(b), false)
	}
	raw.Moves2 = []kafka.Reassignment{{Topic: "t", Partition: 0, Replicas: []int32{2, 3, 4, 1}, Adding: []int32{4}, Removing: []int32{1}}}
	s := convert(t, raw, Options{})
	for p, want := range []string{
		"2 [2:0:998 3:0:997 4:0:999] moving",  // leader 1 is leaving; 4's copy will be as big as the leader's
		"1 [1:1:500 2:1:500 3:1:500 4:1:500]", // a cancelled move's left-over is kept …
		"3 [3:0:103 2:0:102 1:0:101]",         // each replica has its own size
	} {
		if got := placeOf(s.Cluster, p); got != want {
			t.Errorf("t-%d is %s, want %s", p, got, want)
		}
	}
	if rf := s.Cluster.Topics[0].ReplicationFactor; rf != 3 {
		t.Errorf("RF %d", rf)
	}
	if !hasWarning(s, "t-1: RF 4 ≠ 3 of the topic") || !hasWarning(s, "1 moving, shown as they will be: t-0") { // … and told
		t.Errorf("warnings: %q", s.Warnings)
	}
	// Wanted explicitly, four is right and three is not.
	s = convert(t, raw, Options{ReplicationFactor: map[string]int{"t": 4}})
	if rf := s.Cluster.Topics[0].ReplicationFactor; rf != 4 || !hasWarning(s, "t-0: RF 3 ≠ 4 of the topic, t-2: RF 3 ≠ 4") {
		t.Errorf("RF %d, %q", rf, s.Warnings)
	}
}

// TestReplicationFactorIsTheMode: of two that are as frequent, the larger.
func TestReplicationFactorIsTheMode(t *testing.T) {
	two, three := kafka.Partition{Replicas: []int32{1, 2}}, kafka.Partition{Replicas: []int32{1, 2, 3}}
	for want, partitions := range map[int32][]kafka.Partition{3: {two, three, two, three}, 2: {three, two, two}} {
		for range 20 { // a map's order must not show
			raw := cluster(3)
			raw.topic("t", partitions...)
			if rf := convert(t, raw, Options{}).Cluster.Topics[0].ReplicationFactor; rf != want {
				t.Fatalf("RF %d, want %d", rf, want)
			}
		}
	}
}

// TestMoveEndsWhileReading: a move that only the first list has was over when
// the second was read; Metadata may show its replicas before or after.
func TestMoveEndsWhileReading(t *testing.T) {
	for _, replicas := range [][]int32{{2, 3, 4, 1}, {2, 3, 4}} {
		raw := cluster(4)
		raw.topic("t", kafka.Partition{Replicas: replicas})
		raw.Moves = []kafka.Reassignment{{Topic: "t", Replicas: []int32{2, 3, 4, 1}, Adding: []int32{4}, Removing: []int32{1}}}
		if got := placeOf(convert(t, raw, Options{}).Cluster, 0); !strings.HasPrefix(got, "2 [2:-1:0 3:-1:0 4:-1:0]") {
			t.Errorf("%v became %s", replicas, got)
		}
	}
}

func TestDirMoveInFlight(t *testing.T) {
	for _, dirs := range [][2]string{{"/d1", "/d2"}, {"/d2", "/d1"}} {
		raw := cluster(1)
		raw.topic("t", kafka.Partition{Replicas: []int32{1}})
		raw.put(1, dirs[0], "t", 0, 800, false)
		raw.put(1, dirs[1], "t", 0, 30, true)
		want := fmt.Sprintf("1 [1:%d:800] moving", dirs[1][2]-'1')
		if got := placeOf(convert(t, raw, Options{}).Cluster, 0); got != want {
			t.Errorf("%v: %s, want %s", dirs, got, want)
		}
	}
}

// TestDeadBroker is the reading half of C-32.
func TestDeadBroker(t *testing.T) {
	raw := cluster(3)
	raw.topic("t", kafka.Partition{Replicas: []int32{3, 4}}, kafka.Partition{Replicas: []int32{4}, Leader: -1})
	raw.put(3, "/d1", "t", 0, 700, false)
	s := convert(t, raw, Options{})
	c := s.Cluster
	if b := c.Brokers[3]; b.ID != 4 || !b.Dead || b.Dirs != nil || c.Brokers[2].Dead {
		t.Errorf("brokers: %+v", c.Brokers)
	}
	if a, b := placeOf(c, 0), placeOf(c, 1); a != "3 [3:0:700 4:-1:700]" || b != "-1 [4:-1:0]" {
		t.Errorf("%s, %s", a, b)
	}
	if !hasWarning(s, "broker 4 is dead") {
		t.Errorf("warnings: %q", s.Warnings)
	}
}

func TestLogDirsThatAreNotTold(t *testing.T) {
	raw := cluster(2)
	raw.topic("t", kafka.Partition{Replicas: []int32{1, 2}})
	raw.put(1, "/d1", "t", 0, 700, false)
	raw.LogDirs = raw.LogDirs[:2]
	raw.LogDirsFailed[2] = errors.New("timed out")
	s := convert(t, raw, Options{})
	if got := placeOf(s.Cluster, 0); got != "1 [1:0:700 2:-1:700]" {
		t.Error(got)
	}
	if s.Cluster.Brokers[1].Dirs != nil || s.Cluster.Brokers[1].Capacity[model.Disk] != model.Unlimited || s.Cluster.Brokers[1].Dead {
		t.Errorf("%+v", s.Cluster.Brokers[1])
	}
	if !hasWarning(s, "broker 2 did not tell its log dirs") || !hasWarning(s, "t-0 on broker 2") {
		t.Errorf("warnings: %q", s.Warnings)
	}
}

// TestVolumes is C-35 b, and its opposite.
func TestVolumes(t *testing.T) {
	dir := func(path string, total, usable, held int64) kafka.LogDir {
		return kafka.LogDir{Broker: 1, Path: path, Total: total, Usable: usable, Replicas: []kafka.LogDirReplica{{Topic: "t", Partition: int32(path[1]), Size: held}}}
	}
	volume := func(s string) *Capacities {
		c, err := ReadCapacities(strings.NewReader(s))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const g = int64(1) << 30
	for _, x := range []struct {
		name    string
		dirs    []kafka.LogDir
		user    *Capacities
		volumes []int32
		disk    int64
	}{
		{"one file system told twice", []kafka.LogDir{dir("/a", 100*g, 40*g, 30*g), dir("/b", 100*g, 40*g, 28*g)}, nil, []int32{0, 0}, 100 * g},
		{"written to between the two looks", []kafka.LogDir{dir("/a", 100*g, 40*g, 30*g), dir("/b", 100*g, 40*g-1<<20, 28*g)}, nil, []int32{0, 0}, 100 * g},
		{"two disks alike that hold too much for one", []kafka.LogDir{dir("/a", 100*g, 40*g, 58*g), dir("/b", 100*g, 40*g, 58*g)}, nil, []int32{0, 1}, 200 * g},
		{"other free space", []kafka.LogDir{dir("/a", 100*g, 40*g, 30*g), dir("/b", 100*g, 50*g, 28*g)}, nil, []int32{0, 1}, 100*g - 30*g + 100*g - 22*g},
		{"other sizes", []kafka.LogDir{dir("/a", 100*g, 90*g, 10*g), dir("/b", 200*g, 190*g, 10*g)}, nil, []int32{0, 1}, 300 * g},
		{"two of three", []kafka.LogDir{dir("/a", 100*g, 90*g, 10*g), dir("/b", 50*g, 20*g, 10*g), dir("/c", 50*g, 20*g, 20*g)}, nil, []int32{0, 1, 1}, 150 * g},
		{
			"told to be two",
			[]kafka.LogDir{dir("/a", 100*g, 40*g, 30*g), dir("/b", 100*g, 40*g, 28*g)},
			volume("brokers: [{ids: [1], dirs: [{path: /a, volume: x, capacity: 100000000000}, {path: /b, volume: y, capacity: 200000000000}]}]"),
			[]int32{0, 1},
			300_000_000_000,
		},
		{
			"told to be one",
			[]kafka.LogDir{dir("/a", 100*g, 90*g, 10*g), dir("/b", 200*g, 90*g, 10*g)},
			volume("brokers: [{ids: [1], dirs: [{path: /a, volume: x, capacity: 5000000000}, {path: /b, volume: x, capacity: 5000000000}]}]"),
			[]int32{0, 0},
			5_000_000_000,
		},
		{
			"told to be one, of two capacities",
			[]kafka.LogDir{dir("/a", 100*g, 90*g, 10*g), dir("/b", 200*g, 190*g, 10*g)},
			volume("brokers: [{ids: [1], dirs: [{path: /a, volume: x}, {path: /b, volume: x}]}]"),
			[]int32{0, 0},
			100 * g,
		},
		{"sizes not told", []kafka.LogDir{dir("/a", -1, -1, 10), dir("/b", -1, -1, 10)}, nil, []int32{0, 1}, model.Unlimited},
		{"a size that no volume has", []kafka.LogDir{dir("/a", 1<<62, 1<<62, 10)}, nil, []int32{0}, model.Unlimited},
		{"others use more than a twentieth", []kafka.LogDir{dir("/a", 100*g, 40*g, 40*g)}, nil, []int32{0}, 80 * g},
		{"the user's word on disk", []kafka.LogDir{dir("/a", 100*g, 90*g, 10*g)}, volume("default: {disk: 7000000000}"), []int32{0}, 7_000_000_000},
	} {
		t.Run(x.name, func(t *testing.T) {
			raw := cluster(1)
			raw.LogDirs = x.dirs
			s := convert(t, raw, Options{Capacities: x.user})
			b := s.Cluster.Brokers[0]
			var volumes []int32
			for _, d := range b.Dirs {
				volumes = append(volumes, d.Volume)
			}
			if !slices.Equal(volumes, x.volumes) || b.Capacity[model.Disk] != x.disk {
				t.Errorf("volumes %v, capacity %d of %+v; warnings %q", volumes, b.Capacity[model.Disk], b.Dirs, s.Warnings)
			}
		})
	}
}

func TestOfflineDir(t *testing.T) {
	raw := cluster(1)
	raw.LogDirs[1].Err, raw.LogDirs[1].Total, raw.LogDirs[1].Usable = errors.New("KAFKA_STORAGE_ERROR"), -1, -1
	raw.topic("t", kafka.Partition{Replicas: []int32{1}, Leader: -1})
	s := convert(t, raw, Options{})
	if b := s.Cluster.Brokers[0]; !b.Dirs[1].Offline || b.Dirs[0].Offline || b.Capacity[model.Disk] != tera {
		t.Errorf("%+v", b)
	}
	if !hasWarning(s, "/d2 is offline") || !hasWarning(s, "t-0 on broker 1") {
		t.Errorf("%q", s.Warnings)
	}
}

func TestGroupsAndCapacities(t *testing.T) {
	groups, err := ReadGroups(strings.NewReader(`{"resource_groups":{"pay":{"brokers":[1,2],"topics":["pay\\..*"]},"web":{"brokers":[3],"topics":["web"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	caps, err := ReadCapacities(strings.NewReader("default: {in: 100000000, out: 200000000}\nbrokers:\n- ids: [2, 3]\n  in: 300000000\n  cpu_percent: 800\n"))
	if err != nil {
		t.Fatal(err)
	}
	raw := cluster(4)
	for _, n := range []string{"pay.x", "web", "website", "xpay.y"} {
		raw.topic(n, kafka.Partition{Replicas: []int32{1}})
	}
	s := convert(t, raw, Options{Groups: groups, Capacities: caps})
	c := s.Cluster
	group := func(i int32) string {
		if i == model.None {
			return ""
		}
		return c.Groups[i]
	}
	var got []string
	for i := range c.Topics {
		got = append(got, c.Topics[i].Name+"="+group(c.Topics[i].Group))
	}
	for i := range c.Brokers {
		got = append(got, fmt.Sprintf("%d=%s in %d out %d cpu %d", c.Brokers[i].ID, group(c.Brokers[i].Group), c.Brokers[i].Capacity[model.In]/1e6, c.Brokers[i].Capacity[model.Out]/1e6, c.Brokers[i].Capacity[model.CPU]/1e12))
	}
	want := []string{"pay.x=pay", "web=web", "website=", "xpay.y=", "1=pay in 100 out 200 cpu 9223372", "2=pay in 300 out 200 cpu 0", "3=web in 300 out 200 cpu 0", "4= in 100 out 200 cpu 9223372"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if c.Brokers[1].Capacity[model.CPU] != 800_000_000 {
		t.Errorf("cpu %d", c.Brokers[1].Capacity[model.CPU])
	}
}

func TestConvertErrors(t *testing.T) {
	both, err := ReadGroups(strings.NewReader("resource_groups: {a: {brokers: [1], topics: [t.*]}, b: {brokers: [2], topics: [.*1]}}"))
	if err != nil {
		t.Fatal(err)
	}
	unknown := &Capacities{Brokers: []BrokerCapacity{{IDs: []int32{9}}}}
	dir := &Capacities{Brokers: []BrokerCapacity{{IDs: []int32{1}, Dirs: []DirCapacity{{Path: "/x"}}}}}
	for _, x := range []struct {
		o    Options
		want string
	}{
		{Options{Groups: both}, "topic t1 matches the expressions of resource groups a and b"},
		{Options{Capacities: unknown}, "name broker 9, which the cluster does not list"},
		{Options{Capacities: dir}, "log dir /x of broker 1, which has /d1, /d2"},
	} {
		raw := cluster(2)
		raw.topic("t1", kafka.Partition{Replicas: []int32{1}})
		if s, err := Convert(raw, x.o); err == nil || !strings.Contains(err.Error(), x.want) || s != nil {
			t.Errorf("%v, %v; want %q", s, err, x.want)
		}
	}
}

// TestConvertIsModel turns drawn clusters into what brokers would answer, in
// any order, and expects them back.
func TestConvertIsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Options{Dirs: true, SameRF: true}).Draw(t, "cluster")
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		raw := answers(c)
		shuffle := func(n int, swap func(i, j int)) { rnd.Shuffle(n, swap) }
		shuffle(len(raw.LogDirs), func(i, j int) { raw.LogDirs[i], raw.LogDirs[j] = raw.LogDirs[j], raw.LogDirs[i] })
		for i := range raw.LogDirs {
			rs := raw.LogDirs[i].Replicas
			shuffle(len(rs), func(i, j int) { rs[i], rs[j] = rs[j], rs[i] })
		}
		shuffle(len(raw.Metadata.Topics), func(i, j int) { m := raw.Metadata.Topics; m[i], m[j] = m[j], m[i] })
		shuffle(len(raw.Metadata.Brokers), func(i, j int) { m := raw.Metadata.Brokers; m[i], m[j] = m[j], m[i] })
		got := convert(t, raw, Options{}).Cluster
		if got.Hash() != c.Hash() {
			t.Fatalf("another topology:\n%v\n%v", c, got)
		}
		for s := range c.Size {
			// Replicas on brokers without known directories are taken to be like the leader's.
			if c.Dir[s] != model.None && got.Size[s] != c.Size[s] {
				t.Fatalf("slot %d: size %d, want %d", s, got.Size[s], c.Size[s])
			}
		}
	})
}

func answers(c *model.Cluster) *Raw {
	raw := &Raw{Metadata: &kafka.Metadata{}}
	dir := map[[2]int32]int{}
	for b := range c.Brokers {
		raw.Metadata.Brokers = append(raw.Metadata.Brokers, kafka.Broker{ID: c.Brokers[b].ID, Rack: c.Brokers[b].Rack})
		for d := range c.Brokers[b].Dirs {
			dir[[2]int32{int32(b), int32(d)}] = len(raw.LogDirs)
			raw.LogDirs = append(raw.LogDirs, kafka.LogDir{Broker: c.Brokers[b].ID, Path: c.Brokers[b].Dirs[d].Path, Total: -1, Usable: -1})
		}
	}
	for t := range c.Topics {
		raw.Metadata.Topics = append(raw.Metadata.Topics, kafka.Topic{Name: c.Topics[t].Name, Internal: c.Topics[t].Internal})
	}
	for p := range c.NumPartitions() {
		part := kafka.Partition{ID: c.ID[p], Leader: -1}
		topic := &raw.Metadata.Topics[c.Topic[p]]
		for s := c.Off[p]; s < c.Off[p+1]; s++ {
			part.Replicas = append(part.Replicas, c.Brokers[c.Broker[s]].ID)
			if c.Leader[p] == s {
				part.Leader = c.Brokers[c.Broker[s]].ID
			}
			if c.Dir[s] != model.None {
				d := &raw.LogDirs[dir[[2]int32{c.Broker[s], c.Dir[s]}]]
				d.Replicas = append(d.Replicas, kafka.LogDirReplica{Topic: topic.Name, Partition: part.ID, Size: c.Size[s]})
			}
		}
		topic.Partitions = append(topic.Partitions, part)
	}
	return raw
}
