package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest/fake"
	"github.com/kafka-steward/kafka-steward/planner"
	"github.com/kafka-steward/kafka-steward/planner/model"
)

// prometheus answers every range query with 1 MB/s for each partition of a
// topic, and nothing else.
func prometheus(t *testing.T, topic string, partitions int) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		type series struct {
			Metric map[string]string `json:"metric"`
			Values [][2]any          `json:"values,omitempty"`
			Value  *[2]any           `json:"value,omitempty"`
		}
		result, kind := []series{}, "vector"
		if strings.HasSuffix(r.URL.Path, "/query_range") {
			kind = "matrix"
			start, _ := strconv.ParseFloat(r.FormValue("start"), 64)
			end, _ := strconv.ParseFloat(r.FormValue("end"), 64)
			step, _ := strconv.ParseFloat(r.FormValue("step"), 64)
			for p := range partitions {
				s := series{Metric: map[string]string{"topic": topic, "partition": strconv.Itoa(p)}}
				for at := start; at <= end && step > 0; at += step {
					s.Values = append(s.Values, [2]any{at, "1000000"})
				}
				result = append(result, s)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": kind, "result": result}})
	}))
	t.Cleanup(srv.Close)
	return srv
}

// fakeCluster is the configuration of three brokers, of which broker 1 holds most.
func fakeCluster(t *testing.T) string {
	c := fake.Start(t, fake.WithBrokers(3))
	c.Update(func(s *fake.State) {
		o := s.AddTopic("orders", 12, 1)
		for i, p := range o.Partitions {
			p.SetOffsets(0, 1000)
			size := int64(1_000_000)
			if p.Leader == 1 {
				size *= 9
			}
			s.SetReplicaSize(p.Leader, "orders", int32(i), size)
		}
	})
	return writeConfig(t, fmt.Sprintf("clusters:\n  - name: faked\n    bootstrap_servers: ['%s']\n", strings.ReplaceAll(c.Bootstrap(), ",", "','")))
}

func planOf(t *testing.T, args ...string) *planner.Result {
	t.Helper()
	r, err := planner.ReadResult(strings.NewReader(ok(t, append(args, "--output", "json")...)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLiveSources plans on a running cluster: by sizes, by two readings of
// offsets, by Prometheus; and on a snapshot with Prometheus.
func TestLiveSources(t *testing.T) {
	config, prom := fakeCluster(t), prometheus(t, "orders", 12)
	for _, x := range []struct {
		source string
		args   []string
	}{
		{"", []string{"--measure", "0"}},
		{"offsets", []string{"--measure", "20ms"}},
		{"prometheus", []string{"--prometheus", prom.URL}},
	} {
		t.Run("loads from "+x.source, func(t *testing.T) {
			r := planOf(t, append([]string{"plan", "rebalance", "--move-even", "--config", config}, x.args...)...)
			if r.Source.Load.Source != x.source || r.Plan.Cluster != "faked" || r.Source.ReadAt.IsZero() || r.Plan.Summary.ReplicaMoves == 0 {
				t.Errorf("loads from %q, cluster %s, %d moves", r.Source.Load.Source, r.Plan.Cluster, r.Plan.Summary.ReplicaMoves)
			}
			in := int64(0)
			for _, b := range r.Plan.Summary.Brokers {
				in += b.Before[model.In]
			}
			if (in > 0) != (x.source == "prometheus") {
				t.Errorf("brokers write %d bytes/s", in)
			}
		})
	}
	file := snapshotFile(t, cluster())
	if r := planOf(t, "plan", "rebalance", "--snapshot", file, "--prometheus", prometheus(t, "topic-00003", 5).URL); r.Source.Load.Source != "prometheus" || r.Source.Load.Coverage <= 0 {
		t.Errorf("%+v", r.Source.Load)
	}
	none := prometheus(t, "orders", 0)
	if r := runs(t, "plan", "rebalance", "--config", config, "--prometheus", none.URL); r.code != exitUsage || !strings.Contains(r.stderr, `kafka_cluster is "faked" there`) {
		t.Errorf("%+v", r)
	}
}
