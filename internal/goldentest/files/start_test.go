package files

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/zktest"
)

// damages are what was done to the files of a stopped broker before it was started again. Each names
// the captured case, and whether Kafka's broker ended; kz's does the same unless row, a piece of
// docs/divergence.md, says otherwise.
var damages = []struct {
	capture string
	file    string // in the log directory
	edit    func([]byte) []byte
	ends    bool
	says    string // in kz's error: what Kafka's says in other words
	row     string
}{
	{"bad-dir-name", "nodash", nil, true, "", "a directory that is not named as a partition ends start-up"},
	{"bad-epoch-checkpoint", "t-0/leader-epoch-checkpoint", text("0\n5\n0 0\n"), true, "", "a lost `leader-epoch-checkpoint` is rebuilt only from segments"},
	{"bad-file-name", "t-0/abc.log", text(""), true, "", "a file in a partition's directory that is not named as a segment"},
	{"bad-log-start-checkpoint", "log-start-offset-checkpoint", text("7\n0\n"), true, "", malformedCheckpoints},
	{"bad-recovery-checkpoint", "recovery-point-offset-checkpoint", text("0\n1\nt zero 12\n"), true, "", malformedCheckpoints},
	{"bad-replication-checkpoint", "replication-offset-checkpoint", text("0\n2\nt 0 1\n"), true, "", malformedCheckpoints},
	{"meta-version", metaFile, swap("version=0", "version=5"), true, "version=\"5\", only 0 is known", ""},
	{"no-meta", metaFile, nil, false, "", ""},
	{"other-broker-id", metaFile, swap("broker.id=1", "broker.id=9"), true, "broker.id=1, but meta.properties in log.dirs says 9", ""},
	{"other-cluster-id", metaFile, func(b []byte) []byte {
		_, rest, _ := bytes.Cut(b, []byte("cluster.id="))
		id, _, _ := bytes.Cut(rest, []byte("\n"))
		return bytes.Replace(b, id, []byte("AAAAAAAAAAAAAAAAAAAAAA"), 1)
	}, true, "meta.properties in log.dirs says AAAAAAAAAAAAAAAAAAAAAA", ""},
}

const (
	metaFile             = "meta.properties"
	malformedCheckpoints = "malformed recovery-point, log-start, high watermark checkpoints fail the directory"
)

func text(s string) func([]byte) []byte { return func([]byte) []byte { return []byte(s) } }

func swap(old, new string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
}

// A broker is stopped, a file outside its segments is damaged, and it is started: does it start? Ref:
// golden 10-recovery/fatal; Kafka 2.8 KafkaServer.startup, LogManager.loadLogs.
func TestStartOverDamagedFiles(t *testing.T) {
	sheet := fidelity.Open(t, "files/start")
	zk := zktest.Shared(t)
	c := clustertest.StartInProcess(t, zk.Addr+zk.Chroot(), 1, map[string]string{"controlled.shutdown.enable": "false"})
	one := c.Brokers[1]
	s := &story{t: t, c: c}
	if err := clustertest.CreateAssigned(c.Client(), "t", [][]int32{{1}}); err != nil {
		t.Fatal(err)
	}
	s.send("t", -1, "a", "b")
	one.Stop()
	for _, d := range damages {
		t.Run(d.capture, func(t *testing.T) {
			restore := damage(t, filepath.Join(one.LogDir, d.file), d.edit)
			err := one.TryStart(context.Background())
			one.Stop()
			restore()
			ends := d.ends && d.row == ""
			switch {
			case ends != (err != nil):
				t.Errorf("the broker's start: %v; it should end: %v", err, ends)
			case ends && !strings.Contains(err.Error(), d.says):
				t.Errorf("the start ended with %v; want %q", err, d.says)
			case d.row != "":
				sheet.Add("start over a damaged directory", d.capture, fidelity.Differs, d.row)
			default:
				sheet.Add("start over a damaged directory", "", fidelity.Same, "")
			}
		})
	}
	one.Start()
	s.send("t", -1, "c")
	if got := c.ReadAll("t", 0); len(got) != 3 {
		t.Errorf("after all of it the topic has %v", got)
	}
}

// damage edits a file (nil removes it; nodash is a directory to make) and
// returns what puts it back.
func damage(t *testing.T, path string, edit func([]byte) []byte) (restore func()) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if filepath.Base(path) == "nodash" {
		must(os.Mkdir(path, 0o755))
		return func() { must(os.Remove(path)) }
	}
	before, err := os.ReadFile(path)
	if err == nil && edit == nil {
		must(os.Remove(path))
	} else {
		must(os.WriteFile(path, edit(before), 0o644))
	}
	return func() {
		if err != nil { // it was not there
			must(os.Remove(path))
			return
		}
		must(os.WriteFile(path, before, 0o644))
	}
}
