package commitlog

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// row is one line of an annotated block: position, bytes, name, meaning.
func row(b *strings.Builder, at int, bytes []byte, name string, meaning any) {
	hex := strings.TrimSpace(strings.ReplaceAll(fmt.Sprintf("% x", bytes), "  ", " "))
	fmt.Fprintln(b, strings.TrimRight(fmt.Sprintf("%4d  %-25s %-18s %v", at, hex, name, meaning), " "))
}

func drawIndex(base int64, file []byte, entries int) string {
	var b strings.Builder
	x := OffsetIndex{base: base}
	for i := range entries {
		at := i * offsetEntrySize
		e := x.decode(file[at:])
		row(&b, at, file[at:at+4], "relative offset", fmt.Sprintf("%d  offset %d", e.Offset-base, e.Offset))
		row(&b, at+4, file[at+4:at+8], "position", e.Position)
	}
	return b.String()
}

func drawTimeIndex(base int64, file []byte, entries int) string {
	var b strings.Builder
	x := TimeIndex{base: base}
	for i := range entries {
		at := i * timeEntrySize
		ts, offset := x.decode(file[at:])
		row(&b, at, file[at:at+8], "timestamp", ts)
		row(&b, at+8, file[at+8:at+12], "relative offset", fmt.Sprintf("%d  offset %d", offset-base, offset))
	}
	return b.String()
}

func drawSnapshot(file []byte) string {
	var b strings.Builder
	row(&b, 0, file[:2], "version", binary.BigEndian.Uint16(file))
	row(&b, 2, file[2:6], "CRC-32C", fmt.Sprintf("%d  of bytes 6 to the end", binary.BigEndian.Uint32(file[2:])))
	row(&b, 6, file[6:10], "producers", binary.BigEndian.Uint32(file[6:]))
	return b.String()
}

// Every annotated block on the two format pages shows bytes that Kafka wrote. The
// block is drawn again from the file, by this package's own decoders.
func TestFormatPages(t *testing.T) {
	read := func(path string) []byte {
		b, err := os.ReadFile(filepath.Join("testdata", path))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	segment := "segments/seg-64-clean/00000000000000000015"
	for _, tc := range []struct{ page, block, want string }{
		{"index.md", "index 15", drawIndex(15, read(segment+indexSuffix), 3)},
		{"index.md", "timeindex 15", drawTimeIndex(15, read(segment+timeIndexSuffix), 3)},
		{"index.md", "snapshot 15", drawSnapshot(read(segment + snapshotSuffix))},
		{"checkpoints.md", "leader-epoch-checkpoint", string(read("dirs/epochs-broker-1/leader-epoch-checkpoint"))},
		{"checkpoints.md", "log-start-offset-checkpoint", string(read("dirs/clean-stop/log-start-offset-checkpoint"))},
		{"checkpoints.md", "cleaner-offset-checkpoint", string(read("dirs/clean-stop/cleaner-offset-checkpoint"))},
		{"checkpoints.md", "meta.properties", string(read("dirs/clean-stop/meta.properties"))},
	} {
		t.Run(tc.block, func(t *testing.T) {
			page, err := os.ReadFile(filepath.Join("..", "..", "docs", "formats", tc.page))
			if err != nil {
				t.Fatal(err)
			}
			if want := "```" + tc.block + "\n" + tc.want + "```\n"; !strings.Contains(string(page), want) {
				t.Errorf("%s lacks this block:\n%s", tc.page, want)
			}
		})
	}
}
