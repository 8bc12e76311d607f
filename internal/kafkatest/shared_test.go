package kafkatest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// attachEnv makes the test binary a test process that takes the shared cluster
// of a mode, writes a record to the topic named in topicEnv, and prints the
// cluster's state.
const (
	attachEnv = "KAFKATEST_TEST_ATTACH"
	topicEnv  = "KAFKATEST_TEST_TOPIC"
)

func attach(mode Mode) error {
	ctx := context.Background()
	c, err := shared.get(ctx, mode)
	if err != nil {
		return err
	}
	if err := c.Produce(ctx, os.Getenv(topicEnv), 0, 1, 10); err != nil {
		return err
	}
	if err := c.Broker(1).Kill(); !errors.Is(err, ErrShared) {
		return fmt.Errorf("killing a broker of a shared cluster: error %v, want %v", err, ErrShared)
	}
	c.Stop() // must do nothing
	return json.NewEncoder(os.Stdout).Encode(c.State())
}

// TestSharedAcrossProcesses has two processes share one cluster of a
// supervisor.
func TestSharedAcrossProcesses(t *testing.T) {
	SkipIfOff(t)
	dir, cleanup, err := SharedDir()
	if err != nil {
		t.Fatal(err)
	}
	defer cleanup()
	s := NewSupervisor(SupervisorOptions{MaxModes: 1, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done, err := s.Listen(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); <-done }()

	// This process is a third one: its view is made without the environment
	// variable, which belongs to the run that this test is part of.
	lease, err := dialSupervisor(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.conn.Close()
	state, err := lease.acquire(KRaft4)
	if err != nil {
		t.Fatal(err)
	}
	c := Attach(*state)
	defer c.Stop()
	topic := c.Topic(t, 1, 3)

	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), attachEnv+"="+string(KRaft4), topicEnv+"="+topic, SharedDirEnv+"="+dir)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("test process: %v\n%s", err, stderr.String())
				return
			}
			var got State
			if err := json.Unmarshal(out, &got); err != nil {
				t.Errorf("state of the test process: %v", err)
			}
			if diff := cmp.Diff(*state, got); diff != "" {
				t.Errorf("it got another cluster (-want +got):\n%s", diff)
			}
		})
	}
	wg.Wait()
	ends, err := c.Admin().ListEndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := ends.Lookup(topic, 0); !ok || o.Offset != 2 {
		t.Errorf("end offset %d, want 2: one record of each process", o.Offset)
	}
	if left := leftovers(*state); len(left) != 4 {
		t.Errorf("the cluster must still run when its users have ended; there is %s", strings.Join(left, ", "))
	}
	// A lease's end does not stop a mode, the supervisor's does.
	s.Close()
	if left := leftovers(*state); len(left) > 0 {
		t.Errorf("left after Close: %v", left)
	}
}

// TestSharedWithinProcess takes the shared cluster twice.
func TestSharedWithinProcess(t *testing.T) {
	first, second := Shared(t, KRaft4), Shared(t, KRaft4)
	if first != second {
		t.Error("two clusters of one mode")
	}
	if err := first.Broker(1).Pause(); !errors.Is(err, ErrShared) {
		t.Errorf("pausing a broker of a shared cluster: error %v, want %v", err, ErrShared)
	}
	first.Stop() // must do nothing
	topic := first.Topic(t, 2, 2)
	if err := first.Produce(t.Context(), topic, 1, 1, 1); err != nil {
		t.Error(err)
	}
}

func TestOff(t *testing.T) {
	t.Setenv("KAFKATEST", "off")
	if reason, off := Off(); !off || !strings.Contains(reason, "KAFKATEST=off") {
		t.Errorf("Off() = %q, %v", reason, off)
	}
	ran := false
	t.Run("skipped", func(t *testing.T) {
		Shared(t, KRaft4)
		ran = true
	})
	if ran {
		t.Error("Shared did not skip the test")
	}
}
