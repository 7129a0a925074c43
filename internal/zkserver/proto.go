package zkserver

import "strconv"

// opCode is the kind of a request, as on the wire.
type opCode int32

const (
	opCreate               opCode = 1
	opDelete               opCode = 2
	opExists               opCode = 3
	opGetData              opCode = 4
	opSetData              opCode = 5
	opGetACL               opCode = 6
	opSetACL               opCode = 7
	opGetChildren          opCode = 8
	opSync                 opCode = 9
	opPing                 opCode = 11
	opGetChildren2         opCode = 12
	opCheck                opCode = 13
	opMulti                opCode = 14
	opCreate2              opCode = 15
	opReconfig             opCode = 16
	opCheckWatches         opCode = 17
	opRemoveWatches        opCode = 18
	opCreateContainer      opCode = 19
	opCreateTTL            opCode = 21
	opMultiRead            opCode = 22
	opAuth                 opCode = 100
	opSetWatches           opCode = 101
	opGetEphemerals        opCode = 103
	opGetAllChildrenNumber opCode = 104
	opSetWatches2          opCode = 105
	opAddWatch             opCode = 106
	opWhoAmI               opCode = 107
	opCreateSession        opCode = -10 // only in our log
	opCloseSession         opCode = -11
	opError                opCode = -1 // only in answers to a multi
)

// opWords are the names that the four-letter word "cons" and the journal show.
var opWords = map[opCode]struct{ short, long string }{
	opCreate: {"CREA", "create"}, opCreate2: {"CREA", "create"}, opCreateContainer: {"CREA", "createContainer"}, opCreateTTL: {"CREA", "createTTL"},
	opDelete: {"DELE", "delete"}, opSetData: {"SETD", "setData"}, opSetACL: {"SETA", "setACL"}, opCheck: {"CHEC", "check"},
	opMulti: {"MULT", "multi"}, opReconfig: {"RECO", "reconfig"}, opCloseSession: {"CLOS", "closeSession"}, opCreateSession: {"SESS", "createSession"},
	opExists: {"EXIS", "exists"}, opGetData: {"GETD", "getData"}, opGetACL: {"GETA", "getACL"}, opGetChildren: {"GETC", "getChildren"},
	opGetChildren2: {"GETC", "getChildren2"}, opSync: {"SYNC", "sync"}, opPing: {"PING", "ping"}, opMultiRead: {"MLTR", "multiRead"},
	opSetWatches: {"SETW", "setWatches"}, opSetWatches2: {"STW2", "setWatches2"}, opAddWatch: {"ADDW", "addWatch"},
	opRemoveWatches: {"REMW", "removeWatches"}, opCheckWatches: {"CHKW", "checkWatches"}, opWhoAmI: {"HOMI", "whoAmI"},
	opGetEphemerals: {"GETE", "getEphemerals"}, opGetAllChildrenNumber: {"GACN", "getAllChildrenNumber"}, opAuth: {"AUTH", "auth"},
}

func (o opCode) String() string {
	if w, ok := opWords[o]; ok {
		return w.long
	}
	return "op" + strconv.Itoa(int(o))
}

// code is the result of a request, as on the wire.
type code int32

const (
	ok                      code = 0
	runtimeInconsistency    code = -2 // of a multi: what came after the operation that failed
	marshallingError        code = -5
	unimplemented           code = -6
	badArguments            code = -8
	noNode                  code = -101
	noAuth                  code = -102
	badVersion              code = -103
	noChildrenForEphemerals code = -108
	nodeExists              code = -110
	notEmpty                code = -111
	sessionExpired          code = -112
	invalidACL              code = -114
	authFailed              code = -115
	noWatcher               code = -121
	reconfigDisabled        code = -123
)

var codeNames = map[code]string{
	ok: "ok", runtimeInconsistency: "RUNTIMEINCONSISTENCY", marshallingError: "MARSHALLINGERROR", unimplemented: "UNIMPLEMENTED",
	badArguments: "BADARGUMENTS", noNode: "NONODE", noAuth: "NOAUTH", badVersion: "BADVERSION",
	noChildrenForEphemerals: "NOCHILDRENFOREPHEMERALS", nodeExists: "NODEEXISTS", notEmpty: "NOTEMPTY",
	sessionExpired: "SESSIONEXPIRED", invalidACL: "INVALIDACL", authFailed: "AUTHFAILED", noWatcher: "NOWATCHER",
	reconfigDisabled: "RECONFIGDISABLED",
}

// String is the name that ZooKeeper's logs, internal/zk and the journal use.
func (c code) String() string {
	if name, found := codeNames[c]; found {
		return name
	}
	return "ZOOKEEPER" + strconv.Itoa(int(c))
}

// Permissions in an ACL.
const (
	permRead   int32 = 1
	permWrite  int32 = 2
	permCreate int32 = 4
	permDelete int32 = 8
	permAdmin  int32 = 16
	permAll    int32 = 31
)

// anyVersion in a request means: whatever the version is.
const anyVersion int32 = -1

// Special xids. An event answers no request; a ping is answered with its own xid.
const (
	xidEvent int32 = -1
	xidPing  int32 = -2
)

// acl is one entry of a node's list: who may do what.
type acl struct {
	perms      int32
	scheme, id string
}

// stat is what ZooKeeper tells of a node beside its data.
type stat struct {
	czxid, mzxid, ctime, mtime  int64
	version, cversion, aversion int32
	ephemeralOwner              int64
	dataLength, numChildren     int32
	pzxid                       int64
}
