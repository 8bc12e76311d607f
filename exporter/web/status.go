package web

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// Status is what /status.json answers. Its keys are stable: keys may be added.
type Status struct {
	Time     time.Time       `json:"time"`
	Version  string          `json:"version"`
	Clusters []ClusterStatus `json:"clusters"`
}

// ClusterStatus is one cluster's part of [Status].
type ClusterStatus struct {
	Name string `json:"name"`
	// Tried tells whether a first collection was tried; Detail says for people
	// how the cluster does.
	Tried  bool   `json:"tried"`
	Detail string `json:"detail"`
	// KafkaClusterID and Mode (kraft, zookeeper) are "" while unknown.
	KafkaClusterID string `json:"kafka_cluster_id,omitempty"`
	Mode           string `json:"mode,omitempty"`
	// Counts are null while unknown.
	Brokers    *int              `json:"brokers"`
	Topics     *int              `json:"topics"`
	Partitions *int              `json:"partitions"`
	Groups     *int              `json:"groups"`
	Collectors []CollectorStatus `json:"collectors"`
}

// States of a collector, in [CollectorStatus].
const (
	StateWaiting     = "waiting"     // it has not run yet
	StateOK          = "ok"          // all was read
	StatePartial     = "partial"     // some was read, see missing
	StateDenied      = "denied"      // the cluster's ACLs refuse it
	StateUnsupported = "unsupported" // the cluster does not offer it
	StateFailed      = "failed"      // nothing was read
	StateStale       = "stale"       // the last run was fine but is long ago
)

// CollectorStatus is one collector's part of [ClusterStatus].
type CollectorStatus struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// LastSuccess is null before the first; AgeSeconds is the time since.
	LastSuccess     *time.Time `json:"last_success"`
	AgeSeconds      *float64   `json:"age_seconds"`
	DurationSeconds float64    `json:"duration_seconds"`
	// Errors counts failures since the process started by class; classes
	// without any are left out.
	Errors map[string]uint64 `json:"errors"`
	// Missing lists what the last run could not read, at most MaxMissing of
	// MissingCount.
	Missing      []Missing `json:"missing"`
	MissingCount int       `json:"missing_count"`
}

// Missing is something that could not be read.
type Missing struct {
	What   string `json:"what"`
	Broker *int32 `json:"broker,omitempty"`
	Class  string `json:"class"`
	Error  string `json:"error"`
}

// MaxMissing bounds the list of what one collector misses: a dead cluster
// should not make a page of a million lines.
const MaxMissing = 20

// staleIntervals is how many intervals without a success make a collector stale.
const staleIntervals = 3

func (s *server) status() Status {
	st := Status{Time: s.Now().UTC(), Version: s.Version, Clusters: []ClusterStatus{}}
	for _, c := range s.Clusters() {
		st.Clusters = append(st.Clusters, clusterStatus(c, st.Time))
	}
	return st
}

func clusterStatus(c Cluster, now time.Time) ClusterStatus {
	st := ClusterStatus{Name: c.Name(), Collectors: []CollectorStatus{}}
	st.Tried, st.Detail = c.Ready()
	snap := c.Snapshot()
	if snap == nil {
		return st
	}
	if t := snap.Topology; t != nil {
		st.KafkaClusterID, st.Mode = t.ClusterID, t.Mode
		st.Brokers, st.Topics, st.Partitions = ptr(len(t.Brokers)), ptr(len(t.Topics)), ptr(t.PartitionCount())
	}
	if g := snap.Groups; g != nil {
		st.Groups = ptr(len(g.Groups))
	}
	for i := range snap.Collectors {
		st.Collectors = append(st.Collectors, collectorStatus(&snap.Collectors[i], now))
	}
	return st
}

func collectorStatus(c *snapshot.CollectorStatus, now time.Time) CollectorStatus {
	st := CollectorStatus{
		Name: c.Name, State: state(c, now), DurationSeconds: c.Duration.Seconds(),
		Errors: map[string]uint64{}, Missing: []Missing{}, MissingCount: len(c.Missing),
	}
	if !c.LastSuccess.IsZero() {
		st.LastSuccess = ptr(c.LastSuccess.UTC())
		// A clock that was set back is no reason for a negative age.
		st.AgeSeconds = ptr(max(0, now.Sub(c.LastSuccess).Seconds()))
	}
	for class, n := range c.Errors {
		if n > 0 {
			st.Errors[class] = n
		}
	}
	for _, m := range c.Missing[:min(len(c.Missing), MaxMissing)] {
		missing := Missing{What: m.What, Class: m.Class, Error: m.Err}
		if m.Broker >= 0 {
			missing.Broker = ptr(m.Broker)
		}
		st.Missing = append(st.Missing, missing)
	}
	return st
}

func state(c *snapshot.CollectorStatus, now time.Time) string {
	switch {
	case c.LastRun.IsZero():
		return StateWaiting
	case c.Unsupported:
		return StateUnsupported
	case c.Denied:
		return StateDenied
	case c.Interval > 0 && c.Success && now.Sub(c.LastRun) > staleIntervals*c.Interval:
		return StateStale
	case c.Success && (c.Partial || len(c.Missing) > 0):
		return StatePartial
	case c.Success:
		return StateOK
	case c.Partial:
		return StatePartial
	default:
		return StateFailed
	}
}

func ptr[T any](v T) *T { return &v }

func (s *server) statusJSON(w http.ResponseWriter, _ *http.Request) {
	s.render(w, "application/json; charset=utf-8", func(b *bytes.Buffer) error {
		enc := json.NewEncoder(b)
		enc.SetIndent("", "  ")
		return enc.Encode(s.status())
	})
}

//go:embed status.html
var statusHTML string

var statusTemplate = template.Must(template.New("status").Funcs(template.FuncMap{
	"age": func(seconds float64) string { return (time.Duration(seconds) * time.Second).String() },
	"seconds": func(s float64) string {
		return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
	},
	"rest": func(c CollectorStatus) int { return c.MissingCount - len(c.Missing) },
}).Parse(statusHTML))

func (s *server) statusPage(w http.ResponseWriter, _ *http.Request) {
	s.render(w, "text/html; charset=utf-8", func(b *bytes.Buffer) error {
		return statusTemplate.Execute(b, s.status())
	})
}

// render answers only when all of it could be made.
func (s *server) render(w http.ResponseWriter, contentType string, write func(*bytes.Buffer) error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		s.Logger.Error("status cannot be shown; this is a bug in the exporter", "err", err)
		plain(w, http.StatusInternalServerError, "The status cannot be shown: see the log.\n")
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = b.WriteTo(w) // the client may have gone
}
