package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/up"
)

func eventsCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name: "events", Usage: "tell what has happened in the cluster, in one order",
		UsageText: "kz events [--since SEQ] [--last N] [--follow] [-o jsonl] [--mermaid] [--dir D]",
		Description: "Sentences by default: what decides who lives, rules, leads and reads, and every fault. -o jsonl prints every\n" +
			"event whole, --mermaid a sequence diagram of the last ones. A stopped cluster's directory can be read as well.",
		Flags: []ucli.Flag{
			dirFlag(),
			&ucli.StringFlag{Name: "o", Value: "text", Usage: "output `FORMAT`: text or jsonl"},
			&ucli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on with what happens, until Ctrl-C or the end of the cluster"},
			&ucli.BoolFlag{Name: "mermaid", Usage: "draw a sequence diagram instead, for mermaid.live or a Markdown page"},
			&ucli.Int64Flag{Name: "since", Usage: "only events behind the one with number `SEQ`"},
			&ucli.IntFlag{Name: "last", Usage: "only the last `N` of what would be printed", DefaultText: "all"},
		},
		Action: flagsOnly(func(c *ucli.Context) error {
			format := c.String("o")
			switch {
			case format != "text" && format != "jsonl":
				return exitf(exitUsage, "kz events: -o %s: the formats are text and jsonl.", format)
			case c.Int64("since") < 0:
				return exitf(exitUsage, "kz events: --since %d: events are counted from 1.", c.Int64("since"))
			case c.IsSet("last") && c.Int("last") < 1:
				return exitf(exitUsage, "kz events: --last %d: must be at least 1.", c.Int("last"))
			case c.Bool("mermaid") && (c.Bool("follow") || c.IsSet("last") || format != "text"):
				return exitf(exitUsage, "kz events: --mermaid draws what has happened: it goes with none of --follow, --last and -o jsonl.")
			}
			if c.Bool("mermaid") {
				return drawEvents(e, c.String("dir"), c.Int64("since"))
			}
			return runEvents(c.Context, e, c.String("dir"), newEventPrinter(e, format, c.Int64("since"), c.Int("last")), c.Bool("follow"))
		}),
	}
}

// runEvents reads what the directory holds, and then, to follow, asks the supervisor for more.
func runEvents(ctx context.Context, e *env, dir string, p *eventPrinter, follow bool) error {
	var remote *up.Remote
	if follow {
		var err error
		if remote, err = up.Find(dir); err != nil {
			return noCluster("events", dir, err)
		}
	}
	err := up.ReadEvents(dir, 0, p.print)
	if err != nil && !(follow && errors.Is(err, fs.ErrNotExist)) {
		return noEvents(dir, err)
	}
	if err := p.release(); err != nil {
		return err
	}
	if follow {
		if err := remote.Events(ctx, p.last, p.print); err != nil {
			return exitf(exitFailed, "kz events: %v. What has happened since is told by: kz events --since %d", err, p.last)
		}
		fmt.Fprintln(e.stderr, "The cluster has stopped.")
	}
	return nil
}

func noEvents(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return exitf(exitNoCluster, "kz events: no cluster ever ran in %s. Start one: kz up --detach --dir %s", dir, dir)
	}
	return exitf(exitFailed, "kz events: %v", err)
}

// An eventPrinter prints events behind since; of the older ones the narrator learns who is who.
type eventPrinter struct {
	e        *env
	since    int64
	last     int64
	asJSON   bool
	narrator *up.Narrator
	keep     int      // hold back all but the last so many lines; 0: print at once
	held     []string // what is held back, the oldest first
}

func newEventPrinter(e *env, format string, since int64, keep int) *eventPrinter {
	return &eventPrinter{e: e, since: since, asJSON: format == "jsonl", keep: keep, narrator: up.NewNarrator()}
}

func (p *eventPrinter) print(ev up.Event) error {
	p.last = ev.Seq
	sentence := p.narrator.Tell(ev)
	switch {
	case ev.Seq <= p.since:
		return nil
	case p.asJSON:
		var line strings.Builder
		if err := printLine(&line, ev); err != nil {
			return err
		}
		return p.put(line.String())
	case sentence == "":
		return nil
	}
	return p.put(fmt.Sprintf("%6d  %s  %s\n", ev.Seq, time.UnixMilli(ev.At).Format("15:04:05.000"), sentence))
}

func (p *eventPrinter) put(line string) error {
	if p.keep > 0 {
		if p.held = append(p.held, line); len(p.held) > p.keep {
			p.held = p.held[1:]
		}
		return nil
	}
	_, err := io.WriteString(p.e.stdout, line)
	return err
}

// release prints what was held back; from then on lines are printed as they come.
func (p *eventPrinter) release() error {
	_, err := io.WriteString(p.e.stdout, strings.Join(p.held, ""))
	p.keep, p.held = 0, nil
	return err
}

func drawEvents(e *env, dir string, since int64) error {
	d := up.NewDiagram()
	err := up.ReadEvents(dir, 0, func(ev up.Event) error {
		if ev.Seq <= since {
			d.Learn(ev)
		} else {
			d.Add(ev)
		}
		return nil
	})
	if err != nil {
		return noEvents(dir, err)
	}
	if n := d.Left(); n > 0 {
		fmt.Fprintf(e.stderr, "The %d oldest lines are left out; --since SEQ begins later.\n", n)
	}
	_, err = d.WriteTo(e.stdout)
	return err
}
