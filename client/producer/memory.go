package producer

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"kz/internal/kafkaerr"
)

// memory counts buffer.memory. Waiters are served first come, first served, so that
// a large batch is not starved by small ones. Mirrors BufferPool, which also keeps
// the buffers; ours are kept with their batches (batchPool).
type memory struct {
	mu        sync.Mutex // guards what follows; never held while waiting
	available int
	waiters   []*waiter
	closed    bool
	onWait    func() // tells the senders that lingering batches must go now
}

type waiter struct {
	size    int
	granted chan struct{} // closed when the bytes are the waiter's, or the producer closed
}

// reserve takes n bytes, waiting until they are there or ctx ends.
func (m *memory) reserve(ctx context.Context, n int) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	if len(m.waiters) == 0 && m.available >= n {
		m.available -= n
		m.mu.Unlock()
		return nil
	}
	w := &waiter{size: n, granted: make(chan struct{})}
	m.waiters = append(m.waiters, w)
	m.mu.Unlock()
	m.onWait()
	select {
	case <-w.granted:
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.waiters, w); i >= 0 { // still waiting: nothing was taken
		m.waiters = slices.Delete(m.waiters, i, i+1)
		if m.closed {
			return ErrClosed
		}
		m.grant()
		return kafkaerr.New(kafkaerr.RequestTimedOut, fmt.Sprintf("Failed to allocate %d bytes within the configured max blocking time.", n))
	}
	return nil
}

// release gives n bytes back.
func (m *memory) release(n int) {
	m.mu.Lock()
	m.available += n
	m.grant()
	m.mu.Unlock()
}

// grant serves waiters in their order while there is enough. m.mu is held.
func (m *memory) grant() {
	for len(m.waiters) > 0 && m.waiters[0].size <= m.available && !m.closed {
		w := m.waiters[0]
		m.waiters = slices.Delete(m.waiters, 0, 1)
		m.available -= w.size
		close(w.granted)
	}
}

// exhausted says whether somebody waits: then every batch is ready to be sent.
func (m *memory) exhausted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiters) > 0
}

// close wakes everybody who waits, with ErrClosed.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.closed = true
	for _, w := range m.waiters {
		close(w.granted)
	}
}
