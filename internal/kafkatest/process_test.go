package kafkatest

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestFreePortsAreFree(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ports)
	if n := len(slices.Compact(slices.Clone(ports))); n != 20 {
		t.Errorf("%d different ports, want 20", n)
	}
	first := firstEphemeralPort()
	for _, p := range ports {
		if first > 20000 && p >= first {
			t.Errorf("port %d is in the range of outgoing connections, which starts at %d", p, first)
		}
		l, err := net.Listen("tcp", loopback(p))
		if err != nil {
			t.Errorf("port %d: %v", p, err)
			continue
		}
		l.Close()
	}
}

func TestWait(t *testing.T) {
	looks := 0
	err := Wait(t.Context(), "the third look", 5*time.Second, func(context.Context) (bool, string) {
		looks++
		return looks == 3, ""
	})
	if err != nil || looks != 3 {
		t.Errorf("%d looks, error %v", looks, err)
	}
	err = Wait(t.Context(), "doomsday", 120*time.Millisecond, func(context.Context) (bool, string) { return false, "all quiet" })
	if err == nil || !strings.Contains(err.Error(), "doomsday") || !strings.Contains(err.Error(), "all quiet") {
		t.Errorf("error %v does not say what was waited for and seen", err)
	}
}

// TestReaper checks the reaper without the kernel's help: it must kill a
// stopped child that ignores signals, and remove the directory.
func TestReaper(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with a space")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := startReaper(dir)
	if err != nil {
		t.Fatal(err)
	}
	children := make([]*exec.Cmd, 2)
	for i := range children {
		c := exec.Command("sleep", "60")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		r.add(c.Process.Pid)
		children[i] = c
	}
	if err := syscall.Kill(children[0].Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// The second one has been waited for in the reaper's eyes: its number may
	// belong to somebody else now, so it must be left alone.
	r.del(children[1].Process.Pid)
	r.in.Close() // what the death of this process does

	err = children[0].Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the child ended by %v, want SIGKILL", err)
	}
	WaitFor(t, "the directory to go", 15*time.Second, func(context.Context) (bool, string) { return !exists(dir), dir })
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("reaper: %v", err)
	}
	if !running(children[1].Process.Pid) {
		t.Error("the reaper killed a process that it had been told to forget")
	}
	_ = children[1].Process.Kill()
	_ = children[1].Wait()
}

func TestProcess(t *testing.T) {
	r, err := startReaper("")
	if err != nil {
		t.Fatal(err)
	}
	defer r.dismiss()
	out := filepath.Join(t.TempDir(), "out")
	cmd := command{name: "sleeper", argv: []string{"sh", "-c", "echo hello; trap '' TERM; sleep 60 & wait; sleep 60"}, dir: "/", output: out}
	p, err := cmd.start(r)
	if err != nil {
		t.Fatal(err)
	}
	WaitFor(t, "the child's output", 5*time.Second, func(context.Context) (bool, string) {
		b, _ := os.ReadFile(out)
		return string(b) == "hello\n", string(b)
	})
	if pgid, err := syscall.Getpgid(p.pid); err != nil || pgid != p.pid {
		t.Errorf("process group %d (%v), want its own, %d", pgid, err, p.pid)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.terminate(ctx); err == nil || !p.alive() {
		t.Errorf("a child that ignores SIGTERM: error %v, alive %v", err, p.alive())
	}
	p.kill()
	if p.alive() {
		t.Error("alive after kill")
	}
	if err := p.signal(syscall.SIGSTOP); err == nil {
		t.Error("no error from a signal to a dead process")
	}
}
