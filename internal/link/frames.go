package link

import (
	"encoding/binary"
	"sync"
)

// tracker follows the frames of one direction of a connection: int32 size, then that many
// bytes (package wire draws them). It delays nothing while nobody wants a frame dropped.
// On a stream that is not framed so it gives up and lets everything pass.
type tracker struct {
	head [12]byte // the beginning of the frame: size, and what decide needs
	want int      // how much of head decide needs: 12 for requests, 8 for answers
	have int      // how much of head has come
	sent int      // how much of head was let through before the decision
	left int      // bytes of the frame behind head that are still to come
	drop bool     // this frame is being dropped
	lost bool     // not frames

	// decide is told what is in head behind the size, once for each frame, and whether the
	// frame can still be dropped: not when some of it has passed.
	decide func(head []byte, droppable bool) (drop bool)
}

// observe follows b, which passes whole.
func (t *tracker) observe(b []byte) { t.follow(nil, b, false) }

// filter returns what of b passes, together with what it held back before: while a drop
// is armed, the beginning of a frame waits until it can be judged.
func (t *tracker) filter(b []byte, armed bool) []byte {
	return t.follow(make([]byte, 0, len(b)+len(t.head)), b, armed)
}

func (t *tracker) follow(out, b []byte, hold bool) []byte {
	pass := func(b []byte) {
		if out != nil && !t.drop {
			out = append(out, b...)
		}
	}
	for len(b) > 0 {
		switch {
		case t.lost:
			pass(b)
			return out
		case t.have < t.want:
			n := copy(t.head[t.have:t.want], b)
			t.have += n
			b = b[n:]
			if t.have == t.want {
				t.judge()
			}
			if t.have == t.want || t.lost || !hold {
				pass(t.head[t.sent:t.have])
				t.sent = t.have
			}
		default:
			n := min(t.left, len(b))
			pass(b[:n])
			t.left -= n
			b = b[n:]
		}
		if t.have == t.want && t.left == 0 { // the next frame begins
			t.have, t.sent, t.drop = 0, 0, false
		}
	}
	return out
}

// judge looks at a complete head.
func (t *tracker) judge() {
	size := int(int32(binary.BigEndian.Uint32(t.head[:])))
	if size < t.want-4 {
		t.lost = true
		return
	}
	t.left = size - (t.want - 4)
	t.drop = t.decide(t.head[4:t.want], t.sent == 0)
}

// calls remembers which API each unanswered request of a connection asked, because an
// answer does not say it. Answers come in the order of the requests; a request without an
// answer (acks=0) is forgotten when a later one is answered.
type calls struct {
	mu   sync.Mutex
	sent []call
}

type call struct {
	id  int32
	key int16
}

// maxCalls bounds what a stream that never answers can make us remember.
const maxCalls = 4096

func (c *calls) add(id int32, key int16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sent) == maxCalls {
		c.sent = append(c.sent[:0], c.sent[1:]...)
	}
	c.sent = append(c.sent, call{id, key})
}

func (c *calls) take(id int32) (key int16, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, x := range c.sent {
		if x.id == id {
			c.sent = append(c.sent[:0], c.sent[i+1:]...)
			return x.key, true
		}
	}
	return 0, false
}
