package exposition

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Options are what a handler serves.
type Options struct {
	// Clusters gives the snapshots to render. It is called once per scrape and
	// must not wait for Kafka. Of sources with one cluster name the first counts.
	Clusters func() []Source
	// Families in the order of the output; [Accounting] last. Of families with
	// one name the first counts.
	Families []Family
	// Gatherer adds families of the process itself; nil adds none. A family
	// that Families has too is left out.
	Gatherer prometheus.Gatherer
	// Logger defaults to slog.Default.
	Logger *slog.Logger
	// MaxInFlight bounds concurrent scrapes; more are answered with 503.
	// Default 3.
	MaxInFlight int
	// Timeout is how long a scrape may take to write when the client does not
	// say how long it waits. Default 60 s.
	Timeout time.Duration
}

type handler struct {
	Options
	slots chan struct{}
	gzips sync.Pool
	// reported remembers problems that would otherwise be logged at each scrape.
	reported sync.Map
}

// NewHandler serves scrapes. Every request is rendered from the snapshots of
// that moment: as text 0.0.4 unless the client prefers delimited protobuf, or
// takes OpenMetrics but not text; compressed if it takes gzip.
func NewHandler(o Options) http.Handler {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 3
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	h := &handler{Options: o, slots: make(chan struct{}, o.MaxInFlight)}
	h.Families = unique(h, "metric family", o.Families, func(f *Family) string { return f.Name })
	h.gzips.New = func() any {
		// The level is a valid constant, the only error there is.
		z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
		return z
	}
	return h
}

// unique keeps the first of items with one name.
func unique[T any](h *handler, what string, items []T, name func(*T) string) []T {
	seen := make(map[string]bool, len(items))
	kept := make([]T, 0, len(items))
	for i := range items {
		n := name(&items[i])
		if seen[n] {
			h.once(what+n, what+" exists twice, only the first is exported", "name", n)
			continue
		}
		seen[n] = true
		kept = append(kept, items[i])
	}
	return kept
}

// once logs an error the first time.
func (h *handler) once(key, msg string, args ...any) {
	if _, again := h.reported.LoadOrStore(key, true); !again {
		h.Logger.Error(msg, args...)
	}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Metrics are read with GET.", http.StatusMethodNotAllowed)
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "Too many scrapes at once: "+strconv.Itoa(h.MaxInFlight)+
			" are being served. Scrape from fewer places or less often.", http.StatusServiceUnavailable)
		return
	}
	contentType := negotiate(r.Header)
	w.Header().Set("Content-Type", string(contentType))
	w.Header().Add("Vary", "Accept, Accept-Encoding")
	zip := takesGzip(r.Header)
	if zip {
		w.Header().Set("Content-Encoding", "gzip")
	}
	if r.Method == http.MethodHead {
		return
	}
	// A client that stops reading must not hold a slot for ever. Writers
	// without deadlines (tests, wrappers) are served without.
	deadline := time.Now().Add(h.timeout(r.Header))
	_ = http.NewResponseController(w).SetWriteDeadline(deadline)
	ctx, cancel := context.WithDeadline(r.Context(), deadline)
	defer cancel()
	err := h.serve(ctx, w, contentType, zip)
	if err == nil {
		return
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		h.Logger.Warn("scrape not completed in the time that the client waits; is its scrape timeout too short for the number of series?",
			"client", r.RemoteAddr, "err", err)
	} else {
		h.Logger.Debug("scrape given up by the client", "client", r.RemoteAddr, "err", err)
	}
	// Ending the response in good order would make half a scrape look whole.
	panic(http.ErrAbortHandler)
}

// timeout is how long the client waits. Prometheus says so.
func (h *handler) timeout(header http.Header) time.Duration {
	s, err := strconv.ParseFloat(header.Get("X-Prometheus-Scrape-Timeout-Seconds"), 64)
	if err != nil || !(s > 0 && s < 3600) {
		return h.Timeout
	}
	return time.Duration(s * float64(time.Second))
}

func (h *handler) serve(ctx context.Context, w io.Writer, contentType expfmt.Format, zip bool) error {
	if !zip {
		return h.render(ctx, w, contentType)
	}
	z := h.gzips.Get().(*gzip.Writer)
	z.Reset(w)
	defer func() {
		z.Reset(io.Discard)
		h.gzips.Put(z)
	}()
	if err := h.render(ctx, z, contentType); err != nil {
		return err
	}
	return z.Close()
}

func (h *handler) render(ctx context.Context, w io.Writer, contentType expfmt.Format) error {
	sources := unique(h, "cluster", h.Clusters(), func(s *Source) string { return s.Snapshot.Name })
	s := newScrape(w, formatOf(contentType), h.Families, sources)
	defer s.free()
	err := s.run(ctx)
	for _, p := range s.panics {
		h.once("panic "+p.family, "rendering a metric family failed, its series are incomplete; this is a bug in the exporter",
			"family", p.family, "cluster", p.cluster, "panic", p.value, "stack", p.stack)
	}
	if err != nil {
		return err
	}
	s.out.flush()
	if s.out.err != nil {
		return s.out.err
	}
	return h.gathered(w, contentType)
}

// gathered writes what the gatherer has. What it fails to gather costs only that.
func (h *handler) gathered(w io.Writer, contentType expfmt.Format) error {
	enc := expfmt.NewEncoder(w, contentType)
	if h.Gatherer != nil {
		families, err := h.Gatherer.Gather()
		if err != nil {
			h.once("gather "+err.Error(), "reading metrics of the process failed in part", "err", err)
		}
		for _, f := range families {
			if h.has(f.GetName()) {
				h.once("both "+f.GetName(), "metric family exists twice, that of the process is not exported", "name", f.GetName())
				continue
			}
			if err := enc.Encode(f); err != nil {
				return err
			}
		}
	}
	if c, ok := enc.(expfmt.Closer); ok {
		return c.Close()
	}
	return errors.New("the encoder of " + string(contentType) + " cannot be closed")
}

func (h *handler) has(name string) bool {
	for i := range h.Families {
		if h.Families[i].Name == name {
			return true
		}
	}
	return false
}

// negotiate chooses the format: text unless protobuf is wanted more, or text
// is not wanted at all.
func negotiate(h http.Header) expfmt.Format {
	accept := h.Get("Accept")
	if accept == "" {
		return expfmt.FmtText
	}
	formats := []expfmt.Format{expfmt.FmtProtoDelim, expfmt.FmtText}
	if !strings.Contains(accept, "text/plain") && !strings.Contains(accept, "*/*") && !strings.Contains(accept, "text/*") {
		formats = append(formats, expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1)
	}
	if strings.Contains(accept, "*/*") && !strings.Contains(accept, "protobuf") {
		// "Anything" comes from people's browsers and curl.
		return expfmt.FmtText
	}
	return expfmt.NegotiateAccept(h, formats...)
}

func formatOf(f expfmt.Format) format {
	switch f.FormatType() {
	case expfmt.TypeProtoDelim:
		return protobuf
	case expfmt.TypeOpenMetrics:
		return openMetrics
	default:
		return text
	}
}

// takesGzip tells whether the client accepts gzip.
func takesGzip(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		q, found := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		weight, err := strconv.ParseFloat(q, 64)
		return !found || err == nil && weight > 0
	}
	return false
}
