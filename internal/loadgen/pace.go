package loadgen

import "time"

// pacer spreads work over time.
type pacer struct {
	rate  float64 // per second
	last  time.Time
	owing float64
}

// due returns how much is to be done at a time, which must not go backwards.
// What could not be done in time is made up for at most one second: after a
// pause there is no burst.
func (p *pacer) due(now time.Time) int {
	if p.last.IsZero() {
		p.last = now
	}
	p.owing = min(p.owing+p.rate*now.Sub(p.last).Seconds(), max(p.rate, 1))
	p.last = now
	n := int(p.owing)
	p.owing -= float64(n)
	return n
}
