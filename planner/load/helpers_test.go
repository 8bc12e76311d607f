package load

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/config"

	"github.com/kafka-steward/kafka-steward/planner/model"
)

// stub is a Prometheus that answers by the first metric that a query names.
type stub struct {
	mu      sync.Mutex
	queries []string
	// answers gives the series of a metric: at(i) is the value of point i, NaN for
	// none.
	answers map[string][]stubSeries
}

type stubSeries struct {
	labels map[string]string
	at     func(i int) float64
}

// labels makes a label set of a topic and, from 0, a partition.
func labels(topic string, partition int) map[string]string {
	l := map[string]string{"topic": topic}
	if partition >= 0 {
		l["partition"] = strconv.Itoa(partition)
	}
	return l
}

func always(v float64) func(int) float64 { return func(int) float64 { return v } }

var metricName = regexp.MustCompile(`kafka_[a-z_]+`)

func (s *stub) start(t testing.TB) *Prometheus {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	p, err := NewPrometheus(server.URL, config.DefaultHTTPClientConfig)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.FormValue("query")
	s.mu.Lock()
	s.queries = append(s.queries, query)
	s.mu.Unlock()
	from, _ := strconv.ParseFloat(r.FormValue("start"), 64)
	to, _ := strconv.ParseFloat(r.FormValue("end"), 64)
	step, _ := strconv.ParseFloat(r.FormValue("step"), 64)
	var topics *regexp.Regexp
	if m := regexp.MustCompile(`topic=~("(?:[^"\\]|\\.)*")`).FindStringSubmatch(query); m != nil {
		text, err := strconv.Unquote(m[1])
		if err != nil {
			http.Error(w, "bad string", http.StatusBadRequest)
			return
		}
		topics = regexp.MustCompile("^(?:" + text + ")$")
	}
	var out []string
	for _, x := range s.answers[metricName.FindString(query)] {
		if topics != nil && !topics.MatchString(x.labels["topic"]) {
			continue
		}
		l, _ := json.Marshal(x.labels)
		if strings.HasSuffix(r.URL.Path, "/query") {
			out = append(out, fmt.Sprintf(`{"metric":%s,"value":[%s,"%g"]}`, l, r.FormValue("time"), x.at(0)))
			continue
		}
		var values []string
		for i := 0; step > 0 && from+float64(i)*step <= to+1e-6; i++ {
			if v := x.at(i); !math.IsNaN(v) {
				values = append(values, fmt.Sprintf(`[%.3f,"%g"]`, from+float64(i)*step, v))
			}
		}
		out = append(out, fmt.Sprintf(`{"metric":%s,"values":[%s]}`, l, strings.Join(values, ",")))
	}
	kind := "matrix"
	if strings.HasSuffix(r.URL.Path, "/query") {
		kind = "vector"
	}
	fmt.Fprintf(w, `{"status":"success","data":{"resultType":%q,"result":[%s]},"warnings":["stub"]}`, kind, strings.Join(out, ","))
}

func (s *stub) asked(metric string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, q := range s.queries {
		if strings.Contains(q, metric) {
			out = append(out, q)
		}
	}
	return out
}

// testCluster has brokers 1, 2 (group a) and 3, 4 (group b); topics a.t (4
// partitions on 1 and 2, group a), b.t (2 partitions on 3 and 4) and shared (1
// partition on 2 and 3, no group). Copies are 1000 bytes × (partition + 1).
func testCluster(t testing.TB) *model.Cluster {
	t.Helper()
	b := model.NewBuilder("prod")
	for id := int32(1); id <= 4; id++ {
		b.Broker(model.Broker{ID: id}, []string{"a", "a", "b", "b"}[id-1])
	}
	add := func(topic, group string, n, x, y int32) {
		b.Topic(model.Topic{Name: topic, ReplicationFactor: 2}, group)
		for p := range n {
			size := int64(1000 * (p + 1))
			b.Partition(topic, model.PartitionSpec{ID: p, Leader: x, Replicas: []model.ReplicaSpec{{Broker: x, Dir: model.None, Size: size}, {Broker: y, Dir: model.None, Size: size}}})
		}
	}
	add("a.t", "a", 4, 1, 2)
	add("b.t", "b", 2, 3, 4)
	add("shared", "", 1, 2, 3)
	c, problems := b.Build()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// ratesOf is in/out of every partition.
func ratesOf(c *model.Cluster) map[string]string {
	out := map[string]string{}
	for p := range c.NumPartitions() {
		text := fmt.Sprintf("%d/%d", c.InRate[c.Off[p]], c.OutRate[p])
		if c.InRate[c.Off[p]] != c.InRate[c.Off[p]+1] {
			text += " (copies differ)"
		}
		out[c.PartitionName(p)] = text
	}
	return out
}

func options() Options {
	return DefaultOptions("prod", time.Date(2026, 3, 8, 12, 34, 56, 0, time.UTC))
}
