//go:build !linux

package kafkatest

import "syscall"

// sysProcAttr puts a child into its own process group. Systems without a
// parent-death signal rely on the reaper alone.
func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
