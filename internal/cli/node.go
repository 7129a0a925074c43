package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/nearest"
	"kz/internal/up"
)

// faultWait is a little more than the supervisor gives itself for the longest act, a start.
const faultWait = 70 * time.Second

// nodeActs are what kz node can do, in the order of its help.
var nodeActs = []struct {
	name, usage string
	moments     bool // it can wait for a moment
}{
	{up.Kill, "end the process as kill -9 does: what it wrote to its files stays", true},
	{up.PowerOff, "end it as a power failure does: what was never forced to disk is gone, too", true},
	{up.Stop, "ask it to stop: a broker hands its partitions over and closes its logs", false},
	{up.Pause, "stop everything in it, as a long garbage collection does; or from a moment on", true},
	{up.Resume, "let a paused one go on", false},
	{up.Start, "start one that has ended, and wait until it serves", false},
}

func nodeCommand(e *env) *ucli.Command {
	cmd := &ucli.Command{
		Name: "node", Usage: "kill, power-off, stop, pause, resume or start a process of the cluster",
		UsageText: "kz node kill|power-off|stop|pause|resume|start NODE [--at MOMENT] [--dir D] [-o json]",
		Description: "NODE is a broker's id, zookeeper, or who it is now: controller, leader:orders-0. A MOMENT is a named\n" +
			"point in the broker's code, such as leader.append or controller.send:LeaderAndIsr, or leader.append:orders-0.",
	}
	var names []string
	for _, act := range nodeActs {
		names = append(names, act.name)
		sub := &ucli.Command{
			Name: act.name, Usage: act.usage, UsageText: "kz node " + act.name + " NODE [--dir D] [-o json]",
			Flags: []ucli.Flag{dirFlag(), formatFlag()}, OnUsageError: usageError,
		}
		if act.moments {
			sub.UsageText = "kz node " + act.name + " NODE [--at MOMENT] [--dir D] [-o json]"
			sub.Flags = append(sub.Flags, &ucli.StringFlag{Name: "at", Usage: "wait until `MOMENT` comes in the broker, then do it"})
		}
		sub.Action = func(c *ucli.Context) error {
			if c.NArg() != 1 {
				return exitf(exitUsage, "kz node %s: name one node: a broker's id, zookeeper, controller or leader:TOPIC-PARTITION.", act.name)
			}
			f := up.NodeFault{Act: act.name, Node: c.Args().First(), At: c.String("at")}
			return doFault(c, e, func(ctx context.Context, r *up.Remote) (up.Fault, error) { return r.Node(ctx, f) })
		}
		cmd.Subcommands = append(cmd.Subcommands, sub)
	}
	cmd.Action = func(c *ucli.Context) error { return unknownSubcommand(c, "node", names) }
	return cmd
}

func formatFlag() ucli.Flag {
	return &ucli.StringFlag{Name: "o", Value: "text", Usage: "output `FORMAT`: text or json"}
}

// unknownSubcommand shows the help, or says what was probably meant.
func unknownSubcommand(c *ucli.Context, command string, names []string) error {
	if c.NArg() == 0 {
		return ucli.ShowSubcommandHelp(c)
	}
	word := c.Args().First()
	if near := nearest.To(word, names); near != "" {
		return exitf(exitUsage, "kz %s: there is no %q. Did you mean %q?", command, word, near)
	}
	return exitf(exitUsage, "kz %s: there is no %q. Run 'kz %s --help' for what there is.", command, word, command)
}

// doFault asks the supervisor for a fault and prints what was done.
func doFault(c *ucli.Context, e *env, do func(context.Context, *up.Remote) (up.Fault, error)) error {
	command := "kz " + c.Command.HelpName[len("kz "):]
	format := c.String("o")
	if format != "text" && format != "json" {
		return exitf(exitUsage, "%s: -o %s: the formats are text and json.", command, format)
	}
	r, err := up.Find(c.String("dir"))
	if err != nil {
		return noCluster(command[len("kz "):], c.String("dir"), err)
	}
	arrived := sayIfSlow(e, "Waiting until it is done, at most %v.", faultWait)
	ctx, cancel := context.WithTimeout(c.Context, faultWait)
	defer cancel()
	f, err := do(ctx, r)
	arrived()
	if err != nil {
		return refused(command, err)
	}
	if format == "json" {
		return json.NewEncoder(e.stdout).Encode(f)
	}
	fmt.Fprintf(e.stdout, "%s\n", f.Text)
	if f.State == up.Armed || f.State == up.InForce {
		fmt.Fprintf(e.stderr, "Fault %s is %s since event %d; kz faults lists it.\n", f.ID, f.State, f.Since)
	}
	return nil
}

// refused is the supervisor's answer to what it did not do.
func refused(command string, err error) error {
	var why *up.Refusal
	if errors.As(err, &why) && why.Usage {
		return exitf(exitUsage, "%s: %v", command, err)
	}
	return exitf(exitFailed, "%s: %v", command, err)
}
