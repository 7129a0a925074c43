package cli

import (
	"encoding/binary"
	"fmt"
	"os"

	"kz/internal/record"
)

// batchFile reads a segment one batch at a time, from any position. Nothing it reads
// is trusted: a size is compared with what is left of the file before memory is taken.
// Mirrors FileLogInputStream.
type batchFile struct {
	*os.File
	size     int64
	position int64 // of the next batch
	buf      []byte
}

const (
	upToMagic   = 17 // offset, size, leader epoch or CRC, magic
	minOverhead = 14 // the smallest record of any format, without the 12 bytes before it
)

func openBatches(name string) (*batchFile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &batchFile{File: f, size: info.Size()}, nil
}

// next returns the batch at the position and where it is, or nil where no whole batch
// follows. The batch is valid until the next call.
func (f *batchFile) next() (record.Batch, int64, error) {
	at := f.position
	var head [upToMagic]byte
	if at >= f.size-upToMagic {
		return nil, at, nil
	}
	if _, err := f.ReadAt(head[:], at); err != nil {
		return nil, at, err
	}
	body := int64(int32(binary.BigEndian.Uint32(head[8:])))
	if body < minOverhead {
		return nil, at, fmt.Errorf("Found record size %d smaller than minimum record overhead (%d) in file %s.", body, minOverhead, f.Name())
	}
	whole := body + record.LogOverhead
	if at > f.size-whole {
		return nil, at, nil
	}
	if magic := int8(head[16]); magic != record.Magic2 {
		return nil, at, fmt.Errorf("%s: the batch at position %d has format %d; kz reads format 2 only", f.Name(), at, magic)
	}
	if whole < record.HeaderSize {
		return nil, at, fmt.Errorf("%s: the batch at position %d is %d bytes long, shorter than its header", f.Name(), at, whole)
	}
	if int64(cap(f.buf)) < whole {
		f.buf = make([]byte, whole)
	}
	f.buf = f.buf[:whole]
	if _, err := f.ReadAt(f.buf, at); err != nil {
		return nil, at, err
	}
	f.position += whole
	return record.Batch(f.buf), at, nil
}

// at reads the batch at a position, if it ends before position+limit.
func (f *batchFile) at(position int64, limit int) (record.Batch, error) {
	g := &batchFile{File: f.File, size: min(f.size, position+int64(limit)), position: position}
	if position < 0 || position > f.size {
		return nil, fmt.Errorf("position %d lies outside %s (%d bytes)", position, f.Name(), f.size)
	}
	b, _, err := g.next()
	return b, err
}
