package child

import "syscall"

// attributes gives the child its own process group and has the kernel kill it
// when the thread that started it ends, which Process.run keeps alive.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
