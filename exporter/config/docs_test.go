package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
)

const docsFile = "../../docs/configuration.md"

func readDocs(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestDocsNameEveryKey(t *testing.T) {
	docs := readDocs(t)
	for _, key := range allKeys(reflect.TypeFor[Config](), nil) {
		if strings.HasPrefix(key, "clusters.sasl.oauthbearer.tls.") {
			continue // the keys of tls, and said so
		}
		inCluster := strings.TrimPrefix(key, "clusters.")
		for _, m := range []string{"resource_groups", "collectors", "metrics"} {
			name := map[bool]string{true: "<family>", false: "<name>"}[m == "metrics"]
			inCluster = strings.Replace(inCluster, m+".", m+"."+name+".", 1)
		}
		// A section is named by its keys.
		if !strings.Contains(docs, "`"+inCluster+"`") && !strings.Contains(docs, "`"+inCluster+".") {
			t.Errorf("%s does not mention `%s`", docsFile, inCluster)
		}
	}
}

// collectorTable is the table of collectors in the documentation.
func collectorTable() string {
	var b strings.Builder
	b.WriteString("| Collector | Reads | Default | Interval | Granularity | ACLs |\n|---|---|---|---|---|---|\n")
	for _, c := range CollectorInfos() {
		state, interval := "on", "cluster"
		if !c.Enabled {
			state = "off"
		}
		if c.Interval > 0 {
			interval = "`" + model.Duration(c.Interval).String() + "`"
		}
		granularity := ""
		if len(c.Granularities) > 0 {
			granularity = "`" + strings.Join(c.Granularities, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", c.Name, c.Help, state, interval, granularity, c.ACLs)
	}
	return b.String()
}

func TestDocsCollectorTable(t *testing.T) {
	const begin, end = "-update -->\n", "<!-- end of collectors -->"
	docs := readDocs(t)
	before, rest, found := strings.Cut(docs, begin)
	table, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table of collectors", docsFile)
	}
	if *update {
		if err := os.WriteFile(docsFile, []byte(before+begin+collectorTable()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(collectorTable(), table); diff != "" {
		t.Errorf("the table of collectors is not current, run go test ./exporter/config -update (-code +docs):\n%s", diff)
	}
}

// Defaults that the documentation states are those of the code.
func TestDocsDefaults(t *testing.T) {
	docs := readDocs(t)
	var c Cluster
	c.SetDefaults()
	for key, want := range map[string]string{
		"interval":           c.Interval.String(),
		"max_age":            c.MaxAge.String(),
		"client_id":          c.ClientID,
		"dial_timeout":       c.DialTimeout.String(),
		"request_timeout":    c.RequestTimeout.String(),
		"lag.uncommitted":    c.Lag.Uncommitted,
		"lag.window":         c.Lag.Window.String(),
		"lag.history_points": fmt.Sprint(c.Lag.HistoryPoints),
	} {
		if row := fmt.Sprintf("| `%s` | `%s` |", key, want); !strings.Contains(docs, row) {
			t.Errorf("%s has no row beginning %s", docsFile, row)
		}
	}
}
