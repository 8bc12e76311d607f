package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// mask says what of the golden scrape is not the same in every run. All that no
// mask names must be.
type mask struct {
	// family is an expression for the whole name, where one for the labels as
	// they are written ("" is any).
	family, where string
	// what happens to the value: drop (the series), positive, recent, any; "" nothing.
	value string
	// labels whose text is replaced.
	labels []string
	why    string
}

// Values of mask.value. A value that is not of the kind stays as it is, so that
// the comparison fails.
const (
	drop     = "drop"
	positive = "positive" // > 0; zero stays
	recent   = "recent"   // Unix time within the last hour
	whatever = "any"      // not negative
)

var masks = []mask{
	{family: `(go|process|promhttp)_.*`, value: drop, why: "client_golang's, differ between machines"},
	{family: `kafka_steward_build_info`, labels: []string{"branch", "goarch", "goos", "goversion", "revision", "tags"}, why: "of the build"},
	{family: `kafka_steward_config_last_reload_success_timestamp_seconds`, value: recent},
	{family: `kafka_steward_collector_last_(run|success)_timestamp_seconds`, value: recent},
	{family: `kafka_steward_collector_duration_seconds`, value: positive},
	{family: `kafka_steward_rpc(s|_seconds)_total`, value: positive, why: "grow with time"},

	{family: `kafka_cluster_info`, labels: []string{"cluster_id"}, why: "random"},
	{family: `kafka_cluster_controller_broker|kafka_quorum_leader_id`, value: positive, why: "elected"},
	{family: `kafka_quorum_(leader_epoch|high_watermark|replica_log_end_offset)`, value: positive},
	{family: `kafka_quorum_replica_lag_records`, value: whatever, why: "brokers fetch while we look"},
	{family: `kafka_quorum_replica_last_(fetch|caught_up)_timestamp_seconds`, value: recent},

	{family: `kafka_log_dir_(total|usable)_bytes`, value: positive, why: "of the disk"},
	{family: `kafka_(log_dir|topic)_.*_bytes`, where: `topic="__`, value: whatever, why: "clients write there as they go"},
	{family: `kafka_log_dir_size_bytes`, value: positive, why: "internal topics are in it"},
	{family: `kafka_topic_size_bytes|kafka_log_dir_topic_size_bytes`, where: `topic="moving"`, value: whatever, why: "the replica grows"},
	{family: `kafka_reassignment_remaining_bytes`, value: positive},
	{family: `kafka_partition_(start|end|stable)_offset`, where: `topic="__`, value: whatever, why: "clients write there as they go"},

	{family: `kafka_group_lag_seconds`, value: positive},
	{family: `kafka_group_member_info`, labels: []string{"member"}, why: "random"},
	{family: `kafka_partition_oldest_open_transaction_timestamp_seconds`, value: recent},
}

// masked is the scrape with everything masked, and the address of the cluster's
// data directory cut off.
func masked(t testing.TB, body, dir string) string {
	t.Helper()
	type compiled struct {
		mask
		family, where *regexp.Regexp
	}
	var rules []compiled
	for _, m := range masks {
		rules = append(rules, compiled{mask: m, family: regexp.MustCompile("^(" + m.family + ")$"), where: regexp.MustCompile(m.where)})
	}
	body = strings.ReplaceAll(body, dir, "DIR")
	var out strings.Builder
lines:
	for line := range strings.Lines(body) {
		if f := strings.Fields(line); strings.HasPrefix(line, "#") {
			if !rules[0].family.MatchString(f[2]) {
				out.WriteString(line)
			}
			continue
		}
		name, labels, value := splitSample(strings.TrimSuffix(line, "\n"))
		for i := range rules {
			r := &rules[i]
			if !r.family.MatchString(name) || !r.where.MatchString(labels) {
				continue
			}
			if r.value == drop {
				continue lines
			}
			for _, l := range r.labels {
				labels = regexp.MustCompile(`\b`+l+`="[^"]*"`).ReplaceAllString(labels, l+`="<masked>"`)
			}
			value = maskValue(value, r.value)
		}
		out.WriteString(name + labels + " " + value + "\n")
	}
	return out.String()
}

// splitSample cuts a line into name, {labels} and value.
func splitSample(line string) (name, labels, value string) {
	at := strings.LastIndexByte(line, ' ')
	name, value = line[:at], line[at+1:]
	if i := strings.IndexByte(name, '{'); i >= 0 {
		name, labels = name[:i], name[i:]
	}
	return name, labels, value
}

func maskValue(text, kind string) string {
	v, err := strconv.ParseFloat(text, 64)
	age := time.Since(time.UnixMilli(int64(v * 1000)))
	switch {
	case err != nil:
	case kind == positive && v > 0, kind == whatever && v >= 0, kind == recent && age > -time.Minute && age < time.Hour:
		return "<" + kind + ">"
	}
	return text
}

// TestMasks holds the masks to hide no more than they say.
func TestMasks(t *testing.T) {
	now := time.Now().Unix()
	for in, want := range map[string]string{
		`kafka_broker_up{kafka_cluster="c",broker="1"} 1`:          `kafka_broker_up{kafka_cluster="c",broker="1"} 1`,
		`kafka_group_lag_seconds{group="g",topic="t"} 0`:           `kafka_group_lag_seconds{group="g",topic="t"} 0`,
		`kafka_group_lag_seconds{group="g",topic="t"} 12.5`:        `kafka_group_lag_seconds{group="g",topic="t"} <positive>`,
		`kafka_quorum_replica_lag_records{replica="1"} -1`:         `kafka_quorum_replica_lag_records{replica="1"} -1`,
		`kafka_partition_end_offset{topic="__consumer_offsets"} 5`: `kafka_partition_end_offset{topic="__consumer_offsets"} <any>`,
		`kafka_partition_end_offset{topic="orders"} 5`:             `kafka_partition_end_offset{topic="orders"} 5`,
		`kafka_cluster_info{cluster_id="x",mode="kraft"} 1`:        `kafka_cluster_info{cluster_id="<masked>",mode="kraft"} 1`,
		`go_goroutines 5`: ``,
		`kafka_steward_config_last_reload_success_timestamp_seconds 0`:                    `kafka_steward_config_last_reload_success_timestamp_seconds 0`,
		fmt.Sprintf(`kafka_steward_config_last_reload_success_timestamp_seconds %d`, now): `kafka_steward_config_last_reload_success_timestamp_seconds <recent>`,
		`kafka_log_dir_online{log_dir="/tmp/x/broker-1/data-1"} 1`:                        `kafka_log_dir_online{log_dir="DIR/broker-1/data-1"} 1`,
	} {
		if got := strings.TrimSuffix(masked(t, in+"\n", "/tmp/x"), "\n"); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", in, got, cmp.Or(want, "nothing"))
		}
	}
}
