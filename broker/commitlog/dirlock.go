package commitlog

import (
	"errors"
	"os"
)

// errLocked says that another broker uses the directory.
var errLocked = errors.New("another Kafka or kz broker is using this directory; each needs log.dirs of its own")

// dirLock is the exclusive lock on a directory's .lock file, held while the file is
// open. Mirrors kafka.utils.FileLock.
type dirLock struct{ f *os.File }

func lockDir(path string) (*dirLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f); err != nil {
		f.Close()
		return nil, err
	}
	return &dirLock{f}, nil
}

// unlock gives the directory free. It may be called more than once.
func (l *dirLock) unlock() { l.f.Close() }
