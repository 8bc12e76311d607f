package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// AnyDir is how Kafka's documents say that the broker may choose the log
// directory.
const AnyDir = "any"

// Reassignment is the document of kafka-reassign-partitions: where replicas are
// to be.
type Reassignment struct {
	Version    int                     `json:"version"`
	Partitions []ReassignmentPartition `json:"partitions"`
}

// ReassignmentPartition is the wanted place of one partition.
type ReassignmentPartition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// Replicas are broker ids in order of preference.
	Replicas []int32 `json:"replicas"`
	// LogDirs are as many paths or AnyDir, or nil for all any.
	LogDirs []string `json:"log_dirs,omitempty"`
}

// TopicsToMove is the document that names topics to kafka-reassign-partitions
// --generate.
type TopicsToMove struct {
	Version int           `json:"version"`
	Topics  []TopicToMove `json:"topics"`
}

// TopicToMove names a topic.
type TopicToMove struct {
	Topic string `json:"topic"`
}

// Target is a checked entry of a Reassignment.
type Target struct {
	// Partition is the index in the Cluster.
	Partition int
	// Brokers are indexes into the Cluster's Brokers, in order of preference;
	// Dirs into each broker's Dirs, None where the broker may choose.
	Brokers, Dirs []int32
}

// ReadReassignment reads Kafka's reassignment document. What it says is not
// checked against a cluster: see Reassignment.Targets.
func ReadReassignment(r io.Reader) (*Reassignment, error) {
	var doc struct {
		Version    *int `json:"version"`
		Partitions []struct {
			Topic     *string   `json:"topic"`
			Partition *int32    `json:"partition"`
			Replicas  []int32   `json:"replicas"`
			LogDirs   *[]string `json:"log_dirs"`
		} `json:"partitions"`
	}
	if err := decodeStrict(r, &doc); err != nil {
		return nil, fmt.Errorf("reading a reassignment: %w", err)
	}
	if err := checkVersion(doc.Version); err != nil {
		return nil, fmt.Errorf("reading a reassignment: %w", err)
	}
	out := &Reassignment{Version: 1, Partitions: make([]ReassignmentPartition, len(doc.Partitions))}
	for i, p := range doc.Partitions {
		if p.Topic == nil || p.Partition == nil {
			return nil, fmt.Errorf("reading a reassignment: entry %d names no topic or no partition", i)
		}
		out.Partitions[i] = ReassignmentPartition{Topic: *p.Topic, Partition: *p.Partition, Replicas: p.Replicas}
		if p.LogDirs != nil {
			// An empty list is a list of another length, not the absence of one.
			out.Partitions[i].LogDirs = append([]string{}, *p.LogDirs...)
		}
	}
	return out, nil
}

// ReadTopicsToMove reads the list of topics that kafka-reassign-partitions
// --generate takes, and returns their names as listed.
func ReadTopicsToMove(r io.Reader) ([]string, error) {
	var doc struct {
		Version *int `json:"version"`
		Topics  []struct {
			Topic string `json:"topic"`
		} `json:"topics"`
	}
	err := decodeStrict(r, &doc)
	if err == nil {
		err = checkVersion(doc.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a list of topics to move: %w", err)
	}
	var out []string
	for i, t := range doc.Topics {
		if t.Topic == "" {
			return nil, fmt.Errorf("reading a list of topics to move: entry %d names no topic", i)
		}
		if slices.Contains(out, t.Topic) {
			return nil, fmt.Errorf("reading a list of topics to move: %s is listed twice", t.Topic)
		}
		out = append(out, t.Topic)
	}
	return out, nil
}

// decodeStrict reads one JSON value and nothing else. An unknown key is an
// error: a misspelt "log_dir" must not silently become "any".
func decodeStrict(r io.Reader, v any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON document: remove what a tool printed around it")
	}
	return nil
}

func checkVersion(v *int) error {
	if v == nil {
		return errors.New(`it has no "version"; Kafka's documents have 1`)
	}
	if *v != 1 {
		return fmt.Errorf("its version is %d, only 1 is known", *v)
	}
	return nil
}

// Write writes the document as Kafka's tools take it, a partition a line.
func (d *Reassignment) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`{"version":1,"partitions":[`)
	for i := range d.Partitions {
		line, err := json.Marshal(&d.Partitions[i])
		if err != nil {
			return fmt.Errorf("writing a reassignment: %w", err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(line)
	}
	b.WriteString("\n]}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Targets checks the document against a cluster and resolves it. If anything
// is wrong nothing is returned but everything that is wrong: partitions that do
// not exist or are listed twice, no replicas, a broker twice, brokers that are
// unknown or dead, log directories that are unknown, offline or not as many as
// replicas. A replication factor other than the present one is allowed: that is
// how it is changed. O(entries × log partitions).
func (d *Reassignment) Targets(c *Cluster) ([]Target, []Problem) {
	var out []Target
	var problems []Problem
	listed := map[int]bool{}
	for i := range d.Partitions {
		e := &d.Partitions[i]
		where := fmt.Sprintf("%s-%d", e.Topic, e.Partition)
		bad := func(format string, args ...any) {
			problems = append(problems, Problem{where, fmt.Sprintf(format, args...)})
		}
		p, ok := c.PartitionIndex(e.Topic, e.Partition)
		switch {
		case !ok:
			bad("does not exist")
		case listed[p]:
			bad("is listed twice")
		}
		if ok {
			listed[p] = true
		}
		t := e.target(c, bad)
		t.Partition = p
		out = append(out, t)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return out, nil
}

func (e *ReassignmentPartition) target(c *Cluster, bad func(string, ...any)) Target {
	if len(e.Replicas) == 0 {
		bad("has no replicas")
	}
	if e.LogDirs != nil && len(e.LogDirs) != len(e.Replicas) {
		bad("has %d log_dirs for %d replicas", len(e.LogDirs), len(e.Replicas))
	}
	t := Target{Brokers: make([]int32, len(e.Replicas)), Dirs: make([]int32, len(e.Replicas))}
	for i, id := range e.Replicas {
		t.Dirs[i] = None
		if slices.Index(e.Replicas, id) < i {
			bad("lists broker %d twice: %v", id, e.Replicas)
			continue
		}
		b, ok := c.BrokerIndex(id)
		if !ok {
			bad("lists broker %d, which is not in the cluster", id)
			continue
		}
		t.Brokers[i] = b
		if c.Brokers[b].Dead {
			bad("lists broker %d, which is dead", id)
		}
		if i < len(e.LogDirs) && e.LogDirs[i] != AnyDir {
			var reason string
			if t.Dirs[i], reason = c.Brokers[b].dir(e.LogDirs[i]); reason != "" {
				bad("%s", reason)
			}
		}
	}
	return t
}

// dir finds a log directory by path, or tells why it cannot be used.
func (b *Broker) dir(name string) (int32, string) {
	if !path.IsAbs(name) {
		return None, fmt.Sprintf("names log dir %q of broker %d, which is neither an absolute path nor %q", name, b.ID, AnyDir)
	}
	if len(b.Dirs) == 0 {
		return None, fmt.Sprintf("names log dir %s of broker %d, whose log dirs are not known", name, b.ID)
	}
	for i := range b.Dirs {
		if b.Dirs[i].Path == name {
			if b.Dirs[i].Offline {
				return None, fmt.Sprintf("names log dir %s of broker %d, which is offline", name, b.ID)
			}
			return int32(i), ""
		}
	}
	return None, fmt.Sprintf("names log dir %s, which broker %d does not have", name, b.ID)
}

// PartitionIndex finds a partition. O(log partitions).
func (c *Cluster) PartitionIndex(topic string, id int32) (int, bool) {
	t, ok := slices.BinarySearchFunc(c.Topics, topic, func(t Topic, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return -1, false
	}
	lo, hi := 0, len(c.Topic)
	for lo < hi {
		m := (lo + hi) / 2
		if int(c.Topic[m]) < t || int(c.Topic[m]) == t && c.ID[m] < id {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(c.Topic) && int(c.Topic[lo]) == t && c.ID[lo] == id {
		return lo, true
	}
	return -1, false
}
