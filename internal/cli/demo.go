package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/nearest"
	"kz/internal/up"
)

// A demo is one story that a cluster of its own tells, from its start to its removal.
type demo struct {
	name  string
	usage string // one line
	about string // what it does, for its --help
	// tell runs the story in dir, which is empty. When it returns, no process of it is left.
	tell func(ctx context.Context, n *narrator, dir string) (outcome, error)
	// flags are the story's own; they may set tell.
	flags func(*demo) []ucli.Flag
	// unable says, by name, what this system lacks for the story; "" means nothing.
	unable string
}

// demos are all there are, in the order of the lesson.
var demos = []demo{
	{
		name: "kill-a-broker", usage: "kill a leader and watch the cluster recover; needs nothing, ends by itself",
		about: "Starts a ZooKeeper and three brokers in a temporary directory on free ports of this machine, kills\n" +
			"the leader of a partition with signal 9 while records are written, and tells from the journals and\n" +
			"the znodes what happens. In the end nothing of it is left. Exit code 0: no acknowledged record was lost.",
		tell: killABroker,
	},
	{
		name: "kill-the-controller", usage: "kill the controller: who becomes the next, and how the old one is kept out",
		about: "Starts a cluster as kill-a-broker does, kills the controller with signal 9, and tells the race for\n" +
			"/controller, the multi that raises /controller_epoch, and what happens to a write of the old reign.\n" +
			"Exit code 0: the epoch went up by one, every request carries it, no acknowledged record was lost.",
		tell: killTheController,
	},
	{
		name: "zombie-leader", usage: "freeze a leader past its session, then let it go on: what acks=1 loses and acks=all does not",
		about: "Starts a cluster as kill-a-broker does, freezes the leader of a partition (SIGSTOP) while clients write\n" +
			"with acks=1 and acks=all, waits for the next leader, and thaws the old one, which does not know. Counts\n" +
			"what is lost. Exit code 0: nothing acknowledged with acks=all, and of acks=1 only what the zombie took.",
		tell: zombieLeader, unable: cannotFreeze,
	},
	{
		name: "which-is-go", usage: "kz and Apache Kafka in one cluster, killed in turn: can a client tell which is which?",
		about: "Starts a ZooKeeper and three brokers, two of Apache Kafka 2.8.2 and one of kz (or --kz 2), with a topic\n" +
			"of 30 partitions; kills each with signal 9 while records are written; asks all three the same questions\n" +
			"and counts the answers that differ. Needs java, and what scripts/reference-kafka.sh fetch gets: without\n" +
			"them it says so and exits with 3. Exit code 0: no answer differed, no acknowledged record was lost.",
		flags: whichFlags,
	},
}

// An outcome is what a story comes to: a struct that embeds demoReport and adds its own facts.
type outcome interface{ report() *demoReport }

// demoReport is the part of an outcome that all stories share; the runner fills it in.
type demoReport struct {
	Demo    string       `json:"demo"`
	OK      bool         `json:"ok"`
	Broken  []string     `json:"broken"`  // the claims that did not hold: bugs in kz
	Changed []up.Setting `json:"changed"` // the values that are not Kafka's
	Steps   []demoStep   `json:"steps"`
}

func (r *demoReport) report() *demoReport { return r }

// must notes a claim that does not hold. The story goes on: what else is so is worth telling.
func (r *demoReport) must(holds bool, format string, args ...any) {
	if !holds {
		r.Broken = append(r.Broken, fmt.Sprintf(format, args...))
	}
}

func demoNames() []string {
	var names []string
	for _, d := range demos {
		names = append(names, d.name)
	}
	return names
}

func demoCommand(e *env) *ucli.Command {
	cmd := &ucli.Command{
		Name: "demo", Usage: "watch a cluster of its own break and recover: " + strings.Join(demoNames(), ", "),
		UsageText: "kz demo " + strings.Join(demoNames(), "|") + " [-o json]",
	}
	for _, d := range demos {
		flags := []ucli.Flag{&ucli.StringFlag{Name: "o", Value: "text", Usage: "output `FORMAT`: text or json"}}
		if d.flags != nil {
			flags = append(flags, d.flags(&d)...)
		}
		cmd.Subcommands = append(cmd.Subcommands, &ucli.Command{
			Name: d.name, Usage: d.usage, Description: d.about,
			UsageText:    "kz demo " + d.name + " [-o json]",
			Flags:        flags,
			OnUsageError: usageError,
			Action:       flagsOnly(func(c *ucli.Context) error { return runDemo(c.Context, e, d, c.String("o")) }),
		})
	}
	cmd.Action = func(c *ucli.Context) error {
		if c.NArg() == 0 {
			return ucli.ShowSubcommandHelp(c)
		}
		name := c.Args().First()
		if near := nearest.To(name, demoNames()); near != "" {
			return exitf(exitUsage, "kz demo: no demo %q. Did you mean %q?", name, near)
		}
		return exitf(exitUsage, "kz demo: no demo %q. There is %s.", name, strings.Join(demoNames(), ", "))
	}
	return cmd
}

// runDemo gives the story a directory, removes it afterwards, and says whether all it claims is so.
func runDemo(ctx context.Context, e *env, d demo, format string) error {
	if format != "text" && format != "json" {
		return exitf(exitUsage, "kz demo: -o %s: the formats are text and json.", format)
	}
	if d.unable != "" {
		return exitf(exitFailed, "kz demo %s: %s", d.name, d.unable)
	}
	dir, err := os.MkdirTemp("", "kz-demo-")
	if err != nil {
		return exitf(exitFailed, "kz demo: %v", err)
	}
	defer os.RemoveAll(dir)
	n := newNarrator(e, format == "json")
	out, err := d.tell(ctx, n, dir)
	if ee := (*exitError)(nil); errors.As(err, &ee) { // it has its own code
		return err
	}
	if err != nil {
		return exitf(exitFailed, "kz demo: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return exitf(exitFailed, "kz demo: %v", err)
	}
	n.say("Done: every process is ended, and its directory is removed.")
	r := out.report()
	r.Demo, r.OK, r.Steps = d.name, len(r.Broken) == 0, n.steps
	r.Broken, r.Changed = append([]string{}, r.Broken...), slices.Concat([]up.Setting{}, r.Changed)
	if n.quiet {
		enc := json.NewEncoder(e.stdout)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(out); err != nil {
			return err
		}
	}
	if !r.OK {
		return exitf(exitFailed, "kz demo: %s. That is a bug in kz.", strings.Join(r.Broken, "; "))
	}
	return nil
}
