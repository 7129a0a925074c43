package answers

import (
	"fmt"
)

func registerIdempotence() {
	step := func(t *T, c *conn, what string, b batch) {
		t.bin[what] = b.bytes()
		c.do("Produce", 8, produceText(-1, what))
	}
	type s struct {
		what string
		b    batch
	}
	const p = 900000100
	seq := func(epoch int16, first int32, n int) batch {
		v := make([]string, n)
		for i := range v {
			v[i] = fmt.Sprint("s", first+int32(i))
		}
		return newBatch(v...).producer(p, epoch, first)
	}
	run := func(name string, steps ...s) {
		add("idempotence/"+name, func(t *T) {
			t.topic("t", nil)
			t.set("pid", p)
			c := t.conn("leader")
			for _, x := range steps {
				step(t, c, x.what, x.b)
			}
		})
	}
	run("in-order", s{"epoch 0 seq 0..1", seq(0, 0, 2)}, s{"epoch 0 seq 2..2", seq(0, 2, 1)})
	run("gap", s{"epoch 0 seq 0..1", seq(0, 0, 2)}, s{"epoch 0 seq 3..3", seq(0, 3, 1)}, s{"epoch 0 seq 2..2", seq(0, 2, 1)})
	run("unknown-producer-starts-in-the-middle", s{"epoch 0 seq 17..18", seq(0, 17, 2)}, s{"epoch 0 seq 19..19", seq(0, 19, 1)})
	run("unknown-producer-epoch-5", s{"epoch 5 seq 3..3", seq(5, 3, 1)})
	run("duplicate-last", s{"epoch 0 seq 0..1", seq(0, 0, 2)}, s{"epoch 0 seq 2..2", seq(0, 2, 1)}, s{"epoch 0 seq 2..2 again", seq(0, 2, 1)}, s{"epoch 0 seq 0..1 again", seq(0, 0, 2)})
	run("duplicate-sixth-last",
		s{"epoch 0 seq 0", seq(0, 0, 1)}, s{"epoch 0 seq 1", seq(0, 1, 1)}, s{"epoch 0 seq 2", seq(0, 2, 1)}, s{"epoch 0 seq 3", seq(0, 3, 1)}, s{"epoch 0 seq 4", seq(0, 4, 1)}, s{"epoch 0 seq 5", seq(0, 5, 1)},
		s{"epoch 0 seq 1 again", seq(0, 1, 1)}, s{"epoch 0 seq 0 again", seq(0, 0, 1)})
	run("duplicate-part-of-a-batch", s{"epoch 0 seq 0..3", seq(0, 0, 4)}, s{"epoch 0 seq 0..1", seq(0, 0, 2)}, s{"epoch 0 seq 2..3", seq(0, 2, 2)}, s{"epoch 0 seq 3..4", seq(0, 3, 2)})
	run("duplicate-with-other-content", s{"epoch 0 seq 0..1", seq(0, 0, 2)}, s{"epoch 0 seq 0..1, other values", newBatch("other", "values").producer(p, 0, 0)})
	run("stale-epoch", s{"epoch 1 seq 0", seq(1, 0, 1)}, s{"epoch 0 seq 1", seq(0, 1, 1)}, s{"epoch 0 seq 0", seq(0, 0, 1)})
	run("newer-epoch", s{"epoch 0 seq 0..1", seq(0, 0, 2)}, s{"epoch 1 seq 2", seq(1, 2, 1)}, s{"epoch 1 seq 0", seq(1, 0, 1)}, s{"epoch 0 seq 0..1 again", seq(0, 0, 2)})
	run("negative-sequence", s{"epoch 0 seq -1", seq(0, -1, 1)}, s{"epoch 0 seq -2", seq(0, -2, 1)})
	run("negative-epoch", s{"epoch -1 seq 0", seq(-1, 0, 1)})
	run("sequence-wraps", s{"epoch 0 seq 2147483646..2147483647", seq(0, 2147483646, 2)}, s{"epoch 0 seq 0", seq(0, 0, 1)}, s{"epoch 0 seq 1", seq(0, 1, 1)})
	run("sequence-wraps-inside-a-batch", s{"epoch 0 seq 2147483647, 0", seq(0, 2147483647, 2)}, s{"epoch 0 seq 1", seq(0, 1, 1)})
	run("sequence-without-producer-id", s{"pid -1 seq 5", newBatch("x").producer(-1, -1, 5)}, s{"pid -1 epoch 3 seq 0", newBatch("x").producer(-1, 3, 0)})
	run("not-transactional-during-transaction", s{"transactional seq 0", seq(0, 0, 1).txn()}, s{"not transactional seq 1", seq(0, 1, 1)}, s{"transactional seq 1", seq(0, 1, 1).txn()})
	run("transactional-without-sequence", s{"transactional seq -1", seq(0, -1, 1).txn()}, s{"transactional without pid", newBatch("a").txn()})
	add("idempotence/duplicate-after-delete-records", func(t *T) {
		t.topic("t", nil)
		t.set("pid", p)
		c := t.conn("leader")
		step(t, c, "epoch 0 seq 0..1", seq(0, 0, 2))
		c.do("DeleteRecords", 1, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":-1}]}]}`)
		step(t, c, "epoch 0 seq 0..1 again", seq(0, 0, 2))
		step(t, c, "epoch 0 seq 5", seq(0, 5, 1))
		step(t, c, "epoch 0 seq 2", seq(0, 2, 1))
	})
	add("idempotence/log-append-time-duplicate", func(t *T) {
		t.topic("t", nil, "message.timestamp.type=LogAppendTime")
		t.set("pid", p)
		c := t.conn("leader")
		step(t, c, "epoch 0 seq 0..1", seq(0, 0, 2))
		step(t, c, "epoch 0 seq 0..1 again", seq(0, 0, 2))
	})
}
