// Package child runs helper processes that end with this one: each has a process
// group of its own, so that the terminal's Ctrl-C does not reach it before its
// parent can stop everything in order, and on Linux the kernel kills it when the
// parent dies in whatever way.
package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Spec says what to run.
type Spec struct {
	// Name is for messages.
	Name string
	// Argv is the program and its arguments.
	Argv []string
	// Output is the file that receives stdout and stderr, appended.
	Output string
	// Env is added to the environment of this process.
	Env []string
}

// Process is a running child.
type Process struct {
	spec Spec
	pid  int
	done chan struct{} // closed when the child has been reaped
	err  error         // how it ended; read after done
}

// Start runs the child.
func Start(s Spec) (*Process, error) {
	out, err := os.OpenFile(s.Output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = attributes()
	p := &Process{spec: s, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(cmd, out, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	return p, nil
}

// run starts the child and waits for it on one operating system thread: the
// kernel's signal at the parent's death comes when that thread ends.
func (p *Process) run(cmd *exec.Cmd, out *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	out.Close()
	if err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	p.err = cmd.Wait()
	close(p.done)
}

// PID returns the child's process id.
func (p *Process) PID() int { return p.pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says that the child has ended, how, and what it wrote last; it is nil
// while the child runs.
func (p *Process) Err() error {
	select {
	case <-p.done:
		how := "exit status 0"
		if p.err != nil {
			how = p.err.Error()
		}
		return fmt.Errorf("%s has ended: %s\n%s", p.spec.Name, how, p.Tail(20))
	default:
		return nil
	}
}

// Stop asks the child to end (SIGTERM) and kills it if it has not ended within
// the patience. It returns when the child is gone; stopping it again does
// nothing.
func (p *Process) Stop(patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-ctx.Done():
		p.signal(syscall.SIGKILL)
		<-p.done
	}
}

// signal sends sig to the child's process group unless the child was reaped,
// when its process id may already be somebody else's.
func (p *Process) signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.pid, sig)
	}
}
