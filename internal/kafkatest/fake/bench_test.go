package fake

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkLargeState builds the state of DefaultLargeSpec and reports the
// heap that it keeps.
func BenchmarkLargeState(b *testing.B) {
	for b.Loop() {
		s, size, err := MemoryOfLarge(DefaultLargeSpec())
		if err != nil || s == nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(size)/(1<<20), "MiB-state")
	}
}

// BenchmarkLargeCycle replays the requests of one kadm collection cycle over
// the full-size cluster: handlers alone and through sockets, each without cache,
// with the cache filled.
func BenchmarkLargeCycle(b *testing.B) {
	s := must(Large(DefaultLargeSpec()))(b)
	c := Start(b, WithState(s))
	cycle(b, kadmClient(b, c))
	requests := c.Requests()
	byKey := map[string]int{}
	for _, r := range requests {
		byKey[r.Name()]++
	}
	b.Logf("%d requests: %v", len(requests), byKey)

	for name := range byKey {
		b.Run("handling/uncached/"+name, func(b *testing.B) {
			only := slices.DeleteFunc(slices.Clone(requests), func(r Request) bool { return r.Name() != name })
			for b.Loop() {
				report(b, must(c.MeasureHandling(only))(b))
			}
		})
	}
	for _, frozen := range []bool{false, true} {
		name := "uncached"
		if frozen {
			c.Freeze()
			for range 2 {
				must(c.MeasureHandling(requests))(b)
			}
			name = "cached"
			b.Logf("cache after two cycles: %+v", c.CacheStats())
		}
		b.Run("handling/"+name, func(b *testing.B) {
			for b.Loop() {
				report(b, must(c.MeasureHandling(requests))(b))
			}
		})
		b.Run("serving/"+name, func(b *testing.B) {
			for b.Loop() {
				report(b, must(c.MeasureServing(b.Context(), requests))(b))
			}
		})
	}
}

// BenchmarkLiveCycle runs kadm's cycle itself against the frozen full-size
// cluster: client and fake together, with the cache's hit ratio. kadm fills its
// requests from maps, so that many are never the same twice.
func BenchmarkLiveCycle(b *testing.B) {
	c := Start(b, WithState(must(Large(DefaultLargeSpec()))(b)), WithRequestLog(0))
	c.Freeze()
	adm := kadmClient(b, c)
	for range 2 {
		cycle(b, adm)
	}
	before := c.CacheStats()
	start, n := ProcessCPU(), 0
	for b.Loop() {
		cycle(b, adm)
		n++
	}
	after := c.CacheStats()
	hits, misses := float64(after.Hits-before.Hits), float64(after.Misses-before.Misses)
	b.ReportMetric(float64((ProcessCPU()-start).Milliseconds())/float64(n), "cpu-ms/cycle")
	b.ReportMetric(hits/(hits+misses), "hit-ratio")
	b.ReportMetric(float64(after.Bytes)/(1<<20), "MiB-cache")
}

func report(b *testing.B, cost Cost) {
	b.ReportMetric(float64(cost.CPU.Milliseconds()), "cpu-ms/cycle")
	b.ReportMetric(float64(cost.Bytes)/(1<<20), "MiB/cycle")
	b.ReportMetric(float64(cost.Requests), "requests/cycle")
}

// BenchmarkSmallRequest is the throughput of one connection for the smallest
// useful request.
func BenchmarkSmallRequest(b *testing.B) {
	c := Start(b, WithRequestLog(0))
	cl := kgoClient(b, c)
	req := kmsg.NewPtrListGroupsRequest()
	for b.Loop() {
		if _, err := cl.Broker(1).Request(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
