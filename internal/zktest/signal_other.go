//go:build !unix

package zktest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Terminate: here a process can only be killed, which gives it no time to say goodbye.
func Terminate(*os.Process) error { return cannot("SIGTERM, which asks a process to end") }

// Pause and Resume: this system does not stop a process and let it go on.
func Pause(*os.Process) error  { return cannot("SIGSTOP, which pauses a process") }
func Resume(*os.Process) error { return cannot("SIGCONT, which lets a paused process go on") }

func cannot(what string) error {
	return fmt.Errorf("%w: %s has no %s", errors.ErrUnsupported, runtime.GOOS, what)
}
