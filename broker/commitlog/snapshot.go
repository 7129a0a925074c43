package commitlog

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// snapshots are the producer state files of a log: what is known of its producers
// as of the offset that names the file. Mirrors the file handling of
// kafka.log.ProducerStateManager. Idempotent producers are not tracked yet, so each
// file written here is the empty one, as Kafka writes it for a log without them:
//
//	0–1 version 1    2–5 CRC-32C of bytes 6 to the end    6–9 number of producers 0
//
// One is taken when a segment is rolled (named by the new base) and on a clean
// close (named by the log end), never twice at the same offset.
//
// Guarded by the log's lock.
type snapshots struct {
	d       *disk
	dir     string
	offsets []int64 // of the files there are, rising
	last    int64   // no further one is taken at or below this
}

var emptySnapshot = func() []byte {
	b := []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[6:], castagnoli))
	return b
}()

const (
	snapshotEntrySize = 46
	maxSnapshotBytes  = 64 << 20
)

// validSnapshot checks version, CRC and length.
func validSnapshot(b []byte) bool {
	if len(b) < 10 || binary.BigEndian.Uint16(b) != 1 {
		return false
	}
	if binary.BigEndian.Uint32(b[2:]) != crc32.Checksum(b[6:], castagnoli) {
		return false
	}
	n := int64(int32(binary.BigEndian.Uint32(b[6:])))
	return n >= 0 && int64(len(b)) == 10+n*snapshotEntrySize
}

// take writes the snapshot of offset. An existing valid one, which a Kafka broker
// may have filled, is kept.
func (s *snapshots) take(offset int64) error {
	if offset <= s.last {
		return nil
	}
	path := segmentFile(s.dir, offset, snapshotSuffix)
	if b, err := s.d.readFile(path, maxSnapshotBytes); err != nil || !validSnapshot(b) {
		if err := s.d.writeFile(path, emptySnapshot, false); err != nil {
			return err
		}
	}
	if i, found := slices.BinarySearch(s.offsets, offset); !found {
		s.offsets = slices.Insert(s.offsets, i, offset)
	}
	s.last = offset
	return nil
}

// drop deletes the snapshots that f picks.
func (s *snapshots) drop(f func(offset int64) bool) error {
	var kept []int64
	for _, offset := range s.offsets {
		if !f(offset) {
			kept = append(kept, offset)
			continue
		}
		if err := s.d.remove(segmentFile(s.dir, offset, snapshotSuffix)); err != nil {
			return err
		}
	}
	s.offsets = kept
	return nil
}

// settle is what Kafka does whenever it reloads producer state for a log of
// [start, end): snapshots outside are deleted, the newest decides what is next.
func (s *snapshots) settle(start, end int64) error {
	err := s.drop(func(o int64) bool { return o > end || o <= start })
	s.relearn(start)
	return err
}

// relearn sets last for a log that begins at start.
func (s *snapshots) relearn(start int64) {
	s.last = start
	if n := len(s.offsets); n > 0 {
		s.last = s.offsets[n-1]
	}
}

// dropStray deletes snapshots that belong to no segment, except the newest one
// above all of them (the clean close's).
func (s *snapshots) dropStray(bases []int64) error {
	if len(s.offsets) == 0 {
		return nil
	}
	newest := s.offsets[len(s.offsets)-1]
	return s.drop(func(o int64) bool {
		_, ofSegment := slices.BinarySearch(bases, o)
		return !ofSegment && !(o == newest && (len(bases) == 0 || o > bases[len(bases)-1]))
	})
}

// dropInvalid deletes the newest snapshots until one can be read. It returns the
// names of those it deleted.
func (s *snapshots) dropInvalid() (bad []int64, err error) {
	for n := len(s.offsets); n > 0; n = len(s.offsets) {
		newest := s.offsets[n-1]
		b, err := s.d.readFile(segmentFile(s.dir, newest, snapshotSuffix), maxSnapshotBytes)
		if err == nil && validSnapshot(b) {
			return bad, nil
		}
		bad = append(bad, newest)
		if err := s.drop(func(o int64) bool { return o == newest }); err != nil {
			return bad, err
		}
	}
	return bad, nil
}
