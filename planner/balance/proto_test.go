package balance

import (
	"encoding/json"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

func TestProto(t *testing.T) {
	f, err := os.Open(os.Getenv("MODEL"))
	if err != nil {
		t.Skip()
	}
	c, err := model.ReadCC(f, "x")
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	start := time.Now()
	var ru0 syscall.Rusage
	syscall.Getrusage(0, &ru0)
	cpu0 := float64(ru0.Utime.Sec) + float64(ru0.Utime.Usec)/1e6
	p, err := Rebalance(c, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	var ru syscall.Rusage
	syscall.Getrusage(0, &ru)
	t.Logf("CPU %.2f s rss %d MB", float64(ru.Utime.Sec)+float64(ru.Utime.Usec)/1e6-cpu0, ru.Maxrss/1024)
	t.Logf("moves %d leaders %d bytes %d refusals %d limits %v warnings %v", p.Summary.ReplicaMoves, p.Summary.LeaderChanges, p.Summary.Bytes/1e6, len(p.Refusals), p.Limits, p.Warnings)
	for _, r := range p.Summary.Resources {
		t.Logf("%-10s %.3f %.3f %.4f | %.3f %.3f %.4f %.2f", r.Resource, r.Before.Max, r.Before.Min, r.Before.CV, r.After.Max, r.After.Min, r.After.CV, r.After.InBand)
	}
	for i := range min(4, len(p.Changes)) {
		t.Logf("%+v", p.Changes[i])
	}
	type mv struct {
		Topic string  `json:"topic"`
		P     int32   `json:"p"`
		New   []int32 `json:"new"`
	}
	var pl struct {
		Planner string  `json:"planner"`
		PlanS   float64 `json:"plan_s"`
		Moves   []mv    `json:"moves"`
	}
	pl.PlanS = time.Since(start).Seconds()
	for i := range p.Changes {
		var ids []int32
		for _, r := range p.Changes[i].To {
			ids = append(ids, r.Broker)
		}
		pl.Moves = append(pl.Moves, mv{p.Changes[i].Topic, p.Changes[i].Partition, ids})
	}
	b, _ := json.Marshal(pl)
	os.WriteFile(os.Getenv("OUT"), b, 0o644)
}
