package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// build compiles a program of this module and returns the binary's path.
func build(ctx context.Context, dir, name, pkg string) (string, error) {
	bin := filepath.Join(dir, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, pkg)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building %s (run this from the module's root): %w", pkg, err)
	}
	return bin, nil
}

// process is a running program whose CPU and memory are watched.
type process struct {
	cmd *exec.Cmd
	log bytes.Buffer
}

func start(ctx context.Context, bin string, args ...string) *process {
	p := &process{cmd: exec.CommandContext(ctx, bin, args...)}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	// The child ends with this program even if that is killed.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 10 * time.Second
	return p
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// cpuSeconds is the CPU time used by all threads so far. It is summed over the
// threads' schedstat, which counts nanoseconds; /proc/PID/stat counts
// hundredths of a second, too coarse for a refresh that takes a few of them.
// Go's threads do not end, so none is forgotten.
func (p *process) cpuSeconds() float64 {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	sum := 0.0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if fields := strings.Fields(string(b)); err == nil && len(fields) > 0 {
			ns, _ := strconv.ParseFloat(fields[0], 64)
			sum += ns / 1e9
		}
	}
	return sum
}

// peakMB is the largest resident set so far, in MB of 2^20 bytes.
func (p *process) peakMB() float64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(v)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// simulator is the fakekafka process.
type simulator struct {
	*process
	in  io.Writer
	out *bufio.Reader
	// Bootstrap and the rest are what it says of itself.
	Bootstrap  string `json:"bootstrap"`
	Brokers    int    `json:"brokers"`
	Partitions int    `json:"partitions"`
	Groups     int    `json:"groups"`
	Commits    int    `json:"commits"`
}

func startSimulator(ctx context.Context, bin string, args ...string) (*simulator, error) {
	s := &simulator{process: start(ctx, bin, args...)}
	s.cmd.Stdout = nil
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.in, s.out = in, bufio.NewReader(out)
	return s, s.read(s)
}

func (s *simulator) read(v any) error {
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the simulator ended: %w: %s", err, s.log.String())
	}
	return json.Unmarshal(line, v)
}

// requests returns the requests served since the last call, by API.
func (s *simulator) requests() (map[string]int, error) {
	if _, err := io.WriteString(s.in, "stats\n"); err != nil {
		return nil, err
	}
	var stats struct {
		Requests map[string]int `json:"requests"`
	}
	if err := s.read(&stats); err != nil {
		return nil, err
	}
	_, err := io.WriteString(s.in, "reset\n")
	return stats.Requests, err
}

func splitList(s string) []string { return strings.Split(s, ",") }
