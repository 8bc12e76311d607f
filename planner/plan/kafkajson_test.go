package plan_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"github.com/kafka-steward/kafka-steward/planner/plan"
	"pgregory.net/rapid"
)

// TestKafkaRoundTrip draws a good document, imports it, exports the changes and
// imports those: the same changes come back, and they are what the document says.
func TestKafkaRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := modeltest.Cluster(modeltest.Options{Dead: true, Dirs: true, Moving: true}).Draw(t, "cluster")
		doc := drawDocument(t, c)
		changes := importDoc(t, doc, c)
		again := importDoc(t, plan.ToKafka(changes), c)
		if d := cmp.Diff(changes, again); d != "" {
			t.Fatal(d)
		}
		byName := map[string]plan.Change{}
		for _, ch := range changes {
			byName[name(ch.Topic, ch.Partition)] = ch
		}
		for _, e := range doc.Partitions {
			ch, ok := byName[name(e.Topic, e.Partition)]
			p, _ := c.PartitionIndex(e.Topic, e.Partition)
			if !ok {
				if d := cmp.Diff(brokersOf(c, p), e.Replicas); d != "" {
					t.Fatalf("%s was left out although it changes:\n%s", name(e.Topic, e.Partition), d)
				}
				continue
			}
			for i, r := range ch.To {
				if r.Broker != e.Replicas[i] || e.LogDirs != nil && e.LogDirs[i] != model.AnyDir && e.LogDirs[i] != r.Dir {
					t.Fatalf("%v became %v", e, ch.To)
				}
			}
			if d := cmp.Diff(brokersOf(c, p), ids(ch.From)); d != "" || ch.NewLeader != e.Replicas[0] {
				t.Fatalf("from %v, new leader %d: %s", ch.From, ch.NewLeader, d)
			}
		}
		back := plan.Rollback(changes)
		if len(back.Partitions) != len(changes) {
			t.Fatalf("%d of %d changes can be undone", len(back.Partitions), len(changes))
		}
		for i, e := range back.Partitions {
			if d := cmp.Diff(ids(changes[i].From), e.Replicas); d != "" {
				t.Fatal(d)
			}
		}
	})
}

func drawDocument(t *rapid.T, c *model.Cluster) *model.Reassignment {
	var alive []int
	for b := range c.Brokers {
		if !c.Brokers[b].Dead {
			alive = append(alive, b)
		}
	}
	doc := &model.Reassignment{Version: 1}
	for p := range c.NumPartitions() {
		if rapid.Bool().Draw(t, "leave out") {
			continue
		}
		e := model.ReassignmentPartition{Topic: c.Topics[c.Topic[p]].Name, Partition: c.ID[p]}
		dirs := rapid.Bool().Draw(t, "dirs")
		for _, b := range rapid.Permutation(alive).Draw(t, "to")[:rapid.IntRange(1, len(alive)).Draw(t, "rf")] {
			e.Replicas = append(e.Replicas, c.Brokers[b].ID)
			dir := model.AnyDir
			if n := len(c.Brokers[b].Dirs); n > 0 && rapid.Bool().Draw(t, "name a dir") {
				dir = c.Brokers[b].Dirs[rapid.IntRange(0, n-1).Draw(t, "dir")].Path
			}
			if dirs {
				e.LogDirs = append(e.LogDirs, dir)
			}
		}
		doc.Partitions = append(doc.Partitions, e)
	}
	return doc
}

func importDoc(t *rapid.T, doc *model.Reassignment, c *model.Cluster) []plan.Change {
	var b bytes.Buffer
	if err := doc.Write(&b); err != nil {
		t.Fatal(err)
	}
	changes, err := plan.FromKafka(&b, c)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func name(topic string, p int32) string { return topic + "/" + string(rune('0'+p)) }

func brokersOf(c *model.Cluster, p int) []int32 {
	var out []int32
	for s := c.Off[p]; s < c.Off[p+1]; s++ {
		out = append(out, c.Brokers[c.Broker[s]].ID)
	}
	return out
}

func ids(rs []plan.Replica) []int32 {
	var out []int32
	for _, r := range rs {
		out = append(out, r.Broker)
	}
	return out
}

func small(t *testing.T) *model.Cluster {
	t.Helper()
	b := model.NewBuilder("x")
	for id := int32(1); id <= 3; id++ {
		b.Broker(model.Broker{ID: id, Dirs: []model.LogDir{{Path: "/a"}, {Path: "/b", Volume: 1}}}, "")
	}
	b.Topic(model.Topic{Name: "t", ReplicationFactor: 2}, "")
	b.Partition("t", model.PartitionSpec{ID: 0, Leader: 2, Replicas: []model.ReplicaSpec{{Broker: 1, Dir: 0, Size: 100}, {Broker: 2, Dir: 1, Size: 110}}})
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

func TestFromKafkaBytes(t *testing.T) {
	for _, x := range []struct {
		entry           string
		bytes, dirBytes int64
		changes         int
		export          string
	}{
		// A new copy comes from the leader, broker 2.
		{`"replicas":[3,2]`, 110, 0, 1, `"replicas":[3,2]}`},
		{`"replicas":[1,2,3],"log_dirs":["any","any","/b"]`, 110, 0, 1, `"replicas":[1,2,3],"log_dirs":["any","any","/b"]}`},
		{`"replicas":[1,2],"log_dirs":["/b","/b"]`, 0, 100, 1, `"replicas":[1,2],"log_dirs":["/b","any"]}`},
		{`"replicas":[2,1]`, 0, 0, 1, `"replicas":[2,1]}`},
		{`"replicas":[2]`, 0, 0, 1, `"replicas":[2]}`},
		{`"replicas":[1,2],"log_dirs":["/a","any"]`, 0, 0, 0, `"partitions":[`},
	} {
		changes, err := plan.FromKafka(strings.NewReader(`{"version":1,"partitions":[{"topic":"t","partition":0,`+x.entry+`}]}`), small(t))
		if err != nil {
			t.Fatal(err)
		}
		var bytes, dirBytes int64
		for _, ch := range changes {
			bytes, dirBytes = bytes+ch.Bytes, dirBytes+ch.DirBytes
		}
		if len(changes) != x.changes || bytes != x.bytes || dirBytes != x.dirBytes {
			t.Errorf("%s: %d changes, %d and %d bytes", x.entry, len(changes), bytes, dirBytes)
		}
		var b strings.Builder
		if err := plan.ToKafka(changes).Write(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), x.export) {
			t.Errorf("%s: exported as %s", x.entry, b.String())
		}
	}
}

func TestFromKafkaReturnsNothingWithAnError(t *testing.T) {
	doc := `{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[3]},{"topic":"t","partition":9,"replicas":[1,1]}]}`
	changes, err := plan.FromKafka(strings.NewReader(doc), small(t))
	if changes != nil || err == nil || !strings.Contains(err.Error(), "t-9: does not exist") || !strings.Contains(err.Error(), "t-9: lists broker 1 twice") {
		t.Errorf("%v, %v", changes, err)
	}
}

func TestWriteElection(t *testing.T) {
	var b strings.Builder
	err := plan.WriteElection(&b, []plan.Change{
		{Topic: "a", Partition: 1, From: []plan.Replica{{Broker: 1}}, OldLeader: 2, NewLeader: 1},
		{Topic: "a", Partition: 2, From: []plan.Replica{{Broker: 1}}, OldLeader: 1, NewLeader: 1},
		{Topic: "new", Partition: 0, OldLeader: model.None, NewLeader: 1},
	})
	if err != nil || b.String() != `{"partitions":[{"topic":"a","partition":1}]}`+"\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	if doc := plan.Rollback([]plan.Change{{Topic: "new", To: []plan.Replica{{Broker: 1}}}}); len(doc.Partitions) != 0 {
		t.Errorf("a created partition would be undone: %v", doc)
	}
}
