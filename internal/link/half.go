package link

import (
	"net"
	"os"
	"sync"
	"time"
)

// half is one direction of a faultConn: out is filled by Write and emptied by pumpOut, in
// is filled by pumpIn and emptied by Read.
type half struct {
	writer bool // this is out: the deadline is the filling side's

	mu      sync.Mutex // guards what follows; held for a copy at most
	changed sync.Cond  // any of it changed
	row     row
	frames  tracker
	slow    bool // a queue and a pump exist
	queue   []chunk
	size    int   // bytes in queue
	err     error // what comes after the queue; set once
	closed  bool  // by our side
	by      deadline
	wake    *time.Timer // broadcasts when the first chunk is due
}

// chunk is bytes that may pass at due and not before.
type chunk struct {
	bytes []byte
	due   time.Time
}

// faultQueue is how many bytes a direction holds back before its filling side waits.
const faultQueue = 1 << 20

// enqueue takes p in. fast says that the direction never had a fault and p passes as it
// is; otherwise a copy of what is not dropped is in the queue. start is called, once and
// under the lock, when the direction becomes slow.
func (h *half) enqueue(p []byte, start func()) (fast bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.slow && h.err == nil && !h.closed && h.row.clean() {
		h.frames.observe(p)
		return true, nil
	}
	if err := h.waitForRoom(); err != nil {
		return false, err
	}
	if b := h.frames.filter(p, h.row.armed()); len(b) > 0 {
		h.queue = append(h.queue, chunk{b, time.Now().Add(h.row.delay)})
		h.size += len(b)
	}
	if !h.slow {
		h.slow = true
		start()
	}
	h.changed.Broadcast()
	return false, nil
}

func (h *half) waitForRoom() error {
	for {
		switch {
		case h.closed:
			return net.ErrClosed
		case h.err != nil:
			return h.err
		case h.writer && h.by.passed:
			return os.ErrDeadlineExceeded
		case h.size < faultQueue:
			return nil
		}
		h.changed.Wait()
	}
}

// next waits for bytes that may pass: as much of them as fits p, or a whole chunk when p
// is nil.
func (h *half) next(p []byte) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.closed && !h.draining():
			return nil, net.ErrClosed
		case !h.writer && h.by.passed:
			return nil, os.ErrDeadlineExceeded
		case h.row.cut:
		case len(h.queue) == 0 && h.err != nil:
			return nil, h.err
		case len(h.queue) > 0:
			wait := time.Until(h.queue[0].due)
			if wait <= 0 {
				return h.pop(p), nil
			}
			h.wakeIn(wait)
		}
		h.changed.Wait()
	}
}

// pop takes from a queue that is not empty. The caller holds mu.
func (h *half) pop(p []byte) []byte {
	c := &h.queue[0]
	b := c.bytes
	if p != nil {
		b = p[:copy(p, c.bytes)]
	}
	h.size -= len(b)
	if c.bytes = c.bytes[len(b):]; len(c.bytes) == 0 {
		h.queue = h.queue[1:]
	}
	h.changed.Broadcast()
	return b
}

func (h *half) wakeIn(d time.Duration) {
	if h.wake == nil {
		h.wake = time.AfterFunc(d, func() { h.change(func() {}) })
		return
	}
	h.wake.Reset(d)
}

// draining says that closing waits for the queue. The caller holds mu.
func (h *half) draining() bool {
	return h.writer && h.slow && len(h.queue) > 0 && h.err == nil && !h.row.cut
}

// close is our side's Close; it reports whether the pump goes on until the queue is empty.
func (h *half) close() (draining bool) {
	h.change(func() {
		h.closed = true
		draining = h.draining()
		h.by.set(h, time.Time{})
	})
	return draining
}

// end says what comes after the queue.
func (h *half) end(err error) {
	h.change(func() {
		if h.err == nil {
			h.err = err
		}
	})
}

// breakWith is end, at once: what is in the queue is lost.
func (h *half) breakWith(err error) {
	h.change(func() { h.err, h.queue, h.size, h.row = err, nil, 0, row{} })
}

// reason is err, or what really broke the direction.
func (h *half) reason(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && h.err != nil {
		return h.err
	}
	return err
}

func (h *half) isSlow() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.slow
}

func (h *half) setRow(r row) { h.change(func() { h.row = r }) }

// setDeadline sets the queue's deadline, and with direct also that of the connection under
// it, as long as its reads or writes are the caller's own and not a pump's.
func (h *half) setDeadline(t time.Time, direct func(time.Time) error) (err error) {
	h.change(func() {
		h.by.set(h, t)
		if !h.slow {
			err = direct(t)
		}
	})
	return err
}

func (h *half) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.changed.Broadcast()
}

// clean says that the row asks nothing of bytes.
func (r *row) clean() bool { return !r.cut && r.delay == 0 && !r.armed() }

// armed says that some frame may have to disappear.
func (r *row) armed() bool {
	for _, d := range r.drops {
		if d.left.Load() > 0 {
			return true
		}
	}
	return false
}

// take uses up one of the row's drops for a frame; nil when there is none.
func (r *row) take(key int16, answer bool) *drop {
	for _, d := range r.drops {
		if d.Key == key && d.Answer == answer && d.left.Add(-1) >= 0 {
			return d
		}
	}
	return nil
}
