package planner_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kafka-steward/kafka-steward/planner"
	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/placement"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

func generated(seed uint64, shape func(*model.GenerateOptions)) *model.Snapshot {
	brokers, replicas := 24, 4000
	if testing.Short() { // with the race detector a plan takes ten times as long
		brokers, replicas = 12, 900
	}
	o := model.GenerateDefaults(seed, brokers, 3, replicas)
	if shape != nil {
		shape(&o)
	}
	return &model.Snapshot{Cluster: model.Generate(o), Load: model.LoadNote{Source: "generated", Coverage: 1}}
}

var shapes = []struct {
	name  string
	shape func(*model.GenerateOptions)
}{
	{"plain", nil},
	{"log dirs", func(o *model.GenerateOptions) { o.DirsPerBroker, o.SharedVolumes = 3, .3 }},
	{"groups", func(o *model.GenerateOptions) { o.Groups = 2 }},
	{"mixed hardware", func(o *model.GenerateOptions) { o.Mixed = true }},
	{"dead and moving", func(o *model.GenerateOptions) { o.Dead, o.Moving = 2, 10 }},
}

// operations are one call of each operation on a generated cluster of 24.
func operations(s *model.Snapshot) map[string]func(planner.Options) (*planner.Result, error) {
	var live []int32
	for _, b := range s.Cluster.Brokers {
		if !b.Dead {
			live = append(live, b.ID)
		}
	}
	topic := s.Cluster.Topics[len(s.Cluster.Topics)/2].Name
	last, next := live[len(live)-1], live[len(live)-2]
	return map[string]func(planner.Options) (*planner.Result, error){
		"rebalance": func(o planner.Options) (*planner.Result, error) { return planner.Rebalance(s, o) },
		"decommission": func(o planner.Options) (*planner.Result, error) {
			return planner.Decommission(s, []int32{live[2], live[5]}, o)
		},
		"replace": func(o planner.Options) (*planner.Result, error) {
			return planner.Replace(s, []balance.Pair{{Old: live[0], New: last}}, o)
		},
		"expand": func(o planner.Options) (*planner.Result, error) { return planner.Expand(s, []int32{last, next}, o) },
		"place": func(o planner.Options) (*planner.Result, error) {
			return planner.Place(s, "brand-new", 30, 3, "", placement.Load{}, o)
		},
		"add-partitions": func(o planner.Options) (*planner.Result, error) { return planner.AddPartitions(s, topic, 7, o) },
		"change-rf":      func(o planner.Options) (*planner.Result, error) { return planner.ChangeRF(s, []string{topic}, 4, o) },
		"elect":          func(o planner.Options) (*planner.Result, error) { return planner.Elect(s, nil, o) },
	}
}

// TestEveryOperationIsProven: Make checks what it returns, so that a fault of
// the search is an error here. The result survives its document, and is the
// same a second time.
func TestEveryOperationIsProven(t *testing.T) {
	for i, x := range shapes {
		s := generated(uint64(i+1), x.shape)
		for name, run := range operations(s) {
			t.Run(x.name+"/"+name, func(t *testing.T) {
				r, err := run(planner.Defaults())
				if err != nil {
					t.Fatal(err)
				}
				if string(r.Plan.Operation) != name {
					t.Errorf("the plan is to %s", r.Plan.Operation)
				}
				first := document(t, r)
				again, err := run(planner.Defaults())
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(first, document(t, again)); d != "" {
					t.Fatalf("the same request gave another document:\n%s", d)
				}
				back, err := planner.ReadResult(strings.NewReader(first))
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(first, document(t, back)); d != "" {
					t.Fatalf("reading and writing changed the document:\n%s", d)
				}
				if problems := planner.Check(s.Cluster, &back.Request, back.Plan); len(problems) > 0 {
					t.Errorf("the plan that was read does not pass: %v", problems)
				}
				// The facade's own figures are what the checker wants too, and a
				// cluster whose sizes have changed a little is the same cluster.
				now := *s.Cluster
				now.Size = slices.Clone(now.Size)
				for i := range now.Size {
					now.Size[i] += int64(i % 7)
				}
				if problems := planner.CheckNow(&now, &back.Request, back.Plan); len(problems) > 0 {
					t.Errorf("the plan does not pass on the cluster read again: %v", problems)
				}
			})
		}
	}
}

func document(t *testing.T, r *planner.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRebalanceHasBounds(t *testing.T) {
	r, err := planner.Rebalance(generated(1, nil), planner.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	s := &r.Plan.Summary
	if s.BytesBound <= 0 || s.BytesBound > s.Bytes {
		t.Errorf("the plan copies %d bytes, the bound is %d", s.Bytes, s.BytesBound)
	}
	for _, f := range s.Resources {
		if f.Bound < 1-1e-9 || f.Bound > f.After.Max*(1+1e-6) {
			t.Errorf("%s: the worst broker has %g, the bound is %g", f.Resource, f.After.Max, f.Bound)
		}
	}
	steps := 0
	for _, b := range r.Schedule.Batches {
		steps += b.Count
	}
	if steps == 0 || steps != len(r.Schedule.Steps) {
		t.Errorf("batches hold %d of %d steps", steps, len(r.Schedule.Steps))
	}
}

// TestHotPartitionIsALimit: one partition above a fair share is reported, the
// rest is planned.
func TestHotPartitionIsALimit(t *testing.T) {
	b := model.NewBuilder("hot")
	for id := range int32(4) {
		b.Broker(model.Broker{ID: id, Rack: "r", Group: model.None, Capacity: unlimited()}, "")
	}
	b.Topic(model.Topic{Name: "t", ReplicationFactor: 1}, "")
	for p := range int32(9) {
		in := int64(1_000_000)
		if p == 0 {
			in = 50_000_000
		}
		b.Partition("t", model.PartitionSpec{ID: p, Leader: p % 2, Out: in, Replicas: []model.ReplicaSpec{{Broker: p % 2, Dir: model.None, Size: in, In: in}}})
	}
	c, problems := b.Build()
	if err := model.JoinProblems(problems); err != nil {
		t.Fatal(err)
	}
	r, err := planner.Rebalance(&model.Snapshot{Cluster: c}, planner.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, l := range r.Plan.Limits {
		found = found || l.Item == "t-0" && l.Resource == "in" && l.Share > 3
	}
	if !found || r.Plan.Empty() {
		t.Errorf("limits %+v, %d changes", r.Plan.Limits, len(r.Plan.Changes))
	}
}

func unlimited() (v model.Vector) {
	for k := range v {
		v[k] = model.Unlimited
	}
	return v
}

func TestRefusalsAreNoErrors(t *testing.T) {
	s := generated(3, nil)
	r, err := planner.Place(s, "huge", 10, 3, "", placement.Load{Bytes: 1 << 60}, planner.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if !r.Refused() || !r.Plan.Empty() {
		t.Errorf("%d changes, refusals %v", len(r.Plan.Changes), r.Plan.Refusals)
	}
}

func TestBadRequests(t *testing.T) {
	s := generated(1, nil)
	o := planner.Defaults()
	cordon := o
	cordon.Cordon = []int32{4711}
	both := o
	both.Exclude = []string{s.Cluster.Topics[0].Name}
	for _, x := range []struct {
		want string
		r    planner.Request
	}{
		{`"x" is no operation`, planner.Request{Operation: "x", Options: o}},
		{"broker 999 is not in the cluster", planner.Request{Operation: plan.Decommission, Brokers: []int32{999}, Options: o}},
		{"no broker is named", planner.Request{Operation: plan.Expand, Options: o}},
		{"is for one topic, not 0", planner.Request{Operation: plan.Place, Options: o}},
		{"broker 4711, which must not receive anything, is not in the cluster", planner.Request{Operation: plan.Elect, Options: cordon}},
		{"both asked for and excluded", planner.Request{Operation: plan.ChangeRF, Topics: both.Exclude, ReplicationFactor: 2, Options: both}},
	} {
		if _, err := planner.Make(s, x.r); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want %q", err, x.want)
		}
	}
}

// TestImport reads the document of a plan that was made: the figures that the
// facade computes are those of the search, as the checker wants them to be.
func TestImport(t *testing.T) {
	for i, x := range shapes {
		t.Run(x.name, func(t *testing.T) {
			s := generated(uint64(i+1), x.shape)
			o := planner.Defaults()
			made, err := planner.Rebalance(s, o)
			if err != nil {
				t.Fatal(err)
			}
			var doc bytes.Buffer
			if err := plan.ToKafka(made.Plan.Changes).Write(&doc); err != nil {
				t.Fatal(err)
			}
			read, err := planner.FromKafka(s, &doc, o)
			if err != nil {
				t.Fatal(err)
			}
			// Kafka's document does not say who is to lead where the order stays, so
			// that the figures of leaders may differ.
			for _, k := range []model.Resource{model.In, model.Disk, model.Replicas} {
				a, b := read.Plan.Summary.Resources[k].After, made.Plan.Summary.Resources[k].After
				if fmt.Sprintf("%.6f", a) != fmt.Sprintf("%.6f", b) {
					t.Errorf("%s: %v read, %v made", k, a, b)
				}
			}
			if a, b := read.Plan.Summary, made.Plan.Summary; a.Bytes != b.Bytes || a.ReplicaMoves != b.ReplicaMoves || a.DirMoves != b.DirMoves {
				t.Errorf("read %d bytes, %d moves, %d dir moves; made %d, %d, %d", a.Bytes, a.ReplicaMoves, a.DirMoves, b.Bytes, b.ReplicaMoves, b.DirMoves)
			}
		})
	}
}

func TestImportRefusesWhatBreaksRules(t *testing.T) {
	b := model.NewBuilder("x")
	for id := range int32(4) {
		b.Broker(model.Broker{ID: id, Rack: string('a' + id/2), Capacity: unlimited()}, "")
	}
	b.Topic(model.Topic{Name: "t", ReplicationFactor: 2}, "")
	b.Partition("t", model.PartitionSpec{Leader: 0, Replicas: []model.ReplicaSpec{{Broker: 0, Dir: model.None, Size: 5}, {Broker: 2, Dir: model.None, Size: 4}}})
	c, problems := b.Build()
	if err := model.JoinProblems(problems); err != nil {
		t.Fatal(err)
	}
	s := &model.Snapshot{Cluster: c}
	_, err := planner.FromKafka(s, strings.NewReader(`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[0,1]}]}`), planner.Defaults())
	var bad *planner.CheckError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "t-0: has 2 copies in one rack") {
		t.Fatalf("%v", err)
	}
	r, err := planner.FromKafka(s, strings.NewReader(`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[3,0,1]}]}`), planner.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if sum := r.Plan.Summary; sum.ReplicaMoves != 2 || sum.LeaderChanges != 1 || r.Plan.Changes[0].Bytes != 4+5 {
		t.Errorf("%+v, %d bytes", sum, r.Plan.Changes[0].Bytes)
	}
}

func TestReadResultRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`{`:                                 "not a plan",
		`{"format":"cc-model/1"}`:           `its format is "cc-model/1"`,
		`{"format":"kafka-steward-plan/1"}`: "holds no plan",
		`{"format":"kafka-steward-plan/1","plan":{},"x":1}`:                                          `unknown field "x"`,
		`{"format":"kafka-steward-plan/1","plan":{"changes":[{"topic":"t","partition":3,"to":[]}]}}`: "leaves t-3 without replicas",
		`{"format":"kafka-steward-plan/1","plan":{},"schedule":{"batches":[{"first":1,"count":2}]}}`: "batch 1 of the schedule has steps 2 to 3 of 0",
	} {
		if _, err := planner.ReadResult(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func TestExplain(t *testing.T) {
	s := generated(1, nil)
	r, err := planner.Rebalance(s, planner.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	ch := r.Plan.Changes[0]
	e, err := planner.Explain(s.Cluster, planner.Defaults(), r.Plan, ch.Topic, ch.Partition)
	if err != nil {
		t.Fatal(err)
	}
	if e.Change == nil || e.Change.Why == "" || len(e.Replicas) != len(ch.From) || len(e.Loads) != len(ch.From) || e.Leader != ch.OldLeader {
		t.Errorf("%+v", e)
	}
	if _, err := planner.Explain(s.Cluster, planner.Defaults(), nil, "nobody", 3); err == nil || !strings.Contains(err.Error(), "nobody-3") {
		t.Errorf("%v", err)
	}
}

// TestWithoutRates: sizes and counts are enough to plan on.
func TestWithoutRates(t *testing.T) {
	s := generated(1, nil)
	clear(s.Cluster.InRate)
	clear(s.Cluster.OutRate)
	clear(s.Cluster.CPU)
	clear(s.Cluster.LeadCPU)
	r, err := planner.Rebalance(s, planner.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Plan.Summary.Resources[model.Disk]; r.Plan.Empty() || f.After.Max >= f.Before.Max || r.Request.Options.LeaveIdle {
		t.Errorf("%d changes, disk %+v", len(r.Plan.Changes), f)
	}
}
