package monitor

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/gather"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
)

// reporter logs what collectors lack: when it begins, when it changes, when it
// ends, and once in a while in between. A cluster that is down for a night must
// not fill the log every 15 seconds with the same lines.
type reporter struct {
	log *slog.Logger

	mu   sync.Mutex
	last map[string]reported
}

type reported struct {
	signature string
	at        time.Time
}

const (
	reportAgainAfter = 10 * time.Minute
	shownItems       = 5
)

func newReporter(log *slog.Logger) *reporter {
	return &reporter{log: log, last: map[string]reported{}}
}

func (r *reporter) report(name string, failures gather.Failures, err error) {
	signature := signatureOf(failures, err)
	r.mu.Lock()
	before, now := r.last[name], time.Now()
	if signature == before.signature && now.Sub(before.at) < reportAgainAfter {
		r.mu.Unlock()
		return
	}
	r.last[name] = reported{signature, now}
	r.mu.Unlock()

	log := r.log.With("collector", name)
	switch {
	case err != nil:
		log.Warn("collector failed", "class", kafka.Classify(err), "err", err)
	case len(failures) == 0 && before.signature != "":
		log.Info("collector is complete again")
	}
	for i, f := range failures {
		if i == shownItems {
			log.Warn("collector lacks more", "items", len(failures)-shownItems)
			return
		}
		log.Warn("collector lacks something", "what", f.What, "class", f.Class, "err", f.Err)
	}
}

// signatureOf names what is wrong without the details that change every time,
// such as durations in messages.
func signatureOf(failures gather.Failures, err error) string {
	var b strings.Builder
	if err != nil {
		b.WriteString("all:" + string(kafka.Classify(err)))
	}
	for _, f := range failures {
		b.WriteString("|" + f.What + ":" + f.Class)
	}
	return b.String()
}
