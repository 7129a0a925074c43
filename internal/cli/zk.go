package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"
	ucli "github.com/urfave/cli/v2"

	"kz/internal/nearest"
	"kz/internal/zk"
)

// zkCommand looks into ZooKeeper, and changes nothing there.
func zkCommand(e *env) *ucli.Command {
	sub := func(name, args, usage string, run func(context.Context, *zk.Client, string) (zkOutput, error)) *ucli.Command {
		return &ucli.Command{
			Name: name, Usage: usage, ArgsUsage: args,
			UsageText: "kz zk " + name + " [--zookeeper ADDRESS] [-o json] " + args,
			Flags:     zkFlags(), OnUsageError: usageError,
			Action: func(c *ucli.Context) error { return runZk(c, e, run) },
		}
	}
	cmd := &ucli.Command{
		Name: "zk",
		Subcommands: []*ucli.Command{
			sub("ls", "PATH", "list the children of a znode", zkLs),
			sub("get", "PATH", "print the data of a znode", zkGet),
			sub("stat", "PATH", "print a znode's versions, times and owner", zkStat),
			sub("tree", "[PATH]", "print all znodes below a path, with data and versions", zkTree),
			zkWatchCommand(e),
			zkHistoryCommand(e),
			zkSessionsCommand(e),
		},
	}
	var names []string
	for _, c := range cmd.Subcommands {
		names = append(names, c.Name)
	}
	cmd.Usage = "look into ZooKeeper: " + strings.Join(names, ", ")
	cmd.UsageText = "kz zk " + strings.Join(names, "|") + " [--zookeeper ADDRESS] [-o json] [PATH]"
	cmd.Action = func(c *ucli.Context) error {
		if c.NArg() == 0 {
			return ucli.ShowSubcommandHelp(c)
		}
		name := c.Args().First()
		if near := nearest.To(name, names); near != "" {
			return exitf(exitUsage, "kz zk: no command %q. Did you mean %q?", name, near)
		}
		return exitf(exitUsage, "kz zk: no command %q. There are %s.", name, strings.Join(names, ", "))
	}
	return cmd
}

// zkFlags are those of every command that looks into a server.
func zkFlags(more ...ucli.Flag) []ucli.Flag {
	return append([]ucli.Flag{
		&ucli.StringFlag{Name: "zookeeper", DefaultText: "the running cluster's, or " + defaultZooKeeper, Usage: "ZooKeeper's `ADDRESS`, as in zookeeper.connect: host:port,host:port/chroot"},
		&ucli.StringFlag{Name: "o", Value: "text", Usage: "output `FORMAT`: text or json"},
	}, more...)
}

// zkAddress is where to look: as said, or where the running cluster has its ZooKeeper, or
// at ZooKeeper's own port if somebody listens there: nobody asked to wait for it.
func zkAddress(c *ucli.Context, e *env) (string, error) {
	if said := c.String("zookeeper"); said != "" {
		return said, nil
	}
	if s, running := runningCluster(c.Context); running {
		return s.ZooKeeper, nil
	}
	ctx, cancel := context.WithTimeout(c.Context, zkWait)
	defer cancel()
	probe, err := e.network.Dial(ctx, defaultZooKeeper)
	if err != nil {
		return "", exitf(exitNoCluster, "%s: nothing listens on %s. %s", c.Command.HelpName, defaultZooKeeper, startOne("--zookeeper host:port"))
	}
	return defaultZooKeeper, probe.Close()
}

// zkFormat is -o: whether JSON is wanted.
func zkFormat(c *ucli.Context) (asJSON bool, err error) {
	format := c.String("o")
	if format != "text" && format != "json" {
		return false, exitf(exitUsage, "kz zk: -o %s: the formats are text and json.", format)
	}
	return format == "json", nil
}

// zkPath is the one argument; absent is what it means when it is not there, "" when it must be.
func zkPath(c *ucli.Context, absent string) (string, error) {
	path := c.Args().First()
	if path == "" {
		path = absent
	}
	if !strings.HasPrefix(path, "/") || c.NArg() > 1 {
		return "", exitf(exitUsage, "kz zk %s: needs one PATH that begins with '/', such as /brokers/ids.", c.Command.Name)
	}
	if path != "/" {
		path = strings.TrimRight(path, "/")
	}
	return path, nil
}

// zkOutput prints itself as text; its JSON form is its exported fields.
type zkOutput interface{ text(w io.Writer) }

// zkWait is how long kz zk waits for a connection, and then for all answers.
const zkWait = 10 * time.Second

func runZk(c *ucli.Context, e *env, run func(context.Context, *zk.Client, string) (zkOutput, error)) error {
	asJSON, err := zkFormat(c)
	if err != nil {
		return err
	}
	absent := ""
	if c.Command.Name == "tree" {
		absent = "/"
	}
	path, err := zkPath(c, absent)
	if err != nil {
		return err
	}
	address, err := zkAddress(c, e)
	if err != nil {
		return err
	}
	client, err := openZk(c.Context, e, address)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(c.Context, zkWait)
	defer cancel()
	out, err := run(ctx, client, path)
	switch {
	case errors.Is(err, zk.NoNode):
		return exitf(exitFailed, "kz zk: there is no %s (NONODE). What is there: kz zk ls %s", path, parentOf(path))
	case errors.Is(err, context.DeadlineExceeded):
		return exitf(exitUnknown, "kz zk: no answer from ZooKeeper at %s within %v.", client.ConnectString(), zkWait)
	case err != nil:
		return exitf(exitFailed, "kz zk: %s: %v", path, err)
	case asJSON:
		return printLine(e.stdout, out)
	}
	out.text(e.stdout)
	return nil
}

// printLine prints JSON on one line; data of znodes stays readable.
func printLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// openZk connects for looking. A chroot that is not there is not created.
func openZk(ctx context.Context, e *env, connect string) (*zk.Client, error) {
	servers, chroot, err := zk.ParseConnect(connect)
	if err != nil {
		return nil, exitf(exitUsage, "kz zk: %v.", err)
	}
	cfg := zk.Config{Servers: servers, Chroot: chroot, ExistingChroot: true, SessionTimeout: zkWait, ConnectionTimeout: zkWait, MaxInFlight: 100}
	arrived := sayIfSlow(e, "Waiting for ZooKeeper at %s, at most %v.", connect, zkWait)
	client, err := zk.Connect(ctx, cfg, e.network, nil, zerolog.Nop())
	arrived()
	if err != nil {
		return nil, exitf(exitNoCluster, "kz zk: %v. Is ZooKeeper running? Say where with --zookeeper host:port.", err)
	}
	return client, nil
}

func parentOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}
