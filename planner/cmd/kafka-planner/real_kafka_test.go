package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
	"github.com/kafka-steward/kafka-steward/planner"
	"github.com/kafka-steward/kafka-steward/planner/check"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

// bed is a real cluster whose plans Kafka's own tools carry out.
type bed struct {
	*kafkatest.Cluster
	config, dir string
}

func newBed(t *testing.T, mode kafkatest.Mode) *bed {
	c := kafkatest.Private(t, kafkatest.Options{Mode: mode, Brokers: 4, ZooKeepers: 1, LogDirs: 2, Properties: map[string]string{
		"auto.leader.rebalance.enable": "false", // only what the plan elects
	}})
	b := &bed{Cluster: c, dir: t.TempDir()}
	b.config = filepath.Join(b.dir, "planner.yml")
	text := fmt.Sprintf("clusters:\n  - name: real\n    bootstrap_servers: ['%s']\n", strings.ReplaceAll(c.Bootstrap(), ",", "','"))
	if err := os.WriteFile(b.config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return b
}

// tool runs a main class of Kafka's tools.
func (b *bed) tool(t *testing.T, class string, args ...string) string {
	t.Helper()
	cache, err := kafkatest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	jars, err := filepath.Glob(filepath.Join(cache, "jars", "kafka-"+b.Mode().Version()+"-*"))
	if err != nil || len(jars) == 0 {
		t.Fatalf("no jars of Kafka %s in %s: %v", b.Mode().Version(), cache, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	argv := append([]string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(jars[len(jars)-1], "*"), class, "--bootstrap-server", b.Bootstrap()}, args...)
	out, err := exec.CommandContext(ctx, "java", argv...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", class, args, err, out)
	}
	return string(out)
}

const (
	reassignTool = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
	electTool    = "org.apache.kafka.tools.LeaderElectionCommand"
	topicTool    = "org.apache.kafka.tools.TopicCommand"
)

// carryOut does what docs/planner.md says, batch by batch.
func (b *bed) carryOut(t *testing.T, planFile string) {
	t.Helper()
	steps := filepath.Join(b.dir, filepath.Base(planFile)+".steps")
	files := strings.Fields(ok(t, "export", planFile, "--batches", steps))
	for _, f := range files[:len(files)-1] {
		if strings.HasSuffix(f, "-elect.json") {
			b.tool(t, electTool, "--election-type", "preferred", "--path-to-json-file", f)
			continue
		}
		b.tool(t, reassignTool, "--reassignment-json-file", f, "--execute")
		kafkatest.WaitFor(t, "the end of "+filepath.Base(f), 2*time.Minute, func(context.Context) (bool, string) {
			out := b.tool(t, reassignTool, "--reassignment-json-file", f, "--verify")
			return !strings.Contains(out, "in progress") && strings.Contains(out, "complete"), out
		})
	}
}

// read takes a snapshot with the program and reads it.
func (b *bed) read(t *testing.T, name string) (string, *model.Cluster) {
	t.Helper()
	path := filepath.Join(b.dir, name)
	ok(t, "snapshot", "--config", b.config, "--measure", "0", "--out", path)
	s, err := model.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, s.Cluster
}

// placed tells of every partition where it is and who leads.
func placed(c *model.Cluster) map[string]string {
	out := map[string]string{}
	for p := range c.Topic {
		var b strings.Builder
		from, to := c.Slots(p)
		for s := from; s < to; s++ {
			br := &c.Brokers[c.Broker[s]]
			fmt.Fprintf(&b, "%d%s ", br.ID, map[bool]string{true: "*"}[c.Leader[p] == s])
			if d := c.Dir[s]; d != model.None {
				fmt.Fprintf(&b, "(%s) ", filepath.Base(br.Dirs[d].Path))
			}
		}
		out[c.PartitionName(p)] = b.String()
	}
	return out
}

// compare re-reads the cluster and compares it with what the plan promises:
// replicas, log dirs and leaders of every partition, and the figures by broker.
func (b *bed) compare(t *testing.T, before *model.Cluster, planFile, name string) *planner.Result {
	t.Helper()
	r, err := readPlan(planFile)
	if err != nil {
		t.Fatal(err)
	}
	want, err := check.Apply(before, r.Plan.Changes)
	if err != nil {
		t.Fatal(err)
	}
	_, now := b.read(t, name)
	if d := cmp.Diff(placed(want), placed(now)); d != "" {
		t.Errorf("replicas are not where the plan says:\n%s", d)
	}
	loads := now.BrokerLoads()
	for i, f := range r.Plan.Summary.Brokers {
		is := loads[i]
		if f.After[model.Replicas] != is[model.Replicas] || f.After[model.Leaders] != is[model.Leaders] {
			t.Errorf("broker %d has %d replicas and %d leaders, the plan says %d and %d", f.Broker, is[model.Replicas], is[model.Leaders], f.After[model.Replicas], f.After[model.Leaders])
		}
		if d := math.Abs(float64(is[model.Disk] - f.After[model.Disk])); d > 0.01*float64(max(f.After[model.Disk], 100_000)) {
			t.Errorf("broker %d holds %d bytes, the plan says %d", f.Broker, is[model.Disk], f.After[model.Disk])
		}
	}
	return r
}

// TestPlansOnRealKafka makes topics that lie on brokers 1 to 3 of four, unevenly,
// plans, has Kafka's own tools carry the plans out, and reads the cluster again.
func TestPlansOnRealKafka(t *testing.T) {
	for _, mode := range []kafkatest.Mode{kafkatest.KRaft4, kafkatest.ZK39} {
		t.Run(string(mode), func(t *testing.T) {
			b := newBed(t, mode)
			ctx := t.Context()
			for topic, lists := range map[string][][]int32{
				"busy":  {{1, 2}, {1, 2}, {1, 3}, {1, 2}, {1, 3}, {1, 2}, {1, 2}, {1, 3}},
				"quiet": {{2, 1}, {2, 3}, {3, 1}, {2, 1}, {2, 3}, {3, 1}},
				"wide":  {{1, 2, 3}, {1, 2, 3}, {1, 3, 2}, {2, 1, 3}},
			} {
				if err := b.CreateTopicAssigned(ctx, topic, lists, nil); err != nil {
					t.Fatal(err)
				}
				if err := b.WaitLeaders(ctx, topic, len(lists)); err != nil {
					t.Fatal(err)
				}
				for p := range lists {
					n := 40 + 60*p
					if topic == "quiet" {
						n = 20
					}
					if err := b.Produce(ctx, topic, int32(p), n, 1000); err != nil {
						t.Fatal(err)
					}
				}
			}
			snapshot, before := b.read(t, "before.json.gz")
			planFile := filepath.Join(b.dir, "rebalance.json")
			ok(t, "plan", "rebalance", "--snapshot", snapshot, "--out", planFile, "--broker-in", "50", "--broker-out", "50", "--per-disk", "50")
			ok(t, "check", planFile, "--config", b.config, "--measure", "0")
			b.carryOut(t, planFile)
			r := b.compare(t, before, planFile, "rebalanced.json.gz")
			if s := r.Plan.Summary; s.ReplicaMoves < 3 || s.Resources[model.Disk].After.Max >= s.Resources[model.Disk].Before.Max || !namesDirs(t, planFile) {
				t.Errorf("the plan does too little for a test: %+v", s.Resources)
			}
			if x := runs(t, "check", planFile, "--config", b.config, "--measure", "0"); x.code != exitCheck {
				t.Errorf("checking a plan that is done: exit code %d", x.code)
			}

			snapshot, before = b.read(t, "before2.json.gz")
			planFile = filepath.Join(b.dir, "decommission.json")
			ok(t, "plan", "decommission", "2", "--snapshot", snapshot, "--out", planFile, "--broker-in", "50", "--broker-out", "50", "--per-disk", "50")
			b.carryOut(t, planFile)
			r = b.compare(t, before, planFile, "decommissioned.json.gz")
			if f := r.Plan.Summary.Brokers[1]; f.Broker != 2 || f.Before[model.Replicas] == 0 || f.After[model.Replicas] != 0 {
				t.Errorf("broker 2: %+v", f)
			}

			b.create(t)
		})
	}
}

// create has Kafka create a topic and add partitions as plans say.
func (b *bed) create(t *testing.T) {
	planFile := filepath.Join(b.dir, "place.json")
	ok(t, "plan", "place", "fresh", "--partitions", "5", "--replication-factor", "2", "--cordon", "2", "--config", b.config, "--measure", "0", "--out", planFile)
	b.tool(t, topicTool, "--create", "--topic", "fresh", "--replica-assignment", strings.TrimSpace(ok(t, "export", planFile)))
	b.created(t, planFile, 5)
	planFile = filepath.Join(b.dir, "add.json")
	ok(t, "plan", "add-partitions", "fresh", "--count", "3", "--cordon", "2", "--config", b.config, "--measure", "0", "--out", planFile)
	b.tool(t, topicTool, "--alter", "--topic", "fresh", "--partitions", "8", "--replica-assignment", strings.TrimSpace(ok(t, "export", planFile)))
	b.created(t, planFile, 8)
}

func (b *bed) created(t *testing.T, planFile string, partitions int) {
	t.Helper()
	if err := b.WaitLeaders(t.Context(), "fresh", partitions); err != nil {
		t.Fatal(err)
	}
	r, err := readPlan(planFile)
	if err != nil {
		t.Fatal(err)
	}
	_, now := b.read(t, "created.json.gz")
	for _, ch := range r.Plan.Changes {
		p, found := now.PartitionIndex(ch.Topic, ch.Partition)
		if !found {
			t.Errorf("%s-%d was not created", ch.Topic, ch.Partition)
			continue
		}
		var is, want []int32
		from, to := now.Slots(p)
		for s := from; s < to; s++ {
			is = append(is, now.Brokers[now.Broker[s]].ID)
		}
		for _, x := range ch.To {
			want = append(want, x.Broker)
		}
		if d := cmp.Diff(want, is); d != "" {
			t.Errorf("%s: %s", now.PartitionName(p), d)
		}
	}
}

// namesDirs tells whether the exported document names log dirs.
func namesDirs(t *testing.T, planFile string) bool {
	t.Helper()
	var doc model.Reassignment
	if err := json.Unmarshal([]byte(ok(t, "export", planFile)), &doc); err != nil {
		t.Fatal(err)
	}
	for _, p := range doc.Partitions {
		for _, d := range p.LogDirs {
			if d != model.AnyDir {
				return true
			}
		}
	}
	return false
}
