package answers

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kgo"
)

// showRecords lists batches; what cannot be parsed is shown as a cut tail.
func (t *T) showRecords(b []byte) any {
	list := []any{}
	be := binary.BigEndian
	for len(b) > 0 {
		if len(b) < 17 || len(b) < 12+int(be.Uint32(b[8:])) {
			if len(b) >= 12 {
				list = append(list, fmt.Sprintf("cut: %d of %d bytes", len(b), 12+int64(int32(be.Uint32(b[8:])))))
			} else {
				list = append(list, fmt.Sprintf("cut: %d bytes", len(b)))
			}
			break
		}
		n := 12 + int(be.Uint32(b[8:]))
		e := b[:n]
		b = b[n:]
		if e[16] < 2 {
			list = append(list, t.showOld(e))
			continue
		}
		attrs := be.Uint16(e[21:])
		crc := "ok"
		if crc32.Checksum(e[21:], crc32.MakeTable(crc32.Castagnoli)) != be.Uint32(e[17:]) {
			crc = "wrong"
		}
		pid := any(int64(be.Uint64(e[43:])))
		if p := int64(be.Uint64(e[43:])); p >= 0 {
			pid = "PRODUCER-ID"
			for _, k := range sortedKeys(t.vars) {
				if t.vars[k] == fmt.Sprint(p) {
					pid = "$" + k
				}
			}
		}
		ts := func(v int64) any {
			if v > baseTime+10000000000 {
				return "TIME"
			}
			return v
		}
		o := obj{{"baseOffset", int64(be.Uint64(e))}, {"length", n - 12}, {"leaderEpoch", int32(be.Uint32(e[12:]))}, {"magic", e[16]}, {"crc", crc}, {"attributes", attrs},
			{"lastOffsetDelta", int32(be.Uint32(e[23:]))}, {"firstTimestamp", ts(int64(be.Uint64(e[27:])))}, {"maxTimestamp", ts(int64(be.Uint64(e[35:])))},
			{"producerId", pid}, {"producerEpoch", int16(be.Uint16(e[51:]))}, {"baseSequence", int32(be.Uint32(e[53:]))}, {"count", int32(be.Uint32(e[57:]))}}
		data, err := decompress(int8(attrs&7), e[61:])
		if attrs&7 != 0 {
			o = append(obj{}, o...)
			o[1] = kv{"length", "(compressed)"}
		}
		if err != nil {
			o = append(o, kv{"records", err.Error()})
		} else {
			o = append(o, kv{"records", showRecs(data, attrs&0x20 != 0)})
		}
		list = append(list, o)
	}
	return list
}

func showRecs(b []byte, control bool) any {
	list := []any{}
	take := func() int64 {
		n, w := binary.Varint(b)
		b = b[w:]
		return n
	}
	get := func() any {
		n := take()
		if n < 0 {
			return nil
		}
		v := b[:n]
		b = b[n:]
		if control {
			return fmt.Sprintf("hex %x", v)
		}
		if len(v) > 60 {
			return fmt.Sprintf("(%d bytes)", len(v))
		}
		return string(v)
	}
	for len(b) > 0 {
		take()
		b = b[1:]
		o := obj{{"timestampDelta", take()}, {"offsetDelta", take()}, {"key", get()}, {"value", get()}}
		n := take()
		if n > 0 {
			var h []any
			for ; n > 0; n-- {
				h = append(h, []any{get(), get()})
			}
			o = append(o, kv{"headers", h})
		}
		list = append(list, o)
	}
	return list
}

func (t *T) showOld(e []byte) any {
	be := binary.BigEndian
	crc := "ok"
	if crc32.ChecksumIEEE(e[16:]) != be.Uint32(e[12:]) {
		crc = "wrong"
	}
	o := obj{{"offset", int64(be.Uint64(e))}, {"size", len(e) - 12}, {"magic", e[16]}, {"crc", crc}, {"attributes", e[17]}}
	r := e[18:]
	if e[16] == 1 {
		o = append(o, kv{"timestamp", int64(be.Uint64(r))})
		r = r[8:]
	}
	var f [2]any
	var raw [2][]byte
	for i := range f {
		n := int32(be.Uint32(r))
		r = r[4:]
		if n >= 0 {
			raw[i] = r[:n]
			f[i] = string(raw[i])
			if n > 60 {
				f[i] = fmt.Sprintf("(%d bytes)", n)
			}
			r = r[n:]
		}
	}
	if e[17]&7 != 0 {
		o[1] = kv{"size", "(compressed)"}
		inner, err := decompress(int8(e[17]&7), raw[1])
		if err != nil {
			return append(o, kv{"value", err.Error()})
		}
		return append(o, kv{"key", f[0]}, kv{"messages", t.showRecords(inner)})
	}
	return append(o, kv{"key", f[0]}, kv{"value", f[1]})
}

func decompress(codec int8, data []byte) ([]byte, error) {
	return kgo.DefaultDecompressor().Decompress(data, kgo.CompressionCodecType(codec))
}
