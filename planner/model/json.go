package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// FormatSnapshot is the format name of the project's own snapshots. The format
// is documented in docs/snapshot-format.md.
const FormatSnapshot = "kafka-steward-snapshot/1"

// The JSON keys are an interface to others: what is here is in the document.
type (
	jsonHeader struct {
		Format    string    `json:"format"`
		Cluster   string    `json:"cluster,omitempty"`
		ClusterID string    `json:"cluster_id,omitempty"`
		ReadAt    string    `json:"read_at,omitempty"`
		Load      *jsonLoad `json:"load,omitempty"`
		Warnings  []string  `json:"warnings,omitempty"`
	}
	jsonLoad struct {
		Source      string            `json:"source,omitempty"`
		Methods     []string          `json:"methods,omitempty"`
		From        string            `json:"from,omitempty"`
		To          string            `json:"to,omitempty"`
		StepSeconds float64           `json:"step_seconds,omitempty"`
		Coverage    float64           `json:"coverage"`
		Filled      []TopicPartitions `json:"filled,omitempty"`
		Notes       []string          `json:"notes,omitempty"`
	}
	jsonBroker struct {
		ID    *int32 `json:"id"`
		Rack  string `json:"rack,omitempty"`
		Host  string `json:"host,omitempty"`
		Group string `json:"group,omitempty"`
		Dead  bool   `json:"dead,omitempty"`
		// Capacities are by resource name; what is absent is unlimited.
		Capacities map[string]int64 `json:"capacities,omitempty"`
		Dirs       []jsonDir        `json:"dirs,omitempty"`
	}
	jsonDir struct {
		Path string `json:"path"`
		// Capacity is absent where it is not known.
		Capacity *int64 `json:"capacity,omitempty"`
		Volume   int32  `json:"volume"`
		Offline  bool   `json:"offline,omitempty"`
	}
	jsonTopic struct {
		Name       string          `json:"name"`
		Group      string          `json:"group,omitempty"`
		RF         int32           `json:"rf"`
		Internal   bool            `json:"internal,omitempty"`
		Partitions []jsonPartition `json:"partitions"`
	}
	jsonPartition struct {
		ID       *int32        `json:"id"`
		Leader   *int32        `json:"leader"`
		Out      int64         `json:"out"`
		LeadCPU  int64         `json:"lead_cpu"`
		Moving   bool          `json:"moving"`
		Replicas []jsonReplica `json:"replicas"`
	}
	jsonReplica struct {
		Broker *int32 `json:"broker"`
		Dir    *int32 `json:"dir"`
		Size   int64  `json:"size"`
		In     int64  `json:"in"`
		CPU    int64  `json:"cpu"`
	}
)

// WriteSnapshot writes a snapshot in the project's own format: the same
// snapshot gives the same bytes. Memory does not grow with the cluster.
func WriteSnapshot(w io.Writer, s *Snapshot) error {
	out := &snapshotWriter{Writer: bufio.NewWriterSize(w, 1<<16)}
	c := s.Cluster
	h := jsonHeader{Format: FormatSnapshot, Cluster: c.Name, ClusterID: s.ClusterID, ReadAt: timeText(s.ReadAt), Load: loadToJSON(&s.Load), Warnings: s.Warnings}
	head := out.value(h)
	out.Write(head[:len(head)-1])
	out.WriteString(",\n\"brokers\":[")
	for i := range c.Brokers {
		out.separate(i)
		out.Write(out.value(brokerToJSON(c, &c.Brokers[i])))
	}
	out.WriteString("\n],\n\"topics\":[")
	p := 0
	for t := range c.Topics {
		out.separate(t)
		p = out.topic(c, t, p)
	}
	out.WriteString("\n]}\n")
	if out.err != nil {
		return out.err
	}
	return out.Flush()
}

type snapshotWriter struct {
	*bufio.Writer
	buf []byte
	err error
}

func (w *snapshotWriter) separate(i int) {
	if i > 0 {
		w.WriteByte(',')
	}
	w.WriteByte('\n')
}

// value is v as JSON, without the escapes that only web pages need.
func (w *snapshotWriter) value(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		w.err = errors.Join(w.err, err)
		return []byte("{}")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// topic writes topic t, whose partitions start at p, and returns where the next
// one's start. Rows are put together by hand: there are a million of them.
func (w *snapshotWriter) topic(c *Cluster, t, p int) int {
	x := &c.Topics[t]
	j := jsonTopic{Name: x.Name, Group: c.groupName(x.Group), RF: x.ReplicationFactor, Internal: x.Internal, Partitions: []jsonPartition{}}
	head := w.value(j)
	w.Write(head[:len(head)-2])
	for first := p; p < len(c.Topic) && int(c.Topic[p]) == t; p++ {
		w.separate(p - first)
		w.partition(c, p)
	}
	w.WriteString("]}")
	return p
}

func (w *snapshotWriter) partition(c *Cluster, p int) {
	b := append(w.buf[:0], `{"id":`...)
	number := func(key string, v int64) {
		if v != 0 {
			b = strconv.AppendInt(append(b, key...), v, 10)
		}
	}
	b = strconv.AppendInt(b, int64(c.ID[p]), 10)
	if l := c.Leader[p]; l != None {
		b = strconv.AppendInt(append(b, `,"leader":`...), int64(c.Brokers[c.Broker[l]].ID), 10)
	}
	number(`,"out":`, c.OutRate[p])
	number(`,"lead_cpu":`, c.LeadCPU[p])
	if c.Moving[p] {
		b = append(b, `,"moving":true`...)
	}
	b = append(b, `,"replicas":[`...)
	for s := c.Off[p]; s < c.Off[p+1]; s++ {
		if s > c.Off[p] {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, `{"broker":`...), int64(c.Brokers[c.Broker[s]].ID), 10)
		if d := c.Dir[s]; d != None {
			b = strconv.AppendInt(append(b, `,"dir":`...), int64(d), 10)
		}
		number(`,"size":`, c.Size[s])
		number(`,"in":`, c.InRate[s])
		number(`,"cpu":`, c.CPU[s])
		b = append(b, '}')
	}
	w.buf = append(b, `]}`...)
	w.Write(w.buf)
}

func (c *Cluster) groupName(i int32) string {
	if i == None {
		return ""
	}
	return c.Groups[i]
}

func brokerToJSON(c *Cluster, b *Broker) jsonBroker {
	j := jsonBroker{ID: &b.ID, Rack: b.Rack, Host: b.Host, Group: c.groupName(b.Group), Dead: b.Dead}
	for k, v := range b.Capacity {
		if v != Unlimited {
			if j.Capacities == nil {
				j.Capacities = map[string]int64{}
			}
			j.Capacities[Resource(k).String()] = v
		}
	}
	for i := range b.Dirs {
		d := jsonDir{Path: b.Dirs[i].Path, Volume: b.Dirs[i].Volume, Offline: b.Dirs[i].Offline}
		if b.Dirs[i].Capacity != Unlimited {
			d.Capacity = &b.Dirs[i].Capacity
		}
		j.Dirs = append(j.Dirs, d)
	}
	return j
}

func (j *jsonBroker) broker() (Broker, error) {
	if j.ID == nil {
		return Broker{}, errors.New("a broker has no id")
	}
	b := Broker{ID: *j.ID, Rack: j.Rack, Host: j.Host, Dead: j.Dead}
	for k := range b.Capacity {
		b.Capacity[k] = Unlimited
	}
	for name, v := range j.Capacities {
		k := slices.Index(ResourceNames[:], name)
		if k < 0 {
			return b, fmt.Errorf("broker %d: unknown resource %q among its capacities", b.ID, name)
		}
		b.Capacity[k] = v
	}
	for _, d := range j.Dirs {
		dir := LogDir{Path: d.Path, Capacity: Unlimited, Volume: d.Volume, Offline: d.Offline}
		if d.Capacity != nil {
			dir.Capacity = *d.Capacity
		}
		b.Dirs = append(b.Dirs, dir)
	}
	return b, nil
}

func (j *jsonPartition) spec(topic string) (PartitionSpec, error) {
	if j.ID == nil {
		return PartitionSpec{}, fmt.Errorf("topic %s: a partition has no id", topic)
	}
	s := PartitionSpec{ID: *j.ID, Leader: None, Out: j.Out, LeadCPU: j.LeadCPU, Moving: j.Moving, Replicas: make([]ReplicaSpec, len(j.Replicas))}
	if j.Leader != nil {
		s.Leader = *j.Leader
	}
	for i := range j.Replicas {
		r := &j.Replicas[i]
		if r.Broker == nil {
			return s, fmt.Errorf("%s-%d: replica %d has no broker", topic, s.ID, i)
		}
		s.Replicas[i] = ReplicaSpec{Broker: *r.Broker, Dir: None, Size: r.Size, In: r.In, CPU: r.CPU}
		if r.Dir != nil {
			s.Replicas[i].Dir = *r.Dir
		}
	}
	return s, nil
}

func loadToJSON(n *LoadNote) *jsonLoad {
	if n.Source == "" && len(n.Notes) == 0 && len(n.Methods) == 0 {
		return nil
	}
	return &jsonLoad{
		Source: n.Source, Methods: n.Methods, From: timeText(n.From), To: timeText(n.To), StepSeconds: n.Step.Seconds(),
		Coverage: n.Coverage, Filled: n.Filled, Notes: n.Notes,
	}
}

func (j *jsonLoad) note() (LoadNote, error) {
	n := LoadNote{Source: j.Source, Methods: j.Methods, Step: time.Duration(j.StepSeconds * float64(time.Second)), Coverage: j.Coverage, Filled: j.Filled, Notes: j.Notes}
	var err, err2 error
	n.From, err = parseTime("load.from", j.From)
	n.To, err2 = parseTime("load.to", j.To)
	return n, errors.Join(err, err2)
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func parseTime(key, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, fmt.Errorf("%s: %w", key, err)
	}
	return t.UTC(), nil
}
