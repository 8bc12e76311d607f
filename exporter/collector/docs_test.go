package collector

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocsAreFresh fails when the families have changed and the documentation
// has not.
func TestDocsAreFresh(t *testing.T) {
	var b bytes.Buffer
	if err := WriteDocs(&b); err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), b.String()); diff != "" {
		t.Errorf("docs/metrics.md is stale, run go generate ./exporter/collector (-have +want):\n%s", diff)
	}
	for name := range Known() {
		if n := strings.Count(b.String(), "| `"+name+"` |"); n != 1 {
			t.Errorf("%s is documented %d times", name, n)
		}
	}
}

func TestUnits(t *testing.T) {
	want := map[string]string{
		"kafka_group_lag_records": "records", "kafka_group_lag_seconds": "seconds", "kafka_group_records_lost_total": "records",
		"kafka_log_dir_online": "0 or 1", "kafka_topic_info": "1", "kafka_broker_leaders": "count",
		"kafka_partition_last_record_timestamp_seconds": "Unix time, seconds", "kafka_client_quota_request_ratio": "ratio",
	}
	for _, f := range Families() {
		if w, ok := want[f.Name]; ok && unit(&f) != w {
			t.Errorf("unit of %s is %q, want %q", f.Name, unit(&f), w)
		}
		// The other way round: what only is 0 or 1 must not claim a unit, nor
		// the reverse.
		if strings.HasSuffix(f.Name, "_seconds") && !strings.Contains(unit(&f), "seconds") {
			t.Errorf("unit of %s is %q", f.Name, unit(&f))
		}
	}
}
