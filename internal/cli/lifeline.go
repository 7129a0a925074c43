package cli

import (
	"context"
	"io"

	ucli "github.com/urfave/cli/v2"
)

// untilStdinEndsFlag is how internal/up holds its children: they end with their parent,
// however that ends.
func untilStdinEndsFlag() ucli.Flag {
	return &ucli.BoolFlag{Name: "until-stdin-ends", Usage: "stop when stdin is closed: for a parent that holds the other end", Hidden: true}
}

// untilStdinEnds is the command's context; with the flag it also ends when stdin does.
func untilStdinEnds(c *ucli.Context, e *env) context.Context {
	if !c.Bool("until-stdin-ends") {
		return c.Context
	}
	ctx, cancel := context.WithCancel(c.Context)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, e.stdin) // an error ends it as well
	}()
	return ctx
}
