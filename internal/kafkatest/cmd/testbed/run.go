package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// runCommand runs another command with a supervisor beside it.
type runCommand struct {
	name     string
	modes    []string
	maxModes int
	argv     []string
}

func newRun(app *kingpin.Application) *runCommand {
	c := &runCommand{}
	cmd := app.Command("run", "Run a command, such as go test ./..., whose test processes share one cluster per mode.")
	c.name = cmd.FullCommand()
	cmd.Flag("modes", "Modes to start at once, separated by commas; others start when a test asks for them.").StringsVar(&c.modes)
	cmd.Flag("max-modes", "Modes that run at once (0: no limit); an idle one is stopped to make room.").Default("2").IntVar(&c.maxModes)
	cmd.Arg("command", "The command and its arguments, after --.").Required().StringsVar(&c.argv)
	return c
}

func (c *runCommand) run(log *slog.Logger) (int, error) {
	modes, err := parseModes(c.modes)
	if err != nil {
		return 2, err
	}
	dir, cleanup, err := kafkatest.SharedDir()
	if err != nil {
		return 1, err
	}
	defer cleanup()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := kafkatest.NewSupervisor(kafkatest.SupervisorOptions{MaxModes: c.maxModes, Log: log})
	defer s.Close()
	serving, err := s.Listen(ctx, dir)
	if err != nil {
		return 1, err
	}
	defer func() { cancel(); <-serving }()
	for _, m := range modes {
		go preload(ctx, s, m, log)
	}
	return c.execute(dir)
}

// preload starts a mode ahead of the first test that asks for it.
func preload(ctx context.Context, s *kafkatest.Supervisor, m kafkatest.Mode, log *slog.Logger) {
	if _, err := s.Acquire(ctx, m, false); err != nil {
		if ctx.Err() == nil {
			log.Error("cannot start a cluster ahead", "mode", m, "error", err)
		}
		return
	}
	s.Release(m)
}

// execute runs the command to its end and returns its exit code.
func (c *runCommand) execute(dir string) (int, error) {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env = append(os.Environ(), kafkatest.SharedDirEnv+"="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("run %s: %w", c.argv[0], err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go passOn(signals, cmd.Process, ended)
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		if ws := exit.Sys().(syscall.WaitStatus); ws.Signaled() {
			return 128 + int(ws.Signal()), nil
		}
		return exit.ExitCode(), nil
	default:
		return 1, fmt.Errorf("run %s: %w", c.argv[0], err)
	}
}

// passOn hands SIGTERM to the command. Ctrl-C reaches the command without
// help, as it is in the terminal's process group; one that does not end by it
// is sent SIGTERM.
func passOn(signals <-chan os.Signal, p *os.Process, ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			return
		case sig := <-signals:
			if sig == os.Interrupt {
				select {
				case <-ended:
					return
				case <-time.After(10 * time.Second):
				case <-signals:
				}
			}
			_ = p.Signal(syscall.SIGTERM)
		}
	}
}
