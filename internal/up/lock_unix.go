//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package up

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks a file until it is closed, which the system also does after a kill -9.
// errLocked: somebody else has it.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, err
	}
	return f, nil
}
