package zkserver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"kz/internal/journal"
)

// open recovers the state from the directory: the newest snapshot, then the logs from
// there on. Then it begins a new epoch with a snapshot and a log of its own, so that a
// start never appends to a file of another one.
func (s *Server) open() error {
	if s.cfg.Dir == "" {
		s.nextEpoch()
		return nil
	}
	dir := dataDir{s.cfg.Dir}
	if err := os.MkdirAll(dir.path, 0o700); err != nil {
		return err
	}
	lock, err := lockDir(dir.path)
	if err != nil {
		return err
	}
	s.lock = lock
	st, cut, err := recoverState(dir)
	if err != nil {
		return errors.Join(err, s.closeFiles())
	}
	for _, c := range cut {
		text := fmt.Sprintf("%s: its last %d bytes are a write that was not finished and never answered: cut off", c.file, c.bytes)
		s.cfg.Log.Warn().Msg(text)
		s.cfg.Journal.Emit(journal.Event{Kind: journal.Recovery, Source: "zookeeper", Text: text})
	}
	s.state = st
	s.nextEpoch()
	if err := s.snapshot(); err != nil {
		return errors.Join(err, s.closeFiles())
	}
	return nil
}

func (s *Server) closeFiles() error {
	var err error
	if s.log != nil && s.log.file != nil {
		err = s.log.file.Close()
		s.log.file = nil
	}
	s.lock.release()
	return err
}

// snapshot writes the state and goes on in a new log. Clients wait meanwhile: the tree of
// a Kafka is a few megabytes.
func (s *Server) snapshot() error {
	dir, fsync := dataDir{s.cfg.Dir}, !s.cfg.NoFsync
	// The log first: a snapshot without its log could be taken for one whose log was lost.
	file, err := os.OpenFile(dir.log(s.zxid), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(encodeLogHeader(s.zxid, s.logged))
	if err == nil && fsync {
		err = file.Sync()
	}
	if err == nil {
		err = dir.replace(dir.snapshot(s.zxid), s.encodeSnapshot(), fsync)
	}
	if err == nil {
		err = dir.sync(fsync)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if s.log != nil {
		s.log.file.Close()
	}
	s.log = &wal{dir: dir, begins: s.zxid, file: file, fsync: fsync, most: s.cfg.SnapshotEvery, written: logHeader}
	return dir.purge(s.cfg.SnapshotsKept)
}

// tornTail is what recovery has cut off a log.
type tornTail struct {
	file  string
	bytes int
}

// recoverState reads what the directory holds. It changes nothing but the torn end of the
// last log that was written, which it cuts off, so that it does not stand in the middle
// of things at the next start.
func recoverState(dir dataDir) (*state, []tornTail, error) {
	snapshots, logs, err := dir.list()
	if err != nil {
		return nil, nil, err
	}
	st := newState()
	from := int64(-1)
	if n := len(snapshots); n > 0 {
		from = snapshots[n-1]
		name := dir.snapshot(from)
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		if st, err = decodeSnapshot(b); err != nil {
			return nil, nil, &errCorrupt{name, 0, err.Error()}
		}
		if st.zxid != from {
			return nil, nil, &errCorrupt{name, 0, fmt.Sprintf("it is the snapshot of zxid %#x", st.zxid)}
		}
	}
	var cut []tornTail
	for i, z := range logs {
		if z < from {
			continue
		}
		torn, err := replayLog(dir, st, z, i == len(logs)-1)
		if err != nil {
			return nil, nil, err
		}
		if torn > 0 {
			cut = append(cut, tornTail{dir.log(z), torn})
		}
	}
	return st, cut, nil
}

// replayLog applies one log file. Only the last one may have a torn end.
func replayLog(dir dataDir, st *state, zxid int64, last bool) (torn int, err error) {
	name := dir.log(zxid)
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	bad := func(at int, what string) error { return &errCorrupt{name, int64(at), what} }
	if len(b) < logHeader || string(b[:8]) != logMagic {
		if last && bytes.HasPrefix(encodeLogHeader(zxid, st.logged), b) {
			return 0, nil // killed while the file was made: nothing was ever written to it
		}
		if bytes.HasPrefix(b, []byte(logMagic[:7])) {
			return 0, fmt.Errorf("%s was written by another version of kz, which this one does not read: move the directory away to begin with an empty ZooKeeper", name)
		}
		return 0, bad(0, "it does not begin as a log")
	}
	if at := int64(binary.BigEndian.Uint64(b[16:])); at != st.logged {
		return 0, bad(16, fmt.Sprintf("it continues at write %#x, but the last one before it is %#x: a log is missing", at, st.logged))
	}
	at := logHeader
	for at < len(b) {
		frame := nextFrame(b[at:])
		if frame == nil {
			break
		}
		if err := st.replayFrame(frame); err != nil {
			return 0, bad(at, err.Error())
		}
		at += len(frame)
	}
	if at == len(b) {
		return 0, nil
	}
	// What is left is torn, unless something whole comes after it: that was written, and
	// so made durable, later than this, which then was durable too and has been damaged.
	if next := findFrame(b[at+1:]); next >= 0 || !last {
		return 0, bad(at, "a write cannot be read, and later ones are there")
	}
	return len(b) - at, os.Truncate(name, int64(at))
}

// findFrame looks for a whole frame anywhere in b.
func findFrame(b []byte) int {
	magic := binary.BigEndian.AppendUint32(nil, frameMagic)
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], magic)
		if i < 0 {
			return -1
		}
		at += i
		if nextFrame(b[at:]) != nil {
			return at
		}
	}
}
