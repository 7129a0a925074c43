package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// segments are directories that real Kafka wrote, each with what kafka-dump-log of 2.8.2
// printed about every file in it.
const segments = "../record/testdata/segments"

// dumps finds the directories, leaving out those whose records Kafka's tool decoded.
func dumps(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(segments, "*", "*", "dump.txt"))
	if err != nil || len(all) < 10 {
		t.Fatalf("%d dumps below %s (%v)", len(all), segments, err)
	}
	var out []string
	for _, d := range all {
		if !strings.Contains(d, "consumer-offsets") {
			out = append(out, filepath.Dir(d))
		}
	}
	return out
}

// Every line that kafka-dump-log printed, and no other. Ref: the dumps of Kafka 2.8.2.
func TestDumpLogPrintsWhatKafkaPrints(t *testing.T) {
	for _, dir := range dumps(t) {
		name, err := filepath.Rel(segments, dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join(dir, "dump.txt"))
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range splitDump(string(want)) {
				file := filepath.Join(dir, part.file)
				if _, err := os.Stat(file); err != nil {
					continue // not kept
				}
				args := []string{"dump-log", "--files", file}
				if strings.Contains(part.text, "\n| offset: ") {
					args = append(args, "--deep-iteration", "--print-data-log")
				}
				stdout, stderr, exit := kz(t, args...)
				abs, err := filepath.Abs(dir)
				if err != nil {
					t.Fatal(err)
				}
				got := strings.NewReplacer(abs+"/", "", dir+"/", "").Replace(stdout + stderr)
				if got != part.text || exit != 0 {
					t.Errorf("%s, exit %d:\n%s", part.file, exit, firstDifference(got, part.text))
				}
			}
		})
	}
}

type dumpPart struct{ file, text string }

// splitDump cuts a dump.txt into what was printed about each file.
func splitDump(s string) []dumpPart {
	var out []dumpPart
	for i, p := range strings.Split(s, "Dumping ") {
		if i == 0 {
			continue
		}
		file, _, _ := strings.Cut(p, "\n")
		out = append(out, dumpPart{file, "Dumping " + p})
	}
	return out
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return "kz:    " + a + "\nKafka: " + b
		}
	}
	return "(equal)"
}

// Damage, and what is printed of it. Ref: Kafka's own transcripts of damaged files.
func TestDumpLogOfDamagedFiles(t *testing.T) {
	good, err := os.ReadFile(filepath.Join(segments, "01-plain/many-batches/00000000000000000000.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		file   string
		bytes  []byte
		args   string
		exit   int
		stdout string // the end of it
		stderr string // a part of it
	}{
		{"a torn tail", "00000000000000000000.log", good[:len(good)-7], "", 0, " invalid bytes at the end of 00000000000000000000.log\n", ""},
		{"zeros after the last batch", "00000000000000000000.log", append(append([]byte{}, good...), make([]byte, 20)...), "", 1, "isvalid: true\n", "Found record size 0 smaller than minimum record overhead (14) in file"},
		{"a flipped bit", "00000000000000000000.log", flip(good, len(good)-3), "", 0, "isvalid: false\n", ""},
		{"an odd index", "00000000000000000000.index", make([]byte, 27), "--index-sanity-check", 1, ".index\n", "found 27 bytes which is neither positive nor a multiple of 8."},
		{"an empty index", "00000000000000000000.index", nil, "", 0, ".index is empty.\n", ""},
		{"an index that points outside", "00000000000000000000.index", []byte{0, 0, 0, 9, 0x7f, 0, 0, 0}, "", 1, ".index\n", "lies outside"},
		{"a name that is no offset", "no-such.log", good, "", 1, "no-such.log\n", `For input string: "no-such"`},
		{"a suffix nobody knows", "00000000000000000000.nonsense", good, "", 0, ".nonsense\n", "Ignoring unknown file"},
		{"a name without a suffix", "leader-epoch-checkpoint", good, "", 1, "leader-epoch-checkpoint\n", "has no suffix"},
		{"a snapshot with a wrong CRC", "00000000000000000004.snapshot", []byte{0, 1, 9, 9, 9, 9, 0, 0, 0, 0}, "", 0, ".snapshot\n", "is corrupt (CRC is no longer correct)"},
		{"an empty snapshot", "00000000000000000004.snapshot", []byte{0, 1, 0x48, 0x67, 0x4b, 0xc7, 0, 0, 0, 0}, "", 0, ".snapshot\n", ""},
		{"format 1", "00000000000000000000.log", old(good), "", 1, "Starting offset: 0\n", "kz reads format 2 only"},
		{"a decoder of internal topics", "00000000000000000000.log", good, "--transaction-log-decoder", 1, "", "--transaction-log-decoder is not served yet"},
		{"records that are no offsets", "00000000000000000000.log", good, "--offsets-decoder", 1, "", "Failed to decode message using offset topic decoder"},
		{"a Java class", "00000000000000000000.log", good, "--key-decoder-class x.Y", 1, "", "Java classes cannot be loaded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, tt.file)
			for name, b := range map[string][]byte{filepath.Join(dir, "00000000000000000000.log"): good, file: tt.bytes} {
				if err := os.WriteFile(name, b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			stdout, stderr, exit := kz(t, append([]string{"dump-log", "--files", file}, strings.Fields(tt.args)...)...)
			if exit != tt.exit || !strings.HasSuffix(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("exit %d, want %d\nstdout ends %q, want %q\nstderr %q, want %q", exit, tt.exit, stdout[max(0, len(stdout)-80):], tt.stdout, stderr, tt.stderr)
			}
		})
	}
}

func flip(b []byte, at int) []byte {
	out := append([]byte{}, b...)
	out[at] ^= 1
	return out
}

func old(b []byte) []byte {
	out := append([]byte{}, b...)
	out[16] = 1
	return out
}

// -o json: one object a line, with the numbers of the text.
func TestDumpLogJSON(t *testing.T) {
	file := filepath.Join(segments, "06-transactions/txn/00000000000000000000.log")
	stdout, _, exit := kz(t, "dump-log", "--files", file, "--print-data-log", "-o", "json")
	if exit != 0 {
		t.Fatal(exit)
	}
	types := map[string]int{}
	markers := 0
	for line := range strings.Lines(stdout) {
		var o struct {
			Type   string
			Marker string `json:"endTxnMarker"`
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		types[o.Type]++
		if o.Marker != "" {
			markers++
		}
	}
	if types["batch"] == 0 || types["record"] < types["batch"] || markers == 0 {
		t.Errorf("%v, %d markers", types, markers)
	}
}
