package commitlog

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"kz/internal/fidelity"
	"kz/internal/journal"
	"kz/internal/record"
	"kz/internal/topic"
)

var orders = topic.Partition{Topic: "orders", Partition: 0}

// smallConfig rolls and indexes often.
func smallConfig() Config {
	c := DefaultConfig()
	c.SegmentBytes = 2048
	c.SegmentIndexBytes = 1200
	c.IndexIntervalBytes = 64
	c.SegmentMs = 1 << 60
	return c
}

// newTestManager is a manager over dirs (one temporary directory if none).
func newTestManager(t testing.TB, d *disk, c Config, dirs ...string) *Manager {
	t.Helper()
	if len(dirs) == 0 {
		dirs = []string{t.TempDir()}
	}
	m, err := newManager(ManagerConfig{Dirs: dirs, Defaults: c}, d, journal.New(1), zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Kill)
	return m
}

func load(t testing.TB, m *Manager) {
	t.Helper()
	if err := m.Load(func(string) (Config, bool) { return Config{}, false }); err != nil {
		t.Fatal(err)
	}
}

func create(t testing.TB, m *Manager, p topic.Partition, c Config) *Log {
	t.Helper()
	l, err := m.GetOrCreate(p, c, true)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// batch is n records of about size bytes each, with timestamps from ts on.
func batch(base int64, n, size int, ts int64) []byte {
	w := record.NewBuilder(record.None, base)
	for i := range n {
		w.Append(ts+int64(i), []byte(fmt.Sprintf("k%d", base+int64(i))), []byte(strings.Repeat("v", size)))
	}
	return w.Bytes()
}

func mustAppend(t testing.TB, l *Log, b []byte, epoch int32) AppendInfo {
	t.Helper()
	info, err := l.AppendAsLeader(b, epoch, FromClient)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// fill appends batches of two records until the log has n segments.
func fill(t testing.TB, l *Log, segments int) {
	t.Helper()
	for l.Segments() < segments {
		mustAppend(t, l, batch(0, 2, 60, 1000+l.EndOffset()), 0)
	}
}

// offsetsOf reads all batches of the log from offset on and returns their bases.
func readAll(t testing.TB, l *Log, offset int64) (bases []int64) {
	t.Helper()
	for offset < l.EndOffset() {
		info, err := l.Read(offset, 1<<20, l.End(), true)
		if err != nil {
			t.Fatalf("read %d: %v", offset, err)
		}
		b, err := info.Data.ReadAll()
		info.Data.Release()
		if err != nil || len(b) == 0 {
			t.Fatalf("read %d: %d bytes, %v", offset, len(b), err)
		}
		for len(b) > 0 {
			h, err := parseHeader(b, int64(len(b)))
			if err == nil {
				err = h.checkCRC(b[:h.size])
			}
			if err != nil {
				t.Fatalf("read %d: %v", offset, err)
			}
			bases = append(bases, h.base)
			offset = h.last + 1
			b = b[h.size:]
		}
	}
	return bases
}

// copyDir copies the regular files of from, leaving out those named in except.
func copyDir(t testing.TB, from, to string, except ...string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, b := range dirContents(t, from) {
		if !contains(except, name) {
			if err := os.WriteFile(filepath.Join(to, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func dirContents(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = b
	}
	return files
}

// caseFile is the part of a golden case.json that the tests use.
type caseFile struct {
	TopicConfigs     map[string]string   `json:"topicConfigs"`
	Checkpoints      map[string][]string `json:"checkpointsBefore"`
	EarliestLatest   []int64             `json:"earliestAndLatest"`
	CheckpointsAfter map[string][]string `json:"checkpointsAfterCleanStop"`
}

func readCase(t testing.TB, path string) (caseFile, Config) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cf caseFile
	if err := json.Unmarshal(b, &cf); err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	for key, value := range cf.TopicConfigs {
		n, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "segment.bytes":
			c.SegmentBytes = int(n)
		case "segment.ms":
			c.SegmentMs = n
		case "segment.index.bytes":
			c.SegmentIndexBytes = int(n)
		case "index.interval.bytes":
			c.IndexIntervalBytes = int(n)
		case "preallocate":
			c.Preallocate = value == "true"
		case "message.timestamp.type":
			c.TimestampType = record.LogAppendTime
		case "message.format.version":
			c.MessageFormatVersion = value
		case "retention.ms":
			c.RetentionMs = n
		case "retention.bytes":
			c.RetentionBytes = n
		}
	}
	return cf, c
}

// batchesOf cuts a file into its batches.
func batchesOf(t testing.TB, path string) (batches [][]byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		h, err := parseHeader(b, int64(len(b)))
		if err != nil {
			return batches // preallocated zeros, or a torn tail
		}
		batches = append(batches, b[:h.size:h.size])
		b = b[h.size:]
	}
	return batches
}

func setLeaderEpoch(b []byte, v int32) { binary.BigEndian.PutUint32(b[12:], uint32(v)) }

var nopLogger = zerolog.Nop()

func setBaseOffset(b []byte, v int64) { binary.BigEndian.PutUint64(b, uint64(v)) }

// enterFiles writes the files of a directory of Kafka's, which kz's equal, into the account of what
// was compared: how many of each kind.
func enterFiles(t *testing.T, sheet *fidelity.Sheet, golden string) {
	t.Helper()
	kinds := map[string]string{
		logSuffix: "segments (`.log`)", indexSuffix: "offset indexes (`.index`)", timeIndexSuffix: "time indexes (`.timeindex`)",
		snapshotSuffix: "producer snapshots without producers (`.snapshot`)", "": "leader epochs (`leader-epoch-checkpoint`)",
	}
	for name := range dirContents(t, golden) {
		if kind, ok := kinds[filepath.Ext(name)]; ok {
			sheet.Add(kind, "", fidelity.Same, "")
		}
	}
}
