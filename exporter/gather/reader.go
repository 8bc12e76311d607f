// Package gather reads a cluster into snapshots: one function per subject,
// each with partial results. What a subject could not read is told beside the
// data, never instead of it.
package gather

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
	"github.com/kafka-steward/kafka-steward/internal/kafka"
)

// Reader reads one cluster. Its methods may run at the same time as each
// other, each one not with itself.
type Reader struct {
	client *kafka.Client
	// beside has connections of its own, for what may take long.
	beside *kafka.Client
	cfg    config.Cluster
	now    func() time.Time

	resourceGroup map[int32]string
	dns           *resolver

	controllers changeCounter
	quorum      changeCounter
}

// New makes a reader.
func New(client *kafka.Client, cfg config.Cluster) *Reader {
	r := &Reader{client: client, beside: client.Beside(), cfg: cfg, now: time.Now, resourceGroup: map[int32]string{}, dns: newResolver()}
	for name, g := range cfg.ResourceGroups {
		for _, b := range g.Brokers {
			r.resourceGroup[b] = name
		}
	}
	return r
}

// Failures are what a subject could not read.
type Failures []snapshot.Missing

func (f *Failures) broker(id int32, err error) {
	*f = append(*f, snapshot.Missing{What: fmt.Sprintf("broker %d", id), Broker: id, Class: string(kafka.Classify(err)), Err: err.Error()})
}

func (f *Failures) item(what string, broker int32, err error) {
	*f = append(*f, snapshot.Missing{What: what, Broker: broker, Class: string(kafka.Classify(err)), Err: err.Error()})
}

func (f *Failures) brokers(failed map[int32]error) {
	for _, id := range slices.Sorted(maps.Keys(failed)) {
		f.broker(id, failed[id])
	}
}

// whole returns an error when every one of n brokers failed: there is nothing
// to show then.
func whole(failed map[int32]error, n int) error {
	if len(failed) == 0 || len(failed) < n {
		return nil
	}
	errs := make([]error, 0, len(failed))
	for _, id := range slices.Sorted(maps.Keys(failed)) {
		errs = append(errs, failed[id])
	}
	return errors.Join(errs...)
}

// wantsTopic tells whether the configuration selects a topic for this process.
func (r *Reader) wantsTopic(name string) bool {
	return r.cfg.Topics.Match(name) && r.cfg.Shard.Owns(name)
}

// upBrokers lists the brokers that can be asked.
func upBrokers(t *snapshot.Topology) []int32 {
	var ids []int32
	for i := range t.Brokers {
		if t.Brokers[i].Up {
			ids = append(ids, t.Brokers[i].ID)
		}
	}
	return ids
}

// changeCounter counts changes of a value after the first one.
type changeCounter struct {
	seen  bool
	value string
	count uint64
}

func (c *changeCounter) observe(v string) uint64 {
	if c.seen && v != c.value {
		c.count++
	}
	c.seen, c.value = true, v
	return c.count
}
