package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// output is stdout. It remembers the first write that failed: commands print in many
// places and do not look, but who redirected them to a full disk has to be told.
type output struct {
	w        io.Writer
	err      atomic.Pointer[error]
	failed   func() // called with the first failure; nil: nothing
	optional bool   // nobody need read it
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil && o.err.CompareAndSwap(nil, &err) && o.failed != nil {
		o.failed()
	}
	return n, err
}

// exitUnread is what a shell shows for a program that a closed pipe ended (SIGPIPE).
const exitUnread = 141

// exit is the exit code of a command that ended with code, and what is to be said besides.
func (o *output) exit(code int) (int, string) {
	p := o.err.Load()
	switch {
	case p == nil || o.optional:
		return code, ""
	case errors.Is(*p, syscall.EPIPE): // as with head: who closed it knows
		return exitUnread, ""
	case code == exitOK || code == exitInterrupted && o.failed != nil:
		return exitFailed, "kz: writing to stdout: " + (*p).Error()
	}
	return code, ""
}

// outlivePipes makes a write to a closed pipe an error. By default it kills the process,
// which is right for those that only print, and wrong for those that have a group to
// leave or records to send.
func outlivePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// whileRead is for commands that go on until they are stopped: its context ends, as with
// Ctrl-C, when stdout cannot be written to any more.
func (e *env) whileRead(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	outlivePipes()
	e.output().failed = cancel
	return ctx, cancel
}

// output is what run made of stdout.
func (e *env) output() *output { return e.stdout.(*output) }

// unreadable says that stdout failed.
func (e *env) unreadable() bool { return e.output().err.Load() != nil }

// closing closes a consumer, which needs somebody who answers the last commit and the farewell.
func (e *env) closing(tool string, c io.Closer) {
	stop := tellEvery(progressEvery, e, func() string {
		return "still closing: no answer yet to the last commit or the farewell; Ctrl-C ends it without"
	})
	err := c.Close()
	stop()
	if err != nil {
		warnLog(e, tool, "closing: %v", err)
	}
}

// patience is how long a command waits before it says what for.
const patience = time.Second

// sayIfSlow says what is waited for, unless arrived is called within patience. After
// arrived nothing more is said.
func sayIfSlow(e *env, format string, args ...any) (arrived func()) {
	said := make(chan struct{})
	impatience := time.AfterFunc(patience, func() {
		fmt.Fprintf(e.stderr, format+"\n", args...)
		close(said)
	})
	return func() {
		if !impatience.Stop() {
			<-said
		}
	}
}
