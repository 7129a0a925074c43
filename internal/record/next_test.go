package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"kz/internal/kafkaerr"
)

// Ref: Kafka 2.8 ByteBufferLogInputStream.nextBatchSize
func TestNext(t *testing.T) {
	good := craft("a", "b").bytes()
	size := func(n int32) []byte {
		b := bytes.Clone(good)
		binary.BigEndian.PutUint32(b[posLength:], uint32(n))
		return b
	}
	magic := func(m byte) []byte {
		b := bytes.Clone(good)
		b[posMagic] = m
		return b
	}
	for _, row := range []struct {
		rule string
		in   []byte
		err  error
	}{
		{"a whole batch", good, nil},
		{"nothing", nil, ErrPartial},
		{"less than offset and size", good[:11], ErrPartial},
		{"less than the magic", good[:16], ErrPartial},
		{"one byte short", good[:len(good)-1], ErrPartial},
		{"a size beyond any buffer", size(1<<31 - 1), ErrPartial},
		{"a negative size", size(-1), kafkaerr.CorruptMessage},
		{"zeros", make([]byte, 100), kafkaerr.CorruptMessage},
		{"zeros, though too few for the magic", make([]byte, 12), kafkaerr.CorruptMessage},
		{"a size below the smallest format", size(13), kafkaerr.CorruptMessage},
		{"a size below a magic 2 header", size(48), kafkaerr.CorruptMessage},
		{"magic 3", magic(3), kafkaerr.CorruptMessage},
		{"magic -1", magic(0xff), kafkaerr.CorruptMessage},
		{"magic 3 in a partial batch", magic(3)[:40], kafkaerr.CorruptMessage},
		{"magic 0", oldMessage(0), kafkaerr.UnsupportedForMessageFormat},
		{"magic 1", oldMessage(1), kafkaerr.UnsupportedForMessageFormat},
	} {
		b, rest, err := Next(row.in)
		if !errors.Is(err, row.err) {
			t.Errorf("%s: %v, want %v", row.rule, err, row.err)
		}
		if err != nil && !bytes.Equal(rest, row.in) || err == nil && !bytes.Equal(b, good) {
			t.Errorf("%s: cut % x and % x", row.rule, b, rest)
		}
	}
}

func TestBatchesEndAtAPartialTailAndAtDamage(t *testing.T) {
	one := craft("a").bytes()
	two := append(bytes.Clone(one), one...)
	for _, row := range []struct {
		rule  string
		in    []byte
		whole int
		bad   bool
	}{
		{"empty", nil, 0, false},
		{"two", two, 2, false},
		{"a partial tail is silent", two[:len(two)-1], 1, false},
		{"damage is an error", append(bytes.Clone(two), make([]byte, 40)...), 2, true},
	} {
		whole, bad := 0, false
		for _, err := range Batches(row.in) {
			if err != nil {
				bad = true
				continue
			}
			whole++
		}
		if whole != row.whole || bad != row.bad {
			t.Errorf("%s: %d batches, error %t", row.rule, whole, bad)
		}
	}
}

// Ref: Kafka 2.8 DefaultRecord.readFrom, DefaultRecordBatch.RecordIterator
func TestMalformedRecords(t *testing.T) {
	good := craft("a").records[0]
	body := func(f fields) []byte { return appendRecord(nil, bodySize(&f), &f) }
	whole := body(good)
	headers := func(count int32, encoded ...byte) []byte {
		f := good
		f.headerCount, f.headers = count, encoded
		return body(f)
	}
	longKey := bytes.Clone(whole)
	longKey[4] = 100 // the key claims 50 bytes
	for _, row := range []struct {
		rule  string
		body  []byte
		count int32
	}{
		{"no bytes at all", nil, 1},
		{"fewer records than claimed", whole, 2},
		{"a record more than claimed", append(bytes.Clone(whole), whole...), 1},
		{"bytes after the last record", append(bytes.Clone(whole), 0), 1},
		{"length beyond the batch", append([]byte{200}, whole[1:]...), 1},
		{"negative length", append([]byte{1}, whole[1:]...), 1},
		{"length 0", []byte{0}, 1},
		{"length too small for the fields", append([]byte{whole[0] - 2}, whole[1:]...), 1},
		{"length greater than the fields", append(append([]byte{whole[0] + 2}, whole[1:]...), 0), 1},
		{"length that does not end", bytes.Repeat([]byte{0xff}, 6), 1},
		{"timestamp that does not end", append([]byte{24, 0}, bytes.Repeat([]byte{0xff}, 11)...), 1},
		{"key longer than the record", longKey, 1},
		{"negative header count", headers(-1), 1},
		{"more headers than bytes", headers(100), 1},
		{"null header key", headers(1, 1, 1), 1},
		{"header value longer than the record", headers(1, 0, 20), 1},
		{"bytes after the headers", headers(1, 0, 0, 0), 1},
		{"negative count", whole, -1},
	} {
		for _, codec := range []Codec{None, Gzip, Snappy, LZ4, Zstd} {
			b := Batch(compress(codec, make([]byte, HeaderSize), row.body))
			writeHeader(b, header{attributes: int16(codec), count: row.count, batchFields: noProducer})
			var got error
			for _, err := range b.Records() {
				got = err
			}
			if !errors.Is(got, kafkaerr.InvalidRecord) {
				t.Errorf("%s, %v: Records says %v", row.rule, codec, got)
			}
			w, err := newWalker(b, false)
			for f := (fields{}); err == nil && w.left > 0; {
				err = w.check(&f)
			}
			w.close()
			if err == nil {
				t.Errorf("%s, %v: the validating walk finds nothing", row.rule, codec)
			}
		}
	}
	if rs := collect(t, Batch(craft("a").bytes())); len(rs) != 1 || string(rs[0].Key) != "k0" {
		t.Errorf("a good one: %v", rs)
	}
}

// A record larger than the window is walked piece by piece; it must be judged like a
// small one.
func TestMalformedLargeRecords(t *testing.T) {
	f := fields{keyLen: -1, value: sample(3 * windowSize), valueLen: 3 * windowSize, headerCount: 2, headers: []byte{2, 'h', 1, 0, 2, 'v'}}
	good := appendRecord(nil, bodySize(&f), &f)
	change := func(pos int, b byte) []byte {
		c := bytes.Clone(good)
		if pos < 0 {
			pos += len(c)
		}
		c[pos] = b
		return c
	}
	for _, row := range []struct {
		rule string
		body []byte
		ok   bool
	}{
		{"good", good, true},
		{"cut in the value", good[:2*windowSize], false},
		{"cut in the headers", good[:len(good)-1], false},
		{"one header fewer than there are", change(-7, 2), false},
		{"one header more than there are", change(-7, 6), false},
		{"negative header count", change(-7, 1), false},
		{"null header key", change(-6, 1), false},
		{"header value too long", change(-2, 20), false},
		{"negative value length is null, so the headers are wrong", change(7, good[7]|1), false},
	} {
		for _, codec := range codecs {
			b := Batch(compress(codec, make([]byte, HeaderSize), row.body))
			writeHeader(b, header{attributes: int16(codec), count: 1, batchFields: noProducer})
			for _, way := range []struct {
				name string
				step func(*walker, *fields) error
			}{{"check", (*walker).check}, {"next", (*walker).next}} {
				w, err := newWalker(b, false)
				if err != nil {
					t.Fatal(err)
				}
				var got fields
				err = way.step(&w, &got)
				w.close()
				if (err == nil) != row.ok {
					t.Errorf("%s, %v: %s says %v", row.rule, codec, way.name, err)
				}
				if err == nil && (got.valueLen != f.valueLen || got.keyLen != -1 || got.headerCount != 2) {
					t.Errorf("%s, %v: %s reads %+v", row.rule, codec, way.name, got)
				}
			}
		}
	}
}

func collect(t *testing.T, b Batch) (rs []Record) {
	t.Helper()
	for r, err := range b.Records() {
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}
