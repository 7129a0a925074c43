package answers

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// good is what a well-behaved producer sends.
var good = newBatch("a", "b").bytes()

// gzipped is the same, compressed.
var gzipped = func() batch { b := newBatch("a", "b"); b.attrs = 1; return b }()

// large is a record of 2000 bytes.
var large = newBatch(strings.Repeat("x", 2000)).bytes()

var badCRC = func() []byte { b := newBatch("a"); b.badCRC = true; return b.bytes() }()

// req is one Produce of records, which the recorded request calls what.
type req struct {
	v       int16
	acks    int
	records []byte
	what    string
}

// produce adds a case that makes one Produce after the other and then shows the whole log.
func produce(name string, configs []string, reqs ...req) {
	add("produce/"+name, func(t *T) {
		t.topic("t", nil, configs...)
		for _, r := range reqs {
			t.bin[r.what] = r.records
			t.conn("leader").do("Produce", r.v, produceText(r.acks, r.what))
		}
		show(t)
	})
}

func produceText(acks int, what string) string {
	return fmt.Sprintf(`{"Acks":%d,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Records":"@%s"}]}]}`, acks, what)
}

func show(t *T) {
	t.settle()
	t.conn("leader").do("Fetch", 11, fetchAll)
}

// registerProduce: how many records of which format, whole or broken.
func registerProduce() {
	produce("acks-all", nil, req{8, -1, good, "2 records"}, req{8, -1, good, "2 records"})
	produce("acks-1", nil, req{8, 1, good, "2 records"})
	produce("acks-2", nil, req{2, 2, message(1, 0, 0, baseTime, nil, []byte("a")), "1 message"}, req{8, 2, good, "2 records"})
	produce("acks-minus-2", nil, req{8, -2, good, "2 records"})
	produce("empty-record-set", nil, req{2, -1, []byte{}, "0 bytes"}, req{3, -1, []byte{}, "0 bytes"}, req{8, -1, []byte{}, "0 bytes"}, req{9, -1, []byte{}, "0 bytes"})
	add("produce/null-record-set", func(t *T) {
		t.topic("t", nil)
		for _, v := range []int16{2, 3, 8, 9} {
			// Two failures race inside the broker: sometimes the error is answered, sometimes the connection is closed.
			p := t.conn("leader").send("Produce", v, `{"Acks":-1,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Records":null}]}]}`)
			if !serves("Produce", v) {
				p.get()
				continue
			}
			b, err := p.c.readFrame(patience)
			ok := err == errClosed
			if err == nil {
				r, _, _ := decode(p.req, p.corr, b)
				ok = r.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode == -1
			}
			t.note("leader", "Produce", v, p.text, obj{{"UNKNOWN_SERVER_ERROR or connection closed", ok}})
		}
	})
	two := append(newBatch("a").bytes(), newBatch("b").bytes()...)
	produce("two-batches-in-v3", nil, req{3, -1, two, "two batches"}, req{8, -1, two, "two batches"}, req{2, -1, two, "two magic 2 batches in v2"})
	produce("magic-1-in-v3", nil, req{3, -1, message(1, 0, 0, baseTime, nil, []byte("a")), "magic 1"}, req{8, -1, message(0, 0, 0, 0, nil, []byte("a")), "magic 0"})
	produce("magic-2-in-v2", nil, req{2, -1, good, "magic 2"}, req{0, -1, good, "magic 2"})
	produce("magic-0-in-v2", nil, req{2, -1, message(0, 0, 0, 0, []byte("k"), []byte("a")), "magic 0"})
	produce("magic-1-in-v0", nil, req{0, -1, message(1, 0, 0, baseTime, []byte("k"), []byte("a")), "magic 1"})
	produce("mixed-magic-0-and-1", nil, req{2, -1, append(message(0, 0, 0, 0, nil, []byte("a")), message(1, 1, 0, baseTime, nil, []byte("b"))...), "magic 0 then 1"})
	m3 := newBatch("a")
	m3.magic = 3
	produce("magic-3", nil, req{8, -1, m3.bytes(), "magic 3"})
	produce("bad-crc", nil, req{8, -1, badCRC, "bad CRC"}, req{3, -1, badCRC, "bad CRC"})
	oldCRC := message(1, 0, 0, baseTime, nil, []byte("a"))
	oldCRC[12] ^= 1
	produce("bad-crc-magic-1", nil, req{2, -1, oldCRC, "bad CRC magic 1"})
	flipped := newBatch("hello").bytes()
	flipped[len(flipped)-2] ^= 1
	produce("flipped-bit", nil, req{8, -1, flipped, "one bit flipped"})
	short := newBatch("a", "b").bytes()
	produce("cut-batch", nil, req{8, -1, short[:len(short)-3], "batch cut by 3 bytes"}, req{8, -1, short[:40], "40 bytes of a batch"}, req{8, -1, short[:10], "10 bytes of a batch"}, req{2, -1, message(1, 0, 0, baseTime, nil, []byte("abcdef"))[:30], "cut magic 1"})
	produce("batch-then-garbage", nil, req{8, -1, append(append([]byte{}, good...), 1, 2, 3, 4, 5), "batch and 5 bytes"}, req{8, -1, append(append([]byte{}, good...), make([]byte, 40)...), "batch and 40 zero bytes"})
}

// registerProduceFields: single fields of a batch that are wrong or unusual.
func registerProduceFields() {
	lo := newBatch("a", "b")
	lo.lengthOff = -70
	produce("length-field-too-small", nil, req{8, -1, lo.bytes(), "batchLength 70 too small"})
	bo := newBatch("a")
	bo.base = 5
	produce("base-offset-not-0", nil, req{8, -1, bo.bytes(), "baseOffset 5"})
	bo2 := newBatch("a")
	bo2.base = -1
	produce("base-offset-negative", nil, req{8, -1, bo2.bytes(), "baseOffset -1"})
	ld := newBatch("a", "b")
	ld.lastDelta = ptr(int32(5))
	produce("last-offset-delta-too-big", nil, req{8, -1, ld.bytes(), "lastOffsetDelta 5, 2 records"})
	ld2 := newBatch("a", "b")
	ld2.lastDelta = ptr(int32(0))
	produce("last-offset-delta-too-small", nil, req{8, -1, ld2.bytes(), "lastOffsetDelta 0, 2 records"})
	ld3 := newBatch("a", "b")
	ld3.lastDelta = ptr(int32(-1))
	produce("last-offset-delta-negative", nil, req{8, -1, ld3.bytes(), "lastOffsetDelta -1, 2 records"})
	n3 := newBatch("a", "b")
	n3.count, n3.lastDelta = ptr(int32(3)), ptr(int32(2))
	produce("count-more-than-records", nil, req{8, -1, n3.bytes(), "count 3, 2 records"})
	n1 := newBatch("a", "b")
	n1.count, n1.lastDelta = ptr(int32(1)), ptr(int32(0))
	produce("count-less-than-records", nil, req{8, -1, n1.bytes(), "count 1, 2 records"})
	n0 := newBatch()
	produce("count-0", nil, req{8, -1, n0.bytes(), "no records"})
	nn := newBatch("a")
	nn.count = ptr(int32(-1))
	produce("count-negative", nil, req{8, -1, nn.bytes(), "count -1"})
	od := newBatch("a", "b")
	od.recs[1].offset = ptr(7)
	od.lastDelta = ptr(int32(1))
	produce("offset-deltas-with-gap", nil, req{8, -1, od.bytes(), "offset deltas 0, 7"})
	odc := od
	odc.attrs = 1
	produce("offset-deltas-with-gap-gzip", nil, req{8, -1, odc.bytes(), "offset deltas 0, 7, gzip"})
	tl := newBatch("a")
	tl.tail = []byte{1, 2, 3}
	produce("bytes-after-last-record", nil, req{8, -1, tl.bytes(), "3 bytes after the last record"})
	ctl := newBatch("a")
	ctl.attrs = 0x20
	produce("control-bit", nil, req{8, -1, ctl.bytes(), "control bit"})
	ctl2 := newBatch("a").producer(900001000, 0, -1)
	ctl2.attrs = 0x30
	produce("control-and-transactional-bits", nil, req{8, -1, ctl2.bytes(), "control and transactional"})
	lat := newBatch("a")
	lat.attrs = 8
	produce("log-append-time-bit-from-client", nil, req{8, -1, lat.bytes(), "LogAppendTime bit"})
	unk := newBatch("a")
	unk.attrs = 0x40
	produce("attribute-bit-6", nil, req{8, -1, unk.bytes(), "attribute bit 6"})
	c5 := newBatch("a")
	c5.attrs = 5
	produce("codec-5", nil, req{8, -1, c5.bytes(), "codec 5"})
}

// registerProduceCodecs: compression of producer and topic, and wrappers of the old formats.
func registerProduceCodecs() {
	sn, lz, zs := gzipped, gzipped, gzipped
	sn.attrs, lz.attrs, zs.attrs = 2, 3, 4
	produce("gzip", nil, req{8, -1, gzipped.bytes(), "gzip"})
	produce("snappy", nil, req{8, -1, sn.bytes(), "snappy"})
	produce("lz4", nil, req{8, -1, lz.bytes(), "lz4"})
	produce("zstd", nil, req{7, -1, zs.bytes(), "zstd"}, req{9, -1, zs.bytes(), "zstd"}, req{6, -1, zs.bytes(), "zstd in v6"}, req{3, -1, zs.bytes(), "zstd in v3"})
	add("produce/codec-bit-with-plain-data", func(t *T) {
		t.topic("t", nil)
		for codec := int16(1); codec <= 4; codec++ {
			b := newBatch("a").bytes()
			b[22] = byte(codec)
			b = fixCRC(b)
			what := fmt.Sprintf("codec %d, data not compressed", codec)
			t.bin[what] = b
			t.conn("leader").do("Produce", 8, produceText(-1, what))
		}
		show(t)
	})
	produce("topic-gzip-producer-none", []string{"compression.type=gzip"}, req{8, -1, good, "not compressed"})
	produce("topic-uncompressed-producer-gzip", []string{"compression.type=uncompressed"}, req{8, -1, gzipped.bytes(), "gzip"})
	produce("topic-lz4-producer-gzip", []string{"compression.type=lz4"}, req{8, -1, gzipped.bytes(), "gzip"})
	produce("topic-zstd-old-produce-and-fetch", []string{"compression.type=zstd"}, req{6, -1, good, "not compressed in v6"}, req{2, -1, message(1, 0, 0, baseTime, nil, []byte("a")), "magic 1"})
	add("produce/zstd-read-by-old-fetch", func(t *T) {
		t.topic("t", nil)
		t.produce(t.vars["t"], 0, zs.bytes())
		for _, v := range []int16{1, 3, 4, 9, 10} {
			t.conn("leader").do("Fetch", v, fetchAll)
		}
	})
	wrap := func(magic int8, codec int8, wrapperOffset int64, inner ...int64) []byte {
		var set []byte
		for i, o := range inner {
			set = append(set, message(magic, o, 0, baseTime+int64(i), []byte(fmt.Sprint("k", i)), []byte(fmt.Sprint("v", i)))...)
		}
		return message(magic, wrapperOffset, codec, baseTime+int64(len(inner)-1), nil, compress(codec, set))
	}
	produce("wrapper-magic-1-gzip", []string{}, req{2, -1, wrap(1, 1, 1, 0, 1), "magic 1 gzip wrapper, inner 0 1"}, req{2, -1, wrap(1, 1, 7, 5, 7), "magic 1 gzip wrapper, inner 5 7"})
	produce("wrapper-magic-0-gzip", []string{}, req{1, -1, wrap(0, 1, 1, 0, 1), "magic 0 gzip wrapper"})
	produce("wrapper-magic-1-gzip-format-0.10", []string{"message.format.version=0.10.2"}, req{2, -1, wrap(1, 1, 1, 0, 1), "magic 1 gzip wrapper, inner 0 1"}, req{2, -1, wrap(1, 1, 2, 0, 1), "magic 1 gzip wrapper, wrapper offset 2"}, req{8, -1, good, "magic 2 batch"})
	produce("wrapper-and-plain-message", []string{"message.format.version=0.10.2"}, req{2, -1, append(wrap(1, 1, 1, 0, 1), message(1, 2, 0, baseTime, nil, []byte("x"))...), "wrapper then plain message"}, req{2, -1, append(wrap(1, 1, 1, 0, 1), wrap(1, 1, 1, 0, 1)...), "two wrappers"})
	produce("wrapper-nested", []string{"message.format.version=0.10.2"}, req{2, -1, message(1, 0, 1, baseTime, nil, compress(1, wrap(1, 1, 0, 0))), "wrapper in wrapper"})
}

// registerProduceRules: what a topic's configs demand of records.
func registerProduceRules() {
	produce("format-0.9", []string{"message.format.version=0.9.0"}, req{8, -1, good, "magic 2 batch"}, req{2, -1, message(1, 0, 0, baseTime, nil, []byte("x")), "magic 1"}, req{1, -1, message(0, 0, 0, 0, nil, []byte("y")), "magic 0"})
	idem := newBatch("a").producer(900001001, 0, 0)
	produce("idempotent-into-old-format", []string{"message.format.version=0.10.2"}, req{8, -1, idem.bytes(), "idempotent batch"}, req{8, -1, newBatch("a").producer(900001001, 0, 0).txn().bytes(), "transactional batch"})
	hd := newBatch("a")
	hd.recs[0].headers = [][2]string{{"h", "v"}, {"h", "w"}}
	produce("headers-into-old-format", []string{"message.format.version=0.10.2"}, req{8, -1, hd.bytes(), "with headers"})

	produce("too-large", []string{"max.message.bytes=1000"}, req{8, -1, large, "record of 2000 bytes"}, req{2, -1, message(1, 0, 0, baseTime, nil, []byte(strings.Repeat("x", 2000))), "message of 2000 bytes"}, req{8, -1, good, "2 small records"})
	exact := newBatch("aaaa").bytes()
	produce("max-message-bytes-counts-the-whole-batch", []string{fmt.Sprintf("max.message.bytes=%d", len(exact))}, req{8, -1, exact, "batch exactly max.message.bytes long"}, req{8, -1, newBatch("aaaaa").bytes(), "one byte longer"})
	produce("larger-than-segment", []string{"segment.bytes=1000", "max.message.bytes=100000"}, req{8, -1, large, "record of 2000 bytes"})
	nk := newBatch("a", "b")
	nk.recs[1].key = nil
	produce("compacted-null-key", []string{"cleanup.policy=compact"}, req{8, -1, nk.bytes(), "second record without key"}, req{7, -1, nk.bytes(), "second record without key"}, req{2, -1, message(1, 0, 0, baseTime, nil, []byte("x")), "message without key"}, req{8, -1, good, "with keys"})
	nkg := nk
	nkg.attrs = 1
	produce("compacted-null-key-gzip", []string{"cleanup.policy=compact"}, req{8, -1, nkg.bytes(), "gzip, second record without key"})
	produce("timestamp-too-old", []string{"message.timestamp.difference.max.ms=1000"}, req{8, -1, good, "timestamps of 2020"}, req{7, -1, good, "timestamps of 2020"}, req{2, -1, message(1, 0, 0, baseTime, nil, []byte("x")), "message of 2020"}, req{2, -1, message(1, 0, 0, -1, nil, []byte("x")), "message with timestamp -1"})
	nots := newBatch("a")
	nots.firstTs = -1
	produce("timestamp-minus-1", nil, req{8, -1, nots.bytes(), "timestamp -1"}, req{2, -1, message(1, 0, 0, -1, nil, []byte("x")), "message with timestamp -1"}, req{1, -1, message(0, 0, 0, 0, nil, []byte("x")), "magic 0, no timestamp"})
	neg := newBatch("a")
	neg.firstTs = -5
	produce("timestamp-minus-5", nil, req{8, -1, neg.bytes(), "timestamp -5"}, req{2, -1, message(1, 0, 0, -5, nil, []byte("x")), "message with timestamp -5"})
	mx := newBatch("a", "b")
	mx.maxTs = ptr(int64(baseTime + 999))
	produce("max-timestamp-wrong", nil, req{8, -1, mx.bytes(), "maxTimestamp 998 too high"})
	produce("log-append-time-topic", []string{"message.timestamp.type=LogAppendTime"}, req{8, -1, good, "2 records"}, req{8, -1, gzipped.bytes(), "gzip"})
	produce("leader-epoch-from-client", nil, req{8, -1, func() []byte { b := newBatch("a"); b.leaderEpoch = 77; return b.bytes() }(), "leader epoch 77"})
}

// registerProduceRequests: partitions and acks of the request.
func registerProduceRequests() {
	add("produce/min-insync-4-of-3", func(t *T) {
		t.topic("t", nil, "min.insync.replicas=4")
		t.bin["2 records"] = good
		for _, acks := range []int{-1, 1} {
			for _, v := range []int16{3, 8} {
				t.conn("leader").do("Produce", v, produceText(acks, "2 records"))
			}
		}
		show(t)
	})
	add("produce/acks-all-timeout-0", func(t *T) {
		t.topic("t", nil)
		t.bin["2 records"] = good
		r := t.conn("leader").send("Produce", 8, `{"Acks":-1,"TimeoutMillis":0,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Records":"@2 records"}]}]}`).quiet().(*kmsg.ProduceResponse)
		t.note("leader", "Produce", 8, "timeout 0, acks -1", obj{{"ErrorCode is NONE or REQUEST_TIMED_OUT", r.Topics[0].Partitions[0].ErrorCode == 0 || r.Topics[0].Partitions[0].ErrorCode == 7}})
		show(t)
	})
	add("produce/unknown-topic-and-partition", func(t *T) {
		t.topic("t", nil)
		t.unique("u")
		t.bin["2 records"] = good
		c := t.conn("leader")
		for _, v := range []int16{2, 8, 9} {
			if v == 2 {
				t.bin["2 records"] = oldest(2, "a", "b")
			} else {
				t.bin["2 records"] = good
			}
			c.do("Produce", v, `{"Acks":-1,"TimeoutMillis":5000,"Topics":[{"Topic":"$u","Partitions":[{"Partition":0,"Records":"@2 records"}]},{"Topic":"$t","Partitions":[{"Partition":5,"Records":"@2 records"},{"Partition":0,"Records":"@2 records"},{"Partition":-1,"Records":"@2 records"}]}]}`)
		}
		c.do("Produce", 8, `{"Acks":-1,"TimeoutMillis":5000,"Topics":[]}`)
		c.do("Produce", 8, `{"Acks":-1,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[]}]}`)
		c.do("Produce", 8, `{"Acks":-1,"TimeoutMillis":5000,"Topics":[{"Topic":"a b","Partitions":[{"Partition":0,"Records":"@2 records"}]}]}`)
		c.do("Produce", 8, `{"Acks":-1,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Records":"@2 records"},{"Partition":0,"Records":"@2 records"}]}]}`)
		c.do("Metadata", 4, `{"Topics":[{"Topic":"$u"}],"AllowAutoTopicCreation":false}`)
	})
	add("produce/not-leader", func(t *T) {
		t.topic("t", nil)
		t.topic("elsewhere", [][]int32{{2, 3}})
		t.bin["2 records"] = good
		for _, acks := range []int{-1, 1} {
			t.conn("follower").do("Produce", 8, produceText(acks, "2 records"))
		}
		t.conn("leader").do("Produce", 8, `{"Acks":-1,"TimeoutMillis":5000,"Topics":[{"Topic":"$elsewhere","Partitions":[{"Partition":0,"Records":"@2 records"}]}]}`)
	})
	add("produce/all-replicas-on-missing-brokers", func(t *T) {
		noLeader(t)
		t.bin["2 records"] = good
		t.conn("leader").do("Produce", 8, `{"Acks":-1,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Records":"@2 records"}]}]}`)
	})
	add("produce/internal-topic", func(t *T) {
		t.bin["2 records"] = good
		t.conn("leader").do("Produce", 8, `{"Acks":-1,"TimeoutMillis":5000,"Topics":[{"Topic":"__consumer_offsets","Partitions":[{"Partition":0,"Records":"@2 records"}]},{"Topic":"__transaction_state","Partitions":[{"Partition":0,"Records":"@2 records"}]}]}`)
	})
	for _, x := range []struct{ name, to, text string }{
		{"good", "leader", oneAcks0}, {"not-leader", "follower", oneAcks0}, {"unknown-topic", "leader", strings.ReplaceAll(oneAcks0, "$t", "$t-missing")},
	} {
		add("produce/acks-0-"+x.name, func(t *T) {
			t.topic("t", nil)
			t.bin["2 records"] = good
			c := t.conn(x.to)
			p := c.send("Produce", 8, x.text)
			p.getWithin(700 * time.Millisecond)
			c2 := c.send("Metadata", 1, `{"Topics":[]}`)
			c2.getWithin(700 * time.Millisecond)
			if x.name == "good" {
				show(t)
			}
		})
	}
	add("produce/acks-0-bad-crc-and-too-large", func(t *T) {
		t.topic("t", nil, "max.message.bytes=1000")
		t.bin["bad CRC"], t.bin["too large"] = badCRC, large
		for _, w := range []string{"bad CRC", "too large"} {
			c := t.conn("leader")
			c.send("Produce", 8, strings.ReplaceAll(oneAcks0, "2 records", w)).getWithin(700 * time.Millisecond)
		}
	})
	add("produce/transactional-id-set-but-batch-not-transactional", func(t *T) {
		t.topic("t", nil)
		t.unique("x")
		t.bin["2 records"] = good
		t.conn("leader").do("Produce", 8, `{"TransactionID":"$x","Acks":-1,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Records":"@2 records"}]}]}`)
	})
	add("produce/transactional-acks-1", func(t *T) {
		t.topic("t", nil)
		t.unique("x")
		t.set("pid", 900001777)
		t.bin["transactional"] = newBatch("a").producer(900001777, 0, 0).txn().bytes()
		t.bin["idempotent"] = newBatch("a").producer(900001778, 0, 0).bytes()
		c := t.conn("leader")
		c.do("Produce", 8, `{"TransactionID":"$x","Acks":1,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Records":"@transactional"}]}]}`)
		c.do("Produce", 8, `{"Acks":1,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Records":"@idempotent"}]}]}`)
		c.do("Produce", 8, `{"TransactionID":null,"Acks":-1,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Records":"@transactional"}]}]}`)
	})
}

const oneAcks0 = `{"Acks":0,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Records":"@2 records"}]}]}`
