package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// Random records go in and come out, in every codec, and SizeWith foretold every size.
func TestBuilderAgainstAList(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	data := sample(200000)
	piece := func() []byte {
		switch n := rnd.IntN(20); {
		case n == 0:
			return nil
		case n == 1:
			return data[:rnd.IntN(len(data))]
		default:
			from := rnd.IntN(1000)
			return data[from : from+rnd.IntN(300)]
		}
	}
	for round := range 60 {
		codec, base := Codec(round%5), rnd.Int64N(1<<40)
		w := NewBuilder(codec, base)
		var want []Record
		for i := range 1 + rnd.IntN(60) {
			r := Record{Offset: base + int64(i), Timestamp: baseTime + rnd.Int64N(1e12) - 5e11, Key: piece(), Value: piece()}
			for range rnd.IntN(3) {
				r.Headers = append(r.Headers, Header{Key: string(piece()), Value: piece()})
			}
			foretold := w.SizeWith(r.Timestamp, r.Key, r.Value, r.Headers...)
			w.Append(r.Timestamp, r.Key, r.Value, r.Headers...)
			if w.Len() != foretold {
				t.Fatalf("seed %d: Len %d, SizeWith said %d", seed, w.Len(), foretold)
			}
			want = append(want, r)
		}
		b, rest, err := Next(w.Bytes())
		if err != nil || len(rest) != 0 || b.CheckCRC() != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got := collect(t, b)
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d of %d records", seed, len(got), len(want))
		}
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("seed %d, %v, record %d: got %v", seed, codec, i, got[i])
			}
		}
		if int(b.Count()) != len(want) || b.LastOffset() != base+int64(len(want))-1 || b.FirstTimestamp() != want[0].Timestamp || b.MaxTimestamp() != w.MaxTimestamp() {
			t.Fatalf("seed %d: header % x", seed, b[:HeaderSize])
		}
	}
}

// Records of a compressed batch stay as they are when the loop has gone on, and when
// other batches are read.
func TestRecordsMayBeHeld(t *testing.T) {
	for _, c := range codecs {
		w := NewBuilder(c, 0)
		for i := range 3000 {
			w.Append(1, fmt.Appendf(nil, "key %d", i), bytes.Repeat([]byte{byte(i)}, 100))
		}
		b := Batch(w.Bytes())
		held := collect(t, b)
		collect(t, b)
		for i, r := range held {
			if string(r.Key) != fmt.Sprintf("key %d", i) || !bytes.Equal(r.Value, bytes.Repeat([]byte{byte(i)}, 100)) {
				t.Fatalf("%v: record %d is %v", c, i, r)
			}
		}
	}
}

func TestBuilderIsReusable(t *testing.T) {
	w := NewBuilder(LZ4, 0)
	w.SetProducer(1, 2, 3, true)
	w.SetControl()
	w.Append(5, nil, []byte("first"))
	w.Bytes()
	w.Reset()
	w.Append(9, []byte("k"), []byte("second"))
	b := Batch(w.Bytes())
	if b.ProducerID() != -1 || b.IsTransactional() || b.IsControl() || b.FirstTimestamp() != 9 || b.Count() != 1 || b.CheckCRC() != nil {
		t.Errorf("% x", b)
	}
	if rs := collect(t, b); string(rs[0].Value) != "second" {
		t.Errorf("%v", rs)
	}
}

// Ref: Kafka 2.8 DefaultRecordBatch.incrementSequence
func TestNextSequence(t *testing.T) {
	for _, row := range [][3]int32{{0, 1, 1}, {2147483647, 1, 0}, {2147483646, 5, 3}, {7, 0, 7}} {
		if got := NextSequence(row[0], row[1]); got != row[2] {
			t.Errorf("%d after %d is %d, want %d", row[1], row[0], got, row[2])
		}
	}
}

func TestCodecNames(t *testing.T) {
	for name, want := range map[string]Codec{"none": None, "gzip": Gzip, "snappy": Snappy, "lz4": LZ4, "zstd": Zstd} {
		if c, ok := CodecByName(name); !ok || c != want || c.String() != name {
			t.Errorf("%s is %v", name, c)
		}
	}
	for name, want := range map[string]Codec{"producer": Gzip, "": Gzip, "uncompressed": None, "lz4": LZ4} {
		if c, ok := TargetCodec(name, Gzip); !ok || c != want {
			t.Errorf("compression.type=%s gives %v", name, c)
		}
	}
	for _, name := range []string{"none", "LZ4", "brotli"} {
		if _, ok := TargetCodec(name, Gzip); ok {
			t.Errorf("compression.type=%s is taken", name)
		}
	}
}
