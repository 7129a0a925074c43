package commitlog

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
)

// EpochEntry says at which offset a leader epoch began.
type EpochEntry struct {
	Epoch int32
	Start int64
}

// epochCache is which leader wrote what: for each leader epoch the offset of its
// first record. A follower that comes back asks by it where its log parts from the
// leader's. Mirrors kafka.server.epoch.LeaderEpochFileCache; the file is
// leader-epoch-checkpoint (docs/formats/checkpoints.md).
//
// Invariant: epochs and starts both rise strictly from entry to entry.
//
// Each change is written to the file at once but fsynced only before the log's
// recovery point moves. Until then the records themselves are not safe either, and
// recovery reads the epochs of everything after the recovery point out of the
// batches, which carry them; a file that a power failure spoiled is rebuilt whole.
type epochCache struct {
	d *disk

	mu      sync.RWMutex // after the log's lock in the order; held over the file write, never over an fsync
	path    string
	entries []EpochEntry
	dirty   bool // written since the last fsync
	spoiled bool // the file says nonsense and must be written anew

	changed func() // called after every change, under mu; nil while the log is being loaded
}

// loadEpochs reads the file. ok is false when it is missing or malformed: the cache
// is then empty, and the error says why.
func loadEpochs(d *disk, path string) (*epochCache, error) {
	c := &epochCache{d: d, path: path}
	lines, err := readCheckpoint(d, path)
	if err != nil {
		c.spoiled = isMalformed(err)
		return c, err
	}
	for _, fields := range lines {
		e, ok := parseEpoch(fields)
		if n := len(c.entries); !ok || (n > 0 && (e.Epoch <= c.entries[n-1].Epoch || e.Start <= c.entries[n-1].Start)) {
			c.entries, c.spoiled = nil, true
			return c, &malformed{path, "bad or unordered entry " + strconv.Quote(joinFields(fields))}
		}
		c.entries = append(c.entries, e)
	}
	return c, nil
}

func parseEpoch(fields []string) (e EpochEntry, ok bool) {
	if len(fields) != 2 {
		return e, false
	}
	epoch, err1 := strconv.ParseInt(fields[0], 10, 32)
	start, err2 := strconv.ParseInt(fields[1], 10, 64)
	return EpochEntry{int32(epoch), start}, err1 == nil && err2 == nil && epoch >= 0 && start >= 0
}

// assign records that epoch begins at start. It changes nothing when the last entry
// says so already, or says an earlier start of the same epoch. Entries that the new
// one contradicts (same or higher epoch, same or higher start) are dropped.
func (c *epochCache) assign(epoch int32, start int64) error {
	c.mu.RLock()
	needed := assignNeeded(c.entries, epoch, start)
	c.mu.RUnlock()
	if !needed {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !assignNeeded(c.entries, epoch, start) {
		return nil
	}
	c.entries = assignEpoch(c.entries, epoch, start)
	return c.write()
}

func assignNeeded(entries []EpochEntry, epoch int32, start int64) bool {
	if epoch < 0 || start < 0 {
		return false
	}
	n := len(entries)
	return n == 0 || epoch != entries[n-1].Epoch || start < entries[n-1].Start
}

func assignEpoch(entries []EpochEntry, epoch int32, start int64) []EpochEntry {
	n := len(entries)
	for n > 0 && (entries[n-1].Epoch >= epoch || entries[n-1].Start >= start) {
		n--
	}
	return append(slices.Clip(entries[:n]), EpochEntry{epoch, start})
}

func (c *epochCache) latest() (EpochEntry, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if n := len(c.entries); n > 0 {
		return c.entries[n-1], true
	}
	return EpochEntry{}, false
}

func (c *epochCache) startOf(epoch int32) (int64, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	i, found := slices.BinarySearchFunc(c.entries, epoch, func(e EpochEntry, epoch int32) int { return int(e.Epoch) - int(epoch) })
	if !found {
		return 0, false
	}
	return c.entries[i].Start, true
}

// epochAt is the epoch that offset was written in.
func (c *epochCache) epochAt(offset int64) (int32, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for i := len(c.entries) - 1; i >= 0; i-- {
		if c.entries[i].Start <= offset {
			return c.entries[i].Epoch, true
		}
	}
	return -1, false
}

func (c *epochCache) endOffsetFor(epoch int32, logEnd int64) (largest int32, end int64, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return endOffsetFor(c.entries, epoch, logEnd)
}

// endOffsetFor answers OffsetForLeaderEpoch: the largest epoch known that is not
// above the one asked for, and where it ended.
//
//	asked                    answer
//	the latest epoch         it, the log end
//	above the latest         unknown
//	below the earliest       the one asked for, the start of the earliest
//	else                     the floor of what is known, the start of the next
func endOffsetFor(entries []EpochEntry, epoch int32, logEnd int64) (largest int32, end int64, ok bool) {
	n := len(entries)
	if epoch < 0 || n == 0 || epoch > entries[n-1].Epoch {
		return -1, -1, false
	}
	if epoch == entries[n-1].Epoch {
		return epoch, logEnd, true
	}
	higher := 0
	for entries[higher].Epoch <= epoch {
		higher++
	}
	if higher == 0 {
		return epoch, entries[0].Start, true
	}
	return entries[higher-1].Epoch, entries[higher].Start, true
}

// truncateFromEnd drops the entries that begin at or after end.
func (c *epochCache) truncateFromEnd(end int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.entries)
	for n > 0 && c.entries[n-1].Start >= end {
		n--
	}
	if n == len(c.entries) {
		return nil
	}
	c.entries = c.entries[:n]
	return c.write()
}

// truncateFromStart follows the log start: the epoch that holds start now begins
// there, earlier ones are dropped.
func (c *epochCache) truncateFromStart(start int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for n < len(c.entries) && c.entries[n].Start <= start {
		n++
	}
	if n == 0 || (n == 1 && c.entries[0].Start == start) {
		return nil
	}
	kept := slices.Clone(c.entries[n-1:])
	kept[0].Start = start
	c.entries = kept
	return c.write()
}

func (c *epochCache) clear() error { return c.replace(nil) }

// replace puts entries in the place of all there are.
func (c *epochCache) replace(entries []EpochEntry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Equal(c.entries, entries) && !c.spoiled {
		return nil
	}
	c.entries = entries
	return c.write()
}

func (c *epochCache) all() []EpochEntry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.entries)
}

// write puts the entries, which just changed, into the file. The caller holds mu.
func (c *epochCache) write() error {
	if c.changed != nil {
		c.changed()
	}
	lines := make([]string, len(c.entries))
	for i, e := range c.entries {
		lines[i] = strconv.Itoa(int(e.Epoch)) + " " + strconv.FormatInt(e.Start, 10)
	}
	if err := writeCheckpoint(c.d, c.path, lines, false); err != nil {
		return err
	}
	c.dirty, c.spoiled = true, false
	return nil
}

// flush forces the file to disk. The caller holds no lock.
func (c *epochCache) flush(dir string) error {
	c.mu.Lock()
	dirty := c.dirty
	c.dirty = false
	path := c.path
	c.mu.Unlock()
	if !dirty {
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := c.d.sync(f, path); err != nil {
		return err
	}
	return c.d.syncDir(dir)
}
