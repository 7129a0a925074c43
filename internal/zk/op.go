package zk

import "fmt"

// AnyVersion matches every version in Set, Delete, Check.
const AnyVersion int32 = -1

// NoFence: the op is sent plain.
const NoFence int32 = -1

// controllerEpochPath is what a fenced op checks. (zkpaths knows it too; this package
// knows of the znode tree only this one path, as the fence is made here.)
const controllerEpochPath = "/controller_epoch"

// maxPacket is the largest request a server takes with its default jute.maxbuffer.
const maxPacket = 0xfffff

// Stat is a node's metadata.
type Stat struct {
	Czxid, Mzxid   int64
	Ctime, Mtime   int64 // epoch ms
	Version        int32
	Cversion       int32
	Aversion       int32
	EphemeralOwner int64 // session id; 0 = persistent
	DataLength     int32
	NumChildren    int32
	Pzxid          int64
}

// OpKind is one ZooKeeper operation.
type OpKind int8

// The kinds. A write is Create, Set or Delete.
const (
	OpGet OpKind = iota
	OpExists
	OpChildren
	OpCreate
	OpSet
	OpDelete
	OpCheck // only inside Multi
)

var opNames = [...]string{"get", "exists", "children", "create", "set", "delete", "check"}

func (k OpKind) String() string {
	if k < 0 || int(k) >= len(opNames) {
		return fmt.Sprintf("op(%d)", int8(k))
	}
	return opNames[k]
}

func (k OpKind) isWrite() bool { return k == OpCreate || k == OpSet || k == OpDelete }

// Op is one request of a batch. Build ops with the constructors, which set NoFence.
type Op struct {
	Kind       OpKind
	Path       string // without chroot
	Data       []byte // nil = null data, which is not the same as empty
	Version    int32  // Set, Delete, Check: the version demanded, or AnyVersion
	Ephemeral  bool   // Create: the node goes with the session
	Sequential bool   // Create: the server appends %010d
	// Fence: when >= 0, the op is sent as multi(check(/controller_epoch, Fence), op), and
	// a stale epoch gives ErrControllerMoved. NoFence otherwise.
	Fence int32
	// Watch: Children arms the child watch, if a handler is registered. Get and Exists
	// consult the registered handlers alone.
	Watch bool
}

// GetOp reads data and stat.
func GetOp(path string) Op { return Op{Kind: OpGet, Path: path, Fence: NoFence} }

// ExistsOp reads the stat; NoNode when there is none.
func ExistsOp(path string) Op { return Op{Kind: OpExists, Path: path, Fence: NoFence} }

// ChildrenOp lists the names below a path, in no particular order.
func ChildrenOp(path string, watch bool) Op {
	return Op{Kind: OpChildren, Path: path, Watch: watch, Fence: NoFence}
}

// CreateOp makes a persistent node.
func CreateOp(path string, data []byte) Op {
	return Op{Kind: OpCreate, Path: path, Data: data, Fence: NoFence}
}

// SetOp replaces the data if the node has this version.
func SetOp(path string, data []byte, version int32) Op {
	return Op{Kind: OpSet, Path: path, Data: data, Version: version, Fence: NoFence}
}

// DeleteOp removes a node without children if it has this version.
func DeleteOp(path string, version int32) Op {
	return Op{Kind: OpDelete, Path: path, Version: version, Fence: NoFence}
}

// CheckOp makes a Multi fail unless the node has this version.
func CheckOp(path string, version int32) Op {
	return Op{Kind: OpCheck, Path: path, Version: version, Fence: NoFence}
}

// Fenced returns the op guarded by the controller's epoch version: the data version of
// /controller_epoch at the election.
func (o Op) Fenced(epochZkVersion int32) Op { o.Fence = epochZkVersion; return o }

// size is an upper bound of the bytes the op takes in a request.
func (o Op) size() int { return 64 + len(o.Path) + len(o.Data) }

// Result is the answer to an Op, at the same place in the slice.
type Result struct {
	Err      error // nil, a Code, ErrControllerMoved, ErrClosed, ErrTooLarge, or ctx's error
	Data     []byte
	Children []string
	Stat     Stat   // of Get, Exists, Children, Set
	Path     string // the created path, for Create
	Zxid     int64  // of the transaction, also when it failed; of a read: the last one the server had applied
	// Retried: a connection was lost while it was under way, and it was sent again. An
	// error may be the echo of our own success: read back.
	Retried bool
}
