package gather

import (
	"strconv"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
)

// labeller makes names fit for labels and counts, by kind, those that had to
// be changed.
type labeller map[string]int

func (l labeller) clean(kind, raw string) string {
	name, changed := exposition.Label(raw)
	if changed {
		l[kind]++
	}
	return name
}

// unique makes a group id a label that no other group has: an id that is not
// valid UTF-8 keeps apart from any id that happens to look like the result.
func (l labeller) unique(id string, taken map[string]bool) string {
	name := l.clean("group", id)
	if name != id {
		for base, n := name, 2; taken[name]; n++ {
			name = base + "~" + strconv.Itoa(n)
		}
	}
	taken[name] = true
	return name
}
