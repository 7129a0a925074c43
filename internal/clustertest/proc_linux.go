package clustertest

import "syscall"

// diesWithParent ends brokers also when the test binary is killed or times out.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
