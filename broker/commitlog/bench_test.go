package commitlog

import (
	"fmt"
	"testing"
)

// bigBatch is one batch of about 16 KiB with values of size bytes.
func bigBatch(size int) []byte {
	return batch(0, 16<<10/(size+8), size, 1)
}

func benchLog(b *testing.B, d *disk) *Log {
	m := newTestManager(b, d, DefaultConfig())
	m.log = nopLogger
	return create(b, m, orders, DefaultConfig())
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 1000} {
		b.Run(fmt.Sprintf("leader-%dB", size), func(b *testing.B) {
			l := benchLog(b, nil)
			template := bigBatch(size)
			records := make([]byte, len(template))
			b.SetBytes(int64(len(template)))
			b.ReportAllocs()
			for b.Loop() {
				copy(records, template)
				if _, err := l.AppendAsLeader(records, 0, FromClient); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("follower-%dB", size), func(b *testing.B) {
			l := benchLog(b, nil)
			records := bigBatch(size)
			b.SetBytes(int64(len(records)))
			b.ReportAllocs()
			for b.Loop() {
				setBaseOffset(records, l.EndOffset())
				if _, err := l.AppendAsFollower(records); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRead finds a place, near the end (in memory) or anywhere (on disk).
func BenchmarkRead(b *testing.B) {
	l := benchLog(b, nil)
	records := bigBatch(1000)
	for range 5000 { // 80 MB
		setBaseOffset(records, l.EndOffset())
		if _, err := l.AppendAsFollower(records); err != nil {
			b.Fatal(err)
		}
	}
	end := l.EndOffset()
	read := func(b *testing.B, offset func(i int64) int64) {
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			info, err := l.Read(offset(i), 1<<20, l.End(), true)
			if err != nil {
				b.Fatal(err)
			}
			info.Data.Release()
		}
	}
	b.Run("tail", func(b *testing.B) { read(b, func(int64) int64 { return end - 3 }) })
	b.Run("anywhere", func(b *testing.B) { read(b, func(i int64) int64 { return i * 7919 % end }) })
	b.Run("by-time", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := l.OffsetByTimestamp(10); err != nil {
				b.Fatal(err)
			}
		}
	})
}
