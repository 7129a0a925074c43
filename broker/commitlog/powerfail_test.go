package commitlog

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// dropUnflushed treats the files as a power failure may: of each segment that holds
// offsets at or above flushed some bytes are lost, or zero, or garbage, its indexes
// are anything, and segments after a loss may be missing.
func dropUnflushed(t testing.TB, dir string, s *logState, flushed int64, rng *rand.Rand) {
	lost := false
	for i, seg := range s.segments {
		end := s.end.Offset
		if i+1 < len(s.segments) {
			end = s.segments[i+1].base
		}
		if end <= flushed && seg != s.active() {
			continue
		}
		if lost && rng.IntN(2) == 0 {
			for _, suffix := range []string{logSuffix, indexSuffix, timeIndexSuffix} {
				os.Remove(segmentFile(dir, seg.base, suffix))
			}
			continue
		}
		path := segmentFile(dir, seg.base, logSuffix)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		keep := 0
		for keep < len(b) {
			h, err := parseHeader(b[keep:], int64(len(b)-keep))
			if err != nil || h.last >= flushed {
				break
			}
			keep += int(h.size)
		}
		cut := keep + rng.IntN(len(b)-keep+1)
		lost = lost || cut < len(b)
		switch rng.IntN(3) {
		case 0:
			b = b[:cut]
		case 1:
			b = append(b[:cut:cut], make([]byte, len(b)-cut)...)
		case 2:
			for i := cut; i < len(b); i++ {
				b[i] = byte(rng.Uint32())
			}
		}
		os.WriteFile(path, b, 0o644)
		for _, suffix := range []string{indexSuffix, timeIndexSuffix} {
			garbage := make([]byte, rng.IntN(40))
			for i := range garbage {
				garbage[i] = byte(rng.Uint32())
			}
			os.WriteFile(segmentFile(dir, seg.base, suffix), garbage, 0o644)
		}
	}
	if rng.IntN(2) == 0 && flushed < s.end.Offset {
		os.WriteFile(filepath.Join(dir, epochFile), nil, 0o644)
	}
}
