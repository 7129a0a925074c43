package record

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// goldenCase is one topic of the capture: what was produced, what Kafka 2.8.2
// answered, and the log afterwards.
type goldenCase struct {
	Case  string
	Steps []struct {
		What    string
		Version int16
		Code    string
		Base    int64
		Message *string
		Errors  []struct {
			RelativeOffset int32
			ErrorMessage   string
		}
	}
	Log []map[string]any
}

// produced is every record set of the capture, by its name there.
func produced() map[string][]byte {
	good := craft("a", "b")
	set := func(f func(*crafted)) []byte { return good.with(f).bytes() }
	one := func(f func(*crafted)) []byte { return craft("a").with(f).bytes() }
	noKey := func(c *crafted) { c.records[1].key, c.records[1].keyLen = nil, -1 }
	m := map[string][]byte{
		"2 records": good.bytes(), "0 bytes": {}, "two batches": append(craft("a").bytes(), craft("b").bytes()...),
		"magic 0": oldMessage(0), "magic 1": oldMessage(1),
		"magic 3":                       one(func(c *crafted) { c.magic = 3 }),
		"bad CRC":                       one(func(c *crafted) { c.badCRC = true }),
		"batch cut by 3 bytes":          good.bytes()[:len(good.bytes())-3],
		"40 bytes of a batch":           good.bytes()[:40],
		"10 bytes of a batch":           good.bytes()[:10],
		"batch and 5 bytes":             append(good.bytes(), 1, 2, 3, 4, 5),
		"batch and 40 zero bytes":       append(good.bytes(), make([]byte, 40)...),
		"batchLength 70 too small":      set(func(c *crafted) { c.addToLen = -70 }),
		"baseOffset 5":                  one(func(c *crafted) { c.baseOffset = 5 }),
		"baseOffset -1":                 one(func(c *crafted) { c.baseOffset = -1 }),
		"lastOffsetDelta 5, 2 records":  set(func(c *crafted) { c.lastOffsetDelta = 5 }),
		"lastOffsetDelta 0, 2 records":  set(func(c *crafted) { c.lastOffsetDelta = 0 }),
		"lastOffsetDelta -1, 2 records": set(func(c *crafted) { c.lastOffsetDelta = -1 }),
		"count 3, 2 records":            set(func(c *crafted) { c.count, c.lastOffsetDelta = 3, 2 }),
		"count 1, 2 records":            set(func(c *crafted) { c.count, c.lastOffsetDelta = 1, 0 }),
		"no records":                    craft().bytes(),
		"count -1":                      one(func(c *crafted) { c.count = -1 }),
		"offset deltas 0, 7":            set(func(c *crafted) { c.records[1].offsetDelta = 7 }),
		"offset deltas 0, 7, gzip":      set(func(c *crafted) { c.records[1].offsetDelta = 7; c.codec = Gzip }),
		"3 bytes after the last record": one(func(c *crafted) { c.tail = []byte{1, 2, 3} }),
		"control bit":                   one(func(c *crafted) { c.attributes = attrControl }),
		"control and transactional": one(func(c *crafted) {
			c.attributes = attrControl | attrTransactional
			c.producerID, c.producerEpoch = 900001000, 0
		}),
		"LogAppendTime bit":                    one(func(c *crafted) { c.attributes = attrLogAppendTime }),
		"attribute bit 6":                      one(func(c *crafted) { c.attributes = 0x40 }),
		"codec 5":                              one(func(c *crafted) { c.codec = 5 }),
		"not compressed":                       good.bytes(),
		"not compressed in v6":                 good.bytes(),
		"record of 2000 bytes":                 craft(strings.Repeat("x", 2000)).bytes(),
		"2 small records":                      good.bytes(),
		"second record without key":            set(noKey),
		"gzip, second record without key":      set(func(c *crafted) { noKey(c); c.codec = Gzip }),
		"with keys":                            good.bytes(),
		"timestamps of 2020":                   good.bytes(),
		"timestamp -1":                         one(func(c *crafted) { c.firstTimestamp, c.maxTimestamp = -1, -1 }),
		"timestamp -5":                         one(func(c *crafted) { c.firstTimestamp, c.maxTimestamp = -5, -5 }),
		"maxTimestamp 998 too high":            set(func(c *crafted) { c.maxTimestamp = baseTime + 999 }),
		"leader epoch 77":                      one(func(c *crafted) { c.leaderEpoch = 77 }),
		"batch exactly max.message.bytes long": craft("aaaa").bytes(), "one byte longer": craft("aaaaa").bytes(),
	}
	flipped := craft("hello").bytes()
	flipped[len(flipped)-2] ^= 1
	m["one bit flipped"] = flipped
	for c, name := range codecNames {
		m[name] = set(func(b *crafted) { b.codec = Codec(c) })
		m[fmt.Sprintf("codec %d, data not compressed", c)] = one(func(b *crafted) { b.codec, b.plain = Codec(c), true })
	}
	m["zstd in v6"], m["zstd in v3"] = m["zstd"], m["zstd"]
	return m
}

// topicRules are the configs the capture's topic had.
var topicRules = map[string]func(*Rules){
	"topic-gzip-producer-none":                 func(r *Rules) { r.Compression = "gzip" },
	"topic-uncompressed-producer-gzip":         func(r *Rules) { r.Compression = "uncompressed" },
	"topic-lz4-producer-gzip":                  func(r *Rules) { r.Compression = "lz4" },
	"topic-zstd-old-produce-and-fetch":         func(r *Rules) { r.Compression = "zstd" },
	"too-large":                                func(r *Rules) { r.MaxMessageBytes = 1000 },
	"max-message-bytes-counts-the-whole-batch": func(r *Rules) { r.MaxMessageBytes = len(craft("aaaa").bytes()) },
	"compacted-null-key":                       func(r *Rules) { r.NeedKey = true },
	"compacted-null-key-gzip":                  func(r *Rules) { r.NeedKey = true },
	"timestamp-too-old":                        func(r *Rules) { r.MaxTimestampDiffMs = 1000 },
	"log-append-time-topic":                    func(r *Rules) { r.TimestampType = LogAppendTime },
}

// otherCode is where kz answers something else than Kafka (docs/divergence.md), or where
// Kafka's answer comes from a check before the log.
var otherCode = map[string]string{
	"offset deltas 0, 7, gzip":     "NONE",                         // an exception while rebuilding, in Kafka
	"codec 5":                      "UNSUPPORTED_COMPRESSION_TYPE", // an exception, in Kafka
	"codec 1, data not compressed": "INVALID_RECORD",               // an exception, in Kafka
	"codec 2, data not compressed": "INVALID_RECORD",
	"codec 3, data not compressed": "INVALID_RECORD",
	"codec 4, data not compressed": "INVALID_RECORD",
	"control and transactional":    "INVALID_RECORD", // Kafka: authorization of the transactional id comes first
}

// Ref: Kafka 2.8 LogValidator, Log.analyzeAndValidateRecords, ProduceRequest.validateRecords
func TestAnswersOfRealKafka(t *testing.T) {
	file, err := os.Open("testdata/produce-answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sets := produced()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	cases := 0
	for ; lines.Scan(); cases++ {
		var c goldenCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.Case, func(t *testing.T) { checkCase(t, c, sets) })
	}
	if cases < 40 {
		t.Errorf("only %d cases", cases)
	}
}

func checkCase(t *testing.T, c goldenCase, sets map[string][]byte) {
	rules := testRules()
	rules.Now, rules.LeaderEpoch, rules.Partition = 1700000000000, 0, topic.Partition{Topic: "$t"}
	if change := topicRules[c.Case]; change != nil {
		change(&rules)
	}
	next := int64(0)
	var log []map[string]any
	for _, step := range c.Steps {
		set, ok := sets[step.What]
		if !ok {
			t.Fatalf("no record set %q", step.What)
		}
		err := CheckProduce(step.Version, set)
		var v Validated
		if err == nil {
			v, err = ValidateAndAssign(append([]byte(nil), set...), next, rules)
		}
		want := step.Code
		if other := otherCode[step.What]; other != "" {
			want = other
		}
		if got := kafkaerr.CodeOf(err).Name(); got != want {
			t.Fatalf("%s v%d: %v, want %s", step.What, step.Version, err, want)
		}
		if want != step.Code {
			return
		}
		if err == nil {
			if v.FirstOffset != step.Base {
				t.Errorf("%s: base offset %d, want %d", step.What, v.FirstOffset, step.Base)
			}
			log = append(log, shown(t, Batch(v.Batches)))
			next = v.LastOffset + 1
			continue
		}
		if step.Version < 8 {
			continue // no messages
		}
		message := ""
		if step.Message != nil {
			message = *step.Message
		}
		if got := kafkaerr.MessageOf(err); got != message {
			t.Errorf("%s: message %q, want %q", step.What, got, message)
		}
		var got []string
		if bad := (*InvalidRecords)(nil); errors.As(err, &bad) {
			for _, e := range bad.Errors {
				got = append(got, fmt.Sprint(e.BatchIndex, " ", strings.NewReplacer("1699999999000", "TIME", "1700000001000", "TIME").Replace(e.Message)))
			}
		}
		for i, e := range step.Errors {
			if s := fmt.Sprint(e.RelativeOffset, " ", e.ErrorMessage); i >= len(got) || got[i] != s {
				t.Errorf("%s: record errors %q, want %q", step.What, got, s)
			}
		}
		if len(got) != len(step.Errors) {
			t.Errorf("%s: %d record errors, want %d", step.What, len(got), len(step.Errors))
		}
	}
	for i, b := range log {
		if !reflect.DeepEqual(b, c.Log[i]) {
			t.Errorf("stored batch %d\n%v, want\n%v", i, b, c.Log[i])
		}
	}
}

// shown prints a stored batch as the capture does, as JSON would read it.
func shown(t *testing.T, b Batch) map[string]any {
	t.Helper()
	if err := b.CheckCRC(); err != nil {
		t.Error(err)
	}
	num := func(v int64) any {
		if v > baseTime+10000000000 {
			return "TIME"
		}
		return float64(v)
	}
	text := func(v []byte) any {
		switch {
		case v == nil:
			return nil
		case len(v) > 60:
			return fmt.Sprintf("(%d bytes)", len(v))
		}
		return string(v)
	}
	records := []any{}
	w, err := newWalker(b, true)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for w.left > 0 {
		var f fields
		if err := w.next(&f); err != nil {
			t.Fatal(err)
		}
		records = append(records, map[string]any{"timestampDelta": num(f.timestampDelta), "offsetDelta": num(int64(f.offsetDelta)), "key": text(f.key), "value": text(f.value)})
	}
	m := map[string]any{"baseOffset": num(b.BaseOffset()), "length": num(int64(binary.BigEndian.Uint32(b[8:]))), "leaderEpoch": num(int64(b.LeaderEpoch())),
		"magic": num(int64(b.Magic())), "crc": "ok", "attributes": num(int64(b.Attributes())), "lastOffsetDelta": num(int64(b.LastOffsetDelta())),
		"firstTimestamp": num(b.FirstTimestamp()), "maxTimestamp": num(b.MaxTimestamp()), "producerId": num(b.ProducerID()),
		"producerEpoch": num(int64(b.ProducerEpoch())), "baseSequence": num(int64(b.BaseSequence())), "count": num(int64(b.Count())), "records": records}
	if b.Codec() != None {
		m["length"] = "(compressed)"
	}
	return m
}
