package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrShared is returned by the methods that stop, pause or start brokers of a
// cluster that other tests use too: take a private one for that.
var ErrShared = errors.New("the cluster is shared with other tests: use kafkatest.Private")

// stopTimeout bounds a graceful stop; Kafka itself gives up on handing over
// its leaderships sooner.
const stopTimeout = 60 * time.Second

// Broker is one broker of a Cluster. Its methods may be called concurrently;
// those that change it run one after the other.
type Broker struct {
	c     *Cluster
	mu    sync.Mutex // serialises starts and stops
	state *BrokerState

	procMu sync.Mutex // guards what is below
	proc   *process   // nil in an attached cluster
	pid    int
	paused bool
}

// ID returns the broker id.
func (b *Broker) ID() int { return b.state.ID }

// Rack returns broker.rack.
func (b *Broker) Rack() string { return b.state.Rack }

// Addr returns the "host:port" of one listener, or "" when there is none of
// that name.
func (b *Broker) Addr(listener string) string { return b.state.Listeners[listener] }

// LogDirs returns the directories (log.dirs) that hold the partitions.
func (b *Broker) LogDirs() []string { return b.state.LogDirs }

// ServerLog returns the path of the broker's own log file.
func (b *Broker) ServerLog() string { return b.state.ServerLog }

// RequestLog returns the path of the file that kafka.request.logger writes; it
// stays empty until that logger is raised to DEBUG.
func (b *Broker) RequestLog() string { return b.state.RequestLog }

// PID returns the broker's process id; it changes with every start.
func (b *Broker) PID() int {
	b.procMu.Lock()
	defer b.procMu.Unlock()
	return b.pid
}

// Running reports whether the broker's process exists (paused or not).
func (b *Broker) Running() bool {
	b.procMu.Lock()
	defer b.procMu.Unlock()
	if !b.c.owned {
		return syscall.Kill(b.pid, 0) == nil
	}
	return b.proc.alive()
}

// lock gives the caller the right to change the broker.
func (b *Broker) lock() (unlock func(), err error) {
	if !b.c.owned || b.c.shared {
		return nil, fmt.Errorf("broker %d: %w", b.state.ID, ErrShared)
	}
	b.mu.Lock()
	return b.mu.Unlock, nil
}

func (b *Broker) process() *process {
	b.procMu.Lock()
	defer b.procMu.Unlock()
	return b.proc
}

// Stop stops the broker gracefully (SIGTERM: it hands its leaderships over)
// and waits until it has ended. A paused broker is resumed first. It fails
// when the broker has not ended after a minute, as a KRaft broker whose peers
// are gone may.
func (b *Broker) Stop(ctx context.Context) error {
	unlock, err := b.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return b.stop(ctx)
}

func (b *Broker) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if p := b.process(); p != nil {
		return p.terminate(ctx)
	}
	return nil
}

// Kill ends the broker at once (SIGKILL) and waits until it is gone.
func (b *Broker) Kill() error {
	unlock, err := b.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if p := b.process(); p != nil {
		p.kill()
	}
	return nil
}

// Pause freezes the broker (SIGSTOP): its connections stay open and nothing
// answers.
func (b *Broker) Pause() error { return b.setPaused(syscall.SIGSTOP, true) }

// Resume ends a Pause.
func (b *Broker) Resume() error { return b.setPaused(syscall.SIGCONT, false) }

func (b *Broker) setPaused(sig syscall.Signal, paused bool) error {
	unlock, err := b.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.process().signal(sig); err != nil {
		return err
	}
	b.procMu.Lock()
	defer b.procMu.Unlock()
	b.paused = paused
	return nil
}

// answers reports whether the broker runs and is not paused.
func (b *Broker) answers() bool {
	b.procMu.Lock()
	defer b.procMu.Unlock()
	return b.proc.alive() && !b.paused
}

// Start starts a stopped broker again, with the same ports and data, and waits
// until it is ready and has joined the cluster. It does nothing when the
// broker runs. A KRaft broker is ready only when a majority of the brokers
// runs: to start several after all have ended, start them concurrently.
func (b *Broker) Start(ctx context.Context) error {
	unlock, err := b.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if b.process().alive() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, b.c.plan.opts.StartTimeout)
	defer cancel()
	if err := b.start(ctx); err != nil {
		return err
	}
	return b.waitJoined(ctx)
}

// Restart stops the broker gracefully and starts it again.
func (b *Broker) Restart(ctx context.Context) error {
	if err := b.Stop(ctx); err != nil {
		return err
	}
	return b.Start(ctx)
}

// start launches the broker and waits until it says that it is ready; b.mu is
// held.
func (b *Broker) start(ctx context.Context) error {
	cmd := b.c.plan.brokerCommand(b.c.rt, *b.state)
	log := newLogReader(b.state.ServerLog)
	p, err := cmd.start(b.c.reaper)
	if err != nil {
		return err
	}
	b.procMu.Lock()
	b.proc, b.pid, b.paused = p, p.pid, false
	b.procMu.Unlock()
	return b.waitStarted(ctx, p, log, cmd.output)
}

// waitStarted waits for the line with which the broker says that it is ready.
func (b *Broker) waitStarted(ctx context.Context, p *process, log *logReader, output string) error {
	ready := fmt.Sprintf("[KafkaServer id=%d] started", b.state.ID)
	if b.c.plan.Mode.KRaft() {
		ready = "Kafka Server started"
	}
	for {
		if _, ok := log.contains(ready); ok {
			return nil
		}
		select {
		case <-p.done:
			err := fmt.Errorf("broker %d ended while it started: %v\n%s", b.state.ID, p.err, tail(10, b.state.ServerLog, output))
			if line, taken := log.contains(bindFailures...); taken {
				return fmt.Errorf("%w: %s: %w", errBind, line, err)
			}
			return err
		case <-ctx.Done():
			return fmt.Errorf("broker %d: no line %q in its log: %w\n%s", b.state.ID, ready, context.Cause(ctx), tail(10, b.state.ServerLog, output))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// bindFailures are the texts by which a JVM says that a port is taken.
var bindFailures = []string{"Address already in use", "Socket server failed to bind"}

// waitJoined waits until the broker itself answers and lists every broker that
// has a running process.
func (b *Broker) waitJoined(ctx context.Context) error {
	cl, err := newKgoClient(b.Addr(ListenerPlaintext))
	if err != nil {
		return err
	}
	defer cl.Close()
	what := fmt.Sprintf("broker %d to list the running brokers", b.state.ID)
	return wait(ctx, what, func(ctx context.Context) (bool, string) {
		listed, err := listedBrokers(ctx, cl)
		if err != nil {
			return false, err.Error()
		}
		return b.c.allListed(listed), "it lists " + strings.Trim(fmt.Sprint(listed), "[]")
	}, b.process())
}
