package clustertest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"sort"
	"time"
)

// A Txn is one transaction of ZooKeeper's log, in the order in which it was applied. A multi that
// succeeded is one Txn per operation, all with the same Zxid; a failed one is a Txn of type "error".
//
// The file, as org.apache.zookeeper.server.persistence.FileTxnLog writes it, big-endian:
//
//	header    "ZKLG" | version i32 = 2 | database id i64
//	record    Adler-32 of the body i64 | length i32 | body | 'B'
//	body      session i64 | cxid i32 | zxid i64 | time i64 | type i32 | the operation
//	end       a record of length 0 (the file is preallocated with zeros)
type Txn struct {
	Zxid    int64
	At      time.Time // by ZooKeeper's clock, to the millisecond
	Session int64
	Cxid    int32  // the session's own number of the request
	Type    string // "create", "delete", "set", "check", "open-session", "close-session", "error"
	Path    string
	Data    []byte
	Version int32 // set: the version after the write; check: the version demanded
	Ephem   bool
	Err     int32 // of type "error"; a failed multi has one per operation, 0 before the bad one
	Timeout int32 // open-session: ms
}

// ReadTxnLog reads every transaction log below a ZooKeeper data directory: Apache's, or that of
// `kz zookeeper`, which keeps its files in "kz" there.
func ReadTxnLog(dataDir string) ([]Txn, error) {
	if own := filepath.Join(dataDir, "kz"); isDir(own) {
		return embeddedTxns(own)
	}
	files, err := filepath.Glob(filepath.Join(dataDir, "version-2", "log.*"))
	if err != nil {
		return nil, err
	}
	var all []Txn
	for _, f := range files {
		txns, err := readTxnFile(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		all = append(all, txns...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Zxid < all[j].Zxid })
	return all, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func readTxnFile(path string) ([]Txn, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	var head [16]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, nil // a log that was only just made
	}
	if string(head[:4]) != "ZKLG" {
		return nil, errors.New("not a ZooKeeper transaction log")
	}
	var txns []Txn
	for {
		var pre [12]byte
		if _, err := io.ReadFull(r, pre[:]); err != nil {
			return txns, nil
		}
		n := int32(binary.BigEndian.Uint32(pre[8:]))
		if n <= 0 || n > 8<<20 {
			return txns, nil
		}
		body := make([]byte, n+1)
		if _, err := io.ReadFull(r, body); err != nil {
			return txns, nil // torn by a kill
		}
		if adler32.Checksum(body[:n]) != uint32(binary.BigEndian.Uint64(pre[:])) {
			return txns, nil
		}
		got, err := parseTxn(body[:n])
		if err != nil {
			return txns, err
		}
		txns = append(txns, got...)
	}
}

// jute reads ZooKeeper's encoding; the first short read sticks in err.
type jute struct {
	b   []byte
	err error
}

func (j *jute) take(n int) []byte {
	if j.err != nil || n < 0 || n > len(j.b) {
		j.err = io.ErrUnexpectedEOF
		return make([]byte, max(n, 0)&0xff)
	}
	out := j.b[:n]
	j.b = j.b[n:]
	return out
}

func (j *jute) int() int32 {
	if b := j.take(4); j.err == nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (j *jute) long() int64 {
	if b := j.take(8); j.err == nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (j *jute) bool() bool {
	b := j.take(1)
	return j.err == nil && b[0] != 0
}

func (j *jute) bytes() []byte {
	n := j.int()
	if n < 0 {
		return nil
	}
	return j.take(int(n))
}

// The operation codes of org.apache.zookeeper.ZooDefs.OpCode that reach the log.
const (
	opCreate, opDelete, opSetData, opSetACL        = 1, 2, 5, 7
	opCheck, opMulti, opCreate2                    = 13, 14, 15
	opCreateSession, opCloseSession, opError int32 = -10, -11, -1
)

func parseTxn(b []byte) ([]Txn, error) {
	j := &jute{b: b}
	head := Txn{Session: j.long(), Cxid: j.int(), Zxid: j.long()}
	head.At = time.UnixMilli(j.long())
	kind := j.int()
	if kind != opMulti {
		t, err := parseOp(head, kind, j)
		return []Txn{t}, err
	}
	var out []Txn
	for range j.int() {
		sub := j.int()
		t, err := parseOp(head, sub, &jute{b: j.bytes()})
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, j.err
}

func parseOp(t Txn, kind int32, j *jute) (Txn, error) {
	switch kind {
	case opCreate, opCreate2:
		t.Type, t.Path, t.Data = "create", string(j.bytes()), j.bytes()
		for range j.int() { // ACL
			j.int()
			j.bytes()
			j.bytes()
		}
		t.Ephem = j.bool()
	case opDelete:
		t.Type, t.Path = "delete", string(j.bytes())
	case opSetData:
		t.Type, t.Path, t.Data, t.Version = "set", string(j.bytes()), j.bytes(), j.int()
	case opCheck:
		t.Type, t.Path, t.Version = "check", string(j.bytes()), j.int()
	case opCreateSession:
		t.Type, t.Timeout = "open-session", j.int()
	case opCloseSession:
		t.Type = "close-session"
	case opError:
		t.Type, t.Err = "error", j.int()
	case opSetACL:
		t.Type, t.Path = "set-acl", string(j.bytes())
	default:
		t.Type = fmt.Sprintf("op-%d", kind)
	}
	return t, j.err
}
