package kafkaerr

import (
	"errors"
	"strconv"
)

// Name is Kafka's name for the code, such as NOT_LEADER_OR_FOLLOWER.
func (c Code) Name() string {
	if p, ok := properties[c]; ok {
		return p.name
	}
	return "UNKNOWN_CODE_" + strconv.Itoa(int(c))
}

// Error makes a Code an error.
func (c Code) Error() string { return c.Name() }

// Retriable says whether Kafka's clients repeat a request that failed so.
func (c Code) Retriable() bool { return properties[c].retriable }

// RefreshesMetadata says whether Kafka's clients ask for metadata after it.
func (c Code) RefreshesMetadata() bool { return properties[c].refreshMetadata }

// Error adds, for our own log, where a Code came from. The client sees the Code
// and, in the answers that have room for one, the Message.
type Error struct {
	Code    Code
	Op      string // what was attempted: "partition.appendAsLeader orders-0"
	Message string // for the client; empty where Kafka sends none
	Err     error  // the cause inside this process, or nil
}

// New is an Error for the client with a message.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Wrap is an Error for the log: what was attempted, and why it failed.
func Wrap(code Code, op string, err error) *Error { return &Error{Code: code, Op: op, Err: err} }

func (e *Error) Error() string {
	s := e.Code.Name()
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap lets errors.Is find both the code and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// CodeOf is the code to answer for err: None for nil, UnknownServerError when
// nothing in the chain carries a code.
func CodeOf(err error) Code {
	if err == nil {
		return None
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	var c Code
	if errors.As(err, &c) {
		return c
	}
	return UnknownServerError
}

// MessageOf is the message for the client, or "".
func MessageOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return ""
}
