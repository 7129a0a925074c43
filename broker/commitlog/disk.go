package commitlog

import (
	"io"
	"os"
	"path/filepath"
)

// diskOp names what is about to be asked of the operating system.
type diskOp string

const (
	opCreate   diskOp = "create"
	opWrite    diskOp = "write"
	opRead     diskOp = "read"
	opSync     diskOp = "sync"
	opTruncate diskOp = "truncate"
	opRename   diskOp = "rename"
	opRemove   diskOp = "remove"
)

// disk is the seam between this package and the file system. Everything that
// changes or reads a file of a log goes through it, so that a test can make any one
// step fail as a full or broken disk would. A nil *disk never fails by itself.
type disk struct {
	// fault is asked before each step. It returns how many of n bytes may still be
	// written (a short write), and the error that the step ends with.
	fault func(op diskOp, path string, n int) (allow int, err error)
	// noSync makes sync a promise only. A test that itself decides what a power
	// failure takes has no use for a thousand real fsyncs.
	noSync bool
}

func (d *disk) check(op diskOp, path string, n int) (int, error) {
	if d == nil || d.fault == nil {
		return n, nil
	}
	return d.fault(op, path, n)
}

// open opens path for reading and writing; with create it makes the file when it
// is not there.
func (d *disk) open(path string, create bool) (*os.File, error) {
	flag := os.O_RDWR
	if create {
		if _, err := d.check(opCreate, path, 0); err != nil {
			return nil, &os.PathError{Op: string(opCreate), Path: path, Err: err}
		}
		flag |= os.O_CREATE
	}
	return os.OpenFile(path, flag, 0o644)
}

// writeAt writes all of b at off, or fails, perhaps after a part of it.
func (d *disk) writeAt(f *os.File, path string, b []byte, off int64) error {
	allow, err := d.check(opWrite, path, len(b))
	if err != nil {
		if allow > 0 {
			f.WriteAt(b[:min(allow, len(b))], off) // the part that a full disk still takes
		}
		return &os.PathError{Op: string(opWrite), Path: path, Err: err}
	}
	_, err = f.WriteAt(b, off)
	return err
}

// readAt fills b from off. Fewer bytes than len(b) come with io.EOF.
func (d *disk) readAt(f *os.File, path string, b []byte, off int64) (int, error) {
	if _, err := d.check(opRead, path, len(b)); err != nil {
		return 0, &os.PathError{Op: string(opRead), Path: path, Err: err}
	}
	n, err := f.ReadAt(b, off)
	if n == len(b) {
		err = nil
	}
	return n, err
}

func (d *disk) sync(f *os.File, path string) error {
	if _, err := d.check(opSync, path, 0); err != nil {
		return &os.PathError{Op: string(opSync), Path: path, Err: err}
	}
	if d != nil && d.noSync {
		return nil
	}
	return f.Sync()
}

// truncate sets the file's size. A file that has it already is left alone: ext4
// takes any truncation to zero for the rewriting of a file by a careless program, and
// writes the new text to disk when the file is closed.
func (d *disk) truncate(f *os.File, path string, size int64) error {
	if st, err := f.Stat(); err != nil || st.Size() == size {
		return err
	}
	if _, err := d.check(opTruncate, path, 0); err != nil {
		return &os.PathError{Op: string(opTruncate), Path: path, Err: err}
	}
	return f.Truncate(size)
}

func (d *disk) rename(from, to string) error {
	if _, err := d.check(opRename, from, 0); err != nil {
		return &os.PathError{Op: string(opRename), Path: from, Err: err}
	}
	return os.Rename(from, to)
}

// remove unlinks path; a file that is already gone is no error.
func (d *disk) remove(path string) error {
	if _, err := d.check(opRemove, path, 0); err != nil {
		return &os.PathError{Op: string(opRemove), Path: path, Err: err}
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// syncDir makes created, renamed and removed names in dir survive a power failure.
func (d *disk) syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return d.sync(f, dir)
}

// writeFile writes a small file whole: to <path>.tmp first, then renamed over path,
// so that a reader finds the old text or the new one and never a part. With durable
// the text and the name are also forced to the disk before it returns.
func (d *disk) writeFile(path string, text []byte, durable bool) error {
	tmp := path + ".tmp"
	f, err := d.open(tmp, true)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := d.truncate(f, tmp, 0); err != nil {
		return err
	}
	if err := d.writeAt(f, tmp, text, 0); err != nil {
		return err
	}
	if durable {
		if err := d.sync(f, tmp); err != nil {
			return err
		}
	}
	if err := d.rename(tmp, path); err != nil {
		return err
	}
	if durable {
		return d.syncDir(filepath.Dir(path))
	}
	return nil
}

// readFile reads a small file whole, but refuses one larger than limit bytes.
func (d *disk) readFile(path string, limit int64) ([]byte, error) {
	if _, err := d.check(opRead, path, 0); err != nil {
		return nil, &os.PathError{Op: string(opRead), Path: path, Err: err}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, &malformed{path, "larger than any such file can be"}
	}
	return b, err
}
