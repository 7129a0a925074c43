package cli

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Whatever is in a file, dump-log ends, with an error or without, and takes no more
// memory than the file has bytes for.
func FuzzDumpLog(f *testing.F) {
	suffixes := []string{".log", ".index", ".timeindex", ".snapshot", ".txnindex"}
	for i, suffix := range suffixes {
		found, _ := filepath.Glob(filepath.Join(segments, "0[156]-*", "*", "*"+suffix))
		for _, name := range found[:min(len(found), 3)] {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(byte(i), b[:min(len(b), 4096)], b[:min(len(b), 4096)])
		}
	}
	empty := []byte{0, 1, 0x48, 0x67, 0x4b, 0xc7, 0, 0, 0, 0} // a snapshot of nobody
	for i := range suffixes {
		f.Add(byte(i), []byte{0, 0, 0, 1, 0, 0, 0, 0}, empty)
		f.Add(byte(i)|0x80, []byte{0, 0, 1, 0x7f, 0, 0, 0, 0, 0, 0, 0, 1}, []byte{})
		f.Add(byte(i), empty, []byte{})
	}
	stored, err := os.ReadFile(filepath.Join("..", "..", "broker", "group", "testdata", "consumer-offsets.log"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(byte(0x41), stored, []byte{}) // a .log, shown as what it says
	f.Fuzz(func(t *testing.T, which byte, bytes, log []byte) {
		dir := t.TempDir()
		suffix := suffixes[int(which)%len(suffixes)]
		file := filepath.Join(dir, "00000000000000000000"+suffix)
		for name, b := range map[string][]byte{".index": log, ".log": log, suffix: bytes} {
			if err := os.WriteFile(filepath.Join(dir, "00000000000000000000"+name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		content := asText
		if which&0x40 != 0 {
			content = asStored
		}
		for _, asJSON := range []bool{false, true} {
			d := &dump{content: content, out: bufio.NewWriter(io.Discard), errs: io.Discard, deep: true, contents: true, maxMessageSize: 1 << 20, asJSON: asJSON, sanityOnly: which&0x80 != 0}
			if d.file(file) == nil {
				d.report()
			}
		}
	})
}
