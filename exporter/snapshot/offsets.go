package snapshot

import "time"

// Offsets are the partitions' log offsets, by topic name. End and Start may
// have been read at different times.
type Offsets struct {
	EndReadAt, StartReadAt, StableReadAt, LastRecordReadAt time.Time
	// Topics maps a topic name to its partitions' offsets, indexed by partition id.
	Topics map[string]*TopicOffsets
}

// TopicOffsets holds one topic's offsets. Slices are indexed by partition id;
// an entry is Unknown where it was not read. Start, Stable and LastRecord may
// be shorter than End, or nil.
type TopicOffsets struct {
	ID  TopicID
	End []int64
	// Start is the log start offset.
	Start []int64
	// Stable is the last stable offset (read_committed consumers see up to it).
	Stable []int64
	// LastRecord is the newest record's timestamp in Unix milliseconds.
	LastRecord []int64
}

// At returns s[i], or Unknown if it is out of range.
func At(s []int64, i int32) int64 {
	if i < 0 || int(i) >= len(s) {
		return Unknown
	}
	return s[i]
}

// Topic returns a topic's offsets, nil if unknown.
func (o *Offsets) Topic(name string) *TopicOffsets {
	if o == nil {
		return nil
	}
	return o.Topics[name]
}
