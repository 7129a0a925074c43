package up

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"kz/internal/journal"
)

// A child is one process of the cluster, from its start to its end. A restart is a new one.
type child struct {
	name    string // "broker 2", "zookeeper"
	logFile string
	tail    *Tail // its journal, from this life's first event on
	cmd     *exec.Cmd
	stdin   io.Closer     // closing it asks the process to stop
	done    chan struct{} // closed when the process has ended
	err     error         // how it ended; read after done
}

// startChild runs exe with args. What it says goes to logFile, what happens in it to journalFile.
func startChild(name, exe, logFile, journalFile string, args ...string) (*child, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	c := &child{name: name, logFile: logFile, done: make(chan struct{})}
	if c.tail, err = TailFromEnd(journalFile); err != nil {
		return nil, err
	}
	c.cmd = exec.Command(exe, append(args, "--journal", journalFile, "--until-stdin-ends")...)
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.SysProcAttr = log, log, ownGroup()
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) running() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// ready waits until the process has said what it says when it serves, or has ended, or ctx ends.
func (c *child) ready(ctx context.Context, says func(*child) bool) error {
	beat := time.NewTicker(pollEvery)
	defer beat.Stop()
	for !says(c) {
		select {
		case <-beat.C:
		case <-c.done:
			return fmt.Errorf("%s did not start:\n%s", c.name, c.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready in time; what it says is in %s", c.name, c.logFile)
		}
	}
	return nil
}

// started reads the journal up to the event that a broker writes when it serves.
func started(c *child) bool {
	for _, ev := range c.tail.Next() {
		if ev.Kind == journal.BrokerStarted {
			return true
		}
	}
	return false
}

// lastWords are the last lines of its log.
func (c *child) lastWords() string {
	b, err := os.ReadFile(c.logFile)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// kill ends the process as kill -9 does, and waits for its end.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // fails only when it has ended already
	<-c.done
	_ = c.stdin.Close()
}

// stop asks the process to stop. After ctx it is killed.
func (c *child) stop(ctx context.Context) {
	_ = c.stdin.Close()
	select {
	case <-c.done:
	case <-ctx.Done():
		c.kill()
	}
}
