package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kz/internal/fidelity"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

func part(name string, n int32) topic.Partition { return topic.Partition{Topic: name, Partition: n} }

// Kafka's own checkpoint files are read, and what is written reads back the same.
func TestCheckpointFilesOfKafka(t *testing.T) {
	sheet := fidelity.Open(t, "files/checkpoints")
	for _, name := range []string{recoveryPointFile, logStartFile, highWatermarkFile, "cleaner-offset-checkpoint"} {
		golden := filepath.Join("testdata", "dirs", "clean-stop", name)
		c := offsetCheckpoint{path: golden}
		offsets, err := c.read()
		if err != nil || len(offsets) == 0 {
			t.Fatalf("%s: %v, %v", name, offsets, err)
		}
		out := offsetCheckpoint{path: filepath.Join(t.TempDir(), name)}
		if err := out.write(offsets); err != nil {
			t.Fatal(err)
		}
		want, _ := os.ReadFile(golden)
		got, _ := os.ReadFile(out.path)
		if !bytes.Equal(sortedLines(got), sortedLines(want)) { // Kafka's order is its hash map's
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		sheet.Add("offset checkpoints (`"+name+"`), read and written", "", fidelity.Same, "")
	}
}

func sortedLines(b []byte) []byte {
	lines := bytes.SplitAfter(b, []byte("\n"))
	for i := 2; i < len(lines); i++ {
		for j := i; j > 2 && bytes.Compare(lines[j-1], lines[j]) > 0 && len(lines[j]) > 0; j-- {
			lines[j-1], lines[j] = lines[j], lines[j-1]
		}
	}
	return bytes.Join(lines, nil)
}

func TestMalformedCheckpoints(t *testing.T) {
	for _, tc := range []struct{ name, text string }{
		{"empty", ""},
		{"version alone", "0\n"},
		{"another version", "1\n0\n"},
		{"fewer entries than announced", "0\n2\na 0 1\n"},
		{"more entries than announced", "0\n0\na 0 1\n"},
		{"a huge count", "0\n999999999999999999999\n"},
		{"a negative count", "0\n-1\n"},
		{"binary", "\x00\x01\x02"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := parseCheckpoint([]byte(tc.text)); err == nil {
				t.Error("accepted")
			}
		})
	}
	for _, line := range []string{"a 0", "a 0 1 2", "a x 1", "a 0 x", "a -1 1", "a 0 -1", "", "a 3000000000 1"} {
		if _, _, ok := parseOffsetEntry(strings.Fields(line)); ok {
			t.Errorf("entry %q accepted", line)
		}
	}
}

// A malformed checkpoint is reported and taken as missing; Kafka's broker ends.
func TestMalformedCheckpointsAreReported(t *testing.T) {
	dir := t.TempDir()
	m := newTestManager(t, nil, smallConfig(), dir)
	l := create(t, m, orders, smallConfig())
	fill(t, l, 4)
	l.SetHighWatermark(l.EndOffset())
	end := l.EndOffset()
	m.Stop()
	for _, name := range []string{recoveryPointFile, logStartFile, highWatermarkFile, "orders-0/" + epochFile} {
		os.WriteFile(filepath.Join(dir, name), []byte("nonsense\n"), 0o644)
	}
	os.Mkdir(filepath.Join(dir, "lost+found"), 0o755)
	os.Remove(filepath.Join(dir, cleanShutdownFile))
	m = newTestManager(t, nil, smallConfig(), dir)
	var said []string
	m.journal.Subscribe(func(e journal.Event) {
		if e.Kind == journal.Recovery {
			said = append(said, e.Path+": "+e.Text)
		}
	})
	load(t, m)
	l, _ = m.Get(orders)
	if l.EndOffset() != end || l.HighWatermark() != 0 {
		t.Errorf("end %d, high watermark %d", l.EndOffset(), l.HighWatermark())
	}
	if e, ok := l.LatestEpoch(); !ok || e != 0 {
		t.Error("epochs were not rebuilt")
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{recoveryPointFile, logStartFile, highWatermarkFile, epochFile, "lost+found"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing was said of %s:\n%s", want, all)
		}
	}
}

func TestHighWatermarkAndStartSurviveRestarts(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	m := newTestManager(t, nil, smallConfig(), dirs...)
	for i := range int32(6) {
		l := create(t, m, part("t", i), smallConfig())
		fill(t, l, 3)
		l.SetHighWatermark(int64(i) + 3)
		if err := l.MaybeIncrementStartOffset(int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range m.dirs {
		if n := len(m.logsIn(dir)); n != 3 {
			t.Errorf("%d logs in one of two directories, want half of 6", n)
		}
	}
	m.Stop()
	m = newTestManager(t, nil, smallConfig(), dirs...)
	load(t, m)
	for i := range int32(6) {
		l, ok := m.Get(part("t", i))
		if !ok || l.HighWatermark() != int64(i)+3 || m.CheckpointedHighWatermark(part("t", i)) != int64(i)+3 {
			t.Errorf("partition %d: high watermark %d", i, l.HighWatermark())
		}
		if l.StartOffset() != int64(i) || l.RecoveryPoint() != l.EndOffset() {
			t.Errorf("partition %d: start %d, recovery point %d of %d", i, l.StartOffset(), l.RecoveryPoint(), l.EndOffset())
		}
	}
	if got := m.CheckpointedHighWatermark(part("unknown", 0)); got != 0 {
		t.Errorf("unknown partition: %d", got)
	}
}

// A partition made anew after a deletion must not meet what the checkpoints said of
// the old one, also when the broker crashes at once.
func TestDeletedPartitionIsForgotten(t *testing.T) {
	dir := t.TempDir()
	m := newTestManager(t, nil, smallConfig(), dir)
	l := create(t, m, orders, smallConfig())
	fill(t, l, 5)
	l.SetHighWatermark(l.EndOffset())
	if err := l.MaybeIncrementStartOffset(l.EndOffset()); err != nil {
		t.Fatal(err)
	}
	for _, write := range []func(*Manager, *logDir) error{(*Manager).checkpointRecoveryPoints, (*Manager).checkpointStartOffsets, (*Manager).checkpointHighWatermarks} {
		m.checkpoint(write)
	}
	if err := m.Delete(orders); err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(orders); kafkaerr.CodeOf(err) != kafkaerr.UnknownTopicOrPartition {
		t.Errorf("deleted twice: %v", err)
	}
	if _, err := l.Read(0, 1, OffsetOnly(0), true); kafkaerr.CodeOf(err) != kafkaerr.UnknownTopicOrPartition {
		t.Errorf("read of a deleted log: %v", err)
	}
	l = create(t, m, orders, smallConfig())
	mustAppend(t, l, batch(0, 2, 10, 1), 0)
	m.Kill()
	m = newTestManager(t, nil, smallConfig(), dir)
	load(t, m)
	l, _ = m.Get(orders)
	if l.StartOffset() != 0 || l.EndOffset() != 2 || l.HighWatermark() != 0 {
		t.Errorf("got [%d %d], high watermark %d", l.StartOffset(), l.EndOffset(), l.HighWatermark())
	}
	// The old directory waits under its -delete name, and the new start deletes it.
	old, _ := filepath.Glob(filepath.Join(dir, "orders-0.*-delete"))
	if len(old) != 1 || len(filepath.Base(old[0])) != len("orders-0.")+32+len("-delete") {
		t.Fatalf("%v", old)
	}
	if len(m.remover.waiting) != 1 {
		t.Errorf("%d deletions wait", len(m.remover.waiting))
	}
	m.remover.waiting[0].remove(true)
	if _, err := os.Stat(old[0]); !errors.Is(err, os.ErrNotExist) {
		t.Error("not deleted")
	}
}

func TestDirectoryNames(t *testing.T) {
	for _, tc := range []struct {
		name string
		want topic.Partition
		ok   bool
	}{
		{"orders-0", part("orders", 0), true},
		{"a-b-12", part("a-b", 12), true},
		{"__consumer_offsets-49", part("__consumer_offsets", 49), true},
		{"orders", topic.Partition{}, false},
		{"orders-", topic.Partition{}, false},
		{"-1", topic.Partition{}, false},
		{"orders-x", topic.Partition{}, false},
		{"orders-+1", topic.Partition{}, false},
		{"orders-3000000000", topic.Partition{}, false},
		{"lost+found", topic.Partition{}, false},
		{"orders-0.9fdb8200915247b9820f8dcc57f3b750-delete", topic.Partition{}, false},
	} {
		if p, ok := parsePartitionDir(tc.name); ok != tc.ok || (ok && p != tc.want) {
			t.Errorf("%s: %v %v", tc.name, p, ok)
		}
	}
	long := part(strings.Repeat("t", 249), 0)
	if got := deletedDirName(long, unique()); len(got) != 255 || !strings.HasSuffix(got, deleteDirSuffix) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// What cannot be a directory is refused, and costs nobody else the disk.
func TestPartitionThatCannotBeADirectory(t *testing.T) {
	m := newTestManager(t, nil, smallConfig())
	load(t, m)
	for _, p := range []topic.Partition{
		part(strings.Repeat("t", 300), 0),
		part(strings.Repeat("t", 249), 100000),
		part("a b", 0),
		part("a", -1),
		part("", 0),
	} {
		if _, err := m.GetOrCreate(p, smallConfig(), true); kafkaerr.CodeOf(err) != kafkaerr.InvalidTopicException {
			t.Errorf("%s: %v", p, err)
		}
	}
	mustAppend(t, create(t, m, part(strings.Repeat("t", 249), 99999), smallConfig()), batch(0, 1, 10, 0), 0)
}

func TestMetaProperties(t *testing.T) {
	golden, err := os.ReadFile("testdata/dirs/clean-stop/meta.properties")
	if err != nil {
		t.Fatal(err)
	}
	want := MetaProperties{Version: 0, BrokerID: 1, ClusterID: "ohPdTcC_Tg6gAYU0niDqug"}
	p, err := parseMetaProperties(golden)
	if err != nil || p != want {
		t.Fatalf("got %+v %v", p, err)
	}
	when, _ := time.Parse(time.RFC3339, "2026-11-29T16:24:06Z")
	if got := p.text(when); !bytes.Equal(got, golden) {
		t.Errorf("got\n%s\nKafka wrote\n%s", got, golden)
	}
	fidelity.Open(t, "files/meta").Add("`meta.properties`", "", fidelity.Same, "")

	a, b := t.TempDir(), t.TempDir()
	m := newTestManager(t, nil, DefaultConfig(), a, b)
	if p, err := m.MetaProperties(); p != nil || err != nil {
		t.Errorf("none yet: %v %v", p, err)
	}
	if err := m.WriteMetaProperties(want); err != nil {
		t.Fatal(err)
	}
	if p, err := m.MetaProperties(); err != nil || *p != want {
		t.Errorf("got %v %v", p, err)
	}
	os.WriteFile(filepath.Join(b, metaPropertiesFile), []byte("version=0\nbroker.id=2\ncluster.id=x\n"), 0o644)
	if _, err := m.MetaProperties(); err == nil || !strings.Contains(err.Error(), "differ") {
		t.Errorf("two brokers' directories: %v", err)
	}
	// Ref: Kafka 2.8 RawMetaProperties.version
	if p, err := parseMetaProperties([]byte("broker.id=1\n")); err != nil || p != (MetaProperties{BrokerID: 1}) {
		t.Errorf("a missing version is 0: %+v %v", p, err)
	}
	for _, bad := range []string{"version=1\n", "version=0\nbroker.id=-5\n", "version=0\nnonsense\n"} {
		if _, err := parseMetaProperties([]byte(bad)); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
}

func TestOnePartitionInTwoDirectories(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		os.Mkdir(filepath.Join(dir, "orders-0"), 0o755)
	}
	m := newTestManager(t, nil, DefaultConfig(), a, b)
	if err := m.Load(func(string) (Config, bool) { return Config{}, false }); err == nil || !strings.Contains(err.Error(), "in both") {
		t.Errorf("got %v", err)
	}
}

func TestConfigs(t *testing.T) {
	dir := t.TempDir()
	m := newTestManager(t, nil, DefaultConfig(), dir)
	create(t, m, part("plain", 0), DefaultConfig())
	own := DefaultConfig()
	own.RetentionMs = 7
	create(t, m, part("own", 0), own)
	m.Stop()
	m = newTestManager(t, nil, DefaultConfig(), dir)
	if err := m.Load(func(topic string) (Config, bool) { return own, topic == "own" }); err != nil {
		t.Fatal(err)
	}
	changed := DefaultConfig()
	changed.SegmentBytes = 12345
	m.SetDefaults(changed)
	for name, want := range map[string]Config{"plain": changed, "own": own} {
		if l, _ := m.Get(part(name, 0)); l.Config() != want {
			t.Errorf("%s has %+v", name, l.Config())
		}
	}
}

// Kafka's three rules of retention, on one log of equal segments.
// Ref: Kafka 2.8 Log.deleteOldSegments.
func TestRetention(t *testing.T) {
	now := nowMs()
	const hour = int64(time.Hour / time.Millisecond)
	for _, tc := range []struct {
		name           string
		config         func(c *Config, segment int64)
		age            int64 // of the newest records; each older segment is an hour older
		hw, start      func(l *Log) int64
		left           int
		deletesRecords bool
	}{
		{name: "nothing is old or too much", left: 4},
		{name: "retention.ms counts from a segment's newest record", config: func(c *Config, _ int64) { c.RetentionMs = 2*hour + hour/2 }, left: 3},
		{name: "the active segment may go too, after a roll", age: 10 * hour, config: func(c *Config, _ int64) { c.RetentionMs = hour }, left: 1},
		{name: "no segment above the high watermark goes", age: 10 * hour, config: func(c *Config, _ int64) { c.RetentionMs = hour },
			hw: func(l *Log) int64 { return l.state.Load().segments[2].base }, left: 2},
		{name: "retention.bytes: only while what is left is at least as much", config: func(c *Config, seg int64) { c.RetentionBytes = 2 * seg }, left: 2},
		{name: "one byte more keeps one segment more", config: func(c *Config, seg int64) { c.RetentionBytes = 2*seg + 1 }, left: 3},
		{name: "what lies below the log start goes", start: func(l *Log) int64 { return l.state.Load().segments[2].base }, left: 2},
		{name: "one offset less keeps one segment more", start: func(l *Log) int64 { return l.state.Load().segments[2].base - 1 }, left: 3},
		{name: "compact alone: only below the log start", config: func(c *Config, _ int64) { c.Delete, c.Compact, c.RetentionMs, c.RetentionBytes = false, true, 1, 0 },
			start: func(l *Log) int64 { return l.state.Load().segments[1].base }, left: 3},
		{name: "-1 is no limit", age: 1000 * hour, config: func(c *Config, _ int64) { c.RetentionMs, c.RetentionBytes = -1, -1 }, left: 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := DefaultConfig()
			c.SegmentMs = 1 << 60
			size := len(batch(0, 2, 100, now))
			c.SegmentBytes = 2 * size
			_, l := newTestLog(t, c)
			for i := range int64(8) {
				mustAppend(t, l, batch(0, 2, 100, now-tc.age-(3-i/2)*hour), 0)
			}
			if l.Segments() != 4 {
				t.Fatal(l.Segments())
			}
			l.SetHighWatermark(l.EndOffset())
			if tc.hw != nil {
				l.SetHighWatermark(tc.hw(l))
			}
			if tc.start != nil {
				if err := l.MaybeIncrementStartOffset(tc.start(l)); err != nil {
					t.Fatal(err)
				}
			}
			if tc.config != nil {
				tc.config(&c, int64(2*size))
				l.SetConfig(c)
			}
			end := l.EndOffset()
			if _, err := l.DeleteOldSegments(); err != nil {
				t.Fatal(err)
			}
			if l.Segments() != tc.left {
				t.Errorf("%d segments left, want %d", l.Segments(), tc.left)
			}
			if l.EndOffset() != end || l.StartOffset() < l.DeleteHorizonFloor() || l.HighWatermark() < l.StartOffset() {
				t.Errorf("start %d, high watermark %d, end %d", l.StartOffset(), l.HighWatermark(), l.EndOffset())
			}
		})
	}
}

// Many partitions load on all cores, and an idle one costs one descriptor and no
// index memory.
func TestManyPartitions(t *testing.T) {
	dir := t.TempDir()
	m := newTestManager(t, &disk{noSync: true}, DefaultConfig(), dir)
	m.log = nopLogger
	const n = 300
	for i := range int32(n) {
		l := create(t, m, part("t", i), DefaultConfig())
		mustAppend(t, l, batch(0, 1, 100, 1), 0)
	}
	for range 2 { // after a clean stop, after a kill
		m.Kill()
		m = newTestManager(t, &disk{noSync: true}, DefaultConfig(), dir)
		m.log = nopLogger
		load(t, m)
		if got := len(m.All()); got != n {
			t.Fatal(got)
		}
		for _, l := range m.All() {
			seg := l.state.Load().active()
			if l.EndOffset() != 1 || seg.offsets.f != nil || seg.times.f != nil || cap(seg.offsets.tail) > 0 {
				t.Fatalf("%v: end %d, index open %v", l.partition, l.EndOffset(), seg.offsets.f)
			}
		}
		m.Stop()
	}
	if fmt.Sprint(m.LiveDirs()) != fmt.Sprint([]string{dir}) {
		t.Error(m.LiveDirs())
	}
}
