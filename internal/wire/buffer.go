package wire

import (
	"math/bits"
	"sync"
)

// Buffers of the pool have sizes of 2^minClass to 2^maxClass bytes; larger ones are
// allocated and left to the garbage collector, so that one giant request does not stay.
const (
	minClass = 10 // 1 KiB
	maxClass = 24 // 16 MiB
)

// pools[i] holds *Buffer of 2^(minClass+i) bytes.
var pools [maxClass - minClass + 1]sync.Pool

// Buffer is pooled memory. Whoever holds it may use B until Free, and must not after.
type Buffer struct {
	B     []byte // len: as asked for; cap: the class's size
	class int    // index in pools, -1: not pooled
}

// GetBuffer returns a buffer with len(B) == n. Its content is whatever was there before.
func GetBuffer(n int) *Buffer {
	class := max(bits.Len(uint(max(n, 1)-1))-minClass, 0)
	if class >= len(pools) {
		return &Buffer{B: make([]byte, n), class: -1}
	}
	if b, ok := pools[class].Get().(*Buffer); ok {
		b.B = b.B[:n]
		return b
	}
	return &Buffer{B: make([]byte, n, 1<<(minClass+class)), class: class}
}

// Free gives the memory back. A nil Buffer may be freed.
func (b *Buffer) Free() {
	if b == nil || b.class < 0 {
		return
	}
	b.B = b.B[:cap(b.B)]
	pools[b.class].Put(b)
}
