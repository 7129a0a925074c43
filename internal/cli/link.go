package cli

import (
	"context"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/up"
)

// linkActs are what kz link can do, in the order of its help.
var linkActs = []struct {
	name, usage, more string
	oneWay            bool
	flags             []ucli.Flag
}{
	{up.Cut, "nothing arrives, and nobody is told; connections live, and what was sent arrives when the cut is healed", "", true, nil},
	{up.Reset, "break the open connections, once", "", false, nil},
	{up.Refuse, "refuse new connections; open ones live", "", true, nil},
	{up.Delay, "everything arrives later", "[--delay 200ms] ", true, []ucli.Flag{
		&ucli.DurationFlag{Name: "delay", Value: 200 * time.Millisecond, Usage: "later by this `TIME`"},
	}},
	{up.Drop, "messages of one API disappear, and nothing else", "--api Fetch [--request|--response] [--count N] ", true, []ucli.Flag{
		&ucli.StringFlag{Name: "api", Usage: "`NAME` of the API (Fetch), or of the message (FetchResponse)"},
		&ucli.BoolFlag{Name: "request", Usage: "its requests; so it is when nothing is said"},
		&ucli.BoolFlag{Name: "response", Usage: "its responses"},
		&ucli.IntFlag{Name: "count", Value: 1, Usage: "the next `N` of them, in each direction"},
	}},
	{up.Heal, "end all of these", "", true, nil},
}

func linkCommand(e *env) *ucli.Command {
	cmd := &ucli.Command{
		Name: "link", Usage: "cut, reset, refuse, delay, drop or heal what goes between two nodes",
		UsageText: "kz link cut|reset|refuse|delay|drop|heal A B [--one-way] [--dir D] [-o json]",
		Description: "A and B are brokers' ids, zookeeper, controller or leader:orders-0. With --one-way only what goes from\n" +
			"A to B is concerned: a response of A to a request of B goes from A to B. No root is needed, and clients are not concerned.",
	}
	var names []string
	for _, act := range linkActs {
		names = append(names, act.name)
		way := ""
		sub := &ucli.Command{Name: act.name, Usage: act.usage, Flags: append([]ucli.Flag{dirFlag(), formatFlag()}, act.flags...), OnUsageError: usageError}
		if act.oneWay {
			way = "[--one-way] "
			sub.Flags = append(sub.Flags, &ucli.BoolFlag{Name: "one-way", Usage: "only from A to B"})
		}
		sub.UsageText = "kz link " + act.name + " A B " + act.more + way + "[--dir D] [-o json]"
		sub.Action = func(c *ucli.Context) error {
			if c.NArg() != 2 {
				hint := ""
				if act.name == up.Heal {
					hint = " All links at once: kz faults --heal"
				}
				return exitf(exitUsage, "kz link %s: name the two ends, such as 1 2 or 1 zookeeper.%s", act.name, hint)
			}
			f := up.LinkFault{Act: act.name, A: c.Args().Get(0), B: c.Args().Get(1), OneWay: c.Bool("one-way"), Delay: c.Duration("delay"), Count: c.Int("count")}
			if act.name == up.Drop {
				var err error
				if f.Message, err = messageOf(c); err != nil {
					return err
				}
			}
			return doFault(c, e, func(ctx context.Context, r *up.Remote) (up.Fault, error) { return r.Link(ctx, f) })
		}
		cmd.Subcommands = append(cmd.Subcommands, sub)
	}
	cmd.Action = func(c *ucli.Context) error { return unknownSubcommand(c, "link", names) }
	return cmd
}

// messageOf is Kafka's name of what is to be dropped: "FetchResponse".
func messageOf(c *ucli.Context) (string, error) {
	api, request, response := c.String("api"), c.Bool("request"), c.Bool("response")
	kind := ""
	for _, k := range []string{"Request", "Response"} {
		if strings.HasSuffix(api, k) {
			kind = k
		}
	}
	switch {
	case api == "":
		return "", exitf(exitUsage, "kz link drop: --api is missing: --api Fetch --response, or --api FetchResponse.")
	case request && response, request && kind == "Response", response && kind == "Request":
		return "", exitf(exitUsage, "kz link drop: requests or responses, not both: that takes two commands.")
	case kind != "":
		return api, nil
	case response:
		return api + "Response", nil
	}
	return api + "Request", nil
}
