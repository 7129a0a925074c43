package commitlog

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func segmentPath(dir, name string) string { return filepath.Join(dir, name) }

// sweep deals with every file of the directory that is not a plain part of a
// segment, and returns the bases of the segments, rising. Mirrors
// Log.removeTempFilesAndCollectSwapFiles and completeSwapOperations.
func (ld *loader) sweep() (bases []int64, err error) {
	dir := ld.l.dir
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	minCleaned := int64(math.MaxInt64)
	var swaps, remove []string
	plain := map[int64][]string{} // suffixes by base
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			continue
		}
		base, suffix, isSegment := parseSegmentFile(name)
		switch {
		case strings.HasSuffix(name, deletedSuffix):
			remove = append(remove, name)
		case strings.HasSuffix(name, cleanedSuffix):
			ld.mend("%s of an unfinished compaction removed", name)
			remove = append(remove, name)
			if isSegment {
				minCleaned = min(minCleaned, base)
			}
		case strings.HasSuffix(name, swapSuffix):
			swaps = append(swaps, name)
		case strings.HasSuffix(name, ".tmp"):
			remove = append(remove, name)
		case isSegment && suffix == snapshotSuffix:
			ld.l.snapshots.offsets = append(ld.l.snapshots.offsets, base)
		case isSegment:
			plain[base] = append(plain[base], suffix)
		case strings.HasSuffix(name, logSuffix):
			ld.mend("%s is not named as a segment: left alone", name)
		}
	}
	for _, name := range remove {
		if err := ld.l.d.remove(segmentPath(dir, name)); err != nil {
			return nil, err
		}
	}
	if err := ld.finishSwaps(swaps, minCleaned, plain); err != nil {
		return nil, err
	}
	for base, suffixes := range plain {
		if slices.Contains(suffixes, logSuffix) {
			bases = append(bases, base)
		} else if err := ld.removeOrphans(base, suffixes); err != nil {
			return nil, err
		}
	}
	slices.Sort(bases)
	slices.Sort(ld.l.snapshots.offsets)
	return bases, nil
}

// removeOrphans removes index files whose log is gone.
func (ld *loader) removeOrphans(base int64, suffixes []string) error {
	for _, suffix := range suffixes {
		if suffix != indexSuffix && suffix != timeIndexSuffix && suffix != txnIndexSuffix {
			continue
		}
		path := segmentFile(ld.l.dir, base, suffix)
		ld.mend("%s without a log removed", filepath.Base(path))
		if err := ld.l.d.remove(path); err != nil {
			return err
		}
	}
	return nil
}

// finishSwaps completes a compaction that was stopped between .swap and done: the
// .log.swap takes the place of the segments whose offsets it covers. If a .cleaned
// file at or before it exists, it was one of several not all of which were ready,
// and is dropped. Index .swap files are dropped: indexes are made anew.
func (ld *loader) finishSwaps(swaps []string, minCleaned int64, plain map[int64][]string) error {
	d, dir := ld.l.d, ld.l.dir
	slices.SortFunc(swaps, func(a, b string) int { return cmp.Compare(a, b) })
	for _, name := range swaps {
		path := segmentPath(dir, name)
		base, suffix, ok := parseSegmentFile(name)
		if !ok || suffix != logSuffix+swapSuffix || base >= minCleaned {
			ld.mend("%s of an unfinished compaction removed", name)
			if err := d.remove(path); err != nil {
				return err
			}
			continue
		}
		next, err := nextOffsetOf(d, path, base)
		if err != nil {
			return err
		}
		for b, suffixes := range plain {
			if b < base || (b >= next && b != base) {
				continue
			}
			for _, s := range suffixes {
				if s == logSuffix && b == base {
					continue // replaced by the rename
				}
				if err := d.remove(segmentFile(dir, b, s)); err != nil {
					return err
				}
			}
			delete(plain, b)
		}
		if err := d.rename(path, segmentFile(dir, base, logSuffix)); err != nil {
			return err
		}
		plain[base] = []string{logSuffix}
		ld.mend("compacted segment %d put in the place of offsets %d to %d", base, base, next-1)
	}
	return nil
}

// nextOffsetOf walks a log file to the offset after its last whole batch.
func nextOffsetOf(d *disk, path string, base int64) (int64, error) {
	f, err := d.open(path, false)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	next := base
	err = walkBatches(d, f, path, 0, st.Size(), false, func(h batchHeader, _ int64, _ []byte) error {
		next = max(next, h.last+1)
		return nil
	})
	if isCorrupt(err) {
		err = nil
	}
	return next, err
}
