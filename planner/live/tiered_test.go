package live

import (
	"testing"

	"github.com/kafka-steward/kafka-steward/internal/kafka"
	"github.com/kafka-steward/kafka-steward/planner/balance"
)

// A tiered topic with 2 GiB in its log directory and 80 GiB remote is moved as
// 2 GiB: a disk with 3 GiB of room takes it, and the plan copies that much.
// Remote bytes are in no log directory, and no offset range is taken for bytes.
func TestTieredTopicsMoveTheirLocalBytes(t *testing.T) {
	const gib = int64(1) << 30
	raw := cluster(2)
	for i := range raw.LogDirs {
		raw.LogDirs[i].Total, raw.LogDirs[i].Usable = 4*gib, 4*gib
	}
	raw.topic("tiered", kafka.Partition{Replicas: []int32{1}, ISR: []int32{1}})
	raw.put(1, "/d1", "tiered", 0, 2*gib, false)
	c := convert(t, raw, Options{}).Cluster
	if c.Size[0] != 2*gib {
		t.Fatalf("%d bytes, local are %d", c.Size[0], 2*gib)
	}
	o := balance.Defaults()
	o.LeaveIdle = false
	p, err := balance.Decommission(c, []int32{1}, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Refusals) > 0 || len(p.Changes) != 1 || p.Changes[0].Bytes != 2*gib {
		t.Errorf("changes %+v, refusals %+v", p.Changes, p.Refusals)
	}
}
