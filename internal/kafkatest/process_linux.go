package kafkatest

import "syscall"

// sysProcAttr puts a child into its own process group and has the kernel kill
// it when the thread that started it ends, which process.run keeps alive.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
