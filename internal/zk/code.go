package zk

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	gozk "github.com/go-zookeeper/zk"
)

// Code is ZooKeeper's result code; a non-zero Code is an error.
type Code int32

// The codes that callers ask for by name.
const (
	OK                      Code = 0
	SystemError             Code = -1
	RuntimeInconsistency    Code = -2 // of a multi: an operation after the one that failed
	ConnectionLoss          Code = -4 // never seen by callers of Do, which sends again
	MarshallingError        Code = -5
	Unimplemented           Code = -6
	BadArguments            Code = -8
	APIError                Code = -100
	NoNode                  Code = -101
	NoAuth                  Code = -102
	BadVersion              Code = -103
	NoChildrenForEphemerals Code = -108
	NodeExists              Code = -110
	NotEmpty                Code = -111
	SessionExpired          Code = -112
	InvalidACL              Code = -114
	AuthFailed              Code = -115
	SessionMoved            Code = -118
)

var codeNames = map[Code]string{
	OK: "OK", SystemError: "SYSTEMERROR", RuntimeInconsistency: "RUNTIMEINCONSISTENCY",
	ConnectionLoss: "CONNECTIONLOSS", MarshallingError: "MARSHALLINGERROR", Unimplemented: "UNIMPLEMENTED",
	BadArguments: "BADARGUMENTS", APIError: "APIERROR", NoNode: "NONODE", NoAuth: "NOAUTH", BadVersion: "BADVERSION",
	NoChildrenForEphemerals: "NOCHILDRENFOREPHEMERALS", NodeExists: "NODEEXISTS", NotEmpty: "NOTEMPTY",
	SessionExpired: "SESSIONEXPIRED", InvalidACL: "INVALIDACL", AuthFailed: "AUTHFAILED", SessionMoved: "SESSIONMOVED",
}

// Error is ZooKeeper's own name for the code, as in its logs: "NONODE".
func (c Code) Error() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return "ZOOKEEPER" + strconv.Itoa(int(c))
}

// ErrControllerMoved: a fenced write found another version of /controller_epoch, so this
// broker is no longer the controller. Mirrors ControllerMovedException.
var ErrControllerMoved = errors.New("controller moved: /controller_epoch has another version")

// ErrClosed: the client was closed.
var ErrClosed = errors.New("zookeeper client is closed")

// ErrTooLarge: the request is larger than a server accepts by default (jute.maxbuffer).
// Sent anyway, the server would close the connection, and the retry would never end.
var ErrTooLarge = errors.New("request is too large for ZooKeeper")

// errLost and errUnsent are what the retry loop acts on; callers never see them.
var (
	errLost   = errors.New("connection lost, outcome unknown")
	errUnsent = errors.New("no connection, not sent")
)

var goCodes = map[error]Code{
	gozk.ErrAPIError: APIError, gozk.ErrNoNode: NoNode, gozk.ErrNoAuth: NoAuth, gozk.ErrBadVersion: BadVersion,
	gozk.ErrNoChildrenForEphemerals: NoChildrenForEphemerals, gozk.ErrNodeExists: NodeExists,
	gozk.ErrNotEmpty: NotEmpty, gozk.ErrSessionExpired: SessionExpired, gozk.ErrInvalidACL: InvalidACL,
	gozk.ErrAuthFailed: AuthFailed, gozk.ErrSessionMoved: SessionMoved, gozk.ErrBadArguments: BadArguments,
}

// translate turns go-zookeeper's error into a Code, errLost, errUnsent, or an error that
// is final.
func translate(err error) error {
	if err == nil {
		return nil
	}
	if code, ok := goCodes[err]; ok {
		return code
	}
	switch err {
	case gozk.ErrNoServer:
		return errUnsent
	case gozk.ErrConnectionClosed, gozk.ErrClosing, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe:
		return errLost
	case gozk.ErrInvalidPath, gozk.ErrInvalidFlags:
		return fmt.Errorf("%w: %v", BadArguments, err)
	}
	// Codes that go-zookeeper has no name for, such as -2 inside a multi.
	var n int32
	if _, scanErr := fmt.Sscanf(err.Error(), "unknown error: %d", &n); scanErr == nil {
		if Code(n) == ConnectionLoss {
			return errLost
		}
		return Code(n)
	}
	var netErr net.Error
	if errors.As(err, &netErr) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
		return errLost
	}
	return err // a codec's fault: sending again would not help
}

// resultName is how a write's outcome is journaled.
func resultName(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}
