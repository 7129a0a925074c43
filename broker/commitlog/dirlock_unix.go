//go:build unix && !linux

package commitlog

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes a flock, which keeps out a second kz broker.
func tryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
