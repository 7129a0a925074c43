package zkserver

// operation is the decoded body of a request: one of the types below.
type operation interface{ code() opCode }

type (
	createOp struct { // create, create2, createContainer, createTTL
		op    opCode
		path  string
		data  []byte
		acl   []acl
		flags int32
		ttl   int64 // ms; -1 without createTTL
	}
	deleteOp struct {
		path    string
		version int32
	}
	setDataOp struct {
		path    string
		data    []byte
		version int32
	}
	setACLOp struct {
		path    string
		acl     []acl
		version int32
	}
	checkOp struct {
		path    string
		version int32
	}
	multiOp struct { // multi, multiRead
		op  opCode
		ops []operation
	}
	readOp struct { // exists, getData, getChildren, getChildren2
		op    opCode
		path  string
		watch bool
	}
	pathOp struct { // getACL, sync, getAllChildrenNumber, getEphemerals (a prefix)
		op   opCode
		path string
	}
	watchOp struct { // addWatch (mode), checkWatches, removeWatches (kind)
		op   opCode
		path string
		mode int32
	}
	setWatchesOp struct { // setWatches, setWatches2: what a client watched on its last connection
		op                           opCode
		since                        int64 // the last zxid it saw there
		data, exist, child           []string
		persistent, persistentRecurs []string
	}
	authOp struct {
		scheme     string
		credential []byte
	}
	bareOp struct{ op opCode } // ping, whoAmI, closeSession, reconfig: no body that matters
	// malformedOp is a body that cannot be read. It is still a request: it is answered in
	// turn, and a malformed write uses up a zxid.
	malformedOp struct{ op opCode }
	// unknownOp is a kind of request that does not exist here.
	unknownOp struct{ op opCode }
)

func (o createOp) code() opCode     { return o.op }
func (o deleteOp) code() opCode     { return opDelete }
func (o setDataOp) code() opCode    { return opSetData }
func (o setACLOp) code() opCode     { return opSetACL }
func (o checkOp) code() opCode      { return opCheck }
func (o multiOp) code() opCode      { return o.op }
func (o readOp) code() opCode       { return o.op }
func (o pathOp) code() opCode       { return o.op }
func (o watchOp) code() opCode      { return o.op }
func (o setWatchesOp) code() opCode { return o.op }
func (o authOp) code() opCode       { return opAuth }
func (o bareOp) code() opCode       { return o.op }
func (o malformedOp) code() opCode  { return o.op }
func (o unknownOp) code() opCode    { return o.op }

// isWrite says whether a request uses up a zxid, also when it fails.
func isWrite(o operation) bool {
	if _, malformed := o.(malformedOp); malformed && o.code() == opReconfig {
		return false // the real server reads the body of this one before it takes a zxid
	}
	switch o.code() {
	case opCreate, opCreate2, opCreateContainer, opCreateTTL, opDelete, opSetData, opSetACL, opCheck, opMulti, opReconfig, opCloseSession:
		return true
	}
	return false
}

// decodeRequest reads the body of a request. Whatever the bytes are it returns an
// operation; nothing it returns shares memory with body. Bytes behind the body are
// ignored, as the real server does.
func decodeRequest(op opCode, body []byte) operation {
	d := &decoder{b: body}
	var o operation
	switch op {
	case opMulti:
		o = multiOp{op, d.operations(inMulti)}
	case opMultiRead:
		o = multiOp{op, d.operations(inMultiRead)}
	default:
		o = d.operation(op)
	}
	if _, unknown := o.(unknownOp); d.bad && !unknown {
		return malformedOp{op}
	}
	return o
}

// operation reads the body of one operation that is not a multi.
func (d *decoder) operation(op opCode) operation {
	switch op {
	case opCreate, opCreate2, opCreateContainer, opCreateTTL:
		o := createOp{op, d.string(), d.buffer(), d.acls(), d.int(), -1}
		if op == opCreateTTL {
			o.ttl = d.long()
		}
		return o
	case opDelete:
		return deleteOp{d.string(), d.int()}
	case opSetData:
		return setDataOp{d.string(), d.buffer(), d.int()}
	case opSetACL:
		return setACLOp{d.string(), d.acls(), d.int()}
	case opCheck:
		return checkOp{d.string(), d.int()}
	case opExists, opGetData, opGetChildren, opGetChildren2:
		return readOp{op, d.string(), d.bool()}
	case opGetACL, opGetAllChildrenNumber:
		return pathOp{op, d.string()}
	case opGetEphemerals, opSync:
		return pathOp{op, d.stringOrNull()}
	case opAddWatch:
		return d.watch(op, 0, 1)
	case opCheckWatches, opRemoveWatches:
		return d.watch(op, 1, 3)
	case opSetWatches, opSetWatches2:
		o := setWatchesOp{op: op, since: d.long(), data: d.strings(), exist: d.strings(), child: d.strings()}
		if op == opSetWatches2 {
			o.persistent, o.persistentRecurs = d.strings(), d.strings()
		}
		return o
	case opAuth:
		d.int() // "type", always 0
		return authOp{d.string(), d.buffer()}
	case opReconfig:
		for range 3 {
			d.stringOrNull()
		}
		d.long()
		return bareOp{op}
	case opPing, opWhoAmI, opCloseSession:
		return bareOp{op}
	}
	return unknownOp{op}
}

func (d *decoder) watch(op opCode, least, most int32) operation {
	o := watchOp{op, d.string(), d.int()}
	d.bad = d.bad || o.mode < least || o.mode > most
	return o
}

// What may stand in a multi and in a multiRead.
func inMulti(op opCode) bool {
	switch op {
	case opCreate, opCreate2, opCreateContainer, opCreateTTL, opDelete, opSetData, opCheck:
		return true
	}
	return false
}

func inMultiRead(op opCode) bool { return op == opGetData || op == opGetChildren }

// operations reads a multi: {type, done, error} and a body each; done ends it.
func (d *decoder) operations(allowed func(opCode) bool) []operation {
	ops := []operation{}
	for {
		op, done := opCode(d.int()), d.bool()
		d.int()
		if d.bad || done {
			return ops
		}
		if !allowed(op) {
			d.bad = true
			return nil
		}
		ops = append(ops, d.operation(op))
	}
}
