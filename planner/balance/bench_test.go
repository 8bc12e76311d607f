package balance_test

import (
	"fmt"
	"testing"

	"github.com/kafka-steward/kafka-steward/planner/balance"
	"github.com/kafka-steward/kafka-steward/planner/bounds"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// scales are brokers and replicas of generated clusters.
var scales = []struct{ brokers, replicas int }{{30, 6_000}, {100, 20_000}, {300, 60_000}, {1000, 200_000}, {1000, 1_000_000}}

func scaled(brokers, replicas int) *model.Cluster {
	return model.Generate(model.GenerateDefaults(42, brokers, 6, replicas))
}

func report(b *testing.B, c *model.Cluster, p *plan.Plan) {
	b.Helper()
	b.ReportMetric(float64(c.NumReplicas()), "replicas")
	b.ReportMetric(float64(p.Summary.ReplicaMoves), "moves")
	for _, k := range []model.Resource{model.In, model.Out, model.Disk} {
		b.ReportMetric(p.Summary.Resources[k].After.Max, "worst-"+k.String())
		b.ReportMetric(bounds.MaxLoad(c, k, bounds.Options{}), "least-"+k.String())
	}
}

// BenchmarkRebalance shows growth: brokers and replicas grow together by
// about three, the last has five times the replicas.
func BenchmarkRebalance(b *testing.B) {
	for _, x := range scales {
		b.Run(fmt.Sprintf("%db-%dk", x.brokers, x.replicas/1000), func(b *testing.B) {
			c, o := scaled(x.brokers, x.replicas), balance.Defaults()
			b.ReportAllocs()
			var p *plan.Plan
			for b.Loop() {
				p = must(b)(balance.Rebalance(c, o))
			}
			report(b, c, p)
			if least := bounds.Bytes(c, o.Band, bounds.Options{}); least > 0 {
				b.ReportMetric(float64(p.Summary.Bytes)/float64(least), "bytes/bound")
			}
		})
	}
}

func BenchmarkDecommission(b *testing.B) {
	for _, x := range scales[:4] {
		b.Run(fmt.Sprintf("%db-%dk", x.brokers, x.replicas/1000), func(b *testing.B) {
			c, o := scaled(x.brokers, x.replicas), balance.Defaults()
			b.ReportAllocs()
			var p *plan.Plan
			for b.Loop() {
				p = must(b)(balance.Decommission(c, []int32{c.Brokers[0].ID, c.Brokers[1].ID}, o))
			}
			report(b, c, p)
		})
	}
}

func BenchmarkExpand(b *testing.B) {
	for _, x := range scales[:4] {
		b.Run(fmt.Sprintf("%db-%dk", x.brokers, x.replicas/1000), func(b *testing.B) {
			c, o := scaled(x.brokers, x.replicas), balance.Defaults()
			var fresh []int32
			for _, br := range c.Brokers[len(c.Brokers)*6/10:] {
				fresh = append(fresh, br.ID)
			}
			b.ReportAllocs()
			var p *plan.Plan
			for b.Loop() {
				p = must(b)(balance.Expand(c, fresh, o))
			}
			report(b, c, p)
		})
	}
}

// TestGrowth looks at what the search weighs, which does not depend on the
// machine: for twice the brokers and replicas about twice as much, and for each
// move about the same (how many moves a cluster needs is a matter of chance). Partitions
// are small enough for the band, or else it would go on to search for what is
// not there.
func TestGrowth(t *testing.T) {
	var last, first int64
	var lastPerMove float64
	sizes := []int{20, 40, 80, 160}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, n := range sizes {
		g := model.GenerateDefaults(42, n, 4, 150*n)
		g.HotCap = 0.02
		c := model.Generate(g)
		p := must(t)(balance.Rebalance(c, balance.Defaults()))
		t.Logf("%3d brokers, %5d replicas: %9d changes weighed, %d moves", n, c.NumReplicas(), p.Summary.Steps, p.Summary.ReplicaMoves)
		perMove := float64(p.Summary.Steps) / float64(p.Summary.ReplicaMoves)
		if last > 0 && perMove > 1.6*lastPerMove {
			t.Errorf("%d brokers: %.0f changes weighed for each move, for half of it %.0f", n, perMove, lastPerMove)
		}
		lastPerMove = perMove
		if first == 0 {
			first = p.Summary.Steps
		}
		last = p.Summary.Steps
	}
	if last > 20*first {
		t.Errorf("eight times the cluster: %d changes weighed instead of %d", last, first)
	}
}
