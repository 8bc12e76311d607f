package check

import (
	"reflect"
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// figuresOf lists every number and text of a summary, by path.
func figuresOf(v reflect.Value, path string, visit func(string, reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			figuresOf(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			figuresOf(v.Index(i), path, visit)
		}
	default:
		visit(path, v)
	}
}

func TestEveryFigureIsChecked(t *testing.T) {
	// Bounds and steps are the search's own word; bounds are only held against
	// the figures.
	free := map[string]bool{".BytesBound": true, ".Resources.Bound": true, ".Steps": true}
	count, n := 0, 0
	figuresOf(reflect.ValueOf(&newFixture(t).p.Summary).Elem(), "", func(string, reflect.Value) { n++ })
	for i := range n {
		f := newFixture(t)
		j, name := 0, ""
		figuresOf(reflect.ValueOf(&f.p.Summary).Elem(), "", func(path string, v reflect.Value) {
			if j++; j-1 != i {
				return
			}
			name = path
			switch v.Kind() {
			case reflect.Int, reflect.Int64, reflect.Int32:
				// A share is rounded: one more or less is no fault.
				v.SetInt(v.Int() + 2)
			case reflect.Float64:
				v.SetFloat(v.Float() + 0.001)
			case reflect.String:
				v.SetString(v.String() + "x")
			case reflect.Bool:
				v.SetBool(!v.Bool())
			default:
				t.Fatalf("%s is a %s", path, v.Kind())
			}
		})
		if free[name] {
			continue
		}
		count++
		problems := Plan(f.c, f.p, f.r)
		if len(problems) == 0 {
			t.Errorf("figure %d, %s, is wrong and nobody says so", i, name)
		}
	}
	if count < 200 {
		t.Errorf("only %d figures were tried", count)
	}
}

func TestMissingFigures(t *testing.T) {
	run(t, []mutation{
		{"resources", func(f *fixture) { f.p.Summary.Resources = f.p.Summary.Resources[1:] }, true, []string{"summary: has figures of 6 resources, not of 7"}},
		{"brokers", func(f *fixture) { f.p.Summary.Brokers = f.p.Summary.Brokers[1:] }, true, []string{"summary: has figures of 5 brokers, the cluster has 6"}},
		{"log dirs", func(f *fixture) { f.p.Summary.Brokers[3].Dirs = nil }, true, []string{"broker 4: has figures of 0 log dirs, it has 2"}},
		{"load", func(f *fixture) { f.p.Summary.Brokers[5].After[model.Disk]++ }, true, []string{"broker 6: says disk after 205, it is 204"}},
		{"bytes in", func(f *fixture) { f.p.Summary.Brokers[5].BytesIn = 0 }, true, []string{"broker 6: says bytes_in 0, it is 204"}},
		{"bytes out", func(f *fixture) { f.p.Summary.Brokers[0].BytesOut = 0 }, true, []string{"broker 1: says bytes_out 0, it is 101"}},
		{"racks", func(f *fixture) { f.p.Summary.RackViolationsAfter = 3 }, true, []string{"summary: says rack_violations_after 3, it is 0"}},
		{"topics", func(f *fixture) { f.p.Summary.TopicExcessBefore = 3 }, true, []string{"summary: says topic_excess_before 3, it is 0"}},
		{"better than its bound", func(f *fixture) { f.p.Summary.Resources[model.In].Bound = 1.2 }, true, []string{"summary: says that no plan gets the worst broker's in below 1.2, and that this one gets it to 1"}},
		{"cheaper than its bound", func(f *fixture) { f.p.Summary.BytesBound = 205 }, true, []string{"summary: says that no plan copies less than 205 bytes, and that this one copies 204"}},
		{"not in the band, cheaper than its bound", func(f *fixture) {
			f.r.Band = 0.001
			f.fill()
			f.p.Summary.BytesBound = 205
		}, true, nil},
	})
}

// A plan that is not about evenness may leave out the figures about it.
func TestBriefSummary(t *testing.T) {
	brief := func(wrong func(s *plan.Summary)) func(f *fixture) {
		return func(f *fixture) {
			place("n", plan.Place, at(1, "/a", 3, "/a"))(f)
			f.fill()
			f.p.Summary.Resources = nil
			for b := range f.p.Summary.Brokers {
				f.p.Summary.Brokers[b].Dirs, f.p.Summary.Brokers[b].Share = nil, model.Vector{}
			}
			wrong(&f.p.Summary)
		}
	}
	run(t, []mutation{
		{"right", brief(func(*plan.Summary) {}), true, nil},
		{"expected load", brief(func(s *plan.Summary) { s.Brokers[0].After[model.In] += 50 }), true, nil},
		{"replicas", brief(func(s *plan.Summary) { s.Brokers[0].After[model.Replicas]++ }), true, []string{"broker 1: says replicas after 5, it is 4"}},
		{"before", brief(func(s *plan.Summary) { s.Brokers[0].Before[model.In]++ }), true, []string{"broker 1: says in before 31, it is 30"}},
		{"a rebalance may not", func(f *fixture) { f.p.Summary.Resources = nil }, true, []string{"summary: has figures of 0 resources, not of 7"}},
	})
}

func TestTopicExcessCountsWhatIsAboveTheAverage(t *testing.T) {
	f := newFixture(t)
	// All but one of twelve replicas on brokers 1 and 3: average 2, top 3.
	for s := range f.c.Broker {
		f.c.Broker[s] = int32(s%2) * 2
	}
	f.p.Changes = nil
	f.fill()
	if got := f.p.Summary.TopicExcessBefore; got != 6 {
		t.Fatalf("the test's own count is %d", got)
	}
	for _, p := range Plan(f.c, f.p, f.r) {
		if strings.Contains(p.Reason, "topic_excess") {
			t.Error(p)
		}
	}
}
