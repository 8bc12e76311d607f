package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kafka-steward/kafka-steward/planner"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

var update = flag.Bool("update", false, "write the golden files anew; testdata/plan.json too")

// ran is what a run of the program did.
type ran struct {
	code        int
	out, stderr string
}

func runs(t *testing.T, args ...string) ran {
	t.Helper()
	var out, stderr bytes.Buffer
	code := run(t.Context(), args, &out, &stderr)
	return ran{code, out.String(), stderr.String()}
}

// ok runs the program and expects exit code 0.
func ok(t *testing.T, args ...string) string {
	t.Helper()
	r := runs(t, args...)
	if r.code != exitOK {
		t.Fatalf("kafka-planner %s: exit code %d: %s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.out
}

func cluster() *model.Cluster {
	o := model.GenerateDefaults(1, 8, 3, 400)
	o.DirsPerBroker, o.DiskUse, o.InUse = 2, .2, .15
	c := model.Generate(o)
	c.Name = "orders"
	return c
}

// snapshotFile writes a snapshot of a made-up cluster of 8 brokers.
func snapshotFile(t *testing.T, c *model.Cluster) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "orders.json.gz")
	if err := model.WriteFile(path, &model.Snapshot{Cluster: c, Load: model.LoadNote{Source: "generated", Coverage: 1}}); err != nil {
		t.Fatal(err)
	}
	return path
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-update writes it anew):\n%s", path, d)
	}
}

// TestShow prints a plan's file in every format. The file is fixed, so that
// changes of the search do not change it.
func TestShow(t *testing.T) {
	file := filepath.Join("testdata", "plan.json")
	if *update {
		ok(t, "plan", "rebalance", "--snapshot", snapshotFile(t, cluster()), "--max-bytes", "200GiB", "--out", file)
	}
	for format, name := range map[string]string{"table": "plan.txt", "yaml": "plan.yaml", "cc-plan": "plan.cc.json", "kafka-json": "plan.kafka.json"} {
		t.Run(format, func(t *testing.T) {
			golden(t, name, ok(t, "show", file, "--output", format, "--rows", "12"))
		})
	}
	t.Run("json", func(t *testing.T) {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), ok(t, "show", file, "--output", "json")); d != "" {
			t.Error(d)
		}
	})
	t.Run("help", func(t *testing.T) {
		golden(t, "help.txt", ok(t, "--help"))
		golden(t, "help-rebalance.txt", ok(t, "plan", "rebalance", "--help"))
	})
}

// everyPlan are arguments for one plan of each kind on cluster().
func everyPlan() [][]string {
	return [][]string{
		{"plan", "rebalance"},
		{"plan", "decommission", "2", "5"},
		{"plan", "replace", "3:8"},
		{"plan", "expand", "7-8"},
		{"plan", "place", "brand-new", "--partitions", "10"},
		{"plan", "add-partitions", "topic-00003", "--count", "6"},
		{"plan", "change-rf", "topic-0000[34]", "--replication-factor", "2"},
		{"plan", "elect"},
	}
}

// TestEveryPlan: tables keep to 100 columns, JSON is the same twice and for a
// cluster put together in another order, and passes the checker as a file.
func TestEveryPlan(t *testing.T) {
	c := cluster()
	file, shuffled := snapshotFile(t, c), snapshotFile(t, modeltest.Shuffled(c, 7))
	for _, args := range everyPlan() {
		t.Run(args[1], func(t *testing.T) {
			args = append(args, "--snapshot", file)
			for i, line := range strings.Split(ok(t, append(args, "--rows", "0")...), "\n") {
				if n := utf8.RuneCountInString(line); n > width && !strings.Contains(line, "snapshot") {
					t.Errorf("line %d has %d columns: %s", i+1, n, line)
				}
			}
			doc := ok(t, append(args, "--output", "json")...)
			if d := cmp.Diff(doc, ok(t, append(args, "--output", "json")...)); d != "" {
				t.Fatalf("planning again gave another plan:\n%s", d)
			}
			args[len(args)-1] = shuffled
			if d := cmp.Diff(doc, ok(t, append(args, "--output", "json")...)); d != "" {
				t.Fatalf("another order of the cluster's parts gave another plan:\n%s", d)
			}
			planFile := filepath.Join(t.TempDir(), "plan.json")
			if err := os.WriteFile(planFile, []byte(doc), 0o644); err != nil {
				t.Fatal(err)
			}
			if out := ok(t, "check", planFile, "--snapshot", file); !strings.Contains(out, "ok") {
				t.Error(out)
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	file := snapshotFile(t, cluster())
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := put("planner.yml", "clusters:\n  - name: gone\n    bootstrap_servers: ['127.0.0.1:1']\n    dial_timeout: 1s\n    request_timeout: 1s\n")
	for _, x := range []struct {
		code int
		want string // in stderr
		args []string
	}{
		{exitUsage, `unknown flag: --bogus; see kafka-planner plan rebalance --help`, []string{"plan", "rebalance", "--bogus"}},
		{exitUsage, `unknown command "nonsense"`, []string{"nonsense"}},
		{exitUsage, `unknown command "nonsense"`, []string{"plan", "nonsense"}},
		{exitUsage, `name an operation: rebalance`, []string{"plan"}},
		{exitUsage, `no cluster is given: use --snapshot FILE or --config FILE`, []string{"plan", "rebalance"}},
		{exitUsage, `exclude each other`, []string{"plan", "rebalance", "--snapshot", file, "--config", config}},
		{exitUsage, `required flag(s) "partitions" not set`, []string{"plan", "place", "x", "--snapshot", file}},
		{exitUsage, `requires at least 1 arg`, []string{"plan", "decommission", "--snapshot", file}},
		{exitUsage, `no such file`, []string{"plan", "rebalance", "--snapshot", filepath.Join(dir, "none.json")}},
		{exitUsage, `neither kafka-steward-snapshot/1`, []string{"plan", "rebalance", "--snapshot", put("bad.json", `{"format":"x"}`)}},
		{exitUsage, `broker 99 is not in the cluster`, []string{"plan", "expand", "99", "--snapshot", file}},
		{exitUsage, `"1:" is no pair of brokers; write OLD:NEW`, []string{"plan", "replace", "1:", "--snapshot", file}},
		{exitUsage, `"x" is no broker and no range`, []string{"plan", "decommission", "x", "--snapshot", file}},
		{exitUsage, `"9-7" is no broker and no range`, []string{"plan", "rebalance", "--cordon", "9-7", "--snapshot", file}},
		{exitUsage, `--exclude tipic-*: no topic of cluster orders matches`, []string{"plan", "rebalance", "--exclude", "tipic-*", "--snapshot", file}},
		{exitUsage, `--exclude /(/: error parsing regexp`, []string{"plan", "rebalance", "--exclude", "/(/", "--snapshot", file}},
		{exitUsage, `--exclude [: it is no glob`, []string{"plan", "rebalance", "--exclude", "[", "--snapshot", file}},
		{exitUsage, `"speed" is no resource; they are in, out`, []string{"plan", "rebalance", "--weights", "speed=3", "--snapshot", file}},
		{exitUsage, `the weight "-1" of in`, []string{"plan", "rebalance", "--weights", "in=-1", "--snapshot", file}},
		{exitUsage, `"5 parsec" is no number of bytes; write 500GiB`, []string{"plan", "rebalance", "--max-bytes", "5 parsec", "--snapshot", file}},
		{exitUsage, `--output xml: the formats are table, json, yaml, cc-plan, kafka-json`, []string{"plan", "rebalance", "--output", "xml", "--snapshot", file}},
		{exitUsage, `--rows -1`, []string{"plan", "rebalance", "--rows", "-1", "--snapshot", file}},
		{exitUsage, `the band must be between`, []string{"plan", "rebalance", "--band", "7", "--snapshot", file}},
		{exitUsage, `"orders" is no topic-partition; write orders-7`, []string{"explain", "orders", "--snapshot", file}},
		{exitUsage, `nobody-3`, []string{"explain", "nobody-3", "--snapshot", file}},
		{exitUsage, `its format is "x", not kafka-steward-plan/1; plans are written with --output json`, []string{"show", put("x.json", `{"format":"x"}`)}},
		{exitUsage, `--batch 900: the plan has`, []string{"export", filepath.Join("testdata", "plan.json"), "--batch", "900"}},
		{exitUsage, `topic-00003-0: lists broker 1 twice`, []string{"import", put("twice.json", `{"version":1,"partitions":[{"topic":"topic-00003","partition":0,"replicas":[1,1,2]}]}`), "--snapshot", file}},
		{exitUsage, `cluster other is not in it; there are gone`, []string{"snapshot", "--config", config, "--cluster", "other"}},
		{exitRefused, `48 items of what was asked for cannot be done`, []string{"plan", "change-rf", "topic-00003", "--replication-factor", "9", "--snapshot", file}},
		{exitRefused, `see the refusals`, []string{"plan", "place", "x", "--partitions", "3", "--expect-bytes", "900PiB", "--snapshot", file}},
		{exitUnreachable, `127.0.0.1:1`, []string{"snapshot", "--config", config, "--measure", "0"}},
		{exitUnreachable, `127.0.0.1:1`, []string{"plan", "rebalance", "--config", config}},
		{exitUnreachable, `Prometheus`, []string{"plan", "rebalance", "--snapshot", file, "--prometheus", "http://127.0.0.1:1"}},
		{exitUsage, `is not http:// or https://`, []string{"plan", "rebalance", "--snapshot", file, "--prometheus", "ftp://x"}},
		{exitFailure, `writing the result`, []string{"plan", "elect", "--snapshot", file, "--out", filepath.Join(dir, "no", "such", "dir", "x.json")}},
	} {
		r := runs(t, x.args...)
		if r.code != x.code || !strings.Contains(r.stderr, x.want) {
			t.Errorf("%s: exit code %d instead of %d, stderr lacks %q:\n%s", strings.Join(x.args, " "), r.code, x.code, x.want, r.stderr)
		}
		if x.code != exitRefused && r.out != "" {
			t.Errorf("%s: stdout has %q", strings.Join(x.args, " "), r.out)
		}
	}
}

// TestRefusalsAreShown: with exit code 3 the rest of the plan is on stdout.
func TestRefusalsAreShown(t *testing.T) {
	r := runs(t, "plan", "change-rf", "topic-00003", "--replication-factor", "9", "--snapshot", snapshotFile(t, cluster()), "--rows", "3")
	for _, want := range []string{"refused                48 items, see below", "topic-00003-0  brokers  replication factor 9 needs as many live brokers", "… 45 more"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, r.out)
		}
	}
}

func TestCheckFindsDriftAndTampering(t *testing.T) {
	c := cluster()
	file := snapshotFile(t, c)
	planFile := filepath.Join(t.TempDir(), "plan.json")
	ok(t, "plan", "rebalance", "--snapshot", file, "--out", planFile)

	other := modeltest.Shuffled(c, 1)
	from, _ := other.Slots(0)
	other.Broker[from], other.Broker[from+1] = other.Broker[from+1], other.Broker[from]
	other.Dir[from], other.Dir[from+1] = other.Dir[from+1], other.Dir[from]
	r := runs(t, "check", planFile, "--snapshot", snapshotFile(t, other))
	if r.code != exitCheck || !strings.Contains(r.out, "was made on snapshot") {
		t.Errorf("drift: exit code %d\n%s%s", r.code, r.out, r.stderr)
	}

	b, err := os.ReadFile(planFile)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	change := doc["plan"].(map[string]any)["changes"].([]any)[0].(map[string]any)
	to := change["to"].([]any)
	to[1] = to[0]
	if b, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(planFile, b, 0o644); err != nil {
		t.Fatal(err)
	}
	r = runs(t, "check", planFile, "--snapshot", file)
	if r.code != exitCheck || !strings.Contains(r.out, "twice") {
		t.Errorf("tampering: exit code %d\n%s%s", r.code, r.out, r.stderr)
	}
}

func TestExplain(t *testing.T) {
	file := snapshotFile(t, cluster())
	planFile := filepath.Join(t.TempDir(), "plan.json")
	ok(t, "plan", "rebalance", "--snapshot", file, "--out", planFile)
	r, err := readPlan(planFile)
	if err != nil {
		t.Fatal(err)
	}
	ch := r.Plan.Changes[slices.IndexFunc(r.Plan.Changes, func(ch plan.Change) bool { return strings.Contains(ch.Why, "fair share") })]
	name := fmt.Sprintf("%s-%d", ch.Topic, ch.Partition)
	for _, out := range []string{
		ok(t, "explain", name, "--snapshot", file, "--plan", planFile),
		ok(t, "plan", "rebalance", "--snapshot", file, "--explain", name),
	} {
		for _, want := range []string{"Partition " + name, "because     " + ch.Why, "has a replica already", "(leader)"} {
			if !strings.Contains(out, want) {
				t.Errorf("lacks %q:\n%s", want, out)
			}
		}
	}
	var e planner.Explanation
	if err := json.Unmarshal([]byte(ok(t, "explain", name, "--snapshot", file, "--output", "json")), &e); err != nil || e.Topic != ch.Topic || e.Change != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestNothingButTheResult: progress and warnings go to stderr.
func TestNothingButTheResult(t *testing.T) {
	r := runs(t, "plan", "rebalance", "--snapshot", snapshotFile(t, cluster()), "--output", "json", "--progress")
	if r.code != exitOK || !json.Valid([]byte(r.out)) || !strings.Contains(r.stderr, "searching\n") || !strings.Contains(r.stderr, "checking\n") {
		t.Errorf("exit code %d, stderr %q", r.code, r.stderr)
	}
	if r = runs(t, "plan", "elect", "--snapshot", snapshotFile(t, cluster())); r.stderr != "" {
		t.Errorf("stderr without a terminal: %q", r.stderr)
	}
}

// TestFormatsOfSnapshots: own format and cc-model/1, plain and compressed.
func TestFormatsOfSnapshots(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "own.json")
	if err := os.WriteFile(plain, []byte(ok(t, "snapshot", "--snapshot", snapshotFile(t, cluster()))), 0o644); err != nil {
		t.Fatal(err)
	}
	cc := `{"format":"cc-model/1","brokers":[{"id":1,"rack":"a","in":100,"out":100,"disk":1000,"cpu":100},{"id":2,"rack":"b","in":100,"out":100,"disk":1000,"cpu":100}],
"topics":["t"],"partitions":[{"t":0,"p":0,"l":1,"r":[1],"in":[5],"out":[5],"disk":[50],"cpu":[1]},{"t":0,"p":1,"l":1,"r":[1],"in":[5],"out":[5],"disk":[50],"cpu":[1]}]}`
	zipped := filepath.Join(dir, "cc.json.gz")
	f, err := os.Create(zipped)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if _, err := z.Write([]byte(cc)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	ok(t, "plan", "rebalance", "--snapshot", plain)
	var doc struct {
		Planner string
		Moves   []struct {
			Topic string
			P     int32
			New   []int32
		}
	}
	out := ok(t, "plan", "rebalance", "--snapshot", zipped, "--output", "cc-plan", "--move-even")
	if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Moves) != 1 || !slices.Equal(doc.Moves[0].New, []int32{2}) {
		t.Errorf("%s, %v", out, err)
	}
}

func TestVersionAndCompletion(t *testing.T) {
	if out := ok(t, "version"); !strings.HasPrefix(out, "kafka-planner, version") {
		t.Error(out)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := ok(t, "completion", shell); !strings.Contains(out, "kafka-planner") {
			t.Errorf("%s: %q", shell, out)
		}
	}
	if out := ok(t, "__complete", "plan", "rebalance", "--output", ""); !strings.Contains(out, "cc-plan") {
		t.Error(out)
	}
}
