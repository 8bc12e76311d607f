package balance

import (
	"cmp"
	"math"
	"slices"
)

var inf = math.Inf(1)

// sortBySize sorts slots by size, biggest first, ties by slot.
func sortBySize(slots []int32, rep []replica) {
	slices.SortFunc(slots, func(a, b int32) int {
		return cmp.Or(cmp.Compare(rep[b].disk, rep[a].disk), cmp.Compare(a, b))
	})
}
