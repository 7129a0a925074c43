package record

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"kz/internal/kafkaerr"
)

// seeds are the small segments that real Kafka wrote.
func seeds(f *testing.F) (segments [][]byte) {
	files, _ := filepath.Glob("testdata/segments/*/*/*.log")
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 5000 {
			segments = append(segments, b)
		}
	}
	if len(segments) == 0 {
		f.Fatal("no seeds")
	}
	return segments
}

// Next takes nothing away and adds nothing.
func FuzzNext(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Add(oldMessage(1))
	f.Fuzz(func(t *testing.T, in []byte) {
		first, rest, err := Next(in)
		if err != nil {
			if first != nil || len(rest) != len(in) {
				t.Fatalf("error %v, but %d bytes cut", err, len(first))
			}
			return
		}
		if len(first) < HeaderSize || first.Length() != len(first) || !bytes.Equal(append(bytes.Clone(first), rest...), in) {
			t.Fatalf("cut %d and %d of %d", len(first), len(rest), len(in))
		}
		for b, err := range Batches(in) {
			if err == nil && b.Magic() != Magic2 {
				t.Fatal("magic")
			}
		}
	})
}

// The two walks agree, and what they accept a Builder writes and reads again.
func FuzzRecords(f *testing.F) {
	for _, s := range seeds(f) {
		for b, err := range Batches(s) {
			if err == nil {
				f.Add(byte(b.Codec()), b.Count(), []byte(b[HeaderSize:]))
			}
		}
	}
	f.Fuzz(func(t *testing.T, codec byte, count int32, body []byte) {
		b := Batch(append(make([]byte, HeaderSize), body...))
		writeHeader(b, header{attributes: int16(codec & attrCodec), count: count, batchFields: noProducer})
		checked, checkErr := walkAll(b)
		again := NewBuilder(None, 0)
		read, ascending := 0, true
		for r, err := range b.Records() {
			if (err != nil) && checkErr == nil {
				t.Fatalf("Records: %v, check: nil", err)
			}
			if err != nil {
				return
			}
			read++
			if ascending = ascending && r.Offset > again.lastOffset && r.Offset <= 1<<31-1; ascending {
				again.AppendRecord(r)
			}
		}
		if checkErr != nil || read != checked {
			t.Fatalf("Records reads %d, check %d: %v", read, checked, checkErr)
		}
		if !ascending {
			return
		}
		if n, err := walkAll(again.Bytes()); err != nil || n != read {
			t.Fatalf("written again: %d records, %v", n, err)
		}
	})
}

func walkAll(b Batch) (n int, err error) {
	w, err := newWalker(b, false)
	defer w.close()
	for f := (fields{}); err == nil && w.left > 0; n++ {
		err = w.check(&f)
	}
	return n, err
}

// A refused batch is unchanged; an accepted one is whole, has its offsets and can be read.
func FuzzValidateAndAssign(f *testing.F) {
	for _, s := range seeds(f) {
		if b, _, err := Next(s); err == nil {
			b.SetBaseOffset(0)
			f.Add([]byte(b), byte(0), int64(0))
			f.Add([]byte(b), byte(7), int64(1<<40))
		}
	}
	for _, b := range produced() {
		f.Add(b, byte(3), int64(5))
	}
	types := []string{"producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"}
	f.Fuzz(func(t *testing.T, in []byte, how byte, next int64) {
		if next < 0 || next > 1<<60 {
			return
		}
		if len(in) > HeaderSize && how&1 != 0 { // else nearly nothing passes the CRC
			Batch(in).setCRC()
		}
		r := testRules()
		r.Compression = types[int(how>>3)%len(types)]
		r.FromClient = how&2 == 0
		if how&4 != 0 {
			r.TimestampType = LogAppendTime
		}
		before := bytes.Clone(in)
		v, err := ValidateAndAssign(in, next, r)
		if err != nil {
			if !bytes.Equal(in, before) {
				t.Fatalf("%v, but the bytes are changed", err)
			}
			if kafkaerr.CodeOf(err) == kafkaerr.UnknownServerError {
				t.Fatalf("an error without a code: %v", err)
			}
			return
		}
		if len(v.Batches) == 0 && !r.FromClient {
			return // nothing whole in it
		}
		b, rest, err := Next(v.Batches)
		if err != nil || len(rest) != 0 || b.CheckCRC() != nil {
			t.Fatalf("accepted, but %v, %d left, %v", err, len(rest), b.CheckCRC())
		}
		if v.FirstOffset != next || v.LastOffset != next+int64(v.Count)-1 || b.LastOffset() != v.LastOffset || b.LeaderEpoch() != r.LeaderEpoch {
			t.Fatalf("%+v", v)
		}
		n := 0
		for _, err := range b.Records() {
			if err != nil {
				t.Fatalf("accepted, but record %d: %v", n, err)
			}
			n++
		}
		if n != v.Count {
			t.Fatalf("%d records, claimed %d", n, v.Count)
		}
	})
}

// Foreign blobs end in an error or in bytes; what comes out goes in again.
func fuzzDecompress(f *testing.F, c Codec) {
	for _, n := range []int{0, 1, 100, 70000} {
		f.Add(compress(c, nil, sample(n)))
	}
	for _, s := range seeds(f) {
		if b, _, err := Next(s); err == nil && b.Codec() == c {
			f.Add([]byte(b[HeaderSize:]))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		d, err := newDecoder(c, in)
		if err != nil {
			return
		}
		defer putDecoder(c, d)
		out, err := io.ReadAll(io.LimitReader(d, 8<<20))
		if err != nil {
			return
		}
		if again, err := unfoldAll(c, compress(c, nil, out)); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%d bytes do not come back: %v", len(out), err)
		}
	})
}

func FuzzGzip(f *testing.F)   { fuzzDecompress(f, Gzip) }
func FuzzSnappy(f *testing.F) { fuzzDecompress(f, Snappy) }
func FuzzLZ4(f *testing.F)    { fuzzDecompress(f, LZ4) }
func FuzzZstd(f *testing.F)   { fuzzDecompress(f, Zstd) }
