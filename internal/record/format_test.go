package record

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the annotated bytes in docs/formats/batch.md")

const formatPage = "../../docs/formats/batch.md"

// fence finds the annotated bytes on the page: which segment, where in it, and for a
// record which one.
var fence = regexp.MustCompile("(?s)```(batch|record) (\\S+) (\\d+)(?: (\\d+))?\n(.*?)```")

// TestFormatPage takes the bytes that the page shows from segments of real Kafka, and
// compares each with the meaning the page gives it. -update writes the page anew.
func TestFormatPage(t *testing.T) {
	page, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	got := fence.ReplaceAllStringFunc(string(page), func(block string) string {
		blocks++
		m := fence.FindStringSubmatch(block)
		segment, err := os.ReadFile("testdata/segments/" + m[2])
		if err != nil {
			t.Fatal(err)
		}
		var position, record int
		fmt.Sscan(m[3], &position)
		fmt.Sscan(m[4], &record)
		b, _, err := Next(segment[position:])
		if err != nil {
			t.Fatal(err)
		}
		a := &annotator{b: b}
		if m[1] == "batch" {
			a.batch()
		} else {
			a.only(record)
		}
		head, _, _ := strings.Cut(block, "\n")
		return head + "\n" + a.out.String() + "```"
	})
	if blocks < 4 {
		t.Errorf("%d annotated blocks on the page", blocks)
	}
	if got == string(page) {
		return
	}
	if *update {
		if err := os.WriteFile(formatPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	gotLines, pageLines := strings.Split(got, "\n"), strings.Split(string(page), "\n")
	for i := range min(len(gotLines), len(pageLines)) {
		if gotLines[i] != pageLines[i] {
			t.Fatalf("line %d of the page says\n%s\nthe bytes say\n%s", i+1, pageLines[i], gotLines[i])
		}
	}
	t.Fatal("the page has fewer or more lines than the bytes")
}

// annotator prints bytes beside their meaning. It reads them by the drawing in
// header.go and walk.go with encoding/binary alone, not with the package's own readers.
type annotator struct {
	b   []byte
	pos int
	out strings.Builder
}

// take prints the next n bytes with a name and a meaning.
func (a *annotator) take(n int, name string, meaning any) {
	for first := true; first || n > 0; first = false {
		k := min(n, 12)
		line := fmt.Sprintf("%4d  %-36s", a.pos, fmt.Sprintf("% x", a.b[a.pos:a.pos+k]))
		if first {
			line += fmt.Sprintf(" %-22s %v", name, meaning)
		}
		a.out.WriteString(strings.TrimRight(line, " ") + "\n")
		a.pos, n = a.pos+k, n-k
	}
}

func (a *annotator) number(n int, name string, note ...string) int64 {
	var v int64
	switch p := a.b[a.pos:]; n {
	case 1:
		v = int64(int8(p[0]))
	case 2:
		v = int64(int16(binary.BigEndian.Uint16(p)))
	case 4:
		v = int64(int32(binary.BigEndian.Uint32(p)))
	case 8:
		v = int64(binary.BigEndian.Uint64(p))
	}
	a.take(n, name, strings.TrimRight(fmt.Sprint(v, "  ", strings.Join(note, "")), " "))
	return v
}

func (a *annotator) varint(name string) int64 {
	v, n := binary.Varint(a.b[a.pos:])
	meaning := fmt.Sprint(v)
	if v == -1 && strings.Contains(name, "length") {
		meaning = "-1  null"
	}
	a.take(n, name, meaning)
	return v
}

func (a *annotator) text(n int64, name string) {
	if n > 0 {
		a.take(int(n), name, fmt.Sprintf("%q", a.b[a.pos:a.pos+int(n)]))
	}
}

func (a *annotator) batch() {
	a.number(8, "base offset")
	a.number(4, "length", fmt.Sprintf("the batch has %d bytes", len(a.b)))
	a.number(4, "leader epoch")
	a.number(1, "magic")
	a.take(4, "CRC-32C", fmt.Sprintf("%d  of bytes 21 to %d", binary.BigEndian.Uint32(a.b[17:]), len(a.b)-1))
	attributes := binary.BigEndian.Uint16(a.b[21:])
	a.number(2, "attributes", flagNames(attributes))
	a.number(4, "last offset delta")
	a.number(8, "first timestamp")
	a.number(8, "max timestamp")
	a.number(8, "producer id")
	a.number(2, "producer epoch")
	a.number(4, "base sequence")
	count := a.number(4, "count")
	switch {
	case attributes&7 == uint16(LZ4):
		a.lz4()
	case attributes&0x20 != 0:
		a.marker()
	default:
		for i := range count {
			a.record(int(i))
		}
	}
}

func flagNames(attributes uint16) string {
	names := []string{"codec " + codecNames[attributes&7]}
	for bit, name := range []string{3: "LogAppendTime", 4: "transactional", 5: "control"} {
		if name != "" && attributes&(1<<bit) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// recordStart reads what every record begins with.
func (a *annotator) recordStart(i int) {
	a.varint(fmt.Sprintf("record %d: length", i))
	a.number(1, "  attributes")
	a.varint("  timestamp delta")
	a.varint("  offset delta")
}

func (a *annotator) record(i int) {
	a.recordStart(i)
	a.text(a.varint("  key length"), "  key")
	a.text(a.varint("  value length"), "  value")
	for range a.varint("  header count") {
		a.text(a.varint("    key length"), "    key")
		a.text(a.varint("    value length"), "    value")
	}
}

// only prints record n of the batch and nothing else.
func (a *annotator) only(n int) {
	a.pos = HeaderSize
	for range n {
		size, k := binary.Varint(a.b[a.pos:])
		a.pos += k + int(size)
	}
	a.record(n)
}

func (a *annotator) marker() {
	a.recordStart(0)
	a.varint("  key length")
	a.number(2, "    version")
	a.number(2, "    type", MarkerType(binary.BigEndian.Uint16(a.b[a.pos:])).String())
	a.varint("  value length")
	a.number(2, "    version")
	a.number(4, "    coordinator epoch")
	a.varint("  header count")
}

func (a *annotator) lz4() {
	a.take(4, "lz4 magic", "0x184D2204, little-endian like all of the frame")
	a.take(1, "FLG", "version 01, independent blocks")
	a.take(1, "BD", "blocks of up to 64 KiB")
	a.take(1, "HC", "second byte of the xxh32 of FLG and BD")
	for {
		size := binary.LittleEndian.Uint32(a.b[a.pos:])
		if size == 0 {
			a.take(4, "end mark", "")
			return
		}
		kind := "compressed"
		if size&(1<<31) != 0 {
			kind = "stored as it is"
		}
		a.take(4, "block length", fmt.Sprintf("%d  %s", size&^(1<<31), kind))
		a.take(int(size&^(1<<31)), "block", "")
	}
}
