package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kafka-steward/kafka-steward/planner"
	"github.com/kafka-steward/kafka-steward/planner/model"
	"github.com/kafka-steward/kafka-steward/planner/plan"
)

// outcome is what a child process tells of one plan.
type outcome struct {
	Brokers, Partitions, Replicas int
	// CPU and Wall are seconds for the whole plan: search, bounds, check and
	// schedule; Search is the search's CPU. Reading the model is not in them, but
	// in RSS, bytes.
	CPU, Search, Wall float64
	RSS               int64
	Batches           int
	Summary           plan.Summary
	Limits            int
	Moves             []move
}

// move is a partition's new place, the leader first.
type move struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"p"`
	New       []int32 `json:"new"`
}

// child is what runs in processes of their own:
//
//	child generate BROKERS REPLICAS HOTCAP FILE
//	child plan FILE
func child(args []string) error {
	if len(args) == 5 && args[0] == "generate" {
		brokers, err1 := strconv.Atoi(args[1])
		replicas, err2 := strconv.Atoi(args[2])
		hot, err3 := strconv.ParseFloat(args[3], 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		o := model.GenerateDefaults(1, brokers, 3, replicas)
		o.HotCap = hot
		return model.WriteFile(args[4], &model.Snapshot{Cluster: model.Generate(o)})
	}
	if len(args) != 2 || args[0] != "plan" {
		return fmt.Errorf("child: bad arguments %q", args)
	}
	s, err := model.ReadFile(args[1])
	if err != nil {
		return err
	}
	o, err := measure(s)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(o)
}

func measure(s *model.Snapshot) (*outcome, error) {
	c := s.Cluster
	out := &outcome{Brokers: len(c.Brokers), Partitions: c.NumPartitions(), Replicas: c.NumReplicas()}
	runtime.GC()
	opts := planner.Defaults()
	start, cpu := time.Now(), used()
	opts.Progress = func(phase string) {
		if phase == "computing bounds" {
			out.Search = cpuOf(used()) - cpuOf(cpu)
		}
	}
	r, err := planner.Rebalance(s, opts)
	if err != nil {
		return nil, err
	}
	now := used()
	out.CPU, out.Wall = cpuOf(now)-cpuOf(cpu), time.Since(start).Seconds()
	out.RSS = peakMemory(now)
	out.Summary, out.Limits, out.Batches = r.Plan.Summary, len(r.Plan.Limits), len(r.Schedule.Batches)
	out.Summary.Brokers = nil
	for i := range r.Plan.Changes {
		ch := &r.Plan.Changes[i]
		m := move{Topic: ch.Topic, Partition: ch.Partition}
		for _, x := range ch.To {
			m.New = append(m.New, x.Broker)
		}
		out.Moves = append(out.Moves, m)
	}
	return out, nil
}

func used() (r syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // it cannot fail for the own process
	}
	return r
}

// peakMemory is the greatest resident set of this program, bytes. What getrusage
// says is wrong for a child of a bigger process: it counts the moment between
// fork and exec.
func peakMemory(r syscall.Rusage) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return r.Maxrss * 1024
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return kib * 1024
			}
		}
	}
	return r.Maxrss * 1024
}

func cpuOf(r syscall.Rusage) float64 {
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}

// spawn runs the program itself as a child.
func spawn(ctx context.Context, args ...string) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"child"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", args, err)
	}
	return out, nil
}

// planned plans a model in a process of its own.
func planned(ctx context.Context, file string) (*outcome, error) {
	b, err := spawn(ctx, "plan", file)
	if err != nil {
		return nil, err
	}
	o := &outcome{}
	if err := json.Unmarshal(b, o); err != nil {
		return nil, fmt.Errorf("planning %s: %w", file, err)
	}
	return o, nil
}
