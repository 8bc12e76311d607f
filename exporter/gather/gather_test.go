package gather

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
)

func TestEnumName(t *testing.T) {
	for in, want := range map[string]string{"Topic": "TOPIC", "TransactionalID": "TRANSACTIONAL_ID", "DelegationToken": "DELEGATION_TOKEN", "": "", "Any": "ANY"} {
		if got := enumName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// However ids look, no two groups get the same label, and valid ones keep theirs.
func TestLabelsAreUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfNDistinct(rapid.SliceOfN(rapid.SampledFrom([]byte("a~2\xff\xfe\\x")), 0, 6), 1, 30, func(b []byte) string { return string(b) }).Draw(t, "ids")
		taken, l := map[string]bool{}, labeller{}
		ids := make([]string, len(raw))
		for i := range raw {
			ids[i] = string(raw[i])
		}
		slices.Sort(ids) // the order of Groups
		seen := map[string]string{}
		for _, id := range ids {
			label := l.unique(id, taken)
			if other, dup := seen[label]; dup {
				t.Fatalf("%q and %q are both %q", other, id, label)
			}
			seen[label] = id
		}
	})
}

// Of many partitions with the same error a few are named, the rest counted.
func TestFailuresOfPartitions(t *testing.T) {
	var refused []kafka.PartitionError
	for p := range int32(10) {
		refused = append(refused, kafka.PartitionError{Topic: "t", Partition: 9 - p, Err: sarama.ErrNotLeaderForPartition})
	}
	refused = append(refused, kafka.PartitionError{Topic: "a", Partition: 1, Err: sarama.ErrTopicAuthorizationFailed})
	var f Failures
	f.partitions(refused)
	var got []string
	for _, m := range f {
		got = append(got, m.What+" "+m.Class)
	}
	slices.Sort(got)
	want := []string{"7 more partitions other", "partition a-1 acl", "partition t-0 other", "partition t-1 other", "partition t-2 other"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// All brokers failed: an error; some: none.
func TestWhole(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	if err := whole(nil, 0); err != nil {
		t.Error(err)
	}
	if err := whole(map[int32]error{1: a}, 2); err != nil {
		t.Error(err)
	}
	if err := whole(map[int32]error{1: a, 2: b}, 2); !errors.Is(err, a) || !errors.Is(err, b) {
		t.Error(err)
	}
}

func TestRemainingBytes(t *testing.T) {
	topo := &snapshot.Topology{Topics: []snapshot.Topic{{Name: "t", Partitions: []snapshot.Partition{{ID: 0, Leader: 1}, {ID: 1, Leader: -1}, {ID: 2, Leader: 9}}}}}
	dir := func(broker int32, size int64) snapshot.LogDir {
		return snapshot.LogDir{Broker: broker, Topics: []snapshot.LogDirTopic{{Topic: "t", Partitions: []snapshot.LogDirPartition{{Partition: 0, SizeBytes: size}}}}}
	}
	dirs := &snapshot.LogDirs{Dirs: []snapshot.LogDir{dir(1, 1000), dir(3, 400), dir(5, 1500)}}
	moves := &snapshot.Reassignments{}
	for p := range int32(3) {
		moves.Partitions = append(moves.Partitions, snapshot.Reassignment{Topic: "t", Partition: p, Adding: []int32{3, 4, 5}, RemainingBytes: snapshot.Unknown})
	}
	moves.Partitions = append(moves.Partitions, snapshot.Reassignment{Topic: "gone", Adding: []int32{3}, RemainingBytes: snapshot.Unknown})
	got := WithRemainingBytes(moves, dirs, topo)
	// Broker 3 lacks 600, broker 4 everything, broker 5 nothing.
	for i, want := range []int64{1600, snapshot.Unknown, snapshot.Unknown, snapshot.Unknown} {
		if p := got.Partitions[i]; p.RemainingBytes != want {
			t.Errorf("%s-%d: %d bytes, want %d", p.Topic, p.Partition, p.RemainingBytes, want)
		}
		if moves.Partitions[i].RemainingBytes != snapshot.Unknown {
			t.Error("what was given was changed")
		}
	}
	if WithRemainingBytes(nil, dirs, topo) != nil || WithRemainingBytes(moves, nil, topo) != moves {
		t.Error("without moves or directories there is nothing to tell")
	}
}

func TestClientIP(t *testing.T) {
	for in, want := range map[string]string{"/10.0.0.1": "10.0.0.1", "10.0.0.1": "10.0.0.1", "/0:0:0:0:0:0:0:1": "::1", "host.example": "host.example", "": ""} {
		if got := clientIP(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestGroupType(t *testing.T) {
	for in, want := range map[string]string{"": "classic", "Classic": "classic", "consumer": "consumer", "Share": "share", "streams": "streams", "new": "unknown"} {
		if got := groupType(kafka.ListedGroup{Type: in}); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Processes share topics by config.Shard.Owns, the documented contract.
func TestShardsAgreeWithConfig(t *testing.T) {
	for of := 1; of <= 5; of++ {
		for i := range 200 {
			name, owners := fmt.Sprintf("topic-%d", i), 0
			for index := range of {
				r := &Reader{cfg: config.Cluster{Shard: config.Shard{Index: index, Of: of}}}
				if r.wantsTopic(name) {
					owners++
					if !r.cfg.Shard.Owns(name) {
						t.Errorf("%s is not shard %d's", name, index)
					}
				}
			}
			if owners != 1 {
				t.Errorf("%s is in %d of %d shards", name, owners, of)
			}
		}
	}
}

func TestChangeCounter(t *testing.T) {
	var c changeCounter
	for _, step := range []struct {
		value string
		want  uint64
	}{{"1", 0}, {"1", 0}, {"2", 1}, {"2", 1}, {"1", 2}} {
		if got := c.observe(step.value); got != step.want {
			t.Errorf("%s: %d, want %d", step.value, got, step.want)
		}
	}
}
