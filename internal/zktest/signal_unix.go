//go:build unix

package zktest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Terminate asks a process to end, also one that is paused.
func Terminate(p *os.Process) error {
	err := p.Signal(syscall.SIGTERM)
	_ = p.Signal(syscall.SIGCONT) // a paused process does not hear SIGTERM
	return err
}

// Pause stops a process where it is: its connections stay open, and it does nothing. It returns
// when that is so: a signal takes a moment to reach a thread that runs on another processor.
func Pause(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); !stopped(p.Pid); {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d does not stand still 10 s after SIGSTOP", p.Pid)
		}
		runtime.Gosched()
	}
	return nil
}

// stopped says whether every thread of a process is stopped, or has ended. Without /proc nobody knows.
func stopped(pid int) bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range stats {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		// "pid (name) state …", and a name may hold anything.
		_, state, _ := strings.Cut(string(b[bytes.LastIndexByte(b, ')'):]), " ")
		if !strings.ContainsAny(state[:1], "TtZX") {
			return false
		}
	}
	return true
}

// Resume lets it go on.
func Resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
