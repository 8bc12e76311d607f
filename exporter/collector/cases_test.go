package collector

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// checkSeries compares a family's series of the cluster prod in full.
func checkSeries(t *testing.T, got series, family string, want map[string]float64) {
	t.Helper()
	mine := map[string]float64{}
	for k, v := range got[family] {
		if strings.Contains(k, `kafka_cluster="prod"`) {
			mine[k] = v
		}
	}
	if diff := cmp.Diff(want, mine); diff != "" {
		t.Errorf("%s (-want +got):\n%s", family, diff)
	}
}

// having keeps the series whose label set has the text.
func having(set map[string]float64, text string) map[string]float64 {
	out := maps.Clone(set)
	maps.DeleteFunc(out, func(k string, _ float64) bool { return !strings.Contains(k, text) })
	return out
}

// inGroup renders everything and keeps the series of a group by family.
func inGroup(t *testing.T, group string) series {
	t.Helper()
	all, _ := parse(t, renderAll(t, everything(), kraftCluster()))
	mine := series{}
	for name, set := range all {
		if s := having(set, fmt.Sprintf("group=%q", group)); len(s) > 0 {
			mine[name] = s
		}
	}
	return mine
}

func values(t *testing.T, got series, family string, want ...float64) {
	t.Helper()
	vs := slices.Sorted(maps.Values(got[family]))
	if diff := cmp.Diff(want, vs); diff != "" {
		t.Errorf("%s (-want +got):\n%s\nof %v", family, diff, got[family])
	}
}

// TestC01UncommittedPartitions: no commit is not a number.
func TestC01UncommittedPartitions(t *testing.T) {
	got := inGroup(t, "g-c01")
	checkSeries(t, got, "kafka_group_committed_offset", map[string]float64{`{group="g-c01",kafka_cluster="prod",partition="2",topic="orders"}`: 40})
	checkSeries(t, got, "kafka_group_lag_records", map[string]float64{`{group="g-c01",kafka_cluster="prod",partition="2",topic="orders"}`: 0})
	values(t, got, "kafka_group_uncommitted_partitions", 2)
	values(t, got, "kafka_group_uncommitted_records", 25)
}

// TestC05ConsumerProtocol: a KIP-848 group shows as what it is, and so do the
// others beside it.
func TestC05ConsumerProtocol(t *testing.T) {
	got := inGroup(t, "g-c05")
	checkSeries(t, got, "kafka_group_info", map[string]float64{
		`{assignor="uniform",coordinator="1",group="g-c05",group_type="consumer",kafka_cluster="prod",protocol_type="consumer"}`: 1,
	})
	values(t, got, "kafka_group_members", 3)
	values(t, got, "kafka_group_lag_records", 0, 4, 8)
	values(t, got, "kafka_group_assigned_partitions", 3)
	if n := len(got["kafka_group_member_info"]); n != 3 {
		t.Errorf("%d members", n)
	}
	state := having(got["kafka_group_state"], `state="Stable"`)
	values(t, series{"state": state}, "state", 1)
	values(t, got, "kafka_group_state", 0, 0, 0, 0, 1)
	values(t, inGroup(t, "g-share"), "kafka_group_state", 0, 0, 1)
	values(t, inGroup(t, "g-c26"), "kafka_group_members", 1)
}

// TestC07OrphanedCommits: what is gone has no lag, not even 0.
func TestC07OrphanedCommits(t *testing.T) {
	got := inGroup(t, "g-c07")
	for family, set := range got {
		if family == "kafka_group_committed_offset" {
			continue // the raw commits, as long as Kafka keeps them
		}
		for k := range set {
			if strings.Contains(k, "gone") || strings.Contains(k, "shrunk") {
				t.Errorf("%s%s", family, k)
			}
		}
	}
	values(t, got, "kafka_group_lag_records", 500)
	values(t, got, "kafka_group_orphaned_commits", 2)
	values(t, got, "kafka_group_records_lost_total", 200)
}

// TestC08OfflineLogDir: a failed directory shows, and costs only its own sizes.
func TestC08OfflineLogDir(t *testing.T) {
	got, _ := parse(t, renderAll(t, everything(), kraftCluster()))
	checkSeries(t, got, "kafka_log_dir_online", map[string]float64{
		`{broker="1",kafka_cluster="prod",log_dir="/d1"}`: 1, `{broker="1",kafka_cluster="prod",log_dir="/d2"}`: 0,
		`{broker="2",kafka_cluster="prod",log_dir="/d1"}`: 1, `{broker="2",kafka_cluster="prod",log_dir="/d2"}`: 1,
	})
	// Broker 2 is too old to tell: absent, not -1.
	checkSeries(t, got, "kafka_log_dir_total_bytes", map[string]float64{`{broker="1",kafka_cluster="prod",log_dir="/d1"}`: 1e12})
	checkSeries(t, got, "kafka_log_dir_usable_bytes", map[string]float64{`{broker="1",kafka_cluster="prod",log_dir="/d1"}`: 4e11})
	for family, set := range got {
		for k := range having(set, `broker="1"`) {
			if strings.Contains(k, `log_dir="/d2"`) && family != "kafka_log_dir_online" && family != "kafka_log_dir_error" {
				t.Errorf("%s%s is of a failed directory", family, k)
			}
		}
	}
	// Future replicas are not part of it; what is partial says so.
	checkSeries(t, got, "kafka_topic_size_bytes", map[string]float64{
		`{kafka_cluster="prod",topic="orders"}`: 1150, `{kafka_cluster="prod",topic="mixed"}`: 300,
	})
	for topic, want := range map[string]float64{"orders": 1, "mixed": 1, "leaderless": 1} {
		if v := got["kafka_topic_size_partial"][fmt.Sprintf(`{kafka_cluster="prod",topic=%q}`, topic)]; v != want {
			t.Errorf("size of %s: partial is %v", topic, v)
		}
	}
	checkSeries(t, got, "kafka_log_dirs_missing_brokers", map[string]float64{`{kafka_cluster="prod"}`: 1})

	whole := kraftCluster()
	whole.LogDirs.Missing = nil
	whole.LogDirs.Dirs[1].Online = true
	got, _ = parse(t, renderAll(t, everything(), whole))
	checkSeries(t, got, "kafka_topic_size_partial", map[string]float64{})
	checkSeries(t, got, "kafka_log_dirs_missing_brokers", map[string]float64{`{kafka_cluster="prod"}`: 0})
}

// TestC10Reassignment: a planned move is no lost replica, and the replication
// factor is that of the target.
func TestC10Reassignment(t *testing.T) {
	got, _ := parse(t, renderAll(t, everything(), kraftCluster()))
	of := func(family, topic string, want ...float64) {
		t.Helper()
		set := having(got[family], fmt.Sprintf("topic=%q", topic))
		vs := make([]float64, 0, len(set))
		for _, k := range slices.Sorted(maps.Keys(set)) {
			vs = append(vs, set[k])
		}
		if diff := cmp.Diff(want, vs); diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", family, topic, diff)
		}
	}
	// (a) partition 0 is only being moved, partition 1 has lost a replica too.
	of("kafka_partition_under_replicated", "moving", 0, 1)
	of("kafka_partition_reassigning", "moving", 1, 1)
	of("kafka_partition_adding_replicas", "moving", 1, 1)
	of("kafka_partition_removing_replicas", "moving", 1, 1)
	of("kafka_topic_replication_factor_min", "moving", 2)
	of("kafka_topic_replication_factor_max", "moving", 2)
	// (b) one replica each, on different brokers.
	of("kafka_topic_replication_factor_min", "spread", 1)
	of("kafka_topic_replication_factor_max", "spread", 1)
	of("kafka_partition_in_sync_replicas", "spread", 1, 1, 1)
	of("kafka_topic_replication_factor_min", "mixed", 1)
	of("kafka_topic_replication_factor_max", "mixed", 3)
	// A leaderless partition never has a plausible leader.
	of("kafka_partition_leader_broker", "leaderless", 2)
	of("kafka_partition_leaderless", "leaderless", 0, 1)
	of("kafka_partition_end_offset", "leaderless", 12)
}

// TestC11HostileNames: every group is there, under its own name if that is
// valid.
func TestC11HostileNames(t *testing.T) {
	got, families := parse(t, renderAll(t, everything(), kraftCluster()))
	names := map[string]bool{}
	for _, m := range families["kafka_group_info"].Metric {
		for _, l := range m.Label {
			if l.GetName() == "group" {
				names[l.GetValue()] = true
			}
		}
	}
	for _, id := range hostileIDs {
		clean, rewritten := exposition.Label(id)
		if !names[clean] {
			t.Errorf("group %q is missing as %q", id, clean)
		}
		if rewritten != strings.HasPrefix(id, "g") {
			t.Errorf("group %q is shown as %q", id, clean)
		}
	}
	if n := len(kraftCluster().Groups.Groups); len(names) != n {
		t.Errorf("%d names of %d groups", len(names), n)
	}
	checkSeries(t, got, "kafka_steward_renamed_labels", map[string]float64{
		`{kafka_cluster="prod",kind="client_id"}`: 1, `{kafka_cluster="prod",kind="group"}`: 2,
	})
}

// TestC25EmptyGroupStays: a group whose consumers died keeps its lag.
func TestC25EmptyGroupStays(t *testing.T) {
	got := inGroup(t, "g-c07")
	values(t, got, "kafka_group_members", 0)
	values(t, got, "kafka_group_lag_records", 500)
	values(t, series{"v": having(got["kafka_group_verdict"], "stopped")}, "v", 1)
	// And one that could not be described keeps what is known.
	c := kraftCluster()
	for i := range c.Groups.Groups {
		if g := &c.Groups.Groups[i]; g.ID == "g-c05" {
			g.MembersKnown, g.Members = false, nil
		}
	}
	all, _ := parse(t, renderAll(t, everything(), c))
	for family, want := range map[string]int{
		"kafka_group_info": 1, "kafka_group_lag_records": 3, "kafka_group_committed_offset": 3,
		"kafka_group_members": 0, "kafka_group_topic_assigned": 0, "kafka_group_assigned_partitions": 0,
	} {
		if n := len(having(all[family], `group="g-c05"`)); n != want {
			t.Errorf("%s has %d series, want %d", family, n, want)
		}
	}
}

// TestC26UnassignedTopic: an old commit of a living group is told apart.
func TestC26UnassignedTopic(t *testing.T) {
	got := inGroup(t, "g-c26")
	checkSeries(t, got, "kafka_group_topic_assigned", map[string]float64{
		`{group="g-c26",kafka_cluster="prod",topic="new"}`: 1, `{group="g-c26",kafka_cluster="prod",topic="old"}`: 0,
	})
	checkSeries(t, got, "kafka_group_lag_partial", map[string]float64{
		`{group="g-c26",kafka_cluster="prod",topic="new"}`: 1, `{group="g-c26",kafka_cluster="prod",topic="old"}`: 0,
	})
	values(t, got, "kafka_group_lag_clamped_partitions", 1)
}

// TestC43DefaultQuota: the default entity is not a user of that name.
func TestC43DefaultQuota(t *testing.T) {
	got, _ := parse(t, renderAll(t, everything(), kraftCluster()))
	checkSeries(t, got, "kafka_client_quota_producer_bytes_per_second", map[string]float64{
		`{kafka_cluster="prod",user_default="true"}`:                          1000,
		`{client_id_default="true",kafka_cluster="prod",user_default="true"}`: 2000,
		`{kafka_cluster="prod",user="<default>"}`:                             3000,
	})
	checkSeries(t, got, "kafka_client_quota_request_ratio", map[string]float64{`{client_id="app",kafka_cluster="prod",user="alice"}`: 0.7})
}

// TestController: the quorum tells in KRaft mode, Metadata with ZooKeeper.
func TestController(t *testing.T) {
	topology := func(mode string, id int32) *snapshot.Topology {
		return &snapshot.Topology{Mode: mode, ControllerID: id, ControllerChanges: 3}
	}
	for name, c := range map[string]struct {
		cluster snapshot.Cluster
		want    map[string]float64
		changes map[string]float64
	}{
		"zookeeper":    {snapshot.Cluster{Topology: topology("zookeeper", 0)}, map[string]float64{`{kafka_cluster="prod"}`: 0}, map[string]float64{`{kafka_cluster="prod"}`: 3}},
		"no one":       {snapshot.Cluster{Topology: topology("zookeeper", -1)}, map[string]float64{}, map[string]float64{`{kafka_cluster="prod"}`: 3}},
		"kraft":        {snapshot.Cluster{Topology: topology("kraft", 2), Quorum: &snapshot.Quorum{LeaderID: 9, LeaderChanges: 1}}, map[string]float64{`{kafka_cluster="prod"}`: 9}, map[string]float64{`{kafka_cluster="prod"}`: 1}},
		"leaderless":   {snapshot.Cluster{Topology: topology("kraft", 2), Quorum: &snapshot.Quorum{LeaderID: -1}}, map[string]float64{}, map[string]float64{`{kafka_cluster="prod"}`: 0}},
		"not known":    {snapshot.Cluster{Topology: topology("kraft", 2)}, map[string]float64{}, map[string]float64{}},
		"unknown mode": {snapshot.Cluster{Topology: topology("", 2)}, map[string]float64{}, map[string]float64{}},
	} {
		c.cluster.Name = "prod"
		got, _ := parse(t, renderAll(t, everything(), &c.cluster))
		t.Run(name, func(t *testing.T) {
			checkSeries(t, got, "kafka_cluster_controller_broker", c.want)
			checkSeries(t, got, "kafka_cluster_controller_changes_total", c.changes)
		})
	}
}
