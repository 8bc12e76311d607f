package collector

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/kafka-steward/kafka-steward/exporter/exposition"
	"github.com/kafka-steward/kafka-steward/exporter/snapshot"
)

// size of a synthetic cluster.
type size struct{ brokers, topics, partitions, groups, topicsOfGroup int }

// half has about 500,000 series, full about 1,200,000.
var (
	half = size{brokers: 30, topics: 2000, partitions: 10, groups: 1500, topicsOfGroup: 4}
	full = size{brokers: 30, topics: 5000, partitions: 10, groups: 4000, topicsOfGroup: 5}
)

func bigCluster(s size) *snapshot.Cluster {
	c := &snapshot.Cluster{
		Name: "prod", Topology: &snapshot.Topology{Mode: "kraft"}, Groups: &snapshot.Groups{}, Lag: &snapshot.Lag{},
		Offsets: &snapshot.Offsets{Topics: map[string]*snapshot.TopicOffsets{}}, LogDirs: &snapshot.LogDirs{},
		Configs: &snapshot.Configs{Topics: map[string]snapshot.TopicConfig{}}, Collectors: collectorFixtures(),
	}
	topic := func(i int) string { return fmt.Sprintf("eu.payments.orders-%06d.v1", i) }
	for b := range s.brokers {
		c.Topology.Brokers = append(c.Topology.Brokers, snapshot.Broker{ID: int32(b), Host: "broker", Up: true})
		d := snapshot.LogDir{Broker: int32(b), Path: "/var/lib/kafka/data", Online: true}
		for t := range s.topics {
			if (t+b)%10 < 3 {
				d.Topics = append(d.Topics, snapshot.LogDirTopic{Topic: topic(t), Partitions: []snapshot.LogDirPartition{{SizeBytes: 1 << 30}}})
			}
		}
		c.LogDirs.Dirs = append(c.LogDirs.Dirs, d)
	}
	for t := range s.topics {
		name, o := topic(t), &snapshot.TopicOffsets{}
		st := snapshot.Topic{Name: name}
		for p := range s.partitions {
			rs := []int32{int32((t + p) % s.brokers), int32((t + p + 1) % s.brokers), int32((t + p + 2) % s.brokers)}
			st.Partitions = append(st.Partitions, snapshot.Partition{ID: int32(p), Leader: rs[0], Replicas: rs, ISR: rs})
			end := digits(t, p)
			o.End, o.Start, o.Stable = append(o.End, end), append(o.Start, end/3), append(o.Stable, end)
		}
		c.Topology.Topics = append(c.Topology.Topics, st)
		c.Offsets.Topics[name] = o
		c.Configs.Topics[name] = snapshot.TopicConfig{CleanupPolicy: "delete", MinInSyncReplicas: 2, RetentionMs: 1e9}
	}
	for g := range s.groups {
		bigGroup(c, s, g, topic)
	}
	return c
}

// digits is a number that does not compress.
func digits(a, b int) int64 { return int64(uint32(a)*2654435761+uint32(b)*40503*2246822519) + 1e9 }

func bigGroup(c *snapshot.Cluster, s size, g int, topic func(int) string) {
	group := snapshot.Group{ID: fmt.Sprintf("payments-service-%06d", g), Type: snapshot.GroupClassic, State: "Stable", Epoch: -1, MembersKnown: true, CommitsKnown: true}
	group.Name = group.ID
	lag := snapshot.GroupLag{Verdict: snapshot.VerdictOK}
	for i := range s.topicsOfGroup {
		name := topic((g + i) % s.topics)
		tc, tl := snapshot.TopicCommits{Topic: name}, snapshot.TopicLag{Topic: name, Assigned: true, UncommittedRecords: snapshot.Unknown, Verdict: snapshot.VerdictOK}
		for p := range s.partitions {
			tc.Partitions = append(tc.Partitions, snapshot.Commit{Partition: int32(p), Offset: digits(g, p)})
			tl.Partitions = append(tl.Partitions, snapshot.PartitionLag{Partition: int32(p), Lag: digits(g, i) % 10000, StableLag: digits(g, i) % 10000, Seconds: float64(digits(g, p)) / 1e6, Verdict: snapshot.VerdictOK})
		}
		group.Commits, lag.Topics = append(group.Commits, tc), append(lag.Topics, tl)
		group.Members = append(group.Members, snapshot.Member{ID: fmt.Sprintf("consumer-%d-%d", g, i), ClientID: "consumer", ClientIP: "192.0.2.1"})
	}
	c.Groups.Groups, c.Lag.Groups = append(c.Groups.Groups, group), append(c.Lag.Groups, lag)
}

func benchScrape(b *testing.B, s size, header map[string]string) {
	sources := []exposition.Source{{Snapshot: bigCluster(s), Limits: Limits(granularity(nil))}}
	h := exposition.NewHandler(exposition.Options{
		Clusters: func() []exposition.Source { return sources }, Families: Families(), Gatherer: prometheus.NewRegistry(),
	})
	var body bytes.Buffer
	if err := exposition.WriteText(&body, Families(), sources); err != nil {
		b.Fatal(err)
	}
	series := bytes.Count(body.Bytes(), []byte("\n")) - 2*bytes.Count(body.Bytes(), []byte("# TYPE"))
	server := httptest.NewServer(h)
	defer server.Close()
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			b.Fatal(err)
		}
		for k, v := range header {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		if n, err = io.Copy(io.Discard, resp.Body); err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
	b.ReportMetric(float64(series), "series")
	b.ReportMetric(float64(n)/1e6, "MB")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(series), "ns/series")
}

var (
	plain   = map[string]string{"Accept-Encoding": "identity"}
	gzipped = map[string]string{"Accept-Encoding": "gzip"}
	proto   = map[string]string{"Accept-Encoding": "gzip", "Accept": string(expfmt.FmtProtoDelim)}
)

// Scrapes over loopback HTTP, client included.
func BenchmarkScrapeHalf(b *testing.B)      { benchScrape(b, half, plain) }
func BenchmarkScrapeHalfGzip(b *testing.B)  { benchScrape(b, half, gzipped) }
func BenchmarkScrapeHalfProto(b *testing.B) { benchScrape(b, half, proto) }
func BenchmarkScrapeFull(b *testing.B)      { benchScrape(b, full, plain) }
func BenchmarkScrapeFullGzip(b *testing.B)  { benchScrape(b, full, gzipped) }
