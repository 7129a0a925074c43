package record

// rewriter writes records one after another into a new compressed batch.
type rewriter struct {
	codec          Codec
	out            sink
	enc            encoder
	chunk          []byte // encoded records on their way to enc
	firstTimestamp int64
	err            error // the first one; what follows is not written
}

// rewriteChunk is how many bytes of records go to the encoder at a time.
const rewriteChunk = 32 << 10

// newRewriter starts a batch of at most limit bytes; guess is a size to begin with.
func newRewriter(c Codec, limit, guess int) *rewriter {
	w := &rewriter{codec: c, firstTimestamp: NoTimestamp}
	w.out = sink{b: make([]byte, HeaderSize, HeaderSize+guess), limit: max(limit, HeaderSize)}
	w.enc = newEncoder(c, &w.out)
	return w
}

func (w *rewriter) close() { putEncoder(w.codec, w.enc) }

// add writes f as record number index.
func (w *rewriter) add(index int32, timestamp int64, f *fields) {
	if w.err != nil {
		return
	}
	if index == 0 {
		w.firstTimestamp = timestamp
	}
	g := *f
	g.offsetDelta, g.timestampDelta = index, timestamp-w.firstTimestamp
	w.chunk = appendRecord(w.chunk, bodySize(&g), &g)
	if len(w.chunk) >= rewriteChunk {
		w.flush()
	}
}

func (w *rewriter) flush() {
	if w.err == nil {
		_, w.err = w.enc.Write(w.chunk)
	}
	if w.chunk = w.chunk[:0]; cap(w.chunk) > 4*rewriteChunk {
		w.chunk = nil // a large record passed through
	}
}

// finish closes the batch. errSinkFull says that it passed the limit.
func (w *rewriter) finish(h header) ([]byte, error) {
	w.flush()
	if w.err == nil {
		w.err = w.enc.Close()
	}
	if w.err == nil {
		w.err = w.out.err
	}
	if w.err != nil {
		return nil, w.err
	}
	h.firstTimestamp = w.firstTimestamp
	writeHeader(w.out.b, h)
	return w.out.b, nil
}
