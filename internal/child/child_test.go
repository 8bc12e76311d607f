package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// helperEnv makes this test binary a parent that starts a child, prints the
// child's process id and waits.
const helperEnv = "CHILD_TEST_OUTPUT"

func TestMain(m *testing.M) {
	if output := os.Getenv(helperEnv); output != "" {
		p, err := Start(Spec{Name: "grandchild", Argv: []string{"sleep", "600"}, Output: output})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.PID())
		<-p.Done()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func output(t *testing.T) string { return filepath.Join(t.TempDir(), "output") }

// exists reports whether the process exists and is more than a zombie.
func exists(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) || runtime.GOOS != "linux"
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); exists(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}

func TestStopEndsTheWholeGroup(t *testing.T) {
	out := output(t)
	p, err := Start(Spec{Name: "shell", Argv: []string{"sh", "-c", "sleep 600 & echo $!; wait"}, Output: out})
	if err != nil {
		t.Fatal(err)
	}
	var grandchild int
	for deadline := time.Now().Add(10 * time.Second); grandchild == 0; time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(out)
		grandchild, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		if time.Now().After(deadline) {
			t.Fatal("the shell did not tell its child's process id")
		}
	}
	if err := p.Err(); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	p.Stop(5 * time.Second)
	waitGone(t, p.PID())
	waitGone(t, grandchild)
	p.Stop(time.Second)
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	out := output(t)
	p, err := Start(Spec{Name: "deaf", Argv: []string{"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 600; done"}, Output: out})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(p.Tail(1), "ready"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not start")
		}
	}
	p.Stop(100 * time.Millisecond)
	waitGone(t, p.PID())
}

func TestErrShowsTheLastOutput(t *testing.T) {
	p, err := Start(Spec{Name: "broken", Argv: []string{"sh", "-c", "echo no such luck >&2; exit 3"}, Output: output(t)})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	got := p.Err()
	if got == nil || !strings.Contains(got.Error(), "exit status 3") || !strings.Contains(got.Error(), "no such luck") {
		t.Errorf("got %v", got)
	}
}

func TestStartFails(t *testing.T) {
	if _, err := Start(Spec{Name: "ghost", Argv: []string{"/nonexistent"}, Output: output(t)}); err == nil || !strings.Contains(err.Error(), "start ghost") {
		t.Errorf("got %v", err)
	}
}

func TestChildDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a signal for that")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), helperEnv+"="+output(t))
	pipe, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(pipe, &pid); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	waitGone(t, pid)
}
