package fleet

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// A runner that ends by itself is started anew, at first soon.
const (
	firstRestart = time.Second
	maxRestart   = time.Minute
)

func (m *member) current() Runner {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runner
}

func (m *member) start(factory Factory) {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	go func() {
		defer close(m.done)
		m.supervise(ctx, factory)
	}()
}

// supervise keeps the cluster observed: whatever ends one runner neither ends
// the process nor touches the other clusters.
func (m *member) supervise(ctx context.Context, factory Factory) {
	pause := firstRestart
	for {
		began := time.Now()
		err := run(ctx, m.current())
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > maxRestart {
			pause = firstRestart
		}
		m.logger.Error("observing the cluster ended unexpectedly; it is started again", "kafka_cluster", m.cluster.Name, "in", pause, "err", err)
		if pause = m.renew(ctx, factory, pause); ctx.Err() != nil {
			return
		}
	}
}

// renew waits and makes another runner, as often as it takes. It returns how
// long to wait the next time.
func (m *member) renew(ctx context.Context, factory Factory, pause time.Duration) time.Duration {
	for {
		select {
		case <-ctx.Done():
			return pause
		case <-time.After(pause):
		}
		pause = min(2*pause, maxRestart)
		runner, err := factory(m.cluster, m.logger)
		if err == nil {
			m.mu.Lock()
			m.runner = runner
			m.mu.Unlock()
			return pause
		}
		m.logger.Error("observing the cluster cannot be started again yet", "kafka_cluster", m.cluster.Name, "in", pause, "err", err)
	}
}

func run(ctx context.Context, r Runner) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return r.Run(ctx)
}

func (m *member) stop() {
	m.cancel()
	select {
	case <-m.done:
	case <-time.After(stopPatience):
		m.logger.Warn("observing the cluster did not end in time and is left behind", "kafka_cluster", m.cluster.Name, "after", stopPatience)
	}
}
