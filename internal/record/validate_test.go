package record

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"kz/internal/kafkaerr"
)

// The order of the rules decides which of several faults a producer hears of. Each row
// breaks its own rule and all that come after it.
// Ref: Kafka 2.8 KafkaApis.handleProduceRequest, Log.analyzeAndValidateRecords, LogValidator.validateBatch
func TestFirstBrokenRuleIsAnswered(t *testing.T) {
	all := func(c *crafted) {
		c.baseOffset, c.badCRC, c.codec, c.plain = 5, true, 5, true
		c.lastOffsetDelta, c.count, c.attributes, c.producerID = -5, -1, attrControl|attrTransactional, 7
		c.records[1].keyLen, c.records[1].key, c.tail = -1, nil, []byte{1}
	}
	repair := []struct {
		rule string
		code kafkaerr.Code
		text string // in the error while the rule is broken
		fix  func(*crafted, *Rules)
	}{
		{"base offset", kafkaerr.InvalidRecord, "should be 0", func(c *crafted, r *Rules) { c.baseOffset = 0 }},
		{"size", kafkaerr.MessageTooLarge, "exceeds", func(c *crafted, r *Rules) { r.MaxMessageBytes = 1000 }},
		{"CRC", kafkaerr.CorruptMessage, "crc", func(c *crafted, r *Rules) { c.badCRC = false }},
		{"codec", kafkaerr.UnsupportedCompressionType, "codec 5", func(c *crafted, r *Rules) { c.codec = None }},
		{"offset range", kafkaerr.InvalidRecord, "offset range: [0, -5]", func(c *crafted, r *Rules) { c.lastOffsetDelta = 7 }},
		{"count", kafkaerr.InvalidRecord, "reported count", func(c *crafted, r *Rules) { c.count = 2 }},
		{"range against count", kafkaerr.InvalidRecord, "Inconsistent batch offset range [0, 7] and count of records 2", func(c *crafted, r *Rules) { c.lastOffsetDelta = 1 }},
		{"control", kafkaerr.InvalidRecord, "control records", func(c *crafted, r *Rules) { c.attributes = attrTransactional }},
		{"sequence", kafkaerr.InvalidRecord, "sequence number -1", func(c *crafted, r *Rules) { c.baseSequence = 0 }},
		{"idempotent", kafkaerr.UnsupportedForMessageFormat, "yet", func(c *crafted, r *Rules) { c.producerID = -1 }},
		{"transactional", kafkaerr.UnsupportedForMessageFormat, "yet", func(c *crafted, r *Rules) { c.attributes = 0 }},
		{"structure, before the rules for records", kafkaerr.InvalidRecord, "remaining", func(c *crafted, r *Rules) { c.tail = nil }},
		{"key", kafkaerr.InvalidRecord, "without key", func(c *crafted, r *Rules) { r.NeedKey = false }},
		{"none", kafkaerr.None, "", func(c *crafted, r *Rules) {}},
	}
	c, r := craft("a", "b").with(all), testRules()
	r.MaxMessageBytes, r.NeedKey = 10, true
	for _, row := range repair {
		b := c.bytes()
		before := bytes.Clone(b)
		_, err := ValidateAndAssign(b, 100, r)
		if kafkaerr.CodeOf(err) != row.code || err != nil && !strings.Contains(err.Error(), row.text) {
			t.Errorf("%s: %v, want %v, %q", row.rule, err, row.code, row.text)
		}
		if err != nil && !bytes.Equal(b, before) {
			t.Errorf("%s: the refused bytes were changed", row.rule)
		}
		row.fix(&c, &r)
	}
}

func TestIdempotentProducersAreRefusedByName(t *testing.T) {
	b := craft("a").with(func(c *crafted) { c.producerID, c.producerEpoch, c.baseSequence = 1, 0, 0 })
	_, err := ValidateAndAssign(b.bytes(), 0, testRules())
	if kafkaerr.CodeOf(err) != kafkaerr.UnsupportedForMessageFormat ||
		kafkaerr.MessageOf(err) != "kz does not serve idempotent or transactional producers yet" {
		t.Error(err)
	}
	r := testRules()
	r.FromClient = false
	if _, err := ValidateAndAssign(b.bytes(), 0, r); err != nil {
		t.Errorf("not from a client: %v", err)
	}
}

// Ref: Kafka 2.8 LogValidator.assignOffsetsNonCompressed, validateMessagesAndAssignOffsetsCompressed
func TestStamping(t *testing.T) {
	ts := func(deltas ...int64) func(*crafted) {
		return func(c *crafted) {
			for i, d := range deltas {
				c.records[i].timestampDelta = d
			}
		}
	}
	codec := func(c Codec) func(*crafted) { return func(x *crafted) { x.codec = c } }
	appendTime := func(r *Rules) { r.TimestampType, r.Now = LogAppendTime, 1700000000000 }
	none := func(*Rules) {}
	for _, row := range []struct {
		rule      string
		batch     crafted
		rules     func(*Rules)
		max       int64
		offset    int64
		rewritten bool
	}{
		{"as it is: the offset of the record with the greatest time", craft("a", "b", "c").with(ts(5, 9, 9)), none, baseTime + 9, 51, false},
		{"no record has a time: none", craft("a").with(func(c *crafted) { c.firstTimestamp, c.maxTimestamp = -1, -1 }), none, -1, -1, false},
		{"times below -1 count as none", craft("a").with(func(c *crafted) { c.firstTimestamp = -5 }), none, -1, -1, false},
		{"compressed: the last offset", craft("a", "b", "c").with(ts(5, 9, 0)).with(codec(LZ4)), none, baseTime + 9, 52, false},
		{"LogAppendTime: the last offset", craft("a", "b", "c"), appendTime, 1700000000000, 52, false},
		{"LogAppendTime, compressed: the last offset", craft("a", "b", "c").with(codec(Gzip)), appendTime, 1700000000000, 52, false},
		{"recompressed: the last offset", craft("a", "b", "c").with(ts(5, 9, 0)).with(codec(Snappy)), func(r *Rules) { r.Compression = "uncompressed" }, baseTime + 9, 52, true},
		{"recompressed with LogAppendTime", craft("a", "b", "c"), func(r *Rules) { appendTime(r); r.Compression = "zstd" }, 1700000000000, 52, true},
		{"a gap in a compressed batch: rebuilt", craft("a", "b", "c").with(func(c *crafted) { c.codec = Zstd; c.records[1].offsetDelta = 4; c.records[2].offsetDelta = 5 }), none, baseTime + 2, 52, true},
		{"a gap in a plain batch: as it is", craft("a", "b", "c").with(func(c *crafted) { c.records[1].offsetDelta = 4 }), none, baseTime + 2, 52, false},
	} {
		r := testRules()
		row.rules(&r)
		in := row.batch.bytes()
		v, err := ValidateAndAssign(in, 50, r)
		if err != nil {
			t.Errorf("%s: %v", row.rule, err)
			continue
		}
		b := Batch(v.Batches)
		if v.MaxTimestamp != row.max || v.OffsetOfMaxTimestamp != row.offset || v.Rewritten != row.rewritten {
			t.Errorf("%s: %+v", row.rule, v)
		}
		if v.FirstOffset != 50 || v.LastOffset != 52 && v.Count == 3 || b.BaseOffset() != 50 || b.LastOffset() != v.LastOffset || b.LeaderEpoch() != 3 {
			t.Errorf("%s: offsets %d..%d, batch %d..%d epoch %d", row.rule, v.FirstOffset, v.LastOffset, b.BaseOffset(), b.LastOffset(), b.LeaderEpoch())
		}
		if b.CheckCRC() != nil || b.MaxTimestamp() != row.max || b.IsLogAppendTime() != (r.TimestampType == LogAppendTime) {
			t.Errorf("%s: CRC %v, max timestamp %d", row.rule, b.CheckCRC(), b.MaxTimestamp())
		}
		if b.FirstTimestamp() != row.batch.firstTimestamp+row.batch.records[0].timestampDelta && row.rewritten {
			t.Errorf("%s: first timestamp %d", row.rule, b.FirstTimestamp())
		}
		if !row.rewritten && &b[0] != &in[0] {
			t.Errorf("%s: copied", row.rule)
		}
		if (v.LogAppendTime == -1) != (r.TimestampType == CreateTime) {
			t.Errorf("%s: log append time %d", row.rule, v.LogAppendTime)
		}
	}
}

// Every codec into every compression.type: the records and the producer's fields stay.
func TestRecompression(t *testing.T) {
	types := map[string]Codec{"producer": -1, "uncompressed": None, "gzip": Gzip, "snappy": Snappy, "lz4": LZ4, "zstd": Zstd}
	for source := None; source <= Zstd; source++ {
		for name, target := range types {
			w := NewBuilder(source, 0)
			w.SetProducer(4000, 3, 17, true)
			var want []Record
			for i := range 100 {
				r := Record{Offset: int64(i), Timestamp: baseTime - int64(i%7), Value: sample(i * 3)}
				if i%3 > 0 {
					r.Key, r.Headers = fmt.Appendf(nil, "key-%d", i), []Header{{"h", nil}, {"h", []byte("v")}}
				}
				want = append(want, r)
			}
			want[50].Value = bytes.Repeat([]byte("long "), 50000) // larger than the window
			for _, r := range want {
				w.AppendRecord(r)
			}
			r := testRules()
			r.FromClient, r.Compression = false, name
			v, err := ValidateAndAssign(bytes.Clone(w.Bytes()), 1000, r)
			if err != nil {
				t.Fatalf("%v into %s: %v", source, name, err)
			}
			b := Batch(v.Batches)
			if target < 0 {
				target = source
			}
			if b.Codec() != target || v.Rewritten != (source != target) || b.ProducerID() != 4000 || b.ProducerEpoch() != 3 ||
				b.BaseSequence() != 17 || !b.IsTransactional() || b.LastOffset() != 1099 || b.CheckCRC() != nil {
				t.Errorf("%v into %s: %v, %+v", source, name, b.Codec(), b[:HeaderSize])
			}
			i := 0
			for got, err := range b.Records() {
				if err != nil {
					t.Fatalf("%v into %s: record %d: %v", source, name, i, err)
				}
				w := want[i]
				if got.Offset != w.Offset+1000 || got.Timestamp != w.Timestamp || !bytes.Equal(got.Key, w.Key) || (got.Key == nil) != (w.Key == nil) ||
					!bytes.Equal(got.Value, w.Value) || len(got.Headers) != len(w.Headers) {
					t.Fatalf("%v into %s: record %d is %v", source, name, i, got)
				}
				i++
			}
			if i != len(want) {
				t.Errorf("%v into %s: %d records", source, name, i)
			}
		}
	}
}

func TestSizeIsCheckedAgainAfterRecompression(t *testing.T) {
	b := craft(strings.Repeat("x", 5000)).with(func(c *crafted) { c.codec = Gzip }).bytes()
	r := testRules()
	r.MaxMessageBytes, r.Compression = 2000, "uncompressed"
	if _, err := ValidateAndAssign(b, 0, r); !errors.Is(err, kafkaerr.MessageTooLarge) {
		t.Error(err)
	}
	r.MaxMessageBytes = HeaderSize + 5000 + 11 // record: 2 length, 1+1+1, 1+2 key, 2 value length, 1 headers
	if _, err := ValidateAndAssign(b, 0, r); err != nil {
		t.Error("exactly as large as allowed: ", err)
	}
	r.MaxMessageBytes--
	if _, err := ValidateAndAssign(b, 0, r); !errors.Is(err, kafkaerr.MessageTooLarge) {
		t.Error("one byte more than allowed: ", err)
	}
}

// Ref: Kafka 2.8 LogValidator.validateTimestamp, processRecordErrors
func TestRecordErrors(t *testing.T) {
	c := craft("a", "b", "c").with(func(c *crafted) {
		c.records[0].key, c.records[0].keyLen = nil, -1
		c.records[2].timestampDelta = 5000
	})
	r := testRules()
	r.NeedKey, r.MaxTimestampDiffMs = true, 1000
	_, err := ValidateAndAssign(c.bytes(), 0, r)
	bad := (*InvalidRecords)(nil)
	if !errors.As(err, &bad) || len(bad.Errors) != 2 || bad.Errors[0].BatchIndex != 0 || bad.Errors[1].BatchIndex != 2 {
		t.Fatalf("%v", err)
	}
	if kafkaerr.CodeOf(err) != kafkaerr.InvalidTimestamp {
		t.Errorf("one bad time makes it INVALID_TIMESTAMP, got %v", err)
	}
	late := craft("a").with(func(c *crafted) {
		c.attributes, c.codec, c.records[0].keyLen, c.records[0].key = attrLogAppendTime, LZ4, -1, nil
	})
	_, err = ValidateAndAssign(late.bytes(), 0, testRules())
	if want := "PartialDefaultRecord(offset=0, timestamp=1600000000000, key=-1 bytes, value=1 bytes)"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	far := craft("a").with(func(c *crafted) { c.firstTimestamp = math.MinInt64 })
	r.NeedKey = false
	if _, err = ValidateAndAssign(far.bytes(), 0, r); !errors.Is(err, kafkaerr.InvalidTimestamp) {
		t.Errorf("the smallest time: %v", err)
	}
	many := craft(make([]string, maxRecordErrors+5)...)
	r = testRules()
	r.MaxTimestampDiffMs = -1
	if _, err = ValidateAndAssign(many.bytes(), 0, r); !errors.As(err, &bad) || len(bad.Errors) != maxRecordErrors {
		t.Errorf("%d errors listed", len(bad.Errors))
	}
}

func TestMarkersPassUnchanged(t *testing.T) {
	b := NewMarker(Marker{Commit, 9}, 3000, 2, baseTime)
	r := testRules()
	r.FromClient, r.Compression = false, "gzip"
	v, err := ValidateAndAssign(b, 10, r)
	if err != nil || v.Rewritten {
		t.Fatal(err, v.Rewritten)
	}
	m, err := ParseMarker(Batch(v.Batches))
	if err != nil || m != (Marker{Commit, 9}) {
		t.Error(m, err)
	}
	if got := Batch(v.Batches); !got.IsControl() || !got.IsTransactional() || got.BaseSequence() != -1 || got.ProducerID() != 3000 {
		t.Errorf("% x", got)
	}
}

func TestMalformedMarkers(t *testing.T) {
	for name, kv := range map[string][2][]byte{
		"short key":         {{0, 0, 0}, {0, 0, 0, 0, 0, 0}},
		"null key":          {nil, {0, 0, 0, 0, 0, 0}},
		"negative version":  {{0xff, 0xff, 0, 1}, {0, 0, 0, 0, 0, 0}},
		"KRaft's type 2":    {{0, 0, 0, 2}, {0, 0, 0, 0, 0, 0}},
		"short value":       {{0, 0, 0, 1}, {0, 0, 0}},
		"null value":        {{0, 0, 0, 1}, nil},
		"negative, version": {{0, 0, 0, 1}, {0x80, 0, 0, 0, 0, 0}},
	} {
		w := NewBuilder(None, 0)
		w.SetControl()
		w.Append(1, kv[0], kv[1])
		if _, err := ParseMarker(Batch(w.Bytes())); !errors.Is(err, kafkaerr.InvalidRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseMarker(Batch(craft("a").bytes())); err == nil {
		t.Error("not a control batch: no error")
	}
}

// The hot path of Produce: nothing is allocated, however many records there are.
func TestValidatingAllocatesNothing(t *testing.T) {
	b, r := benchBatch(None, 100), testRules()
	n := testing.AllocsPerRun(100, func() {
		Batch(b).SetBaseOffset(0)
		if _, err := ValidateAndAssign(b, 5, r); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Ref: Kafka 2.8 Log.append, "return if we have no valid messages"
func TestNothingWhole(t *testing.T) {
	for _, b := range [][]byte{nil, craft("a").bytes()[:60]} {
		r := testRules()
		if _, err := ValidateAndAssign(b, 5, r); !errors.Is(err, kafkaerr.InvalidRecord) {
			t.Errorf("from a client: %v", err)
		}
		r.FromClient = false
		if v, err := ValidateAndAssign(b, 5, r); err != nil || len(v.Batches) != 0 || v.FirstOffset != -1 || v.Count != 0 {
			t.Errorf("not from a client: %+v, %v", v, err)
		}
	}
}
