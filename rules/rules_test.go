package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/kafka-steward/kafka-steward/exporter/collector"
	"github.com/kafka-steward/kafka-steward/internal/promtest"
)

// ruleFile is a file of Prometheus rules.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []struct{ Record, Alert, Expr string }
	}
}

// files lists the rule files of the project.
func files(t *testing.T) (paths []string) {
	t.Helper()
	for _, pattern := range []string{"*.yml", "compat/*.yml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		t.Fatal("no rule files")
	}
	return paths
}

func read(t *testing.T, path string) ruleFile {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f ruleFile
	if err := yaml.Unmarshal(text, &f); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return f
}

func TestPromtoolCheck(t *testing.T) {
	promtest.RunPromtool(t, ".", append([]string{"check", "rules"}, files(t)...)...)
}

func TestPromtoolTests(t *testing.T) {
	tests, err := filepath.Glob("compat/tests/*.yml")
	if err != nil || len(tests) == 0 {
		t.Fatal("no tests", err)
	}
	promtest.RunPromtool(t, ".", append([]string{"test", "rules"}, tests...)...)
}

var metricName = regexp.MustCompile(`\bkafka_[a-z0-9_:]+`)

// TestNamesExist holds the rules to the exporter's names: each series that is
// used is one of its own or recorded by a rule, and no rule records under a name
// of the exporter's, which would mix two meanings in one metric.
func TestNamesExist(t *testing.T) {
	known := collector.Known()
	recorded := map[string]bool{}
	for _, path := range files(t) {
		for _, g := range read(t, path).Groups {
			for _, r := range g.Rules {
				recorded[r.Record] = true
				if _, own := known[r.Record]; own {
					t.Errorf("%s records %s, which the exporter exports itself", path, r.Record)
				}
			}
		}
	}
	for _, path := range files(t) {
		for _, g := range read(t, path).Groups {
			for _, r := range g.Rules {
				used := 0
				for _, name := range metricName.FindAllString(r.Expr, -1) {
					if name == "kafka_cluster" { // the label
						continue
					}
					used++
					if _, own := known[name]; !own && !recorded[name] {
						t.Errorf("%s: %s%s uses %s, which does not exist", path, r.Record, r.Alert, name)
					}
				}
				if used == 0 {
					t.Errorf("%s: %s%s uses no series of ours: %s", path, r.Record, r.Alert, r.Expr)
				}
			}
		}
	}
}

// oldNames are the series of kafka_exporter 1.10 that it gives without options
// that need ZooKeeper, less the two that the exporter has itself.
var oldNames = strings.Fields(`
	kafka_brokers
	kafka_topic_partition_current_offset kafka_topic_partition_oldest_offset
	kafka_topic_partition_in_sync_replica kafka_topic_partition_leader
	kafka_topic_partition_leader_is_preferred kafka_topic_partition_replicas
	kafka_topic_partition_under_replicated_partition
	kafka_consumergroup_current_offset kafka_consumergroup_current_offset_sum
	kafka_consumergroup_lag kafka_consumergroup_lag_sum kafka_consumergroup_members`)

func TestCompatIsComplete(t *testing.T) {
	got := map[string]bool{}
	for _, g := range read(t, "compat/kafka_exporter.yml").Groups {
		for _, r := range g.Rules {
			got[r.Record] = true
		}
	}
	for _, name := range oldNames {
		if !got[name] {
			t.Errorf("%s is not recorded", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is recorded, but kafka_exporter has no such series", name)
	}
	for _, name := range []string{"kafka_topic_partitions", "kafka_broker_info"} {
		if _, own := collector.Known()[name]; !own {
			t.Errorf("the exporter has no %s any more: record it", name)
		}
	}
}

// row is a line of a table of docs/migrate.md: their name, ours, the difference.
var row = regexp.MustCompile("(?m)^\\| *`([a-z0-9_{}=\"]+)`.*?\\|(.*?)\\|(.*)\\|$")

// TestMigrationGuide holds docs/migrate.md to the exporter's names and to the
// names it has to speak of.
func TestMigrationGuide(t *testing.T) {
	text, err := os.ReadFile("../docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := row.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 45 {
		t.Fatalf("only %d rows are found", len(rows))
	}
	known, theirs := collector.Known(), map[string]bool{}
	for _, r := range rows {
		theirs[r[1]] = true
		for _, name := range regexp.MustCompile(`\bkafka_[a-z0-9_]+`).FindAllString(r[2], -1) {
			if _, ok := known[name]; !ok && name != "kafka_cluster" {
				t.Errorf("%s: ours is said to be %s, which does not exist", r[1], name)
			}
		}
	}
	for _, name := range append(oldNames, "kafka_topic_partitions", "kafka_broker_info") {
		if !theirs[name] {
			t.Errorf("%s is not in the tables", name)
		}
	}
	// Names in the text and in the third column are ours or theirs. The build's
	// comes from a library, not from a snapshot of a cluster.
	for _, name := range []string{"kafka_cluster", "kafka_exporter", "kafka_steward_build_info"} {
		known[name] = nil
	}
	for _, quoted := range regexp.MustCompile("`(kafka_[a-z0-9_]+)").FindAllStringSubmatch(string(text), -1) {
		name := quoted[1]
		if _, own := known[name]; !own && !theirs[name] {
			t.Errorf("%s is neither in a table nor one of ours", name)
		}
	}
}
