package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"kz/internal/topic"
)

const baseTime = 1600000000000

// testRules are those of a topic with Kafka's defaults.
func testRules() Rules {
	return Rules{Now: baseTime, MaxTimestampDiffMs: math.MaxInt64, Compression: "producer",
		MaxMessageBytes: 1048588, LeaderEpoch: 3, FromClient: true, Partition: topic.Partition{Topic: "t"}}
}

// crafted is a batch with any field wrong; the zero of craft is a good one.
type crafted struct {
	header
	codec    Codec
	magic    int8
	records  []fields
	badCRC   bool
	addToLen int32
	tail     []byte // after the records, compressed with them
	plain    bool   // the codec is claimed, the records are not compressed
}

// craft is what a well-behaved producer would send: keys k0, k1, …, one record a ms.
func craft(values ...string) crafted {
	c := crafted{magic: 2}
	c.header = header{batchFields: noProducer, firstTimestamp: baseTime, lastOffsetDelta: int32(len(values) - 1),
		count: int32(len(values)), maxTimestamp: baseTime + max(int64(len(values)-1), 0)}
	for i, v := range values {
		key := fmt.Appendf(nil, "k%d", i)
		c.records = append(c.records, fields{timestampDelta: int64(i), offsetDelta: int32(i),
			key: key, keyLen: int32(len(key)), value: []byte(v), valueLen: int32(len(v))})
	}
	return c
}

// with changes a copy.
func (c crafted) with(change func(*crafted)) crafted {
	c.records = append([]fields(nil), c.records...)
	change(&c)
	return c
}

func (c crafted) bytes() []byte {
	var body []byte
	for i := range c.records {
		body = appendRecord(body, bodySize(&c.records[i]), &c.records[i])
	}
	body = append(body, c.tail...)
	b := make([]byte, HeaderSize)
	if c.codec == None || c.plain || !c.codec.Known() {
		b = append(b, body...)
	} else {
		b = compress(c.codec, b, body)
	}
	h := c.header
	h.attributes |= int16(c.codec)
	writeHeader(b, h)
	b[posMagic] = byte(c.magic)
	binary.BigEndian.PutUint32(b[posLength:], uint32(int32(len(b)-LogOverhead)+c.addToLen))
	if c.badCRC {
		b[posCRC]++
	}
	return bytes.Clone(b)
}

// oldMessage is the start of a magic 0 or 1 message, enough to be recognised.
func oldMessage(magic int8) []byte {
	b := make([]byte, LogOverhead+34)
	b[posLength+3] = 34
	b[posMagic] = byte(magic)
	return b
}
