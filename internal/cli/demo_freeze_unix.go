//go:build unix

package cli

import "syscall"

// cannotFreeze is why zombie-leader cannot be told on this system.
const cannotFreeze = ""

// freeze stops a process where it stands; thaw lets it go on as if nothing had been.
func freeze(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }
func thaw(pid int) error   { return syscall.Kill(pid, syscall.SIGCONT) }
