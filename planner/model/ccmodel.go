package model

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Scales of cc-model/1: that format gives rates and sizes as decimal numbers in
// units of its own (kB/s and MB as Cruise Control has them), CPU in percent.
const (
	ccRate = 1_000
	ccSize = 1_000_000
	ccCPU  = 1_000_000
)

// FormatCC is the format name of the benchmark models.
const FormatCC = "cc-model/1"

type ccBroker struct {
	ID   int32   `json:"id"`
	Rack string  `json:"rack"`
	In   float64 `json:"in"`
	Out  float64 `json:"out"`
	Disk float64 `json:"disk"`
	CPU  float64 `json:"cpu"`
}

type ccPartition struct {
	Topic     int32     `json:"t"`
	Partition int32     `json:"p"`
	Leader    int32     `json:"l"`
	Replicas  []int32   `json:"r"`
	In        []float64 `json:"in"`
	Out       []float64 `json:"out"`
	Disk      []float64 `json:"disk"`
	CPU       []float64 `json:"cpu"`
}

type ccModel struct {
	Format     string        `json:"format"`
	Brokers    []ccBroker    `json:"brokers"`
	Topics     []string      `json:"topics"`
	Partitions []ccPartition `json:"partitions"`
}

// ReadCC reads a cc-model/1 document, gzip-compressed or not.
func ReadCC(r io.Reader, name string) (*Cluster, error) {
	r, err := MaybeGunzip(r)
	if err != nil {
		return nil, err
	}
	var m ccModel
	if err := json.NewDecoder(r).Decode(&m); err != nil {
		return nil, fmt.Errorf("reading %s: %w", FormatCC, err)
	}
	if m.Format != FormatCC {
		return nil, fmt.Errorf("the document's format is %q, not %s", m.Format, FormatCC)
	}
	b := NewBuilder(name)
	for _, x := range m.Brokers {
		b.Broker(Broker{ID: x.ID, Rack: x.Rack, Capacity: Vector{
			In: scaled(x.In, ccRate), Out: scaled(x.Out, ccRate), Disk: scaled(x.Disk, ccSize), CPU: scaled(x.CPU, ccCPU),
			Replicas: Unlimited, Leaders: Unlimited, LeaderIn: scaled(x.In, ccRate),
		}}, "")
	}
	rf := make([]int32, len(m.Topics))
	for i := range m.Partitions {
		if t := m.Partitions[i].Topic; int(t) < len(rf) && t >= 0 {
			rf[t] = max(rf[t], int32(len(m.Partitions[i].Replicas)))
		}
	}
	for i, t := range m.Topics {
		b.Topic(Topic{Name: t, ReplicationFactor: rf[i]}, "")
	}
	for i := range m.Partitions {
		p := &m.Partitions[i]
		if p.Topic < 0 || int(p.Topic) >= len(m.Topics) {
			return nil, fmt.Errorf("partition %d of the document names topic %d of %d", i, p.Topic, len(m.Topics))
		}
		spec, err := p.spec()
		if err != nil {
			return nil, fmt.Errorf("%s-%d: %w", m.Topics[p.Topic], p.Partition, err)
		}
		b.Partition(m.Topics[p.Topic], spec)
	}
	c, problems := b.Build()
	return c, JoinProblems(problems)
}

func (p *ccPartition) spec() (PartitionSpec, error) {
	n := len(p.Replicas)
	if len(p.In) != n || len(p.Out) != n || len(p.Disk) != n || len(p.CPU) != n {
		return PartitionSpec{}, errors.New("its load lists are not as long as its replica list")
	}
	s := PartitionSpec{ID: p.Partition, Leader: p.Leader, Replicas: make([]ReplicaSpec, n)}
	for i, b := range p.Replicas {
		s.Replicas[i] = ReplicaSpec{Broker: b, Dir: None, Size: scaled(p.Disk[i], ccSize), In: scaled(p.In[i], ccRate), CPU: scaled(p.CPU[i], ccCPU)}
		if b != p.Leader {
			continue
		}
		// A leader's figures include leading. What following would cost it is
		// Cruise Control's model: CPU = 0.7 in + 0.15 out leading, 0.15 in following.
		s.Out = scaled(p.Out[i], ccRate)
		follow := 0.0
		if p.In[i]+p.Out[i] > 0 {
			follow = p.CPU[i] * 0.15 * p.In[i] / (0.7*p.In[i] + 0.15*p.Out[i])
		}
		s.Replicas[i].CPU = scaled(follow, ccCPU)
		s.LeadCPU = max(0, scaled(p.CPU[i], ccCPU)-s.Replicas[i].CPU)
	}
	return s, nil
}

func scaled(v float64, scale float64) int64 { return int64(math.Round(v * scale)) }

// MaybeGunzip returns a reader of the content, decompressed if it is gzip.
func MaybeGunzip(r io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 1<<20)
	magic, err := br.Peek(2)
	if err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		return gzip.NewReader(br)
	}
	return br, nil
}

// JoinProblems makes one error of problems, nil of none.
func JoinProblems(problems []Problem) error {
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}
