package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// NewClient returns a franz-go client of the plaintext listener, or of another
// one when opts set the seed brokers. The caller closes it.
func (c *Cluster) NewClient(opts ...kgo.Opt) (*kgo.Client, error) {
	return newKgoClient(c.Bootstrap(), opts...)
}

// Client is NewClient for tests: the client is closed at the end of the test.
func (c *Cluster) Client(t testing.TB, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := c.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// Admin returns an admin client of the plaintext listener, which is Kafka's
// super user ANONYMOUS. It is closed when the cluster is stopped.
func (c *Cluster) Admin() *kadm.Client { return kadm.NewClient(c.client()) }

// client returns the client that the helpers share.
func (c *Cluster) client() *kgo.Client {
	c.clientMu.Lock()
	defer c.clientMu.Unlock()
	if c.sharedClient == nil {
		cl, err := c.NewClient()
		if err != nil {
			panic(fmt.Sprintf("kafkatest: client of %s: %v", c.Bootstrap(), err)) // the options are fixed
		}
		c.sharedClient = cl
	}
	return c.sharedClient
}

func newKgoClient(bootstrap string, opts ...kgo.Opt) (*kgo.Client, error) {
	all := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.ClientID("kafkatest"),
		// Brokers come and go in tests: look again soon.
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.DialTimeout(3 * time.Second),
	}
	cl, err := kgo.NewClient(append(all, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("make a Kafka client of %s: %w", bootstrap, err)
	}
	return cl, nil
}

// listedBrokers returns the ids that the seed broker of cl lists, once there is
// a controller.
func listedBrokers(ctx context.Context, cl *kgo.Client) ([]int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	seed := cl.SeedBrokers()[0]
	if _, err := offeredAPIs(ctx, seed); err != nil {
		return nil, err
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	res, err := seed.Request(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("reading metadata: %w", err)
	}
	meta := res.(*kmsg.MetadataResponse)
	if meta.ControllerID < 0 {
		return nil, errors.New("there is no controller yet")
	}
	var ids []int
	for _, b := range meta.Brokers {
		ids = append(ids, int(b.NodeID))
	}
	slices.Sort(ids)
	return ids, nil
}

// offeredAPIs asks a broker which API keys it offers.
func offeredAPIs(ctx context.Context, b *kgo.Broker) (map[int16]bool, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	// Brokers refuse the request without these.
	req.ClientSoftwareName, req.ClientSoftwareVersion = "kafkatest", "1"
	res, err := b.Request(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("ApiVersions: %w", err)
	}
	versions := res.(*kmsg.ApiVersionsResponse)
	if err := kerr.ErrorForCode(versions.ErrorCode); err != nil {
		return nil, fmt.Errorf("ApiVersions: %w", err)
	}
	keys := map[int16]bool{}
	for _, k := range versions.ApiKeys {
		keys[k.ApiKey] = true
	}
	return keys, nil
}
