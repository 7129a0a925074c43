package cli

import (
	"bufio"
	"context"
	"errors"
	"io"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/up"
)

// untilStdinEndsFlag is how internal/up holds its children: they end with their parent,
// however that ends.
func untilStdinEndsFlag() ucli.Flag {
	return &ucli.BoolFlag{Name: "until-stdin-ends", Usage: "stop when stdin is closed: for a parent that holds the other end", Hidden: true}
}

// errBereft is why a command ends whose parent did not say goodbye: it was killed.
var errBereft = errors.New("the parent has been killed")

// untilStdinEnds is the command's context; with the flag it also ends when stdin does. A
// parent that ends it on purpose says something first; the cause tells the two apart.
func untilStdinEnds(c *ucli.Context, e *env) context.Context {
	if !c.Bool("until-stdin-ends") {
		return c.Context
	}
	ctx, cancel := context.WithCancelCause(c.Context)
	go func() {
		if n, _ := io.Copy(io.Discard, e.stdin); n == 0 { // an error ends it as well
			cancel(errBereft)
		}
		cancel(nil)
	}()
	return ctx
}

// obeyStdinFlag: as until-stdin-ends, and what comes through the pipe are orders.
func obeyStdinFlag() ucli.Flag {
	return &ucli.BoolFlag{Name: "obey-stdin", Usage: "take orders about faults from stdin, a JSON line each, and stop when it is closed: for kz up", Hidden: true}
}

// obeyStdin waits for the first order, which says who is who, and then obeys until stdin
// ends, which ends the context. What the broker dials goes through the faults.
func obeyStdin(ctx context.Context, e *env, j *journal.Journal, flush func()) (context.Context, link.Network, error) {
	subject := &up.Subject{Journal: j, Faults: link.NewFaults(j), Flush: flush}
	in := bufio.NewReader(e.stdin)
	network, err := subject.Name(in, e.stdout, e.network)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		subject.Obey(in, e.stdout)
	}()
	return ctx, network, nil
}
