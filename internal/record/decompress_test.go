package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"kz/internal/kafkaerr"
)

var codecs = []Codec{Gzip, Snappy, LZ4, Zstd}

// unfoldAll decompresses one blob.
func unfoldAll(c Codec, src []byte) ([]byte, error) {
	if c == None {
		return src, nil
	}
	d, err := newDecoder(c, src)
	if err != nil {
		return nil, err
	}
	defer putDecoder(c, d)
	return io.ReadAll(d)
}

// sample is text and noise of n bytes: blocks that shrink and blocks that do not.
func sample(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, 0, n)
	for len(b) < n {
		if r.IntN(2) == 0 {
			b = append(b, bytes.Repeat([]byte("some text, again and again; "), 1+r.IntN(900))...)
		} else {
			for range 1 + r.IntN(30000) {
				b = append(b, byte(r.Uint32()))
			}
		}
	}
	return b[:n]
}

func TestCodecsRoundTrip(t *testing.T) {
	for _, c := range codecs {
		for _, n := range []int{0, 1, 13, 1000, 32<<10 - 1, 32 << 10, 32<<10 + 1, 64 << 10, 64<<10 + 1, 1 << 20} {
			want := sample(n)
			folded := compress(c, []byte("header"), want)
			if !bytes.HasPrefix(folded, []byte("header")) {
				t.Fatalf("%v: the header is gone", c)
			}
			got, err := unfoldAll(c, folded[len("header"):])
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v, %d bytes: %v, %d bytes back", c, n, err, len(got))
			}
		}
	}
}

// What other libraries write we read, and what we write they read.
func TestCodecsAgreeWithOthers(t *testing.T) {
	data := sample(300000)
	write := map[string]func() (Codec, []byte){
		"a bare snappy block": func() (Codec, []byte) { return Snappy, snappy.Encode(nil, data) },
		"lz4 with 4 MiB blocks, block sums, content size and sum": func() (Codec, []byte) {
			var w bytes.Buffer
			z := lz4.NewWriter(&w)
			_ = z.Apply(lz4.BlockSizeOption(lz4.Block4Mb), lz4.BlockChecksumOption(true), lz4.ChecksumOption(true), lz4.SizeOption(uint64(len(data))))
			_, _ = z.Write(data)
			_ = z.Close()
			return LZ4, w.Bytes()
		},
		"two gzip members": func() (Codec, []byte) {
			var w bytes.Buffer
			for _, part := range [][]byte{data[:1000], data[1000:]} {
				z := gzip.NewWriter(&w)
				_, _ = z.Write(part)
				_ = z.Close()
			}
			return Gzip, w.Bytes()
		},
		"two xerial streams": func() (Codec, []byte) {
			return Snappy, compress(Snappy, compress(Snappy, nil, data[:1000]), data[1000:])
		},
		"a zstd frame with size and checksum": func() (Codec, []byte) {
			z, _ := zstd.NewWriter(nil)
			return Zstd, z.EncodeAll(data, nil)
		},
		"a zstd frame that asks for a window of 128 MiB": func() (Codec, []byte) {
			var w bytes.Buffer
			z, _ := zstd.NewWriter(&w, zstd.WithWindowSize(128<<20))
			_, _ = z.Write(data)
			_ = z.Flush()
			_ = z.Close()
			return Zstd, w.Bytes()
		},
	}
	for name, f := range write {
		c, folded := f()
		if got, err := unfoldAll(c, folded); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %v, %d bytes", name, err, len(got))
		}
	}
	if got, err := io.ReadAll(lz4.NewReader(bytes.NewReader(compress(LZ4, nil, data)))); err != nil || !bytes.Equal(got, data) {
		t.Errorf("our lz4: %v", err)
	}
	z, _ := zstd.NewReader(bytes.NewReader(compress(Zstd, nil, data)))
	if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, data) {
		t.Errorf("our zstd: %v", err)
	}
}

// Ref: Kafka 2.8 KafkaLZ4BlockOutputStream, SnappyFactory; facts in the golden segments
func TestFramesAsKafkaWritesThem(t *testing.T) {
	if got := compress(LZ4, nil, []byte("x")); !bytes.HasPrefix(got, lz4Header) || !bytes.HasSuffix(got, []byte{0, 0, 0, 0}) {
		t.Errorf("lz4 frame % x", got)
	}
	if got, want := xxh32(lz4Header[4:6])>>8&0xff, uint32(lz4Header[6]); got != want {
		t.Errorf("HC %x, want %x", got, want)
	}
	if got := compress(Snappy, nil, []byte("x")); !bytes.HasPrefix(got, xerialHeader) {
		t.Errorf("snappy stream % x", got)
	}
	// Vectors of the xxHash project's own test of XXH32 with seed 0.
	for in, want := range map[string]uint32{"": 0x02cc5d05, "a": 0x550d7456, "Nobody inspects the spammish repetition": 0xe2293b2f} {
		if got := xxh32([]byte(in)); got != want {
			t.Errorf("xxh32(%q) = %#x, want %#x", in, got, want)
		}
	}
}

// Clients in Go write frames of one block that may hold 4 MiB. What is unfolded decides how much memory
// that takes, and the next batch finds it there.
func TestLargeLZ4BlocksKeepTheirBuffer(t *testing.T) {
	for _, row := range []struct {
		rule  string
		data  []byte
		limit int
	}{
		{"little in a large block", bytes.Repeat([]byte("little"), 500), lz4BlockSize},
		{"as it compresses mostly", sample(1 << 20), 4 << 20},
		{"more than expected", make([]byte, 4<<20), 4 << 20},
	} {
		var folded bytes.Buffer
		w := lz4.NewWriter(&folded)
		_ = w.Apply(lz4.BlockSizeOption(lz4.Block4Mb), lz4.ChecksumOption(false))
		_, _ = w.Write(row.data)
		_ = w.Close()
		var d lz4Decoder
		var first *byte
		for i := range 2 {
			if err := d.reset(folded.Bytes()); err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(&d); err != nil || !bytes.Equal(got, row.data) {
				t.Errorf("%s: %d bytes, %v", row.rule, len(got), err)
			}
			_ = d.reset(nil)
			if len(d.buf) > row.limit {
				t.Errorf("%s: %d bytes of buffer", row.rule, len(d.buf))
			}
			if len(d.buf) == 0 || i > 0 && first != &d.buf[0] {
				t.Errorf("%s: the buffer was not kept", row.rule)
			} else {
				first = &d.buf[0]
			}
		}
	}
}

func TestDamagedBlobs(t *testing.T) {
	data := sample(100000)
	for _, c := range codecs {
		folded := compress(c, nil, data)
		for _, cut := range []int{0, 1, 7, 20, len(folded) / 2, len(folded) - 5} {
			got, err := unfoldAll(c, folded[:cut])
			if err == nil && bytes.Equal(got, data) {
				t.Errorf("%v cut at %d is whole", c, cut)
			}
		}
	}
	lz4Frame := compress(LZ4, nil, data)
	for name, change := range map[string]func(b []byte){
		"lz4 magic":             func(b []byte) { b[0]++ },
		"lz4 version":           func(b []byte) { b[4] ^= 0x80 },
		"lz4 dependent blocks":  func(b []byte) { b[4] &^= lz4FlagIndependent },
		"lz4 dictionary":        func(b []byte) { b[4] |= lz4FlagDict },
		"lz4 header checksum":   func(b []byte) { b[6]++ },
		"lz4 block size 3":      func(b []byte) { b[5] = 0x30 },
		"lz4 block of 2 GB":     func(b []byte) { copy(b[7:], []byte{0xff, 0xff, 0xff, 0x7f}) },
		"lz4 block of 1 MB":     func(b []byte) { copy(b[7:], []byte{0, 0, 0x10, 0}) },
		"lz4 block beyond data": func(b []byte) { copy(b[7:], []byte{0xff, 0xff, 0, 0}) },
	} {
		b := bytes.Clone(lz4Frame)
		change(b)
		if _, err := unfoldAll(LZ4, b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A block says how long it is unfolded; that claim must not be allocated.
func TestClaimsAreNotAllocated(t *testing.T) {
	huge := append(bytes.Clone(xerialHeader), 0, 0, 0, 6, 0xff, 0xff, 0xff, 0xff, 0x0f, 0) // 4 GiB of 6 bytes
	if _, err := unfoldAll(Snappy, huge); err == nil {
		t.Error("no error")
	}
	if _, err := unfoldAll(Snappy, []byte{0xff, 0xff, 0xff, 0x7f, 0}); err == nil {
		t.Error("no error for a bare block")
	}
	z := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0xf8, 0, 0, 0, 0, 0, 0, 0, 0x7f, 1, 0, 0} // window and size of exabytes
	if _, err := unfoldAll(Zstd, z); err == nil {
		t.Error("no error for zstd")
	}
}

// bomb is a batch whose one record has a value of n zero bytes.
func bomb(c Codec, n int) []byte {
	f := fields{keyLen: 1, key: []byte("k"), valueLen: int32(n)}
	size := bodySize(&f) + n
	out := sink{b: make([]byte, HeaderSize), limit: 1 << 30}
	e := newEncoder(c, &out)
	defer putEncoder(c, e)
	record := appendRecord(nil, size, &f)
	_, _ = e.Write(record[:len(record)-1])
	zeros := make([]byte, 1<<20)
	for left := n; left > 0; left -= len(zeros) {
		_, _ = e.Write(zeros[:min(left, len(zeros))])
	}
	_, _ = e.Write(record[len(record)-1:]) // the header count
	_ = e.Close()
	writeHeader(out.b, header{attributes: int16(c), firstTimestamp: 1, maxTimestamp: 1, count: 1, batchFields: noProducer})
	return out.b
}

// zstdBomb is the start of such a record, in zstd blocks of four bytes that each stand
// for 128 KiB of one byte: 32 kB for a gigabyte.
func zstdBomb(n int) []byte {
	f := fields{keyLen: 1, key: []byte("k"), valueLen: int32(n)}
	start := appendRecord(nil, bodySize(&f)+n, &f)
	block := func(b []byte, kind, size int) []byte {
		return append(b, byte(kind<<1|size<<3), byte(size>>5), byte(size>>13))
	}
	b := append(make([]byte, HeaderSize), 0x28, 0xb5, 0x2f, 0xfd, 0, 0x58) // magic, no flags, a window of 2 MiB
	b = append(block(b, 0, len(start)-1), start[:len(start)-1]...)
	for left := n; left > 0; left -= 128 << 10 {
		b = append(block(b, 1, min(left, 128<<10)), 0)
	}
	b = append(block(b, 0, 1), 0)
	writeHeader(b, header{attributes: int16(Zstd), firstTimestamp: 1, maxTimestamp: 1, count: 1, batchFields: noProducer})
	return b
}

// TestBombs: what unfolds to 8 MiB is validated in one window; more than
// MaxDecompressed or MaxRecordSize is refused before it is there.
func TestBombs(t *testing.T) {
	for _, c := range codecs {
		b := bomb(c, 8<<20)
		r := testRules()
		r.MaxMessageBytes = 0
		_, _ = ValidateAndAssign(bytes.Clone(b), 5, r) // fills the pools
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := ValidateAndAssign(bytes.Clone(b), 5, r)
		runtime.ReadMemStats(&after)
		if err != nil || v.Count != 1 {
			t.Errorf("%v: %v", c, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(4<<20+len(b)) {
			t.Errorf("%v: allocated %d bytes to validate", c, used)
		}
		r.Compression, r.MaxMessageBytes = "uncompressed", len(b)+1<<20
		if _, err := ValidateAndAssign(b, 5, r); !errors.Is(err, kafkaerr.MessageTooLarge) {
			t.Errorf("%v: uncompressed it is 8 MiB, but %v", c, err)
		}
	}
	if _, err := ValidateAndAssign(zstdBomb(1000), 5, testRules()); err == nil {
		t.Error("a bomb without its last block is whole")
	}
	s, err := openStream(zstdBomb(1<<20), false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.total = MaxDecompressed - 1<<19 // as if so much had gone before
	if err := s.check(new(fields)); !errors.Is(err, kafkaerr.MessageTooLarge) {
		t.Errorf("beyond MaxDecompressed: %v", err)
	}
	for _, err := range Batch(zstdBomb(MaxRecordSize)).Records() {
		if !errors.Is(err, kafkaerr.MessageTooLarge) {
			t.Errorf("beyond MaxRecordSize: %v", err)
		}
	}
}

func TestUnknownCodecs(t *testing.T) {
	for c := Codec(5); c < 8; c++ {
		b := Batch(bytes.Clone(NewBuilder(None, 0).Bytes()))
		b[posAttributes+1] = byte(c)
		b[posCount+3] = 1
		for _, err := range b.Records() {
			if !errors.Is(err, kafkaerr.UnsupportedCompressionType) {
				t.Errorf("%v: %v", c, err)
			}
		}
		if c.Name() != fmt.Sprintf("CODEC %d", c) {
			t.Error(c.Name())
		}
	}
}
