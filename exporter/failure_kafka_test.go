package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kafka-steward/kafka-steward/exporter/config"
	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// TestKRaft4 fills one cluster and looks at it in several ways, the harmless
// ones first.
func TestKRaft4(t *testing.T) {
	c := kafkatest.Private(t, kafkatest.Options{Mode: kafkatest.KRaft4})
	b := fill(t, c)
	t.Run("golden", func(t *testing.T) {
		golden(t, b, launch(t, section("kraft4", c.Bootstrap())))
		checkBrokerLogs(t, c)
	})
	b.endMove()
	t.Run("hostile names", func(t *testing.T) { hostileNames(t, b) })

	p := launch(t, section("kraft4", c.Bootstrap(), often()))
	// The active controller is the hardest to miss: brokers pass requests on to it.
	controller := int(complete(t, p).series["kafka_quorum_leader_id"])
	t.Run("paused controller", func(t *testing.T) {
		ordeal{
			b: b, p: p, broker: controller, hurt: c.Broker(controller).Pause,
			heal: func(context.Context) error { return c.Broker(controller).Resume() },
		}.run(t)
	})
	t.Run("killed broker", func(t *testing.T) {
		broker := controller%3 + 1
		ordeal{b: b, p: p, broker: broker, hurt: c.Broker(broker).Kill, heal: c.Broker(broker).Start}.run(t)
	})
}

// ordeal takes a broker away and gives it back while the exporter is scraped
// all the time.
type ordeal struct {
	b      *bed
	p      *process
	broker int
	hurt   func() error
	heal   func(context.Context) error
}

// scrapeWithin is what every scrape takes at most. The promise is 100 ms; the
// test leaves a busy machine five times that.
const scrapeWithin = 500 * time.Millisecond

func (o ordeal) run(t *testing.T) {
	before := complete(t, o.p)
	w := o.watch(t, before)
	defer w.stop()
	of := fmt.Sprintf(`{broker="%d"}`, o.broker)
	name := fmt.Sprintf("broker %d", o.broker)

	at := time.Now()
	must(t, o.hurt())
	t.Logf("after %v: %s is gone", time.Since(at), name)
	// Before the cluster itself has noticed: it does not answer us.
	until(t, o.p, "the exporter to notice", 20*time.Second, func(s scraped) (bool, string) {
		named := len(s.with("kafka_steward_broker_missing{")) > 0
		return s.is("kafka_broker_reachable"+of, 0) && named, fmt.Sprint(s.with("kafka_broker_reachable"), s.with("kafka_steward_broker_missing"))
	})
	t.Logf("after %v: the exporter names it", time.Since(at))
	if status := get(t, o.p.url+"/status"); !strings.Contains(status, name) {
		t.Errorf("/status does not name %s:\n%s", name, status)
	}
	o.fresh(t, time.Now(), "offsets", "topology", "groups", "logdirs", "stable_offsets", "start_offsets")

	// Then the cluster has noticed.
	untilSeries(t, o.p, 40*time.Second, map[string]float64{
		"kafka_broker_up" + of: 0, "kafka_cluster_brokers": 2, "kafka_log_dirs_missing_brokers": 1,
	})
	t.Logf("after %v: the cluster has given it up", time.Since(at))
	s := o.fresh(t, time.Now(), "offsets", "topology", "groups", "logdirs", "quotas", "acls", "configs", "quorum", "transactions", "reassignments")
	for id := 1; id <= 3; id++ {
		dir := fmt.Sprintf(`kafka_log_dir_online{broker="%d"`, id)
		if got := len(s.with(dir)); (got > 0) != (id != o.broker) {
			t.Errorf("%d log directories of broker %d are shown", got, id)
		}
	}
	for _, series := range before.with("kafka_partition_end_offset{topic=\"orders\"") {
		if !strings.Contains(s.body, strings.TrimPrefix(series, "kafka_partition_end_offset{")) {
			t.Errorf("%s is lost although two replicas are alive", series)
		}
	}
	status := get(t, o.p.url+"/status.json")
	if !strings.Contains(status, name) {
		t.Errorf("/status.json does not name %s once the cluster has given it up:\n%s", name, status)
	}

	must(t, o.heal(t.Context()))
	untilSeries(t, o.p, 60*time.Second, map[string]float64{
		"kafka_broker_up" + of: 1, "kafka_broker_reachable" + of: 1, "kafka_cluster_brokers": 3, "kafka_log_dirs_missing_brokers": 0,
	})
	complete(t, o.p)
	t.Logf("after %v: all is well again", time.Since(at))
	w.stop()
	w.judge(t)
}

// fresh waits until the collectors have succeeded once after the moment.
func (o ordeal) fresh(t *testing.T, after time.Time, collectors ...string) scraped {
	t.Helper()
	return until(t, o.p, "rounds to go on", 30*time.Second, func(s scraped) (bool, string) {
		for _, c := range collectors {
			last := s.series[fmt.Sprintf("kafka_steward_collector_last_success_timestamp_seconds{collector=%q}", c)]
			if last < float64(after.UnixMilli())/1000 {
				return false, fmt.Sprintf("the last success of %s is %.1f s old: %s", c, float64(time.Now().UnixMilli())/1000-last, missing(o.p, c))
			}
		}
		return true, ""
	})
}

// watcher scrapes all the time and keeps what must not be.
type watcher struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	scrapes int
	worst   time.Duration
	lost    map[string]int // series that were missing, with the number of scrapes
	failed  []error
}

// watch begins to watch that the scrape is fast and that no group vanishes.
// Lag may only be missing where the end of the partition cannot be known, which
// the broker leads.
func (o ordeal) watch(t *testing.T, before scraped) *watcher {
	var keep []string
	for name := range before.series {
		family, labels, _ := strings.Cut(name, "{")
		switch family {
		case "kafka_group_committed_offset", "kafka_group_members", "kafka_broker_up", "kafka_topic_partitions":
			keep = append(keep, name)
		case "kafka_group_lag_records":
			_, partition, _ := strings.Cut(labels, "topic=")
			if !before.is("kafka_partition_leader_broker{topic="+partition, float64(o.broker)) {
				keep = append(keep, name)
			}
		}
	}
	if len(keep) < 30 {
		t.Fatalf("only %d series to watch: %v", len(keep), keep)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &watcher{cancel: cancel, lost: map[string]int{}}
	w.done.Go(func() {
		for ctx.Err() == nil {
			s, err := tryScrape(ctx, o.p)
			if ctx.Err() != nil {
				return
			}
			w.scrapes++
			w.worst = max(w.worst, s.took)
			if err != nil {
				w.failed = append(w.failed, err)
				continue
			}
			for _, name := range keep {
				if _, ok := s.series[name]; !ok {
					w.lost[name]++
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	return w
}

func (w *watcher) stop() {
	w.cancel()
	w.done.Wait()
}

func (w *watcher) judge(t *testing.T) {
	t.Logf("%d scrapes, the slowest took %v", w.scrapes, w.worst)
	if w.scrapes < 50 || len(w.failed) > 0 {
		t.Errorf("%d scrapes, failed: %v", w.scrapes, w.failed)
	}
	if w.worst >= scrapeWithin {
		t.Errorf("the slowest scrape took %v", w.worst)
	}
	for name, n := range w.lost {
		t.Errorf("%s was missing from %d of %d scrapes", name, n, w.scrapes)
	}
}

// startWithoutKafka starts the exporter before its cluster (of one broker).
func startWithoutKafka(t *testing.T, c *kafkatest.Cluster) {
	must(t, c.Broker(1).Kill())
	p := launch(t, section("later", c.Bootstrap(), "interval: 2s"))
	p.eventually("says why it has nothing", func() bool {
		text := readyText(p)
		return strings.HasPrefix(text, "later: ") && strings.Contains(text, "(network)") && strings.Contains(text, c.Bootstrap())
	})
	s := scrape(t, p)
	if !s.is(`kafka_steward_collector_success{collector="topology"}`, 0) || s.series[`kafka_steward_collector_errors_total{collector="topology",reason="network"}`] == 0 {
		t.Errorf("the scrape does not tell that nothing is there: %v", s.with("kafka_steward_collector_"))
	}
	for _, info := range config.CollectorInfos() {
		if _, ok := s.series[fmt.Sprintf("kafka_steward_collector_success{collector=%q}", info.Name)]; !ok && info.Name != "last_record" {
			t.Errorf("collector %s does not say that it has not run", info.Name)
		}
	}
	if got := s.with("kafka_broker_"); len(got) > 0 {
		t.Errorf("there are brokers: %v", got)
	}
	must(t, c.Broker(1).Start(t.Context()))
	s = complete(t, p)
	if !s.is(`kafka_broker_up{broker="1"}`, 1) {
		t.Errorf("no broker: %v", s.with("kafka_broker_"))
	}
	if text := readyText(p); !strings.Contains(text, "later: collecting") {
		t.Errorf("/-/ready says %q", text)
	}
}
