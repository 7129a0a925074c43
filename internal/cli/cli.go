package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/link"
	"kz/internal/nearest"
)

// The exit codes of kz's own commands.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnknown     = 3
	exitNoCluster   = 4
	exitInterrupted = 130
)

// An exitError ends the program with a code. An empty text prints nothing: the
// command has said already what there was to say.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// exitf is an exitError with a message for stderr.
func exitf(code int, format string, args ...any) error {
	return &exitError{code: code, text: fmt.Sprintf(format, args...)}
}

// env is what a command may touch: tests hand in buffers and an in-memory network.
type env struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	network link.Network
}

// Main runs the command line and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks. A second Ctrl-C ends the process at once; a second SIGTERM does
	// not: timeout(1), for one, sends two, and a broker must still close its logs.
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) })
	return run(ctx, &env{stdin: stdin, stdout: stdout, stderr: stderr, network: link.TCP{}}, args)
}

func run(ctx context.Context, e *env, args []string) int {
	out := &output{w: e.stdout}
	code, text := out.exit(runCommand(ctx, &env{stdin: e.stdin, stdout: out, stderr: e.stderr, network: e.network}, args))
	if text != "" {
		fmt.Fprintln(e.stderr, text)
	}
	return code
}

func runCommand(ctx context.Context, e *env, args []string) int {
	app := newApp(e)
	if len(args) > 0 {
		args = append(args[:1:1], flagsFirst(app.Commands, args[1:])...)
	}
	err := app.RunContext(ctx, args)
	if err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "No help topic for '"); ok { // kz help NAME
			err = unknownCommand(app, strings.TrimSuffix(name, "'"))
		}
	}
	var ee *exitError
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil: // who pressed Ctrl-C knows why it ended
		return exitInterrupted
	case errors.As(err, &ee):
		if ee.text != "" {
			fmt.Fprintln(e.stderr, ee.text)
		}
		return ee.code
	default:
		fmt.Fprintf(e.stderr, "kz: %v\n", err)
		return exitFailed
	}
}

func newApp(e *env) *ucli.App {
	version := &ucli.BoolFlag{Name: "version", Aliases: []string{"v"}, Usage: "the same as the command version", DisableDefaultText: true}
	app := &ucli.App{
		Name:                      "kz",
		Usage:                     "classic Apache Kafka 2.8 on ZooKeeper, to be read, run and broken",
		Writer:                    e.stdout,
		ErrWriter:                 e.stderr,
		Reader:                    e.stdin,
		Flags:                     []ucli.Flag{version},
		HideVersion:               true,
		DisableSliceFlagSeparator: true, // --override log.dirs=/a,/b is one value
		ExitErrHandler:            func(*ucli.Context, error) {},
		OnUsageError:              usageError,
		Commands: []*ucli.Command{
			demoCommand(e),
			upCommand(e),
			statusCommand(e),
			downCommand(e),
			envCommand(e),
			nodeCommand(e),
			linkCommand(e),
			faultsCommand(e),
			eventsCommand(e),
			brokerCommand(e),
			classic(e, "topics", "create, list, describe and alter topics (kafka-topics.sh)", runTopics),
			classic(e, "console-producer", "send each line of stdin as a record (kafka-console-producer.sh)", runConsoleProducer),
			classic(e, "console-consumer", "print the records of a topic (kafka-console-consumer.sh)", runConsoleConsumer),
			classic(e, "get-offsets", "print where the partitions of a topic end, begin, or are at a time (GetOffsetShell)", runGetOffsets),
			classic(e, "consumer-groups", "list, describe, delete and reset consumer groups (kafka-consumer-groups.sh)", runGroups),
			classic(e, "verifiable-producer", "send rising numbers and print what becomes of each as JSON (kafka-verifiable-producer.sh)", runVerifiableProducer),
			classic(e, "verifiable-consumer", "read as a member of a group and print what happens as JSON (kafka-verifiable-consumer.sh)", runVerifiableConsumer),
			classic(e, "dump-log", "show what is in segments and indexes (kafka-dump-log.sh)", runDumpLog),
			classic(e, "producer-perf-test", "measure producing (kafka-producer-perf-test.sh)", runProducerPerf),
			classic(e, "consumer-perf-test", "measure consuming (kafka-consumer-perf-test.sh)", runConsumerPerf),
			replicasCommand(e),
			offsetsCommand(e),
			benchCommand(e),
			zkCommand(e),
			zookeeperCommand(e),
			versionCommand(e),
		},
	}
	app.Action = func(c *ucli.Context) error {
		switch {
		case c.Bool("version"):
			return printVersion(e)
		case c.NArg() == 0:
			return ucli.ShowAppHelp(c)
		}
		return unknownCommand(app, c.Args().First())
	}
	for _, c := range app.Commands {
		if c.OnUsageError == nil {
			c.OnUsageError = usageError
		}
	}
	return app
}

func unknownCommand(app *ucli.App, name string) error {
	var names []string
	for _, c := range app.Commands {
		names = append(names, c.Name)
	}
	hint := "Run 'kz help' for the list."
	if near := nearest.To(name, names); near != "" {
		hint = fmt.Sprintf("Did you mean %q?", near)
	}
	return exitf(exitUsage, "kz: no command %q. %s", name, hint)
}

// usageError rewrites the library's message, which shows flags with one dash.
func usageError(c *ucli.Context, err error, _ bool) error {
	name := strings.Join(strings.Fields("kz "+strings.TrimPrefix(c.Command.HelpName, "kz")), " ")
	hint := fmt.Sprintf("Run '%s --help' for its flags.", name)
	text := err.Error()
	if flag, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		text = "there is no flag " + dashed(flag)
		var names []string
		for _, f := range c.Command.Flags {
			names = append(names, f.Names()...)
		}
		if near := nearest.To(strings.TrimLeft(flag, "-"), longNames(names)); near != "" {
			hint = fmt.Sprintf("Did you mean --%s?", near)
		}
	} else if flag, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		text = dashed(flag) + " needs a value"
	} else if m := badValue.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("%s %s: %s", dashed(m[2]), m[1], wanted(c.Command.Flags, m[2], m[3]))
	}
	return exitf(exitUsage, "%s: %s. %s", name, text, hint)
}

// badValue is the library's message for a value of the wrong kind.
var badValue = regexp.MustCompile(`(?s)^invalid (?:boolean )?value "(.*)" for (?:flag )?-(\S+): (.*)$`)

// wanted says what a flag takes; fault is the library's reason, for a kind it knows better.
func wanted(flags []ucli.Flag, name, fault string) string {
	for _, f := range flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		switch f.(type) {
		case *ucli.DurationFlag:
			return "a time has a unit, as in 300ms, 5s or 2m"
		case *ucli.IntFlag, *ucli.Int64Flag:
			return "must be a whole number"
		case *ucli.BoolFlag:
			return "must be true or false, or left out"
		}
	}
	return fault
}

func dashed(flag string) string {
	if len(flag) == 1 {
		return "-" + flag
	}
	return "--" + strings.TrimLeft(flag, "-")
}

// longNames leaves out names of one letter: each is near to every other.
func longNames(names []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return len(n) == 1 })
}

// classic wires one of Kafka's own tools: it reads its flags itself, as Kafka does.
func classic(e *env, name, usage string, run func(context.Context, *env, []string) error) *ucli.Command {
	return &ucli.Command{
		Name:            name,
		Usage:           usage,
		UsageText:       "kz " + name + " [options]\n\n'kz " + name + " --help' lists the options, which are Kafka's.",
		SkipFlagParsing: true,
		HideHelp:        true,
		Action:          func(c *ucli.Context) error { return run(c.Context, e, c.Args().Slice()) },
	}
}
