package kafkatest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// startAttempts is how often a start is tried when somebody takes one of its
// ports between the choice of the ports and the brokers' bind.
const startAttempts = 3

// Start starts a cluster and returns when every broker answers and lists all
// brokers. The caller must Stop it; when this process dies first, in whatever
// way, the JVMs are killed and the data is removed all the same.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("start a Kafka test cluster: %w", err)
	}
	rt, err := prepareJava(ctx, o)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		c, err := startOnce(ctx, o, rt)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, errBind) || attempt == startAttempts {
			return nil, fmt.Errorf("start Kafka %s (%s): %w", o.Mode.Version(), o.Mode, err)
		}
		o.Log.Warn("a port was taken while Kafka started; trying again with others", "attempt", attempt)
	}
}

// prepareJava finds java and makes sure that the jars are there.
func prepareJava(ctx context.Context, o Options) (rt javaRuntime, err error) {
	if rt.java, err = findJava(); err != nil {
		return rt, err
	}
	dir, err := o.Mode.kafkaSet().fetch(ctx, o.Log)
	if err != nil {
		return rt, err
	}
	if rt.kafkaCP, err = classpath(dir); err != nil {
		return rt, err
	}
	if len(o.Classpath) > 0 {
		rt.kafkaCP += string(os.PathListSeparator) + strings.Join(o.Classpath, string(os.PathListSeparator))
	}
	if o.Mode.KRaft() {
		return rt, nil
	}
	if dir, err = zooKeeperSet.fetch(ctx, o.Log); err != nil {
		return rt, err
	}
	rt.zookeeper, err = classpath(dir)
	return rt, err
}

func startOnce(ctx context.Context, o Options, rt javaRuntime) (_ *Cluster, err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout,
		fmt.Errorf("not ready after %v (Options.StartTimeout)", o.StartTimeout))
	defer cancel()
	dir, err := makeDir(o)
	if err != nil {
		return nil, err
	}
	c, err := newCluster(o, rt, dir)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	defer func() {
		if err != nil {
			c.Stop()
		}
	}()
	o.Log.Info("starting Kafka", "version", c.plan.Version, "mode", o.Mode, "brokers", o.Brokers, "directory", dir)
	if err := c.launch(ctx); err != nil {
		return nil, err
	}
	o.Log.Info("Kafka is ready", "bootstrap", c.Bootstrap(), "after", time.Since(began).Round(100*time.Millisecond))
	return c, nil
}

// keepData reports whether the data directory outlives the cluster.
func (o Options) keepData() bool { return o.Keep || os.Getenv("KAFKATEST_KEEP") == "1" }

func makeDir(o Options) (string, error) {
	parent := o.Dir
	if parent == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	dir, err := os.MkdirTemp(parent, "kafkatest-"+string(o.Mode)+"-")
	if err != nil {
		return "", fmt.Errorf("make the data directory: %w", err)
	}
	return dir, nil
}

// newCluster plans and writes the cluster's files and starts its reaper.
func newCluster(o Options, rt javaRuntime, dir string) (*Cluster, error) {
	l, err := plan(o, dir)
	if err != nil {
		return nil, err
	}
	if o.Mode.KRaft() {
		l.ClusterID = newClusterID()
	}
	if err := l.write(); err != nil {
		return nil, err
	}
	watched := dir
	if o.keepData() {
		watched = ""
	}
	r, err := startReaper(watched)
	if err != nil {
		return nil, err
	}
	c := &Cluster{plan: l, rt: rt, reaper: r, owned: true}
	for i := range l.Brokers {
		c.brokers = append(c.brokers, &Broker{c: c, state: &l.Brokers[i]})
	}
	return c, nil
}

// newClusterID returns a random id in Kafka's form.
func newClusterID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	// Kafka's command line takes a leading '-' for an option.
	b[0] &= 0x7f
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// launch starts every process of the cluster at once and waits until the
// cluster is ready.
func (c *Cluster) launch(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	for i := range c.plan.ZooKeepers {
		g.Go(func() error { return c.startZooKeeper(gctx, i) })
	}
	for _, b := range c.brokers {
		g.Go(func() error {
			if c.plan.Mode.KRaft() {
				if err := c.format(gctx, b); err != nil {
					return err
				}
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.start(gctx)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, b := range c.brokers {
		if err := b.waitJoined(ctx); err != nil {
			return err
		}
	}
	return nil
}

// format formats the storage of one KRaft broker.
func (c *Cluster) format(ctx context.Context, b *Broker) error {
	cmd := c.plan.formatCommand(c.rt, *b.state)
	p, err := cmd.start(c.reaper)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.kill()
		return context.Cause(ctx)
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd.name, p.err, tail(10, cmd.output))
	}
	return nil
}
