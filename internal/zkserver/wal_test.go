package zkserver

import (
	"bytes"
	"encoding/hex"
	"os"
	"testing"
	"time"
)

// framesIn is the frames of a log file.
func framesIn(t *testing.T, name string) (frames [][]byte) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for b = b[logHeader:]; len(b) > 0; b = b[len(frames[len(frames)-1]):] {
		frame := nextFrame(b)
		if frame == nil {
			t.Fatalf("%d bytes that are no frame", len(b))
		}
		frames = append(frames, frame)
	}
	return frames
}

// What arrives while the disk is busy goes to it together: one frame, one fsync.
func TestOneFsyncCoversWhatWaited(t *testing.T) {
	s := start(t, Config{Dir: t.TempDir()})
	const clients, each = 3, 40
	var all [clients]*client
	for i := range all {
		all[i] = join(t, s.Addr(), connectRequest{timeout: 30000})
	}
	all[0].must(create("/a", ""))
	before := len(framesIn(t, s.log.dir.log(s.log.begins)))
	busy, freed := make(chan struct{}), make(chan struct{})
	go s.on(func() { close(busy); <-freed })
	<-busy
	for _, c := range all {
		for range each {
			c.send(opSetData, encodeOperation(set("/a", "x")))
		}
	}
	for deadline := time.After(answerWithin); len(s.requests) < clients*each; {
		select {
		case <-deadline:
			t.Fatalf("%d of %d requests wait", len(s.requests), clients*each)
		case <-time.After(time.Millisecond):
		}
	}
	close(freed)
	for _, c := range all {
		for range each {
			if p, err := c.receive(); err != nil || p.err != ok {
				t.Fatal(p.err, err)
			}
		}
	}
	frames := framesIn(t, s.log.dir.log(s.log.begins))
	if n := len(frames) - before; n != 1 {
		t.Errorf("%d writes that waited together are %d frames", clients*each, n)
	}
	if st, _ := all[0].stat("/a"); st.version != clients*each {
		t.Errorf("version %d", st.version)
	}
}

// The bytes of a frame, as wal.go draws them.
func TestFrameToTheByte(t *testing.T) {
	w := &wal{}
	w.append(&txn{zxid: 0x200000003, time: 1000, by: 0x1aa, changes: []change{
		{mutation: mutation{op: opCheck, path: "/c", version: 4}},
		{mutation: mutation{op: opSetData, path: "/s", data: []byte("x")}},
		{mutation: mutation{op: opDelete, path: "/d"}},
	}})
	sealFrame(w.buf.b)
	var want []byte
	for _, row := range []struct{ bytes, meaning string }{
		{"4b5a5458", "magic, KZTX"},
		{"00000043", "length: 67 bytes follow byte 11"},
		{"1dc724af", "CRC-32C of bytes 4 to 7 and of all that follows"},
		{"0000000200000003", "zxid: the third write of the second epoch"},
		{"00000000000003e8", "time: a second after 1970 began"},
		{"00000000000001aa", "the session that asked"},
		{"00000003", "three mutations"},
		{"0000000d 00000002 2f63 00000004", "check /c has version 4"},
		{"00000005 00000002 2f73 00000001 78", "setData /s to x"},
		{"00000002 00000002 2f64", "delete /d"},
	} {
		b, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(row.bytes), []byte(" "), nil)))
		if err != nil {
			t.Fatal(err)
		}
		at := len(want)
		want = append(want, b...)
		if got := w.buf.b[min(at, len(w.buf.b)):min(len(want), len(w.buf.b))]; !bytes.Equal(got, b) {
			t.Errorf("bytes %d to %d, %s: % x, want % x", at, len(want)-1, row.meaning, got, b)
		}
	}
	if len(w.buf.b) != len(want) {
		t.Errorf("%d bytes, drawn are %d", len(w.buf.b), len(want))
	}
}
