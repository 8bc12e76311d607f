package promtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kafka-steward/kafka-steward/internal/kafkatest"
)

// Tools are the paths of the two programs.
type Tools struct {
	Prometheus string
	Promtool   string
	// Source says where they are from, for messages.
	Source string
}

// ErrMissing is what Find returns when a program is nowhere.
var ErrMissing = errors.New("prometheus and promtool are not installed: run `make setup`, or put them on PATH")

// Find returns the programs, or ErrMissing.
func Find() (Tools, error) {
	if t, ok := onPath(); ok {
		return t, nil
	}
	dir, err := builtDir()
	if err != nil {
		return Tools{}, err
	}
	t := Tools{Prometheus: filepath.Join(dir, "prometheus"), Promtool: filepath.Join(dir, "promtool"), Source: "built into " + dir}
	if executable(t.Prometheus) && executable(t.Promtool) {
		return t, nil
	}
	return Tools{}, ErrMissing
}

func onPath() (Tools, bool) {
	prometheus, err1 := exec.LookPath("prometheus")
	promtool, err2 := exec.LookPath("promtool")
	return Tools{Prometheus: prometheus, Promtool: promtool, Source: "found on PATH"}, err1 == nil && err2 == nil
}

// builtDir is where Fetch builds the pinned version.
func builtDir() (string, error) {
	cache, err := kafkatest.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "prometheus", moduleVersion), nil
}

func executable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}

// MustFind returns the programs. Where they are missing, the test is skipped, or
// fails when environment variable CI is set: there nothing may go unnoticed.
func MustFind(t testing.TB) Tools {
	t.Helper()
	tools, err := Find()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return tools
}

// Promtool returns the path of promtool; see MustFind for what happens when
// there is none.
func Promtool(t testing.TB) string {
	t.Helper()
	return MustFind(t).Promtool
}

// RunPromtool runs promtool in dir, which files of rule tests are relative to,
// and fails the test, with promtool's output, when promtool complains.
func RunPromtool(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Promtool(t), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", fmt.Sprint(args), err, out)
	}
}
