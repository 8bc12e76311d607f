package live_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
	"github.com/kafka-steward/kafka-steward/planner/live"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

// TestReadMovesOfRealCluster is C-28 and the reading of C-32 on real brokers: a
// move to a broker that has died stays in flight, a partition has one replica
// more than its topic.
func TestReadMovesOfRealCluster(t *testing.T) {
	c := kafkatest.Private(t, kafkatest.Options{Mode: kafkatest.KRaft4})
	cl, _ := client(t, strings.Split(c.Bootstrap(), ","))
	const topic = "moves"
	if err := c.CreateTopicAssigned(t.Context(), topic, [][]int32{{1, 2}, {1, 2}, {2, 1}}, nil); err != nil {
		t.Fatal(err)
	}
	assign := func(p int32, to ...int32) {
		t.Helper()
		var req kadm.AlterPartitionAssignmentsReq
		req.Assign(topic, p, to)
		res, err := c.Admin().AlterPartitionAssignments(t.Context(), req)
		if err == nil {
			err = res.Error()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	assign(1, 1, 2, 3)
	await(t, cl, "t-1 with three replicas", func(s *model.Snapshot) bool {
		return partition(s.Cluster, topic, 1) == "1 [1 2 3]"
	})
	if err := c.Broker(3).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, cl, "broker 3 dead", func(s *model.Snapshot) bool {
		return slices.ContainsFunc(s.Cluster.Brokers, func(b model.Broker) bool { return b.ID == 3 && b.Dead })
	})
	assign(0, 3, 1)
	s := await(t, cl, "a move in flight", func(s *model.Snapshot) bool {
		return strings.HasSuffix(partition(s.Cluster, topic, 0), "moving")
	})
	// Broker 1 leads until 3 has come, and stays.
	for p, want := range []string{"1 [3 1] moving", "1 [1 2 3]", "2 [2 1]"} {
		if got := partition(s.Cluster, topic, int32(p)); got != want {
			t.Errorf("%s-%d is %s, want %s", topic, p, got, want)
		}
	}
	all := strings.Join(s.Warnings, "\n")
	for _, want := range []string{"broker 3 is dead", "1 moving, shown as they will be: moves-0", "moves-1: RF 3 ≠ 2 of the topic"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %q in\n%s", want, all)
		}
	}
}

// await reads until ok.
func await(t *testing.T, src live.Source, what string, ok func(*model.Snapshot) bool) *model.Snapshot {
	t.Helper()
	var last error
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); {
		s, err := live.Read(t.Context(), src, live.Options{Name: "real"})
		if err == nil && ok(s) {
			return s
		}
		last = err
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
	t.Fatalf("waited in vain for %s; the last error: %v", what, last)
	return nil
}

// partition is a partition's leader and replicas as text.
func partition(c *model.Cluster, topic string, id int32) string {
	p, ok := c.PartitionIndex(topic, id)
	if !ok {
		return "not there"
	}
	leader := model.None
	var ids []int32
	for s := c.Off[p]; s < c.Off[p+1]; s++ {
		ids = append(ids, c.Brokers[c.Broker[s]].ID)
		if c.Leader[p] == s {
			leader = c.Brokers[c.Broker[s]].ID
		}
	}
	text := fmt.Sprintf("%d %v", leader, ids)
	if c.Moving[p] {
		text += " moving"
	}
	return text
}
