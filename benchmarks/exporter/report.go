package main

import "fmt"

// target is one promise and what was measured of it.
type target struct {
	what  string
	got   float64
	limit float64
	unit  string
	// atLeast turns the limit around.
	atLeast bool
}

// judge prints the targets and returns how many were missed.
func judge(targets []target) (missed int) {
	for _, t := range targets {
		verdict, bound := "ok", "at most"
		if t.atLeast {
			bound = "at least"
		}
		if !t.atLeast && t.got > t.limit || t.atLeast && t.got < t.limit {
			verdict = "MISSED"
			missed++
		}
		fmt.Printf("  %-58s %10.3f  (%s %g %s)  %s\n", t.what, t.got, bound, t.limit, t.unit, verdict)
	}
	return missed
}

func (f *figures) print(name string, rpcs float64) {
	fmt.Printf("%-8s collect %.3f s, CPU %.3f s per refresh (one scrape included), %.0f requests per refresh, scrape %.3f s, %.1f MB, %d series, peak RSS %.0f MB\n",
		name, f.collectSeconds, f.cpuSeconds, rpcs, f.scrapeSeconds, float64(f.bytes)/1e6, f.series, f.peakMB)
}
