package zkrelay

import (
	"errors"
	"fmt"
	"strings"
)

// A Call is one request and what became of it. A watch event is a Call, too, with the Op "event".
type Call struct {
	Who     string // the door
	Session int64
	Xid     int32

	Op         string // as org.apache.zookeeper.ZooDefs.OpCode spells it: create, setData, multi …
	Path       string
	Data       []byte // nil is null
	Expected   int32  // setData, delete, check: the version demanded; -1 is any
	Ephemeral  bool
	Sequential bool
	ACL        string // create: "world:anyone:cdrwa", several joined by commas
	Watch      bool   // reads
	Watches    Watches
	Parts      []Call // multi

	Answered bool   // what follows is known
	Zxid     int64  // of the answer: for a write, its transaction
	Err      string // ZooKeeper's name of the error, "" for none; of a multi: its first real one
	Event    string // event: NodeCreated, NodeDeleted, NodeDataChanged, NodeChildrenChanged, or a state
}

// Watches is what setWatches arms again after a reconnect.
type Watches struct {
	Zxid               int64
	Data, Exist, Child []string
}

// The operation codes of org.apache.zookeeper.ZooDefs.OpCode.
const (
	opCreate, opDelete, opExists, opGetData, opSetData      = 1, 2, 3, 4, 5
	opGetACL, opSetACL, opGetChildren, opSync, opPing       = 6, 7, 8, 9, 11
	opGetChildren2, opCheck, opMulti, opCreate2             = 12, 13, 14, 15
	opCreateTTL, opCreateContainer, opSetAuth, opSetWatches = 21, 19, 100, 101
	opCreateSession, opCloseSession                         = -10, -11
	opError                                                 = -1
)

var opNames = map[int32]string{
	opCreate: "create", opDelete: "delete", opExists: "exists", opGetData: "getData", opSetData: "setData",
	opGetACL: "getACL", opSetACL: "setACL", opGetChildren: "getChildren", opSync: "sync",
	opGetChildren2: "getChildren2", opCheck: "check", opMulti: "multi", opCreate2: "create2",
	opCreateTTL: "createTTL", opCreateContainer: "createContainer", opSetAuth: "setAuth", opSetWatches: "setWatches",
	opCreateSession: "createSession", opCloseSession: "closeSession",
}

var errNames = map[int32]string{
	-2: "RUNTIMEINCONSISTENCY", -4: "CONNECTIONLOSS", -5: "MARSHALLINGERROR", -6: "UNIMPLEMENTED", -8: "BADARGUMENTS",
	-101: "NONODE", -102: "NOAUTH", -103: "BADVERSION", -108: "NOCHILDRENFOREPHEMERALS", -110: "NODEEXISTS",
	-111: "NOTEMPTY", -112: "SESSIONEXPIRED", -114: "INVALIDACL", -118: "SESSIONMOVED",
}

var eventNames = map[int32]string{1: "NodeCreated", 2: "NodeDeleted", 3: "NodeDataChanged", 4: "NodeChildrenChanged", -1: "None"}

// ErrName is ZooKeeper's name of an error code; "" is success.
func ErrName(code int32) string {
	if code == 0 {
		return ""
	}
	if name, ok := errNames[code]; ok {
		return name
	}
	return fmt.Sprintf("error %d", code)
}

func opName(code int32) string {
	if name, ok := opNames[code]; ok {
		return name
	}
	return fmt.Sprintf("op %d", code)
}

// request decodes the body of one operation into c.
func (c *Call) request(code int32, j *jute) {
	c.Op = opName(code)
	switch code {
	case opCreate, opCreate2, opCreateContainer, opCreateTTL:
		c.Path, c.Data, c.ACL = j.string(), j.bytes(), readACL(j)
		flags := j.int()
		c.Ephemeral, c.Sequential = flags == 1 || flags == 3, flags == 2 || flags == 3
	case opDelete, opCheck:
		c.Path, c.Expected = j.string(), j.int()
	case opSetData:
		c.Path, c.Data, c.Expected = j.string(), j.bytes(), j.int()
	case opSetACL:
		c.Path, c.ACL, c.Expected = j.string(), readACL(j), j.int()
	case opExists, opGetData, opGetChildren, opGetChildren2:
		c.Path, c.Watch = j.string(), j.bool()
	case opGetACL, opSync:
		c.Path = j.string()
	case opSetWatches:
		c.Watches = Watches{Zxid: j.long(), Data: j.strings(), Exist: j.strings(), Child: j.strings()}
	case opMulti:
		c.multi(j)
	}
}

var errNested = errors.New("a multi inside a multi")

// multi decodes operation after operation, each behind a header (type, done, error), until done.
func (c *Call) multi(j *jute) {
	for j.err == nil {
		code, done := j.int(), j.bool()
		j.int()
		if done || j.err != nil {
			return
		}
		if code == opMulti { // there is no such thing, and it would nest without end
			j.err = errNested
			return
		}
		part := Call{Who: c.Who, Session: c.Session, Xid: c.Xid}
		part.request(code, j)
		c.Parts = append(c.Parts, part)
	}
}

// answer decodes what the server said. The header of a failed multi says 0: its errors are inside.
func (c *Call) answer(zxid int64, code int32, j *jute) {
	c.Answered, c.Zxid, c.Err = true, zxid, ErrName(code)
	if c.Op != "multi" || code != 0 {
		return
	}
	for i := 0; j.err == nil; i++ {
		kind, done := j.int(), j.bool()
		j.int()
		if done || j.err != nil || i >= len(c.Parts) {
			return
		}
		part := &c.Parts[i]
		part.Answered, part.Zxid = true, zxid
		switch kind {
		case opError:
			part.Err = ErrName(j.int())
		case opCreate:
			j.string()
		case opCreate2:
			j.string()
			readStat(j)
		case opSetData:
			readStat(j)
		}
		if c.Err == "" && part.Err != "RUNTIMEINCONSISTENCY" {
			c.Err = part.Err
		}
	}
}

func readACL(j *jute) string {
	var out []string
	for range j.count() {
		perms, scheme, id := j.int(), j.string(), j.string()
		var p strings.Builder
		for i, letter := range "rwcda" { // bits 0 to 4
			if perms&(1<<i) != 0 {
				p.WriteRune(letter)
			}
		}
		letters := p.String()
		if letters == "rwcda" {
			letters = "cdrwa" // as ZooKeeper's shell prints all of them
		}
		out = append(out, scheme+":"+id+":"+letters)
	}
	return strings.Join(out, ",")
}
