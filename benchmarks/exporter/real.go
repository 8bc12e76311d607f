package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// real3 measures the exporter against three real brokers under the load that
// other exporters were measured with (docs/performance.md): 1,000 topics of 6
// partitions, 1,000 groups with 120 committed partitions each, 50 live groups.
func real3(ctx context.Context, dir string, o options) (missed int, err error) {
	c, err := kafkatest.Start(ctx, kafkatest.Options{Mode: kafkatest.KRaft4})
	if err != nil {
		return 0, err
	}
	defer c.Stop()
	w := newWorkload(c)
	defer w.close()
	if err := w.fill(ctx); err != nil {
		return 0, err
	}
	if err := w.odd(ctx); err != nil {
		return 0, err
	}
	live, stopLive := context.WithCancel(ctx)
	defer stopLive()
	if err := w.live(live); err != nil {
		return 0, err
	}
	e, err := startExporter(ctx, dir, o, c.Bootstrap())
	if err != nil {
		return 0, err
	}
	defer e.stop()
	if err := e.waitCollected(ctx, o); err != nil {
		return 0, fmt.Errorf("%w: %s", err, e.log.String())
	}
	before, err := e.requests(ctx)
	if err != nil {
		return 0, err
	}
	f, err := e.measure(ctx, o)
	if err != nil {
		return 0, err
	}
	after, err := e.requests(ctx)
	if err != nil {
		return 0, err
	}
	rpcs := (after - before) / float64(o.cycles)
	f.print("real", rpcs)
	wrong, err := w.check(ctx, e)
	if err != nil {
		return 0, err
	}
	slow, err := scrapeAfterKill(ctx, c, e, o)
	if err != nil {
		return 0, err
	}
	return judge([]target{
		{what: "CPU per refresh, one scrape included", got: f.cpuSeconds, limit: 0.4, unit: "s"},
		{what: "scrape", got: f.scrapeSeconds, limit: 0.2, unit: "s"},
		{what: "peak RSS", got: f.peakMB, limit: 200, unit: "MB"},
		{what: "requests per refresh", got: rpcs, limit: 60, unit: "requests"},
		{what: "lags that differ from the brokers' own, odd commits too", got: float64(wrong), limit: 0, unit: "pairs"},
		{what: "age of the data at a scrape", got: f.ageSeconds, limit: o.interval.Seconds() + 1, unit: "s"},
		{what: "series; kafka_exporter has the most of the others", got: float64(f.series), limit: 325_736, unit: "series", atLeast: true},
		{what: "slowest scrape while a broker is killed", got: slow, limit: 0.5, unit: "s"},
	}), nil
}

// requests is how many requests the exporter has sent, by its own account.
func (e *exporter) requests(ctx context.Context) (float64, error) {
	s, err := e.scrape(ctx)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	s.each("kafka_steward_rpcs_total", func(_ map[string]string, v float64) { sum += v })
	return sum, nil
}

// scrapeAfterKill kills a broker and returns the slowest of the scrapes until
// the exporter has seen it.
func scrapeAfterKill(ctx context.Context, c *kafkatest.Cluster, e *exporter, o options) (slowest float64, err error) {
	const victim = 3
	if err := c.Broker(victim).Kill(); err != nil {
		return 0, err
	}
	killed := time.Now()
	for {
		s, err := e.scrape(ctx)
		if err != nil {
			return 0, err
		}
		slowest = max(slowest, s.took.Seconds())
		up, ok := s.value(`kafka_broker_up{kafka_cluster="bench",broker="` + strconv.Itoa(victim) + `"}`)
		if ok && up == 0 {
			fmt.Printf("broker %d killed: seen after %.1f s, slowest scrape meanwhile %.3f s\n", victim, time.Since(killed).Seconds(), slowest)
			return slowest, nil
		}
		if time.Since(killed) > 4*o.interval {
			return 0, fmt.Errorf("broker %d was killed %s ago and still counts as up", victim, time.Since(killed).Round(time.Second))
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
