package collector

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/exposition"
)

func TestLimitsFollowGranularity(t *testing.T) {
	for _, c := range []struct {
		collectors map[string]string
		family     string
		enabled    bool
		keep       []string
	}{
		{nil, "kafka_group_lag_records", true, nil},
		{map[string]string{"groups": "partition"}, "kafka_group_lag_records", true, nil},
		{map[string]string{"groups": "topic"}, "kafka_group_lag_records", true, []string{"group", "topic"}},
		{map[string]string{"groups": "group"}, "kafka_group_lag_records", true, []string{"group"}},
		{map[string]string{"groups": "topic"}, "kafka_group_lag_partial", true, nil},
		{map[string]string{"groups": "group"}, "kafka_group_lag_partial", true, []string{"group"}},
		{map[string]string{"groups": "group"}, "kafka_group_partition_verdict", true, []string{"group", "verdict"}},
		{map[string]string{"groups": "group"}, "kafka_group_info", true, nil},
		{map[string]string{"groups": "group"}, "kafka_partition_end_offset", true, nil},
		{map[string]string{"offsets": "topic"}, "kafka_partition_end_offset", true, []string{"topic"}},
		{map[string]string{"offsets": "topic"}, "kafka_partition_start_offset", true, []string{"topic"}},
		{map[string]string{"offsets": "topic"}, "kafka_partition_under_replicated", true, nil},
		{nil, "kafka_log_dir_topic_size_bytes", true, nil},
		{nil, "kafka_partition_replica_size_bytes", false, nil},
		{map[string]string{"logdirs": "partition"}, "kafka_partition_replica_size_bytes", true, nil},
		{map[string]string{"logdirs": "partition"}, "kafka_log_dir_topic_size_bytes", true, nil},
		{map[string]string{"logdirs": "log_dir"}, "kafka_log_dir_topic_size_bytes", false, nil},
		{map[string]string{"logdirs": "log_dir"}, "kafka_partition_replica_size_bytes", false, nil},
		{map[string]string{"logdirs": "log_dir"}, "kafka_topic_size_bytes", true, nil},
		{nil, "kafka_partition_leader_epoch", false, nil},
	} {
		l, ok := Limits(granularity(c.collectors))[c.family]
		if !ok || l.Enabled != c.enabled || !slices.Equal(l.KeepLabels, c.keep) || (l.KeepLabels == nil) != (c.keep == nil) {
			t.Errorf("%v: limits of %s are %+v, want enabled %v, keep %v", c.collectors, c.family, l, c.enabled, c.keep)
		}
	}
}

func TestLimitsFollowMetrics(t *testing.T) {
	yes, no := true, false
	c := granularity(map[string]string{"groups": "group", "logdirs": "log_dir"})
	c.Metrics = map[string]config.Metric{
		"kafka_group_lag_records":        {KeepLabels: []string{"topic"}, MaxSeries: 5},
		"kafka_group_lag_seconds":        {Enabled: &no},
		"kafka_log_dir_topic_size_bytes": {Enabled: &yes},
		"kafka_partition_leader_epoch":   {Enabled: &yes, Exclude: map[string]config.Regexp{"topic": config.MustRegexp("_.*")}},
		"kafka_group_members":            {KeepLabels: []string{}},
	}
	limits := Limits(c)
	if len(limits) != len(Families()) {
		t.Errorf("%d limits of %d families", len(limits), len(Families()))
	}
	if l := limits["kafka_group_lag_records"]; !l.Enabled || !slices.Equal(l.KeepLabels, []string{"topic"}) || l.MaxSeries != 5 {
		t.Errorf("kafka_group_lag_records: %+v", l)
	}
	for family, want := range map[string]bool{"kafka_group_lag_seconds": false, "kafka_log_dir_topic_size_bytes": true, "kafka_partition_leader_epoch": true} {
		if limits[family].Enabled != want {
			t.Errorf("%s: enabled is %v", family, !want)
		}
	}
	if l := limits["kafka_group_members"]; l.KeepLabels == nil || l.MaxSeries != 1_000_000 {
		t.Errorf("kafka_group_members: %+v", l)
	}
	for _, family := range []string{"kafka_group_member_info", "kafka_group_member_assigned_partitions"} {
		if l := limits[family]; l.MaxSeries != 20_000 {
			t.Errorf("%s: %+v", family, l)
		}
	}
	got, _ := parse(t, renderAll(t, limits, kraftCluster()))
	if diff := cmp.Diff(map[string]float64{`{kafka_cluster="prod"}`: 5}, got["kafka_group_members"]); diff != "" {
		t.Errorf("kafka_group_members summed up:\n%s", diff)
	}
	if n := len(having(got["kafka_partition_leader_epoch"], "__consumer_offsets")); n != 0 || len(got["kafka_partition_leader_epoch"]) == 0 {
		t.Errorf("the exclude is not applied: %v", got["kafka_partition_leader_epoch"])
	}
}

// TestMemberBound: members beyond the bound are one series, and counted.
func TestMemberBound(t *testing.T) {
	limits := Limits(granularity(nil))
	l := limits["kafka_group_member_info"]
	l.MaxSeries = 2
	limits["kafka_group_member_info"] = l
	got, _ := parse(t, renderAll(t, limits, kraftCluster()))
	want := map[string]float64{
		`{client_id="app-0",client_ip="192.0.2.10",group="g-c05",instance_id="static-0",kafka_cluster="prod",member="m0"}`: 1,
		`{client_id="app-1",client_ip="192.0.2.10",group="g-c05",kafka_cluster="prod",member="m1"}`:                        1,
		`{client_id="other",client_ip="other",group="other",instance_id="other",kafka_cluster="prod",member="other"}`:      1,
	}
	if diff := cmp.Diff(want, got["kafka_group_member_info"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	folded := map[string]float64{`{family="kafka_group_member_info",kafka_cluster="prod"}`: 3}
	if diff := cmp.Diff(folded, got["kafka_steward_folded_series"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

var _ exposition.Matcher = config.Regexp{}
