package network

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"os"

	"kz/internal/wire"
)

const (
	// Parts of at most smallPart bytes are copied behind each other, larger ones are
	// written from where they are.
	smallPart = 1 << 10

	// Ranges of files of at most smallRange bytes are read behind them as well. A range by
	// sendfile is a packet of its own, for which the reader is woken: a follower of many
	// partitions with a few records in each would be woken for each. One write of all
	// costs less, up to about twice this size (BenchmarkFetchSmall).
	smallRange = 16 << 10

	// batchSize is how much is gathered at most until it is written.
	batchSize = 64 << 10

	// copyBuffer is how much of a file is read at a time where sendfile cannot be used.
	copyBuffer = 256 << 10
)

// send writes an answer: size, header, parts; and releases the parts, whatever happens.
func (c *conn) send(h wire.RequestHeader, parts []Part) error {
	defer answer{parts: parts}.release()
	gathered, size := int64(maxHeader), int64(0)
	for i := range parts {
		size += parts[i].size()
		if parts[i].isSmall() {
			gathered += parts[i].size()
		}
	}
	out := sender{conn: c, scratch: wire.GetBuffer(int(min(gathered, batchSize)))}
	defer out.scratch.Free()
	out.batch = wire.AppendResponseHeader(append(out.scratch.B[:0], 0, 0, 0, 0), h.Key, h.Version, h.CorrelationID)
	size += int64(len(out.batch) - 4)
	if size > math.MaxInt32 {
		return fmt.Errorf("%s answer of %d bytes does not fit in a frame", wire.APIName(h.Key), size)
	}
	binary.BigEndian.PutUint32(out.batch, uint32(size))
	for i := range parts {
		if err := out.add(&parts[i]); err != nil {
			return err
		}
	}
	return out.flush(false)
}

// maxHeader is more than size and header of an answer take.
const maxHeader = 16

// isSmall says whether the part is copied behind others.
func (p *Part) isSmall() bool {
	if p.File != nil {
		return p.Length <= smallRange
	}
	return len(p.Bytes) <= smallPart
}

// sender gathers what is small until it is worth a write.
type sender struct {
	conn    *conn
	scratch *wire.Buffer
	batch   []byte      // small pieces behind each other, in scratch, not yet in pieces
	pieces  net.Buffers // what goes out before batch
	copied  int64       // bytes of files among what is gathered
}

func (o *sender) add(p *Part) error {
	n := p.size()
	fits := p.isSmall() && len(o.batch)+int(n) <= cap(o.batch)
	switch {
	case n == 0:
		return nil
	case p.File != nil && fits:
		return o.copyRange(p)
	case p.File != nil:
		if err := o.flush(true); err != nil {
			return err
		}
		if p.isSmall() {
			return o.copyRange(p)
		}
		return o.conn.sendFile(p.File, p.Offset, n)
	case fits:
		o.batch = append(o.batch, p.Bytes...)
	default:
		o.closeBatch()
		o.pieces = append(o.pieces, p.Bytes)
	}
	return nil
}

// copyRange reads a range of a file to the end of the batch, which has room for it.
func (o *sender) copyRange(p *Part) error {
	from := len(o.batch)
	o.batch = o.batch[:from+int(p.Length)]
	if k, err := p.File.ReadAt(o.batch[from:], p.Offset); k < int(p.Length) { // ReadAt says why
		if err == io.EOF {
			err = errFileShrank
		}
		return err
	}
	o.copied += p.Length
	return nil
}

// closeBatch puts the batch among the pieces; the next one follows it in scratch.
func (o *sender) closeBatch() {
	if len(o.batch) > 0 {
		o.pieces = append(o.pieces, o.batch)
		o.batch = o.batch[len(o.batch):]
	}
}

// flush writes what was gathered. more: bytes of a file follow at once.
func (o *sender) flush(more bool) error {
	o.closeBatch()
	if len(o.pieces) == 0 {
		return nil
	}
	c := o.conn
	c.writeDeadline()
	var n int64
	var err error
	switch {
	case len(o.pieces) == 1 && more && c.raw != nil:
		n, err = writeMore(c.raw, o.pieces[0])
	case len(o.pieces) == 1:
		var k int
		k, err = c.nc.Write(o.pieces[0])
		n = int64(k)
	default:
		n, err = o.pieces.WriteTo(c.nc) // writev
	}
	if err == nil {
		c.server.stats.copied.Add(o.copied)
		c.server.stats.other.Add(n - o.copied)
	}
	o.pieces, o.batch, o.copied = nil, o.scratch.B[:0], 0
	return err
}

// sendFile writes n bytes of f from offset on: inside the kernel where that works.
func (c *conn) sendFile(f *os.File, offset, n int64) error {
	if c.raw != nil {
		sent, err := c.sendfile(f, offset, n)
		c.server.stats.sendfile.Add(sent)
		if sent == n || err != errNoSendfile {
			return err
		}
		offset, n = offset+sent, n-sent
	}
	return c.copyFile(f, offset, n)
}

func (c *conn) copyFile(f *os.File, offset, n int64) error {
	buf := wire.GetBuffer(int(min(n, copyBuffer)))
	defer buf.Free()
	for n > 0 {
		b := buf.B[:min(n, int64(len(buf.B)))]
		if k, err := f.ReadAt(b, offset); k < len(b) { // ReadAt says why
			if err == io.EOF {
				err = errFileShrank
			}
			return err
		}
		c.writeDeadline()
		k, err := c.nc.Write(b)
		c.server.stats.copied.Add(int64(k))
		if err != nil {
			return err
		}
		offset, n = offset+int64(len(b)), n-int64(len(b))
	}
	return nil
}

// errFileShrank: the size of the answer was announced already, so only closing is left.
var errFileShrank = fmt.Errorf("a file became shorter while it was sent: %w", io.ErrUnexpectedEOF)
