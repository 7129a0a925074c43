package zkserver

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"kz/internal/link"
)

// Whatever the bytes of a packet are: no panic, and no more memory than a small multiple
// of the packet. What could be read is written as the same bytes again.
func FuzzDecodeFrame(f *testing.F) {
	r := chaos{rand.New(rand.NewPCG(1, 1)), "/r"}
	for range 60 {
		for _, o := range []operation{r.write(), r.read()} {
			e := encoder{}
			e.int(7)
			e.int(int32(o.code()))
			f.Add(append(e.b, encodeOperation(o)...), true)
		}
	}
	f.Add([]byte("\x00\x00\x00\x01\x00\x00\x00\x10"), true)
	f.Add(make([]byte, 45), false)
	f.Fuzz(func(t *testing.T, b []byte, handshaken bool) {
		before := bytes.Clone(b)
		fr, err := decodeFrame(b, handshaken)
		if !bytes.Equal(b, before) {
			t.Fatal("the packet was changed")
		}
		if err != nil || !handshaken {
			return
		}
		encoded := encodeOperation(fr.op)
		if again := decodeRequest(fr.op.code(), encoded); !malformed(fr.op) && !reflect.DeepEqual(again, fr.op) {
			t.Fatalf("%x is %#v, whose bytes are %x, which are %#v", b, fr.op, encoded, again)
		}
	})
}

// malformed says that an operation has no bytes of its own: reconfig's are not kept.
func malformed(o operation) bool {
	switch o.(type) {
	case malformedOp, unknownOp, bareOp:
		return true
	}
	return false
}

// Whatever a log or a snapshot holds: recovery returns a state or an error.
func FuzzRecover(f *testing.F) {
	st := newState()
	st.apply(mutation{op: opCreateSession, owner: 5, timeout: 4000, password: []byte("p")}, 1, 2)
	st.apply(mutation{op: opCreate, path: "/a", data: []byte("x"), acl: openACL, kind: ephemeral, owner: 5}, 2, 3)
	f.Add(st.encodeSnapshot(), true)
	e := encoder{make([]byte, frameHeader)}
	e.long(9)
	e.long(9)
	e.long(5)
	e.int(3)
	encodeMutation(&e, mutation{op: opCheck, path: "/"})
	encodeMutation(&e, mutation{op: opCreate, path: "/b", acl: openACL})
	encodeMutation(&e, mutation{op: opSetData, path: "/b", data: []byte("y")})
	f.Add(e.b, false)
	f.Fuzz(func(t *testing.T, b []byte, snapshot bool) {
		if snapshot {
			if st, err := decodeSnapshot(b); err == nil && !bytes.Equal(st.encodeSnapshot(), b) && len(st.sessions)+len(st.tree.nodes) == 0 {
				t.Fatal("an empty state out of bytes")
			}
			return
		}
		if len(b) < frameHeader {
			return
		}
		b = bytes.Clone(b)
		sealFrame(b) // past the checksum, to what it guards
		if frame := nextFrame(b); frame != nil {
			st := newState()
			_ = st.replayFrame(frame)
			_ = st.durable()
		}
	})
}

// Foreign bytes cost at most their own connection.
func TestGarbageEndsOneConnectionOnly(t *testing.T) {
	s := start(t, Config{})
	good := join(t, s.Addr(), connectRequest{timeout: 30000})
	for _, row := range []struct{ rule, bytes string }{
		{"a length of zero", "00000000"},
		{"a negative length", "ffffffff"},
		{"a length above the bound", "00100000"},
		{"a handshake too short", "0000000400000000"},
		{"letters that are no word", hex.EncodeToString([]byte("GET / HTTP/1.1\r\n"))},
		{"a second packet without an op", "0000002c00000000" + "0000000000000000" + "00001388" + "0000000000000000" + "00000010" + "00000000000000000000000000000000" + "00000004" + "00000001"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			b, err := hex.DecodeString(row.bytes)
			if err != nil {
				t.Fatal(err)
			}
			c := dial(t, link.TCP{}, s.Addr())
			c.SetDeadline(time.Now().Add(answerWithin))
			c.Write(b)
			bad := &client{t: t, net: c}
			for !bad.closed() { // after the handshake's answer, if there was one
			}
		})
	}
	good.must(create("/still-here", ""))
}

// The largest packet is served, one byte more is not.
func TestLargestPacket(t *testing.T) {
	s := start(t, Config{})
	c := join(t, s.Addr(), connectRequest{timeout: 30000})
	c.must(create("/a", ""))
	overhead := 8 + len(encodeOperation(setDataOp{"/a", []byte{}, anyVersion}))
	c.must(setDataOp{"/a", make([]byte, s.cfg.MaxRequest-overhead), anyVersion})
	c.send(opSetData, encodeOperation(setDataOp{"/a", make([]byte, s.cfg.MaxRequest-overhead+1), anyVersion}))
	if !c.closed() {
		t.Error("a packet above the bound was taken")
	}
}
