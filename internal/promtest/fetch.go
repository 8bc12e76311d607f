package promtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// moduleVersion is the version that tools/prometheus/go.mod pins; a test holds
// the two together.
const moduleVersion = "v0.316.0"

// toolsModule is the folder, from the root of the source tree, of the module
// that pins Prometheus.
const toolsModule = "tools/prometheus"

// Fetch returns the programs and gets them first if they are missing. It tells
// out what it downloads, and why. root is the folder of the source tree.
func Fetch(ctx context.Context, root string, out io.Writer) (Tools, error) {
	t, err := Find()
	if !errors.Is(err, ErrMissing) {
		return t, err
	}
	if installable() {
		if err = installPackage(ctx, out); err == nil {
			return Find()
		}
		if ctx.Err() != nil {
			return Tools{}, err
		}
		fmt.Fprintf(out, "The Debian package could not be installed: %v\n", err)
	}
	if err := build(ctx, root, out); err != nil {
		return Tools{}, fmt.Errorf("build prometheus and promtool: %w", err)
	}
	return Find()
}

// installable reports whether the Debian package may be installed.
func installable() bool {
	_, err := exec.LookPath("apt-get")
	return err == nil && os.Geteuid() == 0
}

// policyFile is what Debian's package scripts ask whether they may start a
// service.
const policyFile = "/usr/sbin/policy-rc.d"

// installPackage installs Debian's prometheus without its service: the programs
// are wanted, not a Prometheus that listens on this machine.
func installPackage(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "Installing the Debian package prometheus (a download of 20 MB; its service is not started).")
	restore, err := forbidServices()
	if err != nil {
		return err
	}
	defer restore()
	for _, argv := range [][]string{
		{"apt-get", "update", "-qq"},
		{"apt-get", "install", "-y", "-qq", "--no-install-recommends", "prometheus"},
	} {
		if err := quietly(ctx, "", argv...); err != nil {
			return err
		}
	}
	// Nor at the next start of the machine. Machines without systemd have
	// nothing to disable.
	if _, err := exec.LookPath("systemctl"); err == nil {
		return quietly(ctx, "", "systemctl", "disable", "prometheus.service")
	}
	return nil
}

// forbidServices keeps package scripts from starting services until restore is
// called. A policy that the machine already has is respected.
func forbidServices() (restore func(), err error) {
	f, err := os.OpenFile(policyFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, os.ErrExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("keep the packaged service from starting: %w", err)
	}
	restore = func() { os.Remove(policyFile) }
	_, err = io.WriteString(f, "#!/bin/sh\nexit 101\n")
	if err = errors.Join(err, f.Close()); err != nil {
		restore()
		return nil, fmt.Errorf("keep the packaged service from starting: %w", err)
	}
	return restore, nil
}

// build builds the pinned Go module into the cache. A build that is broken off
// leaves nothing there.
func build(ctx context.Context, root string, out io.Writer) error {
	dir, err := builtDir()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Building Prometheus %s from its Go module into %s.\n"+
		"This downloads about 300 MB of modules and takes some 10 minutes on two cores, once.\n"+
		"It will have no web page: the module does not hold it. A prometheus on PATH is preferred.\n", moduleVersion, dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	const module = "github.com/prometheus/prometheus/cmd/"
	err = quietly(ctx, filepath.Join(root, toolsModule), "go", "build", "-o", tmp+"/", module+"prometheus", module+"promtool")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// quietly runs a command whose output is of interest only when it fails.
func quietly(ctx context.Context, dir string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}
