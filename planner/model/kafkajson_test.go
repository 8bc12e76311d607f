package model_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"pgregory.net/rapid"
)

// reassignable is a cluster of brokers 11, 13, 17, 19 and 23 (dead), each with
// directories /a and /b (offline on 19; not known on 11), and t-6 and u-0.
func reassignable(t *testing.T) *model.Cluster {
	t.Helper()
	b := model.NewBuilder("x")
	for _, id := range []int32{11, 13, 17, 19, 23} {
		br := model.Broker{ID: id, Dead: id == 23}
		if id != 11 && id != 23 {
			br.Dirs = []model.LogDir{{Path: "/a", Capacity: model.Unlimited}, {Path: "/b", Capacity: model.Unlimited, Volume: 1, Offline: id == 19}}
		}
		b.Broker(br, "")
	}
	for _, n := range []string{"t", "u"} {
		b.Topic(model.Topic{Name: n, ReplicationFactor: 3}, "")
	}
	replica := func(id, dir int32) model.ReplicaSpec { return model.ReplicaSpec{Broker: id, Dir: dir, Size: 10} }
	b.Partition("t", model.PartitionSpec{ID: 6, Leader: 13, Replicas: []model.ReplicaSpec{replica(13, 0), replica(17, 0), replica(19, 0)}})
	b.Partition("u", model.PartitionSpec{ID: 0, Leader: 11, Replicas: []model.ReplicaSpec{replica(11, model.None)}})
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

func TestReassignmentTargets(t *testing.T) {
	c := reassignable(t)
	doc := `{"version":1,"partitions":[{"topic":"u","partition":0,"replicas":[13,11],"log_dirs":["/b","any"]},{"topic":"t","partition":6,"replicas":[17,13]}]}`
	d, err := model.ReadReassignment(strings.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	got, problems := d.Targets(c)
	want := []model.Target{{Partition: 1, Brokers: []int32{1, 0}, Dirs: []int32{1, -1}}, {Partition: 0, Brokers: []int32{2, 1}, Dirs: []int32{-1, -1}}}
	if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
		t.Errorf("%s %v", diff, problems)
	}
	var b bytes.Buffer
	if err := d.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := model.ReadReassignment(&b)
	if err != nil || !cmp.Equal(d, again) {
		t.Errorf("written and read: %v, %v", again, err)
	}
}

// TestReassignmentIsRefused is C-31 and the import of C-32.
func TestReassignmentIsRefused(t *testing.T) {
	c := reassignable(t)
	for _, x := range []struct{ name, entries, want string }{
		{"a broker three times", `{"topic":"t","partition":6,"replicas":[17,17,17]}`, "t-6: lists broker 17 twice: [17 17 17]"},
		{"a partition twice", `{"topic":"t","partition":6,"replicas":[17]},{"topic":"t","partition":6,"replicas":[13]}`, "t-6: is listed twice"},
		{"no replicas", `{"topic":"t","partition":6,"replicas":[]}`, "t-6: has no replicas"},
		{"replicas not there", `{"topic":"t","partition":6}`, "t-6: has no replicas"},
		{"fewer log_dirs", `{"topic":"t","partition":6,"replicas":[17,13],"log_dirs":["any"]}`, "t-6: has 1 log_dirs for 2 replicas"},
		{"more log_dirs", `{"topic":"t","partition":6,"replicas":[17],"log_dirs":["any","any"]}`, "t-6: has 2 log_dirs for 1 replicas"},
		{"empty log_dirs", `{"topic":"t","partition":6,"replicas":[17],"log_dirs":[]}`, "t-6: has 0 log_dirs for 1 replicas"},
		{"unknown broker", `{"topic":"t","partition":6,"replicas":[17,9]}`, "t-6: lists broker 9, which is not in the cluster"},
		{"dead broker", `{"topic":"t","partition":6,"replicas":[17,23]}`, "t-6: lists broker 23, which is dead"},
		{"unknown dir", `{"topic":"t","partition":6,"replicas":[17],"log_dirs":["/c"]}`, "t-6: names log dir /c, which broker 17 does not have"},
		{"relative dir", `{"topic":"t","partition":6,"replicas":[17],"log_dirs":["Any"]}`, `t-6: names log dir "Any" of broker 17, which is neither`},
		{"offline dir", `{"topic":"t","partition":6,"replicas":[19],"log_dirs":["/b"]}`, "t-6: names log dir /b of broker 19, which is offline"},
		{"dirs not known", `{"topic":"t","partition":6,"replicas":[11],"log_dirs":["/a"]}`, "t-6: names log dir /a of broker 11, whose log dirs are not known"},
		{"unknown partition", `{"topic":"t","partition":7,"replicas":[17]}`, "t-7: does not exist"},
		{"unknown topic", `{"topic":"v","partition":0,"replicas":[17]}`, "v-0: does not exist"},
	} {
		t.Run(x.name, func(t *testing.T) {
			// A good entry stands in front: nothing of it may come back either.
			doc := `{"version":1,"partitions":[{"topic":"u","partition":0,"replicas":[13]},` + x.entries + `]}`
			d, err := model.ReadReassignment(strings.NewReader(doc))
			if err != nil {
				t.Fatal(err)
			}
			targets, problems := d.Targets(c)
			if targets != nil {
				t.Errorf("targets came back: %v", targets)
			}
			if !slices.ContainsFunc(problems, func(p model.Problem) bool { return strings.HasPrefix(p.Error(), x.want) }) {
				t.Errorf("got %v, want %q", problems, x.want)
			}
		})
	}
}

func TestReassignmentNamesEveryProblem(t *testing.T) {
	d := &model.Reassignment{Version: 1, Partitions: []model.ReassignmentPartition{
		{Topic: "t", Partition: 6, Replicas: []int32{17, 17, 23}}, {Topic: "u", Partition: 3, Replicas: []int32{9}},
	}}
	_, problems := d.Targets(reassignable(t))
	var got []string
	for _, p := range problems {
		got = append(got, p.Error())
	}
	want := []string{"t-6: lists broker 17 twice: [17 17 23]", "t-6: lists broker 23, which is dead", "u-3: does not exist", "u-3: lists broker 9, which is not in the cluster"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadReassignmentIsStrict(t *testing.T) {
	for _, x := range []struct{ doc, want string }{
		{`{"version":2,"partitions":[]}`, "version is 2"},
		{`{"partitions":[]}`, `no "version"`},
		{`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dir":["/a"]}]}`, `unknown field "log_dir"`},
		{`{"version":1,"partitions":[{"topic":"t","replicas":[1]}]}`, "entry 0 names no topic or no partition"},
		{`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":["1"]}]}`, "cannot unmarshal"},
		{`{"version":1,"partitions":[]} Proposed`, "something follows"},
		{"Current partition replica assignment\n{}", "invalid character"},
		{``, "EOF"},
	} {
		if d, err := model.ReadReassignment(strings.NewReader(x.doc)); err == nil || !strings.Contains(err.Error(), x.want) || d != nil {
			t.Errorf("%s: got %v, %v; want %q", x.doc, d, err, x.want)
		}
	}
}

func TestTopicsToMove(t *testing.T) {
	got, err := model.ReadTopicsToMove(strings.NewReader(`{"topics":[{"topic":"b"},{"topic":"a"}],"version":1}`))
	if err != nil || !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, doc := range []string{`{"topics":[{"topic":"a"},{"topic":"a"}],"version":1}`, `{"topics":[{}],"version":1}`, `{"topics":[]}`, `{"topics":[{"name":"a"}],"version":1}`} {
		if got, err := model.ReadTopicsToMove(strings.NewReader(doc)); err == nil {
			t.Errorf("%s was read as %v", doc, got)
		}
	}
}

func TestPartitionIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Options{}).Draw(t, "cluster")
		for p := range c.NumPartitions() {
			if got, ok := c.PartitionIndex(c.Topics[c.Topic[p]].Name, c.ID[p]); !ok || got != p {
				t.Fatalf("%s is %d, found %d (%v)", c.PartitionName(p), p, got, ok)
			}
		}
		for _, n := range []string{"", "a", "t00", "zz"} {
			if p, ok := c.PartitionIndex(n, 0); ok {
				t.Fatalf("found %q at %d", n, p)
			}
		}
		if p, ok := c.PartitionIndex("t0", 99); ok {
			t.Fatalf("found t0-99 at %d", p)
		}
	})
}
