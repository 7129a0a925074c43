//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package up

import (
	"os"
	"syscall"
)

// pauseProcess stops everything in a process, as a long garbage collection would.
func pauseProcess(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func resumeProcess(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

func pauseSelf() error { return syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

// canPause is nil where processes can be paused.
func canPause() error { return nil }
