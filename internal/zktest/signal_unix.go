//go:build unix

package zktest

import (
	"os"
	"syscall"
)

// Terminate asks a process to end, also one that is paused.
func Terminate(p *os.Process) error {
	err := p.Signal(syscall.SIGTERM)
	_ = p.Signal(syscall.SIGCONT) // a paused process does not hear SIGTERM
	return err
}

// Pause stops a process where it is: its connections stay open, and it does nothing.
func Pause(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// Resume lets it go on.
func Resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
