// Package zk is the session layer over go-zookeeper. Mirrors kafka.zookeeper.ZooKeeperClient and the retry and fencing of kafka.zk.KafkaZkClient.
// go-zookeeper's types stop here.
package zk

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/link"
)

// Code is ZooKeeper's result code; a non-zero Code is an error.
type Code int32

const (
	OK                   Code = 0
	RuntimeInconsistency Code = -2
	ConnectionLoss       Code = -4
	NoNode               Code = -101
	NoAuth               Code = -102
	BadVersion           Code = -103
	NodeExists           Code = -110
	NotEmpty             Code = -111
	SessionExpired       Code = -112
	SessionMoved         Code = -118
)

func (c Code) Error() string { panic("contract") } // "NONODE" …

// ErrControllerMoved: a fenced write found another /controller_epoch. Mirrors ControllerMovedException.
var ErrControllerMoved error

// ErrClosed: the client was closed.
var ErrClosed error

// AnyVersion matches every version in Set, Delete, Check.
const AnyVersion int32 = -1

// Stat is a node's metadata.
type Stat struct {
	Czxid, Mzxid   int64
	Ctime, Mtime   int64 // epoch ms
	Version        int32
	Cversion       int32
	Aversion       int32
	EphemeralOwner int64
	DataLength     int32
	NumChildren    int32
	Pzxid          int64
}

// OpKind is one ZooKeeper operation.
type OpKind int8

const (
	OpGet OpKind = iota
	OpExists
	OpChildren
	OpCreate
	OpSet
	OpDelete
	OpCheck // only inside Multi
)

// Op is one request of a batch.
type Op struct {
	Kind       OpKind
	Path       string // without chroot
	Data       []byte // nil = null data
	Version    int32  // Set, Delete, Check; AnyVersion
	Ephemeral  bool
	Sequential bool // Create: the server appends %010d
	// Fence: when >= 0, the op is sent as multi(check(/controller_epoch, Fence), op) and a stale epoch gives ErrControllerMoved.
	// NoFence (-1) otherwise. Build ops with the constructors, which set NoFence.
	Fence int32
	Watch bool // Children: register the child watch if a handler is registered (Get and Exists consult the handler alone)
}

const NoFence int32 = -1

func GetOp(path string) Op    { return Op{Kind: OpGet, Path: path, Fence: NoFence} }
func ExistsOp(path string) Op { return Op{Kind: OpExists, Path: path, Fence: NoFence} }
func ChildrenOp(path string, watch bool) Op {
	return Op{Kind: OpChildren, Path: path, Watch: watch, Fence: NoFence}
}
func CreateOp(path string, data []byte) Op {
	return Op{Kind: OpCreate, Path: path, Data: data, Fence: NoFence}
}
func SetOp(path string, data []byte, version int32) Op {
	return Op{Kind: OpSet, Path: path, Data: data, Version: version, Fence: NoFence}
}
func DeleteOp(path string, version int32) Op {
	return Op{Kind: OpDelete, Path: path, Version: version, Fence: NoFence}
}
func CheckOp(path string, version int32) Op {
	return Op{Kind: OpCheck, Path: path, Version: version, Fence: NoFence}
}

// Fenced returns the op guarded by the controller's epoch version.
func (o Op) Fenced(epochZkVersion int32) Op { o.Fence = epochZkVersion; return o }

// Result is the answer to an Op, at the same place in the slice.
type Result struct {
	Err      error // nil, a Code, ErrControllerMoved, SessionExpired, ErrClosed
	Data     []byte
	Children []string
	Stat     Stat
	Path     string // the created path, for Create
	Retried  bool   // a connection was lost while it was under way: an error may be the echo of our own success; read back
}

// Config is the zookeeper.* part of server.properties.
type Config struct {
	Servers           []string // host:port
	Chroot            string   // "" or "/kafka"
	SessionTimeout    time.Duration
	ConnectionTimeout time.Duration
	MaxInFlight       int
}

// ParseConnect splits zookeeper.connect.
func ParseConnect(s string) (servers []string, chroot string, err error) { panic("contract") }

// Client is one broker's ZooKeeper client over all its sessions.
type Client struct{}

// Connect waits up to ConnectionTimeout for a session; its error names address and wait. With a chroot it is created first, through a
// separate short-lived connection.
func Connect(ctx context.Context, cfg Config, n link.Network, j *journal.Journal, log zerolog.Logger) (*Client, error) {
	panic("contract")
}

// Do sends a batch, pipelined (at most MaxInFlight unanswered), writes in the order given, and waits for all answers. Only connection loss is
// retried, without limit, until the session expires, ctx ends or the client closes. Watches are armed per registered handlers.
func (c *Client) Do(ctx context.Context, ops ...Op) []Result { panic("contract") }

// Multi is one transaction. A failed one gives each op's code as in facts/zookeeper.md section 0; err is the first failing op's code.
func (c *Client) Multi(ctx context.Context, ops ...Op) (results []Result, err error) {
	panic("contract")
}

// Conveniences over Do.
func (c *Client) Get(ctx context.Context, path string) ([]byte, Stat, error)  { panic("contract") }
func (c *Client) Exists(ctx context.Context, path string) (Stat, bool, error) { panic("contract") }
func (c *Client) Children(ctx context.Context, path string, watch bool) ([]string, error) {
	panic("contract")
}
func (c *Client) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	panic("contract")
}
func (c *Client) Delete(ctx context.Context, path string, version int32) error { panic("contract") }

// CreateRecursive creates the node, and its missing parents with null data; NODEEXISTS on the node itself is an error.
func (c *Client) CreateRecursive(ctx context.Context, path string, data []byte) error {
	panic("contract")
}
func (c *Client) CreateSequential(ctx context.Context, prefix string, data []byte) (string, error) {
	panic("contract")
}
func (c *Client) DeleteRecursive(ctx context.Context, path string, fence int32) error {
	panic("contract")
}

// CreateEphemeral is CheckedEphemeral (2.2): multi(create null data, setData version 0), NODEEXISTS resolved by the owner; returns the stat with czxid.
// remembered: the session id stored after the last registration, kept inside the client.
func (c *Client) CreateEphemeral(ctx context.Context, path string, data []byte) (Stat, error) {
	panic("contract")
}

func (c *Client) SessionID() int64      { panic("contract") }
func (c *Client) Connected() bool       { panic("contract") }
func (c *Client) ConnectString() string { panic("contract") }

// EventType of a handler call.
type EventType int8

const (
	Created EventType = iota
	Deleted
	DataChanged
	ChildrenChanged
	Reread // the connection was re-established or a session began: the path may have changed without an event
)

// Handlers run on the client's one event goroutine, in order; they must not block (put an event on a queue).
// RegisterData arms nothing by itself: the next Get or Exists of the path does. RegisterChild: the next Children with watch.
// Unregister edits only the local map. After a reconnect every registered path gets Reread.
func (c *Client) RegisterData(path string, f func(EventType))  { panic("contract") }
func (c *Client) UnregisterData(path string)                   { panic("contract") }
func (c *Client) RegisterChild(path string, f func(EventType)) { panic("contract") }
func (c *Client) UnregisterChild(path string)                  { panic("contract") }

// RegisterSession: before runs after an expiry and before the new session is opened, after runs once it is open. They run on the session goroutine and may block.
func (c *Client) RegisterSession(name string, before, after func()) { panic("contract") }
func (c *Client) UnregisterSession(name string)                     { panic("contract") }

// Close ends the session, which removes its ephemerals.
func (c *Client) Close() { panic("contract") }
