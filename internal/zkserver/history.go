package zkserver

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"
)

// A Change is one thing that a write has done, as the log has it. The changes of one write
// have one zxid.
type Change struct {
	Zxid      int64
	At        time.Time // to the millisecond
	Session   int64     // that asked; of createSession the new one; 0: the server itself
	Op        string    // "create", "setData", "setACL", "delete", "check"; "createSession", "closeSession"
	Path      string    // "" for sessions
	Data      []byte    // of create and setData
	Version   int32     // of check: the one that was demanded
	Ephemeral bool      // of create
	Timeout   int32     // of createSession, in ms
}

// History reads the logs of a data directory whose server does not run or has nothing to
// write: every change since the oldest log that was kept, in the order in which they
// happened. A torn last write is left out.
func History(path string) ([]Change, error) {
	dir := dataDir{path}
	_, logs, err := dir.list()
	if err != nil {
		return nil, err
	}
	var all []Change
	for _, z := range logs {
		b, err := os.ReadFile(dir.log(z))
		if err != nil {
			return nil, err
		}
		if len(b) < logHeader {
			continue // made, and never written to
		}
		for b = b[logHeader:]; ; {
			frame := nextFrame(b)
			if frame == nil {
				break
			}
			changes, err := changesIn(frame)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", dir.log(z), err)
			}
			all = append(all, changes...)
			b = b[len(frame):]
		}
	}
	return all, nil
}

func changesIn(frame []byte) (out []Change, err error) {
	d := &decoder{b: frame[frameHeader:]}
	for len(d.b) > 0 && !d.bad {
		zxid, at, by, count := d.long(), time.UnixMilli(d.long()), d.long(), d.count(4)
		for range count {
			m := decodeMutation(d)
			c := Change{Zxid: zxid, At: at, Session: by, Op: m.op.String(), Path: m.path, Data: m.data, Version: m.version, Timeout: m.timeout}
			c.Ephemeral = m.op == opCreate && m.kind == ephemeral
			if m.op == opCreateSession {
				c.Session = m.owner
			}
			out = append(out, c)
		}
	}
	if d.bad {
		return nil, fmt.Errorf("a write of %d bytes cannot be read", binary.BigEndian.Uint32(frame[4:]))
	}
	return out, nil
}
