package model

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Snapshot is a cluster with what is known about its origin.
type Snapshot struct {
	Cluster *Cluster
	// ClusterID is Kafka's own id, "" if not known.
	ClusterID string
	// ReadAt is when the cluster was read, zero if not known.
	ReadAt time.Time
	// Load tells where the loads come from.
	Load LoadNote
	// Warnings are what was odd while reading, in a fixed order.
	Warnings []string
}

// LoadNote tells where loads come from and how much they can be trusted.
type LoadNote struct {
	// Source is "" where there are no loads, else for programs: prometheus, offsets.
	Source string
	// Methods tell for people how each rate was measured.
	Methods []string
	// From and To bound the window, Step is the distance of samples; zero if not
	// known.
	From, To time.Time
	Step     time.Duration
	// Coverage is the share of partitions with enough samples, 0 to 1.
	Coverage float64
	// Filled lists the partitions whose rates were filled in from their topic,
	// sorted.
	Filled []TopicPartitions
	// Notes say what was filtered, for people.
	Notes []string
}

// TopicPartitions names partitions of one topic, sorted.
type TopicPartitions struct {
	Topic      string  `json:"topic"`
	Partitions []int32 `json:"partitions"`
}

// ReadAny reads a snapshot in the project's own format or a cc-model/1
// document, gzip-compressed or not. name becomes the cluster's name where the
// document has none.
func ReadAny(r io.Reader, name string) (*Snapshot, error) {
	r, err := MaybeGunzip(r)
	if err != nil {
		return nil, fmt.Errorf("decompressing the snapshot: %w", err)
	}
	br := bufio.NewReaderSize(r, 1<<16)
	// Own documents start with their format; cc-model/1 may have it anywhere.
	head, _ := br.Peek(1 << 10)
	if strings.Contains(string(head), `"kafka-steward-snapshot/`) {
		return ReadSnapshot(br, name)
	}
	c, err := ReadCC(br, name)
	if err != nil {
		return nil, fmt.Errorf("neither %s (which must start with its format) nor a good %s: %w", FormatSnapshot, FormatCC, err)
	}
	return &Snapshot{Cluster: c, Load: LoadNote{Source: FormatCC, Coverage: 1}}, nil
}

// ReadFile reads a snapshot file of any known format. The cluster's name is
// the file's name up to its first dot, where the document has none.
func ReadFile(path string) (*Snapshot, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading a snapshot: %w", err)
	}
	defer f.Close()
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	s, err := ReadAny(f, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// WriteFile writes a snapshot, gzip-compressed if the file's name ends in .gz.
// An existing file is replaced in one step, so that nobody reads half of one.
func WriteFile(path string, s *Snapshot) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("writing a snapshot: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("writing the snapshot %s: %w", path, err)
		}
	}()
	if err = writeTo(f, s, strings.HasSuffix(path, ".gz")); err != nil {
		return err
	}
	// CreateTemp makes files that only the owner may read.
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func writeTo(w io.Writer, s *Snapshot, compress bool) error {
	if !compress {
		return WriteSnapshot(w, s)
	}
	// Speed over size: a million replicas take half a second instead of three.
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if err := WriteSnapshot(z, s); err != nil {
		return err
	}
	return z.Close()
}
