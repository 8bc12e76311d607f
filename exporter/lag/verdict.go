package lag

import "github.com/kafka-steward/kafka-steward/exporter/snapshot"

// pair is what is remembered of one (group, topic, partition). Ticks are 0 for
// "never". 48 bytes; a process keeps one for every committed pair.
type pair struct {
	offset int64
	lag    int64
	// lostUpTo is the log start up to which lost records were counted.
	lostUpTo int64

	firstSeen, changedAt      uint32
	zeroAt, downAt, rewoundAt uint32
}

// markerSlack is the lag that transaction markers alone can leave behind: they
// take an offset but are never delivered, so a drained consumer may stand one
// marker (commit or abort) of each of two interleaved producers short of the
// end. Where records go unread, the next ones soon take the lag beyond it.
const markerSlack = 2

// update takes one observation in.
func (p *pair) update(now uint32, offset, lag int64) {
	if p.firstSeen == 0 {
		*p = pair{offset: offset, lag: lag, lostUpTo: p.lostUpTo, firstSeen: now, changedAt: now}
	} else {
		switch {
		case offset < p.offset:
			p.rewoundAt, p.changedAt = now, now
		case offset > p.offset:
			p.changedAt = now
		}
		if lag < p.lag {
			p.downAt = now
		}
		p.offset, p.lag = offset, lag
	}
	if lag == 0 {
		p.zeroAt = now
	}
}

// verdict judges without thresholds, after the rules of LinkedIn's Burrow (its
// wiki, "Consumer Lag Evaluation Rules"), with one difference: the protocol
// does not tell when a commit was made, so "stopped" (nobody commits any more)
// is told from "stalled" (somebody is there and does not get on) by whether
// the group has members.
func (p *pair) verdict(now, window uint32, active bool) snapshot.Verdict {
	within := func(t uint32) bool { return t != 0 && now-t < window }
	switch {
	case within(p.rewoundAt):
		return snapshot.VerdictRewound
	case p.lag <= markerSlack, within(p.zeroAt), within(p.downAt):
		return snapshot.VerdictOK
	case within(p.firstSeen):
		return snapshot.VerdictUnknown
	case within(p.changedAt):
		return snapshot.VerdictWarning
	case active:
		return snapshot.VerdictStalled
	default:
		return snapshot.VerdictStopped
	}
}

// lost returns how many records before the log start the group never read and
// that were not counted before.
func (p *pair) lost(committed, start int64) uint64 {
	if start == snapshot.Unknown || committed >= start {
		return 0
	}
	from := max(committed, p.lostUpTo)
	if start <= from {
		return 0
	}
	p.lostUpTo = start
	return uint64(start - from)
}
