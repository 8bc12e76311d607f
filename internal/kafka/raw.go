package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-steward/kafka-steward/internal/kafka/connect"
)

// franz returns the broker's franz-go client for what sarama lacks, made when
// first needed. It knows this broker only: a client of the whole cluster would
// look for it through any other, and a silent one would hold it up.
//
// Requests that the broker passes on to the controller have a connection of
// their own: a broker answers the requests of a connection one after another,
// and a controller that hangs would hold the broker's own answers up.
func (c *conn) franz(own bool) (*kgo.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("the client is closed: %w", net.ErrClosed)
	}
	client := &c.kgo
	if !own {
		client = &c.passing
	}
	if *client != nil {
		return *client, nil
	}
	opts, err := c.c.connector.Kgo()
	if err != nil {
		return nil, err
	}
	*client, err = kgo.NewClient(append(opts, kgo.SeedBrokers(c.addr), kgo.RequestRetries(1), kgo.RetryTimeout(c.c.requestTimeout))...)
	return *client, err
}

// oldest is the version from which an API means what this package asks of it.
// A broker before 3.0 takes the timestamp of listMaxTimestamp for a moment long
// ago and answers with its oldest record.
var oldest = map[int16]int16{apiListOffsets.key: 7}

// raw sends a kmsg request to one broker.
func raw[T kmsg.Response](ctx context.Context, c *Client, broker int32, req kmsg.Request) (T, error) {
	return rawFor[T](ctx, c, broker, req, true)
}

// rawFor is raw; own tells whether the broker itself answers. One that passes
// the request on to a controller which hangs does not answer either, but is not
// to blame: everything else can still be read from it.
func rawFor[T kmsg.Response](ctx context.Context, c *Client, broker int32, req kmsg.Request, own bool) (T, error) {
	var none T
	b := c.broker(broker)
	if b == nil {
		return none, &BrokerDownError{Broker: broker}
	}
	if err := b.recentFailure(); err != nil {
		return none, err
	}
	a := api{req.Key(), kmsg.NameForKey(req.Key()), oldest[req.Key()], req.MaxVersion()}
	if versions := b.lastVersions(); versions != nil {
		if err := a.check(broker, versions); err != nil {
			c.observe(a.name, Classify(err), 0)
			return none, err
		}
	}
	cl, err := b.franz(own)
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.requestTimeout)
	defer cancel()
	start := time.Now()
	// Once more if an idle connection turns out to be closed.
	res, err := cl.SeedBrokers()[0].RetriableRequest(ctx, req)
	took := time.Since(start)
	if err == nil && res.GetVersion() < a.min { // the first connection: nothing was known before
		err = &UnsupportedError{API: a.name, Broker: broker, Offered: true, BrokerMax: res.GetVersion(), ClientMin: a.min, ClientMax: a.max}
	}
	class := Classify(err)
	if class == connect.ClassTimeout && own && c.fair(took) {
		b.fail(err)
	}
	c.observe(a.name, class, took)
	if err != nil {
		return none, fmt.Errorf("%s on %s: %w", a.name, b, err)
	}
	return res.(T), nil
}

// ErrNoController says that the cluster has no active controller.
var ErrNoController = errors.New("the cluster has no active controller")

// rawController sends a kmsg request that is meant for the controller. In
// KRaft mode every broker passes it on, so that none is needed in particular.
func rawController[T kmsg.Response](ctx context.Context, c *Client, req kmsg.Request) (T, error) {
	if c.offersQuorum() {
		brokers := slices.DeleteFunc(c.candidates(), func(b *conn) bool { return b.id < 0 })
		return oneOf(ctx, brokers, func(ctx context.Context, b *conn) (T, error) { return rawFor[T](ctx, c, b.id, req, false) })
	}
	c.mu.Lock()
	id := c.controller
	c.mu.Unlock()
	if id < 0 {
		var none T
		return none, fmt.Errorf("%s: %w", kmsg.NameForKey(req.Key()), ErrNoController)
	}
	return raw[T](ctx, c, id, req)
}
