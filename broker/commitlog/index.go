package commitlog

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// index is a file of fixed-size entries in rising order: the part that offset index
// and time index share. Mirrors kafka.log.AbstractIndex.
//
// Kafka maps the file and, while its segment is active, sizes it for 10 MiB in
// advance. Here the file is never longer than its entries: new ones gather in tail
// and go out in one write when a page of them has come, before an fsync, and when
// the segment is rolled or closed. So an idle partition holds no index memory and no
// index file open. What a crash takes from tail, recovery rebuilds: it walks every
// segment at or after the recovery point, and the recovery point passes a segment
// only after its index was written out and fsynced.
type index struct {
	d          *disk
	entrySize  int
	maxEntries int // segment.index.bytes / entrySize

	mu       sync.RWMutex
	path     string
	f        *os.File // nil: not opened yet
	onDisk   int      // entries written out
	count    int      // entries in all; onDisk <= count
	tail     []byte   // entries [tailFrom, count); tailFrom <= onDisk
	tailFrom int
	closed   bool
}

const (
	writeOutAt = 512 // entries not yet on disk that make one write
	keepInTail = 256 // entries that stay in memory after it, for readers near the end
	blockRead  = 512 // entries a search reads at once when it has narrowed them down
)

// loadIndex takes over an existing file without holding it open.
func loadIndex(d *disk, path string, entrySize, maxBytes int) (*index, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	x := &index{d: d, path: path, entrySize: entrySize, maxEntries: maxBytes / entrySize}
	if st.Size()%int64(entrySize) != 0 {
		return x, corruptf("%s: %d bytes, no multiple of %d", filepath.Base(path), st.Size(), entrySize)
	}
	x.count = int(st.Size() / int64(entrySize))
	x.onDisk, x.tailFrom = x.count, x.count
	return x, nil
}

// createIndex makes an empty file.
func createIndex(d *disk, path string, entrySize, maxBytes int) (*index, error) {
	f, err := d.open(path, true)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := d.truncate(f, path, 0); err != nil {
		return nil, err
	}
	return &index{d: d, path: path, entrySize: entrySize, maxEntries: maxBytes / entrySize}, nil
}

func (x *index) entries() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.count
}

// open makes x.f usable. The caller holds mu for writing.
func (x *index) open() error {
	if x.closed {
		return os.ErrClosed
	}
	if x.f != nil {
		return nil
	}
	f, err := x.d.open(x.path, false)
	if err == nil {
		x.f = f
	}
	return err
}

// append adds one entry. It may write a page of entries, never fsync.
func (x *index) append(entry []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tail = append(x.tail, entry...)
	x.count++
	if x.count-x.onDisk < writeOutAt {
		return nil
	}
	if err := x.writeOut(); err != nil {
		return err
	}
	keep := min(keepInTail, x.count-x.tailFrom)
	x.tail = append(x.tail[:0], x.tail[len(x.tail)-keep*x.entrySize:]...)
	x.tailFrom = x.count - keep
	return nil
}

// writeOut writes what is only in memory. The caller holds mu for writing.
func (x *index) writeOut() error {
	if x.onDisk == x.count {
		return nil
	}
	if err := x.open(); err != nil {
		return err
	}
	pending := x.tail[(x.onDisk-x.tailFrom)*x.entrySize:]
	if err := x.d.writeAt(x.f, x.path, pending, int64(x.onDisk*x.entrySize)); err != nil {
		return err
	}
	x.onDisk = x.count
	return nil
}

// flush writes out and, with durable, forces to disk. The fsync runs without the
// lock. With release the file and the memory are let go: the segment is no longer
// appended to.
func (x *index) flush(durable, release bool) error {
	x.mu.Lock()
	err := x.writeOut()
	if err == nil && durable {
		err = x.open()
	}
	f, path := x.f, x.path // a retired segment is renamed meanwhile
	x.mu.Unlock()
	if err == nil && durable {
		err = x.d.sync(f, path)
	}
	if release {
		x.rest()
	}
	return err
}

// rest gives back the memory and the descriptor, if nothing waits to be written. The
// next search opens the file again.
func (x *index) rest() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.onDisk == x.count {
		x.tail, x.tailFrom = nil, x.count
		x.closeFile()
	}
}

func (x *index) closeFile() {
	if x.f != nil {
		x.f.Close()
		x.f = nil
	}
}

// close lets go of the file without writing. Later calls fail with os.ErrClosed.
func (x *index) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	x.tail, x.onDisk, x.tailFrom = nil, x.count, x.count
	x.closeFile()
}

// rename moves the file. An open descriptor follows it.
func (x *index) rename(to string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.d.rename(x.path, to); err != nil {
		return err
	}
	x.path = to
	return nil
}

// truncate keeps the first n entries.
func (x *index) truncate(n int) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n >= x.count && n != 0 {
		return nil
	}
	if n < x.onDisk || n == 0 { // n == 0 also drops a partial entry
		if err := x.open(); err != nil {
			return err
		}
		if err := x.d.truncate(x.f, x.path, int64(n*x.entrySize)); err != nil {
			return err
		}
		x.onDisk = n
	}
	x.tailFrom = min(x.tailFrom, n)
	x.tail = x.tail[:(n-x.tailFrom)*x.entrySize]
	x.count = n
	return nil
}

// at copies entry i into b.
func (x *index) at(i int, b []byte) error {
	if err := x.openForRead(); err != nil {
		return err
	}
	defer x.mu.RUnlock()
	if i < 0 || i >= x.count {
		return fmt.Errorf("%s: entry %d of %d", x.path, i, x.count)
	}
	return x.read(i, b)
}

// search returns the last slot whose entry is at or before the target, -1 when none
// is, and copies that entry into b. after says that an entry lies behind the target.
func (x *index) search(b []byte, after func(entry []byte) bool) (slot int, err error) {
	if err := x.openForRead(); err != nil {
		return -1, err
	}
	defer x.mu.RUnlock()
	es := x.entrySize
	// Near the end nearly always: producers append and consumers follow there.
	if len(x.tail) > 0 && !after(x.tail[:es]) {
		i := searchBlock(x.tail, es, after)
		copy(b, x.tail[i*es:][:es])
		return x.tailFrom + i, nil
	}
	lo, hi := 0, x.tailFrom
	for hi-lo > blockRead {
		mid := int(uint(lo+hi) / 2)
		if err := x.read(mid, b); err != nil {
			return -1, err
		}
		if after(b[:es]) {
			hi = mid
		} else {
			lo = mid
		}
	}
	if lo == hi {
		return -1, nil
	}
	buf := lookupBuffers.Get().(*[]byte)
	defer lookupBuffers.Put(buf)
	if need := (hi - lo) * es; cap(*buf) < need {
		*buf = make([]byte, 0, need)
	}
	block := (*buf)[:(hi-lo)*es]
	if _, err := x.d.readAt(x.f, x.path, block, int64(lo*es)); err != nil {
		return -1, err
	}
	i := searchBlock(block, es, after)
	if i < 0 {
		return -1, nil
	}
	copy(b, block[i*es:][:es])
	return lo + i, nil
}

// searchBlock is the last entry of block at or before the target, or -1.
func searchBlock(block []byte, entrySize int, after func([]byte) bool) int {
	lo, hi := -1, len(block)/entrySize // entry lo is not after, entry hi is
	for hi-lo > 1 {
		mid := int(uint(lo+hi) / 2)
		if after(block[mid*entrySize:][:entrySize]) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo
}

// openForRead takes mu for reading, with the file open if entries lie on disk only.
func (x *index) openForRead() error {
	for {
		x.mu.RLock()
		if x.tailFrom == 0 || x.f != nil {
			return nil
		}
		x.mu.RUnlock()
		x.mu.Lock()
		err := x.open()
		x.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

func (x *index) read(i int, b []byte) error {
	if i >= x.tailFrom {
		copy(b, x.tail[(i-x.tailFrom)*x.entrySize:][:x.entrySize])
		return nil
	}
	_, err := x.d.readAt(x.f, x.path, b[:x.entrySize], int64(i*x.entrySize))
	return err
}

func (x *index) name() string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.path
}
