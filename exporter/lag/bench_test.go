package lag

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

const benchPairs = 200_000

// bigScene is 5,000 groups with 40 committed partitions each, on 1,000 topics
// of 50 partitions.
func bigScene(b *testing.B) *scene {
	s := newScene(b, Options{})
	for i := range 1000 {
		o := s.topic(fmt.Sprintf("topic-%04d", i), byte(i), 50)
		for p := range o.End {
			o.End[p] = 1000
		}
	}
	s.groups.Groups = make([]snapshot.Group, 0, 5000)
	for i := range 5000 {
		g := s.group(fmt.Sprintf("group-%04d", i), "", 0, -1)
		topic := fmt.Sprintf("topic-%04d", i%1000)
		tc := snapshot.TopicCommits{Topic: topic}
		ps := make([]int32, 40)
		for p := range ps {
			ps[p] = int32(p)
			tc.Partitions = append(tc.Partitions, snapshot.Commit{Partition: int32(p), Offset: 900})
		}
		g.Commits = []snapshot.TopicCommits{tc}
		join(g, topic, ps...)
	}
	return s
}

// BenchmarkCompute reports ns per (group, topic, partition) and round, and the
// bytes that the tracker keeps for each, with full histories.
func BenchmarkCompute(b *testing.B) {
	s := bigScene(b)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	grow := func() {
		for _, o := range s.offsets.Topics {
			for p := range o.End {
				o.End[p] += 10
			}
		}
	}
	for range 70 { // fill the histories
		grow()
		s.round(15 * time.Second)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
		b.StopTimer()
		grow()
		b.StartTimer()
		s.round(15 * time.Second)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchPairs, "ns/pair")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/benchPairs, "B/pair")
}
