package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ReadSnapshot reads a document in the project's own format. Nothing is
// returned if anything is wrong: unknown keys, keys given twice, brokers or
// partitions listed twice, replicas on brokers that are not listed. name
// becomes the cluster's name where the document has none.
func ReadSnapshot(r io.Reader, name string) (*Snapshot, error) {
	d := &snapshotReader{dec: json.NewDecoder(r), s: &Snapshot{}, b: NewBuilder(name), seen: map[string]bool{}}
	d.dec.DisallowUnknownFields()
	if err := d.document(); err != nil {
		return nil, fmt.Errorf("reading %s near byte %d: %w", FormatSnapshot, d.dec.InputOffset(), err)
	}
	c, problems := d.b.Build()
	if err := JoinProblems(problems); err != nil {
		return nil, fmt.Errorf("the snapshot is not consistent: %w", err)
	}
	d.s.Cluster = c
	return d.s, nil
}

// snapshotReader reads the document piece by piece: a broker, a topic at a time.
type snapshotReader struct {
	dec  *json.Decoder
	s    *Snapshot
	b    *Builder
	seen map[string]bool
}

func (d *snapshotReader) document() error {
	if err := d.delim('{'); err != nil {
		return err
	}
	for d.dec.More() {
		t, err := d.dec.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if d.seen[key] {
			return fmt.Errorf("%q is given twice", key)
		}
		if len(d.seen) == 0 && key != "format" {
			return fmt.Errorf("the document starts with %q, not with its format", key)
		}
		d.seen[key] = true
		if err := d.part(key); err != nil {
			return err
		}
	}
	if err := d.delim('}'); err != nil {
		return err
	}
	if t, err := d.dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something follows the document: %v", t)
	}
	for _, key := range []string{"format", "brokers", "topics"} {
		if !d.seen[key] {
			return fmt.Errorf("%q is missing", key)
		}
	}
	return nil
}

func (d *snapshotReader) delim(want json.Delim) error {
	t, err := d.dec.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err == nil && t != want {
		err = fmt.Errorf("%v where %v should be", t, want)
	}
	return err
}

func (d *snapshotReader) part(key string) error {
	switch key {
	case "format":
		var f string
		if err := d.dec.Decode(&f); err != nil {
			return err
		}
		if f != FormatSnapshot {
			return fmt.Errorf("the document's format is %q", f)
		}
		return nil
	case "cluster":
		return d.dec.Decode(&d.b.name)
	case "cluster_id":
		return d.dec.Decode(&d.s.ClusterID)
	case "read_at":
		var text string
		err := d.dec.Decode(&text)
		if err == nil {
			d.s.ReadAt, err = parseTime(key, text)
		}
		return err
	case "load":
		var j jsonLoad
		err := d.dec.Decode(&j)
		if err == nil {
			d.s.Load, err = j.note()
		}
		return err
	case "warnings":
		return d.dec.Decode(&d.s.Warnings)
	case "brokers":
		return d.each(d.broker)
	case "topics":
		return d.each(d.topic)
	}
	return fmt.Errorf("unknown field %q", key)
}

func (d *snapshotReader) each(f func() error) error {
	if err := d.delim('['); err != nil {
		return err
	}
	for d.dec.More() {
		if err := f(); err != nil {
			return err
		}
	}
	return d.delim(']')
}

func (d *snapshotReader) broker() error {
	var j jsonBroker
	if err := d.dec.Decode(&j); err != nil {
		return err
	}
	b, err := j.broker()
	if err == nil {
		d.b.Broker(b, j.Group)
	}
	return err
}

func (d *snapshotReader) topic() error {
	var j jsonTopic
	if err := d.dec.Decode(&j); err != nil {
		return err
	}
	if j.Name == "" {
		return errors.New("a topic has no name")
	}
	d.b.Topic(Topic{Name: j.Name, ReplicationFactor: j.RF, Internal: j.Internal}, j.Group)
	for i := range j.Partitions {
		s, err := j.Partitions[i].spec(j.Name)
		if err != nil {
			return err
		}
		d.b.Partition(j.Name, s)
	}
	return nil
}
