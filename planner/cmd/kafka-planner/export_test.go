package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kafka-steward/kafka-steward/planner"
	"github.com/kafka-steward/kafka-steward/planner/check"
	"github.com/kafka-steward/kafka-steward/planner/migration"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// TestExportedBatchesDoThePlan carries the batches' documents out on the model,
// one after the other: the replicas end where the plan says.
func TestExportedBatchesDoThePlan(t *testing.T) {
	c := cluster()
	file, dir := snapshotFile(t, c), t.TempDir()
	planFile := filepath.Join(dir, "plan.json")
	ok(t, "plan", "rebalance", "--snapshot", file, "--out", planFile)
	r, err := readPlan(planFile)
	if err != nil {
		t.Fatal(err)
	}
	steps := filepath.Join(dir, "steps")
	files := strings.Fields(ok(t, "export", planFile, "--batches", steps))
	if !slices.IsSorted(files) || filepath.Base(files[len(files)-1]) != "rollback.json" || len(files) < 3 {
		t.Fatalf("%v", files)
	}
	now, reassigned := c, 0
	for _, f := range files[:len(files)-1] {
		if strings.HasSuffix(f, "-2-elect.json") {
			continue
		}
		doc := mustRead(t, f)
		reassigned += strings.Count(doc, `"topic"`)
		s := &model.Snapshot{Cluster: now}
		o := planner.Defaults()
		for k := range o.CapacityShare { // what a batch may fill is the schedule's business
			o.CapacityShare[k] = 1
		}
		o.DirShare = 1
		step, err := planner.FromKafka(s, strings.NewReader(doc), o)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if now, err = check.Apply(now, step.Plan.Changes); err != nil {
			t.Fatal(err)
		}
	}
	moves := 0
	for _, x := range r.Schedule.Steps {
		if x.Kind != migration.Elect {
			moves++
		}
	}
	if reassigned != moves {
		t.Errorf("the documents have %d entries, the schedule %d steps", reassigned, moves)
	}
	want, err := check.Apply(c, r.Plan.Changes)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Broker, now.Broker); d != "" {
		t.Errorf("replicas end elsewhere:\n%s", d)
	}
	if d := cmp.Diff(want.Dir, now.Dir); d != "" {
		t.Errorf("log dirs are others:\n%s", d)
	}

	// The way back from there is the cluster as it was. It undoes repairs of racks
	// too, which a plan would not.
	back, err := plan.FromKafka(strings.NewReader(ok(t, "export", planFile, "--rollback")), now)
	if err != nil {
		t.Fatal(err)
	}
	undone, err := check.Apply(now, back)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c.Broker, undone.Broker); d != "" {
		t.Errorf("the rollback ends elsewhere:\n%s", d)
	}
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestExportOfCreatedPartitions(t *testing.T) {
	file := snapshotFile(t, cluster())
	planFile := filepath.Join(t.TempDir(), "plan.json")
	ok(t, "plan", "place", "brand-new", "--partitions", "3", "--replication-factor", "2", "--snapshot", file, "--out", planFile)
	out := strings.TrimSpace(ok(t, "export", planFile))
	if n := len(strings.Split(out, ",")); n != 3 || strings.Count(out, ":") != 3 {
		t.Errorf("%q", out)
	}
	c := cluster()
	ok(t, "plan", "add-partitions", "topic-00003", "--count", "2", "--snapshot", file, "--out", planFile)
	existing := 0
	for p := range c.Topic {
		if c.Topics[c.Topic[p]].Name == "topic-00003" {
			existing++
		}
	}
	if out = strings.TrimSpace(ok(t, "export", planFile)); len(strings.Split(out, ",")) != existing+2 {
		t.Errorf("%d lists for %d partitions and 2 more", len(strings.Split(out, ",")), existing)
	}
	if r := runs(t, "export", planFile, "--election"); r.code != exitUsage || !strings.Contains(r.stderr, "has no batches, elections or way back") {
		t.Errorf("%+v", r)
	}
}

func TestImport(t *testing.T) {
	file := snapshotFile(t, cluster())
	dir := t.TempDir()
	planFile, doc := filepath.Join(dir, "plan.json"), filepath.Join(dir, "kafka.json")
	ok(t, "plan", "decommission", "4", "--snapshot", file, "--out", planFile)
	if err := os.WriteFile(doc, []byte(ok(t, "show", planFile, "--output", "kafka-json")), 0o644); err != nil {
		t.Fatal(err)
	}
	imported := ok(t, "import", doc, "--snapshot", file, "--output", "json")
	back, err := planner.ReadResult(strings.NewReader(imported))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range back.Plan.Summary.Brokers {
		if b.Broker == 4 && b.After[model.Replicas] != 0 {
			t.Errorf("broker 4 keeps %d replicas", b.After[model.Replicas])
		}
	}
	if d := cmp.Diff(ok(t, "show", planFile, "--output", "kafka-json"), ok(t, "import", doc, "--snapshot", file, "--output", "kafka-json")); d != "" {
		t.Errorf("the document changed on its way:\n%s", d)
	}
}
