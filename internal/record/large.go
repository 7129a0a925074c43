package record

// checkLarge checks a record of size bytes that does not fit the window, as parse does
// with one that fits. It keeps none of it.
func (s *stream) checkLarge(size int, f *fields) error {
	l := &largeRecord{s: s, left: size}
	*f = fields{}
	l.skip(1) // the attributes
	f.timestampDelta = l.varlong()
	f.offsetDelta = l.varint()
	f.keyLen = l.skipField()
	f.valueLen = l.skipField()
	if f.headerCount = l.varint(); f.headerCount < 0 || int(f.headerCount) > l.left {
		l.fail(errHeaderCount)
	}
	for i := int32(0); i < f.headerCount && l.err == nil; i++ {
		if l.skipField() < 0 {
			l.fail(errHeaderKeyNull)
		}
		l.skipField()
	}
	if l.left != 0 {
		l.fail(errRecordLength)
	}
	return l.err
}

// largeRecord is a cursor in a record that passes through the window. After the first
// error every step does nothing.
type largeRecord struct {
	s    *stream
	left int // bytes of the record not read yet
	err  error
}

func (l *largeRecord) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// peek makes up to n of the bytes left visible.
func (l *largeRecord) peek(n int) []byte {
	if l.err != nil {
		return nil
	}
	if err := l.s.ensure(min(n, l.left)); err != nil {
		l.err = err
		return nil
	}
	return l.s.buf[l.s.r:min(l.s.w, l.s.r+l.left)]
}

func (l *largeRecord) varlong() int64 {
	v, n := varlong(l.peek(10))
	l.take(n)
	return v
}

func (l *largeRecord) varint() int32 {
	v, n := varint(l.peek(5))
	l.take(n)
	return v
}

func (l *largeRecord) take(n int) {
	if n <= 0 {
		l.fail(errVarint)
	}
	if l.err == nil {
		l.s.r += n
		l.left -= n
	}
}

// skipField skips a nullable field; it returns its length, -1 for null.
func (l *largeRecord) skipField() int32 {
	n := l.varint()
	if n < 0 {
		return -1
	}
	l.skip(int(n))
	return n
}

func (l *largeRecord) skip(n int) {
	if n > l.left {
		l.fail(errStructure)
	}
	for n > 0 && l.err == nil {
		k := min(n, len(l.peek(1)))
		if k == 0 {
			l.fail(errTruncated)
			return
		}
		l.s.r += k
		l.left -= k
		n -= k
	}
}
