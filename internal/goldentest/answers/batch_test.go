package answers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kgo"
)

const baseTime = 1600000000000 // every record's timestamp unless a case says otherwise

type rec struct {
	key, value []byte // nil is null
	ts         int64  // delta
	headers    [][2]string
	offset     *int
}

// batch describes a magic 2 batch; zero values mean what a well-behaved producer would send.
type batch struct {
	base        int64
	leaderEpoch int32
	magic       int8
	attrs       int16 // codec in bits 0-2
	lastDelta   *int32
	firstTs     int64
	maxTs       *int64
	pid         int64
	epoch       int16
	seq         int32
	count       *int32
	recs        []rec
	badCRC      bool
	lengthOff   int32 // added to the length field
	tail        []byte
}

func newBatch(values ...string) batch {
	b := batch{leaderEpoch: -1, magic: 2, firstTs: baseTime, pid: -1, epoch: -1, seq: -1}
	for i, v := range values {
		b.recs = append(b.recs, rec{key: []byte(fmt.Sprint("k", i)), value: []byte(v), ts: int64(i)})
	}
	return b
}

func (b batch) producer(pid int64, epoch int16, seq int32) batch {
	b.pid, b.epoch, b.seq = pid, epoch, seq
	return b
}

func (b batch) txn() batch { b.attrs |= 0x10; return b }

func varint(b []byte, n int64) []byte { return binary.AppendVarint(b, n) }

func (b batch) bytes() []byte {
	var body []byte
	maxDelta := int64(0)
	for i, r := range b.recs {
		var x []byte
		x = append(x, 0)
		x = varint(x, r.ts)
		d := i
		if r.offset != nil {
			d = *r.offset
		}
		x = varint(x, int64(d))
		x = field(x, r.key)
		x = field(x, r.value)
		x = varint(x, int64(len(r.headers)))
		for _, h := range r.headers {
			x = field(x, []byte(h[0]))
			x = field(x, []byte(h[1]))
		}
		body = append(varint(body, int64(len(x))), x...)
		maxDelta = max(maxDelta, r.ts)
	}
	body = append(compress(int8(b.attrs&7), body), b.tail...)
	last, count, maxTs := int32(len(b.recs)-1), int32(len(b.recs)), b.firstTs+maxDelta
	if b.lastDelta != nil {
		last = *b.lastDelta
	}
	if b.count != nil {
		count = *b.count
	}
	if b.maxTs != nil {
		maxTs = *b.maxTs
	}
	be := binary.BigEndian
	c := be.AppendUint16(nil, uint16(b.attrs))
	c = be.AppendUint32(c, uint32(last))
	c = be.AppendUint64(c, uint64(b.firstTs))
	c = be.AppendUint64(c, uint64(maxTs))
	c = be.AppendUint64(c, uint64(b.pid))
	c = be.AppendUint16(c, uint16(b.epoch))
	c = be.AppendUint32(c, uint32(b.seq))
	c = be.AppendUint32(c, uint32(count))
	c = append(c, body...)
	crc := crc32.Checksum(c, crc32.MakeTable(crc32.Castagnoli))
	if b.badCRC {
		crc++
	}
	out := be.AppendUint64(nil, uint64(b.base))
	out = be.AppendUint32(out, uint32(int32(len(c)+9)+b.lengthOff))
	out = be.AppendUint32(out, uint32(b.leaderEpoch))
	out = append(out, byte(b.magic))
	out = be.AppendUint32(out, crc)
	return append(out, c...)
}

func field(b, v []byte) []byte {
	if v == nil {
		return varint(b, -1)
	}
	return append(varint(b, int64(len(v))), v...)
}

// compress uses an outside client's codecs.
func compress(codec int8, data []byte) []byte {
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
	if codec == 0 || int(codec) >= len(codecs) {
		return data
	}
	c, err := kgo.DefaultCompressor(codecs[codec])
	if err != nil {
		panic(err)
	}
	out, _ := c.Compress(new(bytes.Buffer), data)
	return out
}

// message makes one magic 0 or 1 entry.
func message(magic int8, offset int64, attrs int8, ts int64, key, value []byte) []byte {
	be := binary.BigEndian
	c := []byte{byte(magic), byte(attrs)}
	if magic == 1 {
		c = be.AppendUint64(c, uint64(ts))
	}
	for _, f := range [][]byte{key, value} {
		if f == nil {
			c = be.AppendUint32(c, 0xffffffff)
			continue
		}
		c = be.AppendUint32(c, uint32(len(f)))
		c = append(c, f...)
	}
	out := be.AppendUint64(nil, uint64(offset))
	out = be.AppendUint32(out, uint32(len(c)+4))
	out = be.AppendUint32(out, crc32.ChecksumIEEE(c))
	return append(out, c...)
}

// oldest returns records of the newest magic the Produce version allows.
func oldest(v int16, values ...string) []byte {
	if v >= 3 {
		return newBatch(values...).bytes()
	}
	var b []byte
	for i, x := range values {
		magic := int8(0)
		if v == 2 {
			magic = 1
		}
		b = append(b, message(magic, int64(i), 0, baseTime+int64(i), []byte(fmt.Sprint("k", i)), []byte(x))...)
	}
	return b
}

// fixCRC recomputes the CRC of a magic 2 batch.
func fixCRC(b []byte) []byte {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}
