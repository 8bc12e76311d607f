package model_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/model/modeltest"
	"pgregory.net/rapid"
)

var sameCluster = cmpopts.IgnoreUnexported(model.Broker{})

func write(t interface{ Fatal(...any) }, s *model.Snapshot) []byte {
	var b bytes.Buffer
	if err := model.WriteSnapshot(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSnapshotRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &model.Snapshot{Cluster: modeltest.Cluster(modeltest.Hostile).Draw(t, "cluster")}
		text := rapid.String().Filter(func(s string) bool { return strings.ToValidUTF8(s, "") == s })
		s.Cluster.Name = rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "name")
		s.ClusterID = text.Draw(t, "id")
		if rapid.Bool().Draw(t, "notes") {
			s.ReadAt = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "read"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
			s.Warnings = []string{text.Draw(t, "warning")}
			s.Load = model.LoadNote{
				Source: "prometheus", Methods: []string{"m"}, From: s.ReadAt.Add(time.Minute), To: s.ReadAt.Add(time.Hour), Step: time.Hour,
				Coverage: 0.75, Filled: []model.TopicPartitions{{Topic: "t0", Partitions: []int32{0, 1}}}, Notes: []string{"n"},
			}
		}
		first := write(t, s)
		for _, doc := range [][]byte{first, zipped(first)} {
			got, err := model.ReadAny(bytes.NewReader(doc), "other name")
			if err != nil {
				t.Fatalf("%v\n%s", err, first)
			}
			if d := cmp.Diff(s, got, sameCluster); d != "" {
				t.Fatalf("not what was written:\n%s\n%s", d, first)
			}
			if again := write(t, got); !bytes.Equal(first, again) {
				t.Fatalf("the same snapshot gives other bytes:\n%s\n%s", first, again)
			}
		}
	})
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

const good = `{"format":"kafka-steward-snapshot/1","brokers":[{"id":1},{"id":2,"dirs":[{"path":"/a","volume":0}]}],
"topics":[{"name":"t","rf":1,"partitions":[{"id":0,"leader":1,"replicas":[{"broker":1,"size":5}]},{"id":1,"replicas":[{"broker":2,"dir":0}]}]}]}`

func TestSnapshotIsStrict(t *testing.T) {
	if _, err := model.ReadAny(strings.NewReader(good), "x"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown key", `"brokers"`, `"brokerz"`, `unknown field "brokerz"`},
		{"unknown key of a broker", `{"id":1}`, `{"id":1,"rac":"a"}`, `unknown field "rac"`},
		{"unknown key of a partition", `"leader":1`, `"leadr":1`, `unknown field "leadr"`},
		{"unknown key of a replica", `"size":5`, `"sise":5`, `unknown field "sise"`},
		{"unknown resource", `{"id":1}`, `{"id":1,"capacities":{"ram":1}}`, `broker 1: unknown resource "ram"`},
		{"other version", `snapshot/1"`, `snapshot/2"`, `the document's format is "kafka-steward-snapshot/2"`},
		{"format not first", `{"format":"kafka-steward-snapshot/1",`, `{"cluster":"a","format":"kafka-steward-snapshot/1",`, "not with its format"},
		{"key twice", `"topics":[`, `"brokers":[],"topics":[`, `"brokers" is given twice`},
		{"no topics", `"topics"`, `"warnings":[],"load"`, `json`},
		{"truncated", `]}]}`, ``, `unexpected EOF`},
		{"more after it", `]}]}]}`, `]}]}]} {}`, `something follows the document`},
		{"broker without id", `{"id":1}`, `{"rack":"a"}`, `a broker has no id`},
		{"negative broker", `{"id":1}`, `{"id":1},{"id":-4}`, `broker -4: has a negative id`},
		{"broker twice", `{"id":1}`, `{"id":1},{"id":1}`, `broker 1: is listed twice`},
		{"partition twice", `"id":1,"replicas"`, `"id":0,"replicas"`, `t-0: is listed twice`},
		{"partition without id", `"id":1,"replicas"`, `"replicas"`, `topic t: a partition has no id`},
		{"replica without broker", `{"broker":1,"size":5}`, `{"size":5}`, `t-0: replica 0 has no broker`},
		{"unknown broker", `{"broker":1,`, `{"broker":9,`, `t-0: has a replica on broker 9, which is not listed`},
		{"leader without replica", `"leader":1`, `"leader":2`, `t-0: is led by broker 2, which has no replica of it`},
		{"same broker twice", `{"broker":1,"size":5}`, `{"broker":1},{"broker":1}`, `t-0: has two replicas on broker 1`},
		{"no replicas", `[{"broker":1,"size":5}]`, `[]`, `t-0: has no replicas`},
		{"directory out of range", `"dir":0`, `"dir":1`, `t-1: lies in log dir 1 of broker 2, which has 1`},
		{"negative directory", `"dir":0`, `"dir":-3`, `t-1: lies in log dir -3`},
		{"negative size", `"size":5`, `"size":-5`, `t-0: has a negative load on broker 1`},
		{"fraction", `"size":5`, `"size":5.5`, `cannot unmarshal number 5.5`},
		{"too big", `"size":5`, `"size":9223372036854775808`, `cannot unmarshal number`},
		{"no name", `"name":"t"`, `"name":""`, `a topic has no name`},
		{"bad time", `"brokers"`, `"read_at":"yesterday","brokers"`, `read_at: parsing time`},
		{"not an object", good, `[]`, `format`},
		{"empty", good, ``, `EOF`},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := strings.Replace(good, c.old, c.new, 1)
			if doc == good {
				t.Fatal("the case changes nothing")
			}
			s, err := model.ReadAny(strings.NewReader(doc), "x")
			if err == nil || !strings.Contains(err.Error(), c.want) || s != nil {
				t.Fatalf("got %v, %v; want an error with %q", s, err, c.want)
			}
		})
	}
}

func TestReadAnyTruncatedGzip(t *testing.T) {
	z := zipped([]byte(good))
	for _, n := range []int{2, 9, len(z) / 2, len(z) - 4} {
		if _, err := model.ReadAny(bytes.NewReader(z[:n]), "x"); err == nil {
			t.Errorf("%d of %d bytes were read without an error", n, len(z))
		}
	}
}

func TestReadAnyReadsCC(t *testing.T) {
	doc := `{"brokers":[{"id":1,"rack":"a","in":10,"out":10,"disk":10,"cpu":100},{"id":2,"rack":"b","in":10,"out":10,"disk":10,"cpu":100}],
	"topics":["t"],"partitions":[{"t":0,"p":3,"l":2,"r":[1,2],"in":[1.5,1.5],"out":[0,4],"disk":[7,7],"cpu":[0.1,0.5]}],"format":"cc-model/1"}`
	for _, b := range [][]byte{[]byte(doc), zipped([]byte(doc))} {
		s, err := model.ReadAny(bytes.NewReader(b), "bench")
		if err != nil {
			t.Fatal(err)
		}
		c := s.Cluster
		if c.Name != "bench" || c.PartitionName(0) != "t-3" || c.Leader[0] != 1 || c.OutRate[0] != 4000 || c.InRate[0] != 1500 || c.Size[1] != 7_000_000 {
			t.Errorf("read %+v", c)
		}
		// It survives the own format.
		again, err := model.ReadAny(bytes.NewReader(write(t, s)), "")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s, again, sameCluster); d != "" {
			t.Error(d)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	o := model.GenerateDefaults(5, 12, 3, 600)
	o.Groups, o.DirsPerBroker, o.Dead, o.Moving = 2, 2, 1, 3
	s := &model.Snapshot{Cluster: model.Generate(o)}
	for _, name := range []string{"prod.json", "prod.json.gz"} {
		path := filepath.Join(dir, name)
		for range 2 { // the second replaces the first
			if err := model.WriteFile(path, s); err != nil {
				t.Fatal(err)
			}
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if gz := b[0] == 0x1f; gz != strings.HasSuffix(name, ".gz") {
			t.Errorf("%s is compressed: %v", name, gz)
		}
		got, err := model.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s, got, sameCluster); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := model.WriteFile(filepath.Join(dir, "no", "where.json"), s); err == nil {
		t.Error("a file in a folder that is not there was written")
	}
	if _, err := model.ReadFile(filepath.Join(dir, "missing.json")); err == nil {
		t.Error("a missing file was read")
	}
}

// TestMillionReplicas runs in a process of its own, so that its memory and CPU
// time can be told from those of other tests.
func TestMillionReplicas(t *testing.T) {
	if in := os.Getenv("MODEL_TEST_COPY"); in != "" {
		s, err := model.ReadFile(in)
		if err == nil {
			err = model.WriteFile(in+".copy.gz", s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if testing.Short() {
		t.Skip("a million replicas")
	}
	path := filepath.Join(t.TempDir(), "million.json.gz")
	o := model.GenerateDefaults(1, 1000, 10, 1_000_000)
	o.DirsPerBroker = 4
	if err := model.WriteFile(path, &model.Snapshot{Cluster: model.Generate(o)}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestMillionReplicas$", "-test.v")
	cmd.Env = append(os.Environ(), "MODEL_TEST_COPY="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	a, err1 := os.ReadFile(path)
	b, err2 := os.ReadFile(path + ".copy.gz")
	if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Fatalf("the copy differs (%v, %v)", err1, err2)
	}
	z, err := gzip.NewReader(bytes.NewReader(a))
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := io.Copy(io.Discard, z)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	rss := usage.Maxrss * 1024
	t.Logf("read and written: %s, %s compressed; %v of CPU, %s resident at most", mb(plain), mb(int64(len(a))), cpu, mb(rss))
	if raceEnabled {
		return
	}
	if cpu > 6*time.Second {
		t.Errorf("%v of CPU, more than 6 s", cpu)
	}
	if rss > 600<<20 {
		t.Errorf("%s resident, more than 600 MiB", mb(rss))
	}
}

func mb(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
