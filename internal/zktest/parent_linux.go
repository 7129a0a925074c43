package zktest

import "syscall"

// DiesWithParent ends a child process also when the test binary is killed or times out.
func DiesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
