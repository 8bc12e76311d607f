package model

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
)

// Hash identifies the state that plans depend on: brokers (id, rack, dead),
// partitions, their replicas in order, leaders and log directories. Loads,
// sizes, capacities and names of hosts and groups do not count, and neither does
// the order in which the cluster was put together: the hash tells whether a
// cluster has drifted since it was planned on. SHA-256 in hex over a stream of
// its own; the stream's first field is its version. O(replicas).
func (c *Cluster) Hash() string {
	sum := sha256.New()
	h := &hasher{w: bufio.NewWriterSize(sum, 1<<16)}
	h.text("kafka-steward-topology/1")
	h.number(int64(len(c.Brokers)))
	for i := range c.Brokers {
		b := &c.Brokers[i]
		h.number(int64(b.ID))
		h.text(b.Rack)
		h.flag(b.Dead)
	}
	h.number(int64(c.NumPartitions()))
	for p := range c.Topic {
		h.text(c.Topics[c.Topic[p]].Name)
		h.number(int64(c.ID[p]))
		from, to := c.Slots(p)
		h.number(int64(to - from))
		leader := int64(None)
		if l := c.Leader[p]; l != None {
			leader = int64(c.Brokers[c.Broker[l]].ID)
		}
		h.number(leader)
		for s := from; s < to; s++ {
			b := &c.Brokers[c.Broker[s]]
			h.number(int64(b.ID))
			// By path: the order in which a broker lists its directories is nothing
			// that moved.
			if d := c.Dir[s]; d != None {
				h.text(b.Dirs[d].Path)
			} else {
				h.text("")
			}
		}
	}
	h.w.Flush() // a hash does not fail
	return hex.EncodeToString(sum.Sum(nil))
}

// hasher writes fields so that no two lists of fields give the same bytes.
type hasher struct {
	w   *bufio.Writer
	buf [binary.MaxVarintLen64]byte
}

func (h *hasher) number(v int64) {
	h.w.Write(h.buf[:binary.PutVarint(h.buf[:], v)])
}

func (h *hasher) text(s string) {
	h.number(int64(len(s)))
	io.WriteString(h.w, s)
}

func (h *hasher) flag(v bool) {
	if v {
		h.number(1)
		return
	}
	h.number(0)
}
