package kafkatest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// checkBrokerControl stops, kills, pauses and restarts brokers.
func checkBrokerControl(t *testing.T, c *Cluster) {
	t.Helper()
	ctx := t.Context()
	b := c.Broker(2)
	before := b.PID()
	if err := b.Pause(); err != nil {
		t.Fatal(err)
	}
	if _, err := askBroker(ctx, b, time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused broker: error %v, want no answer in time", err)
	}
	if err := b.Resume(); err != nil {
		t.Fatal(err)
	}
	if _, err := askBroker(ctx, b, 10*time.Second); err != nil {
		t.Errorf("a resumed broker: %v", err)
	}
	if err := b.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if b.Running() || syscall.Kill(before, 0) == nil {
		t.Errorf("broker 2 (pid %d) still runs after Stop", before)
	}
	if _, ok := (&logReader{path: b.ServerLog()}).contains("shut down completed"); !ok {
		t.Error("the stop was not graceful: server.log has no line about it")
	}
	waitListed(t, c, 1, 3)
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	waitListed(t, c, 1, 2, 3)
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	waitListed(t, c, 1, 3)
	if err := b.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	waitListed(t, c, 1, 2, 3)
	if after := b.PID(); after == before || c.State().Brokers[1].PID != after {
		t.Errorf("pid before %d, after %d, in the state %d", before, after, c.State().Brokers[1].PID)
	}
}

// askBroker makes one request to one broker.
func askBroker(ctx context.Context, b *Broker, within time.Duration) ([]int, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cl, err := newKgoClient(b.Addr(ListenerPlaintext))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return listedBrokers(ctx, cl)
}

// waitListed waits until broker 1 lists exactly these brokers.
func waitListed(t *testing.T, c *Cluster, want ...int) {
	t.Helper()
	WaitFor(t, fmt.Sprintf("broker 1 to list %v", want), 30*time.Second, func(ctx context.Context) (bool, string) {
		got, err := askBroker(ctx, c.Broker(1), 5*time.Second)
		return slices.Equal(got, want), fmt.Sprint(got, err)
	})
}

// checkTeardown stops the cluster and looks for what is left.
func checkTeardown(t *testing.T, c *Cluster) {
	t.Helper()
	state := c.State()
	c.Stop()
	if left := leftovers(state); len(left) > 0 {
		t.Errorf("left after Stop: %v", left)
	}
	c.Stop() // again: must do nothing
}

// leftovers lists the processes and the directory of a cluster that exist.
func leftovers(s State) []string {
	var left []string
	for _, b := range s.Brokers {
		if running(b.PID) {
			left = append(left, fmt.Sprintf("broker %d pid %d", b.ID, b.PID))
		}
	}
	for _, z := range s.ZooKeepers {
		if running(z.PID) {
			left = append(left, fmt.Sprintf("ZooKeeper %d pid %d", z.ID, z.PID))
		}
	}
	if exists(s.Dir) {
		left = append(left, s.Dir)
	}
	return left
}

// running reports whether the process exists and is no zombie, which only
// waits for its new parent to take note.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	out, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// TestParentKilled kills a process that owns a cluster in every way that leaves
// it no time to clean up.
func TestParentKilled(t *testing.T) {
	SkipIfOff(t)
	for _, tt := range []struct {
		name string
		mode Mode
		kill func(pid int) error
	}{
		{"SIGKILL", KRaft4, func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }},
		{"SIGINT", KRaft4, func(pid int) error { return syscall.Kill(pid, syscall.SIGINT) }},
		{"SIGKILL of its group", ZK39, func(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }},
		{"SIGTERM", ZK39, func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			state, cmd := startOwner(t, tt.mode)
			if len(leftovers(state)) < 2 {
				t.Fatalf("the cluster does not run: %v", leftovers(state))
			}
			if err := tt.kill(cmd.Process.Pid); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			WaitFor(t, "processes and directory to go", 20*time.Second, func(context.Context) (bool, string) {
				left := leftovers(state)
				return len(left) == 0, strings.Join(left, ", ")
			})
		})
	}
}

// startOwner starts a process that owns a cluster; see TestMain.
func startOwner(t *testing.T, mode Mode) (State, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerEnv+"="+string(mode))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var state State
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&state); err != nil {
		t.Fatalf("the owner did not print its cluster's state: %v", err)
	}
	return state, cmd
}
