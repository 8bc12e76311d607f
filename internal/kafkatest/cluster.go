package kafkatest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Cluster is a running Kafka cluster. Its methods may be called concurrently.
type Cluster struct {
	plan    *layout
	rt      javaRuntime
	reaper  *reaper
	brokers []*Broker
	owned   bool // the processes are children of this process
	shared  bool // other tests use it too

	zkMu sync.Mutex
	zk   []*process

	clientMu     sync.Mutex
	sharedClient *kgo.Client

	stopOnce sync.Once
}

// Mode returns the cluster's mode.
func (c *Cluster) Mode() Mode { return c.plan.Mode }

// Bootstrap returns the plaintext bootstrap list, "host:port,host:port".
func (c *Cluster) Bootstrap() string { return c.BootstrapFor(ListenerPlaintext) }

// BootstrapFor returns the bootstrap list of the listener of that name (see
// the Listener constants); it is empty when the cluster has no such listener.
func (c *Cluster) BootstrapFor(listener string) string { return c.plan.Bootstrap[listener] }

// ZooKeeper returns the connect string of the ensemble, "host:port,host:port";
// it is empty in the KRaft modes.
func (c *Cluster) ZooKeeper() string { return c.plan.zkConnect() }

// Broker returns the broker with that id (1, 2, …). It panics when there is
// none.
func (c *Cluster) Broker(id int) *Broker {
	for _, b := range c.brokers {
		if b.state.ID == id {
			return b
		}
	}
	panic(fmt.Sprintf("kafkatest: no broker %d in a cluster of %d", id, len(c.brokers)))
}

// Brokers returns all brokers, by id.
func (c *Cluster) Brokers() []*Broker { return slices.Clone(c.brokers) }

// State returns a copy of the description of the cluster as it is now.
func (c *Cluster) State() State {
	s := c.state()
	s.Brokers = slices.Clone(s.Brokers)
	for i, b := range c.brokers {
		s.Brokers[i].PID = b.PID()
	}
	return s
}

func (c *Cluster) state() State {
	s := c.plan.State
	c.zkMu.Lock()
	defer c.zkMu.Unlock()
	s.ZooKeepers = slices.Clone(s.ZooKeepers)
	return s
}

// Stop ends every process of the cluster and removes its data, unless it is to
// be kept. Stopping a cluster again, or a shared one, does nothing.
func (c *Cluster) Stop() {
	if c.shared {
		return
	}
	c.stopOnce.Do(func() {
		c.clientMu.Lock()
		if c.sharedClient != nil {
			c.sharedClient.Close()
		}
		c.clientMu.Unlock()
		if c.owned {
			c.stopProcesses()
		}
	})
}

func (c *Cluster) stopProcesses() {
	keep := c.plan.opts.keepData()
	var wg sync.WaitGroup
	for _, b := range c.brokers {
		wg.Go(func() {
			if keep {
				// Only data that somebody looks at deserves a clean end.
				ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
				defer cancel()
				_ = b.stop(ctx)
			}
			if p := b.process(); p != nil {
				p.kill()
			}
		})
	}
	wg.Wait()
	c.zkMu.Lock()
	for _, p := range c.zk {
		p.kill()
	}
	c.zkMu.Unlock()
	c.reaper.dismiss()
	if keep {
		fmt.Fprintln(os.Stderr, "kafkatest: the data is kept in", c.plan.Dir)
		return
	}
	if err := os.RemoveAll(c.plan.Dir); err != nil {
		c.plan.opts.Log.Warn("cannot remove the data directory", "directory", c.plan.Dir, "error", err)
	}
}

// allListed reports whether listed holds every broker that runs and is not
// paused.
func (c *Cluster) allListed(listed []int) bool {
	for _, b := range c.brokers {
		if b.answers() && !slices.Contains(listed, b.state.ID) {
			return false
		}
	}
	return true
}

// deadBroker returns a broker whose process has ended, if there is one.
func (c *Cluster) deadBroker() (id int, dead bool) {
	for _, b := range c.brokers {
		if !b.Running() {
			return b.state.ID, true
		}
	}
	return 0, false
}
