package migration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// bigPlan makes n random changes of one replica on a generated cluster.
func bigPlan(brokers, n int) (*model.Cluster, []plan.Change) {
	c := model.Generate(model.GenerateDefaults(7, brokers, 5, n*3))
	rnd := rand.New(rand.NewPCG(7, 7))
	var changes []plan.Change
	loads := c.BrokerLoads()
	for p := range c.Topic {
		if c.Moving[p] {
			continue
		}
		from, to := c.Slots(p)
		ch := plan.Change{Topic: c.Topics[c.Topic[p]].Name, Partition: c.ID[p], OldLeader: c.Brokers[c.Broker[max(from, c.Leader[p])]].ID}
		for s := from; s < to; s++ {
			b := &c.Brokers[c.Broker[s]]
			x := plan.Replica{Broker: b.ID}
			if c.Dir[s] != model.None {
				x.Dir = b.Dirs[c.Dir[s]].Path
			}
			ch.From = append(ch.From, x)
		}
		ch.To = slices.Clone(ch.From)
		for range 100 {
			b := &c.Brokers[rnd.IntN(len(c.Brokers))]
			load := &loads[b.ID-1][model.Disk]
			if at(ch.From, b.ID) == nil && !b.Dead && *load+c.Size[from] < b.Capacity[model.Disk]*8/10 {
				*load += c.Size[from]
				ch.To[rnd.IntN(len(ch.To))] = plan.Replica{Broker: b.ID}
				break
			}
		}
		if slices.Equal(ch.From, ch.To) {
			continue
		}
		ch.NewLeader = ch.To[0].Broker
		changes = append(changes, ch)
	}
	return c, changes[:min(n, len(changes))]
}

// cpu is the CPU time that the process has used, for machines that are shared.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkMake(b *testing.B) {
	for _, n := range []int{25_000, 50_000, 100_000, 200_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, changes := bigPlan(1000, n)
			b.ResetTimer()
			for b.Loop() {
				start := cpu()
				s, err := Make(c, changes, Options{})
				if err != nil || len(s.Steps) < len(changes) || len(s.Refusals) > 0 {
					b.Fatal(err, len(changes), len(s.Refusals))
				}
				b.Logf("%d changes: %d steps, %d batches, %d refusals, stream %s, batched %s, CPU %s", len(changes), len(s.Steps), len(s.Batches), len(s.Refusals),
					time.Duration(s.Unthrottled.Millis)*time.Millisecond, time.Duration(s.Unthrottled.BatchedMillis)*time.Millisecond, cpu()-start)
			}
		})
	}
}
