package zkserver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
)

// The log is what makes an answer true after a crash. It is our own format, not
// ZooKeeper's. A file log.<zxid> begins where the snapshot of that zxid ends:
//
//	 0– 7 magic     "KZZKLOG2"
//	 8–15 zxid      of the snapshot that this file follows
//	16–23 logged    the last zxid that is in the log before this file
//	24–   frames
//
// A frame is what one batch wrote and one fsync covered; it counts whole or not at all:
//
//	 0– 3 magic     0x4b5a5458, "KZTX"
//	 4– 7 length    of what follows byte 11
//	 8–11 CRC-32C   of bytes 4–7 and of all that follows byte 11
//	12–   writes    one after the other:
//	        long zxid, long time (ms since 1970), long session that asked (0: the server
//	        itself), int count, and that many mutations
//
// A mutation is int op and what that op needs (encodeMutation). The checks of a multi are
// among them: they change nothing, and tell a reader under which condition the rest was
// written. Integers are big-endian, strings and buffers as on the wire.

const (
	logMagic    = "KZZKLOG2"
	logHeader   = 24
	frameMagic  = 0x4b5a5458
	frameHeader = 12
	// largestFrame is far above what a batch can be: its requests stop at batchBytes, and
	// the last of them may be a session's end with all its ephemerals.
	largestFrame = 256 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// wal is the log as it is written. A nil wal keeps nothing: a server in memory.
type wal struct {
	dir     dataDir
	begins  int64 // the zxid in the file's name
	file    *os.File
	fsync   bool
	buf     encoder // the frame being collected, header included
	writes  int     // since the last snapshot
	most    int     // so many ask for a snapshot
	written int64   // bytes in file
}

// append collects what a write has changed.
func (w *wal) append(t *txn) {
	if w == nil {
		return
	}
	if len(w.buf.b) == 0 {
		w.buf.b = append(w.buf.b, make([]byte, frameHeader)...)
	}
	w.buf.long(t.zxid)
	w.buf.long(t.time)
	w.buf.long(t.by)
	w.buf.int(int32(len(t.changes)))
	for _, c := range t.changes {
		encodeMutation(&w.buf, c.mutation)
	}
	w.writes++
}

// pending is how many bytes wait for flush.
func (w *wal) pending() int {
	if w == nil {
		return 0
	}
	return len(w.buf.b)
}

// due says whether it is time for a snapshot.
func (w *wal) due() bool { return w != nil && w.writes >= w.most }

// flush writes the frame and waits until the disk has it. After an error the log must
// not be written again: what is on disk is unknown.
func (w *wal) flush() error {
	if w == nil || len(w.buf.b) == 0 {
		return nil
	}
	sealFrame(w.buf.b)
	n, err := w.file.Write(w.buf.b)
	w.written += int64(n)
	if err == nil && w.fsync {
		err = w.file.Sync()
	}
	if w.buf.b = w.buf.b[:0]; cap(w.buf.b) > batchBytes {
		w.buf.b = nil
	}
	return err
}

// sealFrame fills in the header of a frame.
func sealFrame(frame []byte) {
	binary.BigEndian.PutUint32(frame, frameMagic)
	binary.BigEndian.PutUint32(frame[4:], uint32(len(frame)-frameHeader))
	binary.BigEndian.PutUint32(frame[8:], frameSum(frame))
}

func frameSum(frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(frame[4:8], castagnoli), castagnoli, frame[frameHeader:])
}

// nextFrame returns the frame that b begins with, header included, or nil when there is
// no whole one.
func nextFrame(b []byte) []byte {
	if len(b) < frameHeader || binary.BigEndian.Uint32(b) != frameMagic {
		return nil
	}
	n := binary.BigEndian.Uint32(b[4:])
	if n > largestFrame || int(n) > len(b)-frameHeader {
		return nil
	}
	frame := b[:frameHeader+int(n)]
	if binary.BigEndian.Uint32(b[8:]) != frameSum(frame) {
		return nil
	}
	return frame
}

func encodeLogHeader(zxid, logged int64) []byte {
	e := encoder{[]byte(logMagic)}
	e.long(zxid)
	e.long(logged)
	return e.b
}

func encodeMutation(e *encoder, m mutation) {
	e.int(int32(m.op))
	switch m.op {
	case opCreate:
		e.string(m.path)
		e.buffer(m.data)
		e.acls(m.acl)
		e.int(int32(m.kind))
		e.long(m.owner)
	case opDelete:
		e.string(m.path)
	case opSetData:
		e.string(m.path)
		e.buffer(m.data)
	case opSetACL:
		e.string(m.path)
		e.acls(m.acl)
	case opCheck:
		e.string(m.path)
		e.int(m.version)
	case opCreateSession:
		e.long(m.owner)
		e.int(m.timeout)
		e.buffer(m.password)
	case opCloseSession:
		e.long(m.owner)
	}
}

func decodeMutation(d *decoder) mutation {
	m := mutation{op: opCode(d.int())}
	switch m.op {
	case opCreate:
		m.path, m.data, m.acl, m.kind, m.owner = d.string(), d.buffer(), d.acls(), nodeKind(d.int()), d.long()
		m.acl = shareACL(m.acl)
	case opDelete:
		m.path = d.string()
	case opSetData:
		m.path, m.data = d.string(), d.buffer()
	case opSetACL:
		m.path, m.acl = d.string(), shareACL(d.acls())
	case opCheck:
		m.path, m.version = d.string(), d.int()
	case opCreateSession:
		m.owner, m.timeout, m.password = d.long(), d.int(), d.buffer()
	case opCloseSession:
		m.owner = d.long()
	}
	return m
}

// errCorrupt is what recovery refuses to go on with.
type errCorrupt struct {
	file string
	at   int64
	what string
}

func (e *errCorrupt) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %s. Nothing was changed. Restore the directory from a copy, or move it away to begin with an empty ZooKeeper", e.file, e.at, e.what)
}

// replayFrame applies the writes of one frame that the state does not have yet.
func (st *state) replayFrame(frame []byte) error {
	d := &decoder{b: frame[frameHeader:]}
	for len(d.b) > 0 {
		zxid, time := d.long(), d.long()
		d.long() // who asked
		count := d.count(4)
		known := zxid <= st.logged
		for range count {
			m := decodeMutation(d)
			if d.bad {
				return errors.New("a write cannot be read")
			}
			if known {
				continue
			}
			if wrong := st.applicable(m); wrong != "" {
				return fmt.Errorf("write %#x %s: %q", zxid, wrong, m.path)
			}
			st.apply(m, zxid, time)
		}
		if d.bad {
			return errors.New("a write cannot be read")
		}
		if !known {
			st.zxid, st.logged = max(st.zxid, zxid), zxid
		}
	}
	return nil
}
