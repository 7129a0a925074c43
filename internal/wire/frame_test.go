package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func framed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// readers are the two ways to read a frame; they must behave alike.
var readers = map[string]func(io.Reader, int32) ([]byte, error){
	"ReadFrame": ReadFrame,
	"FrameReader": func(r io.Reader, max int32) ([]byte, error) {
		b, err := NewFrameReader(bufio.NewReaderSize(r, 64)).Next(max)
		if err != nil {
			return nil, err
		}
		defer b.Free()
		return bytes.Clone(b.B), nil
	},
}

func TestReadFrame(t *testing.T) {
	pattern := make([]byte, 3<<20)
	for i := range pattern {
		pattern[i] = byte(i * 7 / 3)
	}
	for name, read := range readers {
		for _, n := range []int{0, 1, 4, firstStep - 1, firstStep, firstStep + 1, firstStep * growStep, firstStep*growStep + 1, len(pattern)} {
			r := io.MultiReader(iotest.HalfReader(bytes.NewReader(framed(pattern[:n]))))
			got, err := read(r, int32(len(pattern)))
			if err != nil || !bytes.Equal(got, pattern[:n]) {
				t.Errorf("%s: %d bytes: got %d, %v", name, n, len(got), err)
			}
		}
	}
}

func TestReadFrameRefuses(t *testing.T) {
	var tooBig *FrameSizeError
	for name, read := range readers {
		for _, row := range []struct {
			rule string
			in   []byte
			is   func(error) bool
		}{
			{"a negative size", []byte{0xff, 0xff, 0xff, 0xff}, func(e error) bool { return errors.As(e, &tooBig) && tooBig.Size == -1 }},
			{"the most negative size", []byte{0x80, 0, 0, 0}, func(e error) bool { return errors.As(e, &tooBig) && tooBig.Size == math.MinInt32 }},
			{"one above the limit", []byte{0, 0, 4, 1}, func(e error) bool { return errors.As(e, &tooBig) && tooBig.Max == 1024 }},
			{"nothing: the stream ended between frames", nil, func(e error) bool { return e == io.EOF }},
			{"half a size", []byte{0, 0}, func(e error) bool { return e == io.ErrUnexpectedEOF }},
			{"a size and no more", []byte{0, 0, 0, 1}, func(e error) bool { return e == io.ErrUnexpectedEOF }},
			{"half a frame", []byte{0, 0, 0, 4, 1, 2}, func(e error) bool { return e == io.ErrUnexpectedEOF }},
		} {
			if got, err := read(bytes.NewReader(row.in), 1024); err == nil || !row.is(err) {
				t.Errorf("%s: %s: got %x, %v", name, row.rule, got, err)
			}
		}
	}
}

// A size is a claim. Ref: the golden case framing/size-at-socket.request.max.bytes.
func TestAClaimedSizeCostsLittle(t *testing.T) {
	in := append([]byte{0x06, 0x40, 0, 0}, make([]byte, 100)...) // claims 100 MB, sends 100 bytes
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const runs = 10
	for range runs {
		if _, err := ReadFrame(bytes.NewReader(in), 104857600); err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	got := (after.TotalAlloc - before.TotalAlloc) / runs
	if got > 2*firstStep {
		t.Errorf("%d bytes allocated for 100 bytes sent", got)
	}
}

// A peer's credit is what it has delivered, whole frames only, and never more than the second step.
func TestFrameReaderCredit(t *testing.T) {
	var in []byte
	for _, n := range []int{10, 200 << 10, 10, 3 << 20} {
		in = append(in, framed(make([]byte, n))...)
	}
	in = append(in, 0x06, 0x40, 0, 0, 1) // claims 100 MB, sends one byte
	f := NewFrameReader(bufio.NewReader(bytes.NewReader(in)))
	for i, want := range []int{firstStep, 200 << 10, 200 << 10, secondStep} {
		b, err := f.Next(100 << 20)
		if err != nil {
			t.Fatal(err)
		}
		b.Free()
		if f.credit != want {
			t.Errorf("after frame %d: %d, want %d", i, f.credit, want)
		}
	}
	if _, err := f.Next(200 << 20); err != io.ErrUnexpectedEOF || f.credit != secondStep {
		t.Errorf("a claim alone: %v, credit %d", err, f.credit)
	}
}

func TestBuffers(t *testing.T) {
	for _, n := range []int{0, 1, 1023, 1024, 1025, 1 << 20, 1<<24 - 1, 1 << 24} {
		b := GetBuffer(n)
		if len(b.B) != n || cap(b.B) < n || cap(b.B) > max(2*n, 1024) {
			t.Errorf("%d: len %d, cap %d", n, len(b.B), cap(b.B))
		}
		b.B = b.B[:0]
		b.Free()
		if b = GetBuffer(n); len(b.B) != n {
			t.Errorf("%d: a used one has len %d", n, len(b.B))
		}
	}
	if b := GetBuffer(1<<24 + 1); b.class != -1 || len(b.B) != 1<<24+1 {
		t.Error("a giant is pooled")
	}
	(*Buffer)(nil).Free()
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 4, 0, 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		plain, pooled := bytes.NewReader(in), NewFrameReader(bufio.NewReaderSize(bytes.NewReader(in), 16))
		for {
			a, errA := ReadFrame(plain, 1024)
			b, errB := pooled.Next(1024)
			if (errA == nil) != (errB == nil) {
				t.Fatalf("ReadFrame %v, FrameReader %v", errA, errB)
			}
			if errA != nil {
				return
			}
			if len(a) > 1024 || !bytes.Equal(a, b.B) {
				t.Fatalf("%x, %x", a, b.B)
			}
			b.Free()
		}
	})
}

// Who speaks something else is told apart from who sends too much.
func TestFrameSizeErrorKnowsOtherProtocols(t *testing.T) {
	for head, want := range map[string]string{"\x16\x03\x01\x02": "TLS handshake", "GET ": "HTTP", "POST": "HTTP", "\x7f\xff\xff\xff": ""} {
		_, err := ReadFrame(strings.NewReader(head+" / HTTP/1.1"), 1<<20)
		if err == nil || !strings.Contains(err.Error(), want) || want == "" && strings.Contains(err.Error(), "it is") {
			t.Errorf("%q: %v", head, err)
		}
	}
}
