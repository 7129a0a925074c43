//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package zkserver

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// dirLock keeps a second server out of a directory for as long as this one lives. The
// system gives it back also after a kill -9.
type dirLock struct{ file *os.File }

func lockDir(dir string) (*dirLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another server uses the directory %s (%w)", dir, err)
	}
	return &dirLock{f}, nil
}

func (l *dirLock) release() {
	if l != nil {
		l.file.Close()
	}
}
