package record

import (
	"bytes"
	"fmt"
	"testing"
)

// benchBatch is about 16 kB of records, the default batch.size of a producer.
func benchBatch(c Codec, valueSize int) []byte {
	w := NewBuilder(c, 0)
	for i := 0; w.Len() < 16<<10; i++ {
		value := bytes.Repeat([]byte(fmt.Sprintf("%08d-some-text-", i)), valueSize/19+1)[:valueSize]
		w.Append(1600000000000+int64(i), fmt.Appendf(nil, "key-%d", i), value)
	}
	return bytes.Clone(w.Bytes())
}

func BenchmarkValidate(b *testing.B) {
	for _, c := range []Codec{None, LZ4, Snappy, Zstd, Gzip} {
		for _, size := range []int{100, 1000} {
			b.Run(fmt.Sprintf("%v/%dB", c, size), func(b *testing.B) {
				batch := benchBatch(c, size)
				n := Batch(batch).Count()
				rules := Rules{Now: 1600000000000, MaxTimestampDiffMs: 1<<63 - 1, Compression: "producer", MaxMessageBytes: 1 << 20, FromClient: true}
				b.SetBytes(int64(len(batch)))
				b.ReportAllocs()
				for b.Loop() {
					Batch(batch).SetBaseOffset(0)
					if _, err := ValidateAndAssign(batch, 77, rules); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
			})
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, c := range []Codec{None, LZ4} {
		b.Run(c.String(), func(b *testing.B) {
			w := NewBuilder(c, 0)
			key, value := []byte("key-12345"), bytes.Repeat([]byte("some-text-"), 10)
			b.ReportAllocs()
			for b.Loop() {
				w.Reset()
				for i := range int64(150) {
					w.Append(1600000000000+i, key, value)
				}
				w.Bytes()
			}
		})
	}
}
