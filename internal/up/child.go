package up

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kz/internal/journal"
)

// A child is one process of the cluster, from its start to its end. A restart is a new one.
type child struct {
	name    string // "broker-2", "zookeeper"
	obeys   bool   // it takes orders
	logFile string
	tail    *Tail // its journal, from this life's first event on
	birth   int64 // where in the file that is
	cmd     *exec.Cmd
	paused  atomic.Bool
	done    chan struct{} // closed when the process has ended
	err     error         // how it ended; read after done

	mu      sync.Mutex            // guards what follows; held over a write into the pipe
	stdin   io.WriteCloser        // closing it asks the process to stop
	orders  int64                 // how many were given
	waiting map[int64]chan answer // who waits for which order's answer
}

// childSpec is what to start.
type childSpec struct {
	name, exe, logFile, journalFile string
	args                            []string
	obeys                           bool        // it takes orders
	ended                           func(error) // told of its end, before anybody else
}

// startChild starts a process. What it says goes to its log file, what happens in it to its journal.
func startChild(spec childSpec) (*child, error) {
	log, err := os.OpenFile(spec.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	c := &child{name: spec.name, obeys: spec.obeys, logFile: spec.logFile, done: make(chan struct{}), waiting: map[int64]chan answer{}}
	if c.tail, err = TailFromEnd(spec.journalFile); err != nil {
		return nil, err
	}
	c.birth = c.tail.at
	hold := "--until-stdin-ends"
	if spec.obeys {
		hold = "--obey-stdin"
	}
	c.cmd = exec.Command(spec.exe, append(spec.args, "--journal", spec.journalFile, hold)...)
	c.cmd.Stderr, c.cmd.SysProcAttr = log, ownGroup()
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", spec.name, err)
	}
	go func() {
		c.readAnswers(out)
		c.err = c.cmd.Wait()
		spec.ended(c.err)
		close(c.done)
	}()
	return c, nil
}

// readAnswers hands answers to those who wait, until the process ends.
func (c *child) readAnswers(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			continue
		}
		c.mu.Lock()
		waiting := c.waiting[a.N]
		delete(c.waiting, a.N)
		c.mu.Unlock()
		if waiting != nil {
			waiting <- a // there is room
		}
	}
	_, _ = io.Copy(io.Discard, out) // after a line that is too long: nothing of ours
}

// order gives an order and does not wait.
func (c *child) order(o Order) (<-chan answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.orders++
	o.N = c.orders
	line, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	answers := make(chan answer, 1)
	c.waiting[o.N] = answers
	if _, err := c.stdin.Write(append(line, '\n')); err != nil {
		delete(c.waiting, o.N)
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return answers, nil
}

// obeyed gives an order and waits until it is in force.
func (c *child) obeyed(ctx context.Context, o Order) (answer, error) {
	answers, err := c.order(o)
	if err != nil {
		return answer{}, err
	}
	select {
	case a := <-answers:
		if a.Error != "" {
			err = errors.New(c.name + ": " + a.Error)
		}
		return a, err
	case <-c.done:
		return answer{}, notNow("%s has ended.", c.name)
	case <-ctx.Done():
		return answer{}, fmt.Errorf("%s does not answer: %w", c.name, ctx.Err())
	}
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
	c.closeStdin()
}

// stop asks the process to stop. After ctx it is killed.
func (c *child) stop(ctx context.Context) {
	if c.paused.Load() {
		_ = c.resume(ctx, "") // or it would not hear
	}
	c.sayGoodbye()
	c.closeStdin()
	select {
	case <-c.done:
	case <-ctx.Done():
		c.kill()
	}
}

// sayGoodbye tells a process that takes no orders that it is stopped on purpose. Without it
// our ZooKeeper takes the end of its stdin for our death, and serves the brokers to theirs.
func (c *child) sayGoodbye() {
	if c.obeys {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.stdin, "stop\n") // it may have ended
}

func (c *child) closeStdin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.stdin.Close()
}

// pause stops everything in the process.
func (c *child) pause() error {
	if err := pauseProcess(c.cmd.Process); err != nil {
		return err
	}
	c.paused.Store(true)
	return nil
}

// resume lets it go on. When it stands at the moment of a fault, it is told to pass, and
// woken until it has heard: it may be about to stop itself at this very moment.
func (c *child) resume(ctx context.Context, fault string) error {
	var passed <-chan answer
	if fault != "" {
		var err error
		if passed, err = c.order(Order{Do: orderResume, Fault: fault}); err != nil {
			return err
		}
	}
	beat := time.NewTicker(pollEvery)
	defer beat.Stop()
	for {
		if err := resumeProcess(c.cmd.Process); err != nil {
			return err
		}
		if passed == nil {
			c.paused.Store(false)
			return nil
		}
		select {
		case <-passed:
			passed = nil
		case <-c.done:
			return notNow("%s has ended.", c.name)
		case <-ctx.Done():
			return fmt.Errorf("%s does not wake: %w", c.name, ctx.Err())
		case <-beat.C:
		}
	}
}
