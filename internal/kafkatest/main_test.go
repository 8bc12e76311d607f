package kafkatest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// ownerEnv makes the test binary a process that starts a cluster, prints its
// state and waits: the tests kill it and look for what it leaves behind.
const ownerEnv = "KAFKATEST_TEST_OWNER"

func TestMain(m *testing.M) {
	for env, do := range map[string]func(Mode) error{ownerEnv: own, attachEnv: attach} {
		if mode := os.Getenv(env); mode != "" {
			if err := do(Mode(mode)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(m.Run())
}

func own(mode Mode) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := Start(ctx, Options{Mode: mode, Brokers: 1, ZooKeepers: 1})
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(c.State()); err != nil {
		return err
	}
	<-ctx.Done()
	c.Stop()
	return nil
}
