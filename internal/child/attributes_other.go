//go:build unix && !linux

package child

import "syscall"

// attributes gives the child its own process group. Only Linux can kill it when
// this process is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
