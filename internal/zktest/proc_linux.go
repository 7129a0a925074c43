package zktest

import "syscall"

// diesWithParent ends the server also when the test binary is killed or times out.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
