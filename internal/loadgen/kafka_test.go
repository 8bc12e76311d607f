package loadgen

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

func TestLoad(t *testing.T) {
	for _, mode := range []kafkatest.Mode{kafkatest.KRaft4, kafkatest.ZK28} {
		t.Run(string(mode), func(t *testing.T) { testLoad(t, mode) })
	}
}

func testLoad(t *testing.T, mode kafkatest.Mode) {
	c := kafkatest.Private(t, kafkatest.Options{Mode: mode})
	l, err := Start(t.Context(), Options{
		Bootstrap: strings.Split(c.Bootstrap(), ","),
		SASL:      strings.Split(c.BootstrapFor(kafkatest.ListenerSASLPlaintext), ","),
		Password:  kafkatest.Password,
		Reassign:  5 * time.Second,
		Log:       slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d", l.Seed())
	stopped := false
	defer func() {
		if !stopped {
			l.Stop()
		}
	}()
	adm := c.Admin()

	kafkatest.WaitFor(t, "records, transactions and a reassignment", 90*time.Second, func(context.Context) (bool, string) {
		s := l.Stats()
		ok := s.Produced > 3000 && s.Consumed > 3000 && s.Committed > 5 && s.Aborted > 0 && s.Reassigned > 0
		return ok, fmt.Sprintf("%+v", s)
	})
	checkGroups(t, adm, mode)
	checkLags(t, adm)
	if mode != kafkatest.ZK28 {
		checkOpenTransaction(t, adm)
	}
	checkIdle(t, adm)

	began := time.Now()
	l.Stop()
	stopped = true
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v to stop", took)
	}
	checkNoThrottle(t, adm)
	kafkatest.WaitFor(t, "all groups to be empty", 20*time.Second, func(ctx context.Context) (bool, string) {
		groups, err := adm.ListGroups(ctx)
		if err != nil {
			return false, err.Error()
		}
		for _, g := range groups.Sorted() {
			// A static member's place is kept for its return.
			if g.State != "Empty" && g.Group != "orders-fulfilment" {
				return false, g.Group + " is " + g.State
			}
		}
		return true, ""
	})
	if s := l.Stats(); s.Failed > s.Produced/100 {
		t.Errorf("too many failures: %+v", s)
	} else {
		t.Logf("%+v", s)
	}
}

// checkGroups looks at what kinds of groups there are and at their members.
func checkGroups(t *testing.T, adm *kadm.Client, mode kafkatest.Mode) {
	t.Helper()
	want := []string{"orders-fraud-detection", "orders-fulfilment", "orders-search-index", "payments-export", "payments-ledger"}
	if mode == kafkatest.KRaft4 {
		want = append([]string{"analytics"}, append(want, "thumbnails")...)
	}
	kafkatest.WaitFor(t, "the groups", 60*time.Second, func(ctx context.Context) (bool, string) {
		groups, err := adm.ListGroups(ctx)
		if err != nil {
			return false, err.Error()
		}
		return slices.Equal(groups.Groups(), want), fmt.Sprint(groups.Groups())
	})
}

// checkLags waits until every consumer behaves as its specification says.
func checkLags(t *testing.T, adm *kadm.Client) {
	t.Helper()
	kafkatest.WaitFor(t, "fast, slow, stalled and stopped groups", 90*time.Second, func(ctx context.Context) (bool, string) {
		lags, err := adm.Lag(ctx)
		if err != nil {
			return false, err.Error()
		}
		total := func(group string) int64 { return lags[group].Lag.Total() }
		detail := fmt.Sprintf("fast %d, slow %d, stalled %d, stopped %d (%s)", total("orders-fulfilment"),
			total("orders-fraud-detection"), total("orders-search-index"), total("payments-export"), lags["payments-export"].State)
		return total("orders-fulfilment") < 1500 && total("orders-fraud-detection") > 100 && total("orders-search-index") > 500 &&
			total("payments-export") > 50 && lags["payments-export"].State == "Empty", detail
	})
}

func checkOpenTransaction(t *testing.T, adm *kadm.Client) {
	t.Helper()
	kafkatest.WaitFor(t, "a transaction that is left open", 60*time.Second, func(ctx context.Context) (bool, string) {
		open, err := adm.ListTransactions(ctx, nil, []string{"Ongoing"})
		if err != nil {
			return false, err.Error()
		}
		_, ok := open["payments-settlement"]
		return ok, fmt.Sprint(open.TransactionalIDs())
	})
}

func checkIdle(t *testing.T, adm *kadm.Client) {
	t.Helper()
	ends, err := adm.ListEndOffsets(t.Context(), "legacy-imports")
	if err != nil {
		t.Fatal(err)
	}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Err != nil || o.Offset != 0 {
			t.Errorf("idle topic: %+v", o)
		}
	})
}

func checkNoThrottle(t *testing.T, adm *kadm.Client) {
	t.Helper()
	topic, err1 := adm.DescribeTopicConfigs(t.Context(), movedTopic)
	brokers, err2 := adm.DescribeBrokerConfigs(t.Context(), 1, 2, 3)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for _, resource := range append(topic, brokers...) {
		for _, config := range resource.Configs {
			if strings.Contains(config.Key, "replication.throttled") && config.MaybeValue() != "" {
				t.Errorf("%s of %s is still %q", config.Key, resource.Name, config.MaybeValue())
			}
		}
	}
}
