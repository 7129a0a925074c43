package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/zktest"
)

// notDumped are the entries of the transcript that are not run, by a piece of the command, and the
// system that they need. (Kafka's own files with transactions are dumped in dumplog_test.go.)
var notDumped = map[string]string{
	"/l2-0/":              "transactions",
	"__transaction_state": "transactions",
}

// dumpedElsewhere is in the transcript about a group that no broker here has; TestDumpOffsets dumps more.
const dumpedElsewhere = "__consumer_offsets"

// kafka-dump-log, command by command, over files that a kz broker wrote: the lines are
// those that Kafka's tool printed about its broker's files, so this compares the files,
// too. Ref: testdata/kafka-dump-log.txt.
func TestDumpLogTranscript(t *testing.T) {
	dir, logDir := t.TempDir(), dumpedBroker(t)
	segment := filepath.Join(logDir, "l1-0", "00000000000000000000.log")
	good, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	damage(t, dir, "cut", good[:len(good)-7])
	damage(t, dir, "flipped", flip(good, len(good)-30))
	damage(t, dir, "tail", append(append([]byte{}, good...), make([]byte, 20)...))

	run := 0
	sheet := fidelity.Open(t, "tools/dump-log")
entries:
	for _, e := range transcript(t, "kafka-dump-log.txt") {
		line := strings.Join(e.args, " ")
		for piece, system := range notDumped {
			if strings.Contains(line, piece) {
				e.enter(sheet, "dump-log", fidelity.Refused, system)
				continue entries
			}
		}
		if strings.Contains(line, dumpedElsewhere) {
			e.enter(sheet, "dump-log", fidelity.Uncompared, "what real coordinators wrote is dumped and compared instead")
			continue
		}
		run++
		names := strings.NewReplacer("DIR/broker-1", logDir, "DIR", dir)
		words := []string{"dump-log"}
		for _, w := range e.args {
			words = append(words, names.Replace(w))
		}
		stdout, stderr, exit := kz(t, words...)
		if exit != e.exit {
			t.Errorf("%v\nexit %d, want %d; stderr %q", e, exit, e.exit, stderr)
		}
		dirs := strings.NewReplacer(logDir, "DIR/broker-1", dir, "DIR")
		got := dumpedAnyTime(dirs.Replace(stdout))
		if want := dumpedAnyTime(e.stdout); got != want {
			t.Errorf("%v\n%s", e, firstDifference(got, want))
		}
		if strings.Contains(e.stderr, "StringIndexOutOfBounds") || strings.Contains(e.stderr, "Caused by") { // words of Java's
			e.enter(sheet, "dump-log", fidelity.Differs, javaErrors)
			continue
		}
		checkStderr(t, e, dirs.Replace(stderr))
		e.enter(sheet, "dump-log", fidelity.Same, "")
	}
	if run < 15 {
		t.Errorf("only %d entries were run", run)
	}
}

// dumpedBroker is the log directory of a broker that was stopped after it had stored
// what the capture's broker had: four records one by one, then three in one gzip batch.
func dumpedBroker(t *testing.T) string {
	t.Helper()
	zk := zktest.Start(t)
	c := clustertest.StartInProcess(t, zk.Addr, 1, map[string]string{"offsets.topic.replication.factor": "1"})
	b := c.Brokers[1]
	_, stderr, exit := kz(t, "topics", "--bootstrap-server", b.Addr, "--create", "--topic", "l1", "--replica-assignment", "1", "--config", "index.interval.bytes=100")
	if exit != 0 {
		t.Fatal(stderr)
	}
	client := c.Client()
	send := func(w *record.Builder) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		req := kmsg.NewPtrProduceRequest()
		req.Acks, req.TimeoutMillis = -1, 10000
		req.Topics = []kmsg.ProduceRequestTopic{{Topic: "l1", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: w.Bytes()}}}}
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			t.Fatal(err)
		}
		if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
			t.Fatal(kafkaerr.Code(code))
		}
	}
	now := time.Now().UnixMilli()
	for i := range 4 {
		w := record.NewBuilder(record.None, 0)
		w.Append(now+int64(i), fmt.Append(nil, "k", i), fmt.Append(nil, "v", i))
		send(w)
	}
	w := record.NewBuilder(record.Gzip, 0)
	for i := range 3 {
		w.Append(now+1000, nil, fmt.Append(nil, "gzip-", i))
	}
	send(w)
	b.Stop()
	return b.LogDir
}

func damage(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name, "00000000000000000000.log"), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

var (
	crcs        = regexp.MustCompile(`crc: \d+`)                     // covers the time
	gzipSize    = regexp.MustCompile(`size: \d+ (.*GZIP)`)           // depends on the library
	gzipIn      = regexp.MustCompile(`batchSize: \d+ (.*GZIP)`)      // the same
	invalidTail = regexp.MustCompile(`Found \d+ invalid bytes (.*)`) // the rest of the gzip batch
)

func dumpedAnyTime(s string) string {
	s = moment.ReplaceAllString(s, "TIME-MS")
	s = crcs.ReplaceAllString(s, "crc: CRC")
	s = gzipSize.ReplaceAllString(s, "size: SIZE $1")
	s = gzipIn.ReplaceAllString(s, "batchSize: SIZE $1")
	return invalidTail.ReplaceAllString(s, "Found SOME invalid bytes $1")
}
