package loadgen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// client makes a client that logs in as user, or does not when user is empty or
// nobody can log in.
func (o Options) client(user, id string, opts ...kgo.Opt) (*kgo.Client, error) {
	seeds := o.Bootstrap
	if user != "" && len(o.SASL) > 0 {
		if o.Password == nil {
			return nil, errors.New("SASL addresses are given, but no passwords")
		}
		seeds = o.SASL
		login := plain.Auth{User: user, Pass: o.Password(user)}
		opts = append(opts, kgo.SASL(login.AsMechanism()))
	}
	return kgo.NewClient(append(opts,
		kgo.SeedBrokers(seeds...), kgo.ClientID(id),
		kgo.DialTimeout(5*time.Second), kgo.RetryTimeout(10*time.Second),
		// A new leader is found soon after a broker has gone.
		kgo.MetadataMinAge(time.Second), kgo.MetadataMaxAge(30*time.Second),
	)...)
}

// offeredAPIs are the API keys and the highest version that the cluster offers.
type offeredAPIs map[int16]int16

func askAPIs(ctx context.Context, client *kgo.Client) (offeredAPIs, error) {
	answer, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("ask which APIs the cluster offers: %w", err)
	}
	offered := offeredAPIs{}
	for _, k := range answer.ApiKeys {
		offered[k.ApiKey] = k.MaxVersion
	}
	return offered, nil
}

// group reports whether the cluster has that kind of group in a stable version.
func (o offeredAPIs) group(kind groupKind) bool {
	var key kmsg.Key
	switch kind {
	case next:
		key = kmsg.ConsumerGroupHeartbeat
	case share:
		key = kmsg.ShareGroupHeartbeat
	default:
		return true
	}
	version, ok := o[key.Int16()]
	return ok && version >= 1
}
