package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
	"github.com/kafka-steward/kafka-steward/internal/promtest"
)

// hostileGroups are group ids that break careless exporters, and what a broker
// makes of them: Java decodes invalid UTF-8 to the replacement character, so
// that none ever comes back.
var hostileGroups = map[string]string{
	`a"b`: `a"b`, `c\d`: `c\d`, "e\nf": "e\nf", "{x=\"y\"} 1": "{x=\"y\"} 1", "ünï 😀": "ünï 😀", "tab\there\r": "tab\there\r",
	"nul\x00": "nul\x00", "": "", "  spaces ": "  spaces ", "#comment": "#comment",
	strings.Repeat("x", 300): strings.Repeat("x", 300),
	"g\xff":                  "g\ufffd", "h\xfe": "h\ufffd",
}

// hostileNames: a real Prometheus takes every scrape and reads every name back
// as it was given (C-11).
func hostileNames(t *testing.T, b *bed) {
	for group := range hostileGroups {
		rawCommit(t, b, group, "orders", 1)
	}
	b.member("hostile\nclient", "customers", kgo.ClientID("c\x00l\"i\\ent"))
	p := launch(t, section("hostile", b.Bootstrap(), often()))
	s := complete(t, p)
	lint(t, s)

	server := promtest.New(t, promtest.Options{ScrapeTargets: map[string][]string{"kafka": {strings.TrimPrefix(p.url, "http://")}}})
	server.WaitFor(t, `up{job="kafka"}`, 30*time.Second, func(v []promtest.Sample) bool { return v[0].Value == 1 })
	server.WaitFor(t, `scrape_samples_scraped{job="kafka"}`, 30*time.Second, func(v []promtest.Sample) bool {
		own, err := tryScrape(t.Context(), p)
		return err == nil && v[0].Value == float64(len(own.series))
	})
	samples, err := server.Query(t.Context(), `kafka_group_info{kafka_cluster="hostile"}`)
	must(t, err)
	read := map[string]bool{}
	for _, s := range samples {
		read[s.Labels["group"]] = true
	}
	for sent, kept := range hostileGroups {
		if !read[kept] {
			t.Errorf("group %q is not there: %q", sent, slices.Sorted(maps.Keys(read)))
		}
	}
	samples, err = server.Query(t.Context(), `kafka_group_member_info{group="hostile\nclient"}`)
	must(t, err)
	if len(samples) != 1 || samples[0].Labels["client_id"] != "c\x00l\"i\\ent" {
		t.Errorf("the hostile client is %v", samples)
	}
	samples, err = server.Query(t.Context(), `kafka_group_lag_records{group="a\"b",topic="orders",partition="0"}`)
	must(t, err)
	if len(samples) != 1 || samples[0].Value != 29 {
		t.Errorf("the lag of a\"b is %v, want 29", samples)
	}
}

// rawCommit commits offset at orders-0 for a group whose id no client library
// would let through: every broker is asked, the coordinator takes it.
func rawCommit(t *testing.T, b *bed, group, topic string, offset int64) {
	t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	partition := kmsg.NewOffsetCommitRequestTopicPartition()
	partition.Offset = offset
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{partition}}}
	// From version 10 on topics are named by id.
	cl := b.client(kgo.MaxVersions(kversion.V3_0_0()))
	kafkatest.WaitFor(t, fmt.Sprintf("a commit of group %q", group), 20*time.Second, func(ctx context.Context) (bool, string) {
		var said []string
		for _, broker := range b.Brokers() {
			res, err := cl.Broker(broker.ID()).Request(ctx, req)
			if err == nil {
				err = kerr.ErrorForCode(res.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
			}
			if err == nil {
				return true, ""
			}
			said = append(said, err.Error())
		}
		return false, strings.Join(said, "; ")
	})
}
