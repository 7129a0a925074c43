package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kz/client/admin"
)

var groupsOptions = []option{
	{name: "bootstrap-server", arg: "host:port,...", help: "brokers to ask first"},
	{name: "command-config", arg: "file", help: "properties file for the admin client"},
	{name: "timeout", arg: "ms", def: "5000", help: "how long each question to the brokers may take"},
	{name: "list", help: "action: print groups"},
	{name: "describe", help: "action: show offsets, members or state"},
	{name: "delete", help: "action: delete groups without members"},
	{name: "reset-offsets", help: "action: set committed offsets of a group without members"},
	{name: "delete-offsets", help: "action: delete committed offsets of topics"},
	{name: "group", arg: "id", help: "consumer group, may be repeated"},
	{name: "all-groups", help: "every group"},
	{name: "topic", arg: "topic[:0,1,...]", help: "reset-offsets, delete-offsets: topic and partitions, may be repeated"},
	{name: "all-topics", help: "reset-offsets: every partition the group has an offset for"},
	{name: "members", help: "describe: members"},
	{name: "offsets", help: "describe: offsets (the default)"},
	{name: "state", arg: "state,...", optional: true, help: "describe: the group's state; list: states, of these only"},
	{name: "verbose", help: "describe --members: the partitions of each"},
	{name: "to-earliest", help: "reset: to the first record there is"},
	{name: "to-latest", help: "reset: to the end"},
	{name: "to-current", help: "reset: to the committed offset, or the end where there is none"},
	{name: "to-offset", arg: "offset", help: "reset: to a number, within what there is"},
	{name: "shift-by", arg: "count", help: "reset: by so many records; negative = back"},
	{name: "to-datetime", arg: "YYYY-MM-DDTHH:mm:SS.sss", help: "reset: to the first record at or after a time, UTC unless it ends in an offset"},
	{name: "by-duration", arg: "PnDTnHnMnS", help: "reset: to the first record of the last so long"},
	{name: "from-file", arg: "file", help: "reset: to the offsets of a CSV file, as --export writes it"},
	{name: "dry-run", help: "reset: only show"},
	{name: "execute", help: "reset: do it"},
	{name: "export", help: "reset: print CSV"},
}

var (
	groupActions   = []string{"list", "describe", "delete", "reset-offsets", "delete-offsets"}
	resetScenarios = []string{"to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "to-current", "shift-by", "from-file"}
)

// groupsTool is one run of kz consumer-groups.
type groupsTool struct {
	e      *env
	o      *options
	a      *admin.Admin
	asJSON bool
}

// wrongUse is a fault of the command line that shows late; Kafka prints the usage then.
type wrongUse string

func (w wrongUse) Error() string { return string(w) }

// runGroups is kafka-consumer-groups.sh. Mirrors kafka.admin.ConsumerGroupCommand. What
// goes wrong after the command line was understood is printed on stdout, and the exit
// code is 0, as in Kafka.
func runGroups(ctx context.Context, e *env, args []string) error {
	o, err := parseOptions("consumer-groups", groupsOptions, args)
	if err != nil {
		return err
	}
	if o.has("help") || o.has("version") {
		return o.helpOrVersion(e, args, "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, or reset consumer group offsets.")
	}
	o.fill(ctx, "bootstrap-server")
	if err := checkGroups(e, o); err != nil {
		return err
	}
	g, err := openGroups(e, o)
	if err != nil {
		return err
	}
	defer g.a.Close()
	err = g.act(ctx)
	var use wrongUse
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &exitError{code: exitInterrupted}
	case errors.As(err, &use):
		return o.die(e, use.Error())
	}
	g.complain("Executing consumer group command failed due to %s", javaText(err))
	return nil
}

func (g *groupsTool) act(ctx context.Context) error {
	switch {
	case g.o.has("list"):
		return g.list(ctx)
	case g.o.has("describe"):
		return g.describe(ctx)
	case g.o.has("delete"):
		return g.delete(ctx)
	case g.o.has("reset-offsets"):
		return g.reset(ctx)
	default:
		return g.deleteOffsets(ctx)
	}
}

// complain prints an error where Kafka's tool prints it: on stdout, after an empty
// line. With -o json stdout is for JSON only, and it goes to stderr.
func (g *groupsTool) complain(format string, args ...any) {
	w := g.e.stdout
	if g.asJSON {
		w = g.e.stderr
	}
	fmt.Fprintf(w, "\nError: %s\n", fmt.Sprintf(format, args...))
}

func openGroups(e *env, o *options) (*groupsTool, error) {
	asJSON, err := o.json()
	if err != nil {
		return nil, err
	}
	props, err := o.readProperties("command-config")
	if err != nil {
		return nil, err
	}
	if props["bootstrap.servers"], err = o.str("bootstrap-server"); err != nil {
		return nil, o.die(e, err.Error())
	}
	timeout, err := o.number("timeout", 32)
	if err != nil || timeout <= 0 {
		return nil, o.die(e, "--timeout must be a number of milliseconds above 0")
	}
	a, err := openAdmin(e, o.tool, props, time.Duration(timeout)*time.Millisecond)
	return &groupsTool{e: e, o: o, a: a, asJSON: asJSON}, err
}

// checkGroups is ConsumerGroupCommandOptions.checkArgs, in its order.
func checkGroups(e *env, o *options) error {
	if !o.has("describe") {
		for _, name := range []string{"members", "verbose", "offsets", "state"} {
			if o.has(name) && !(name == "state" && o.has("list")) {
				return exitf(exitFailed, "Option(s) [%s] are unavailable given other options on the command line", name)
			}
		}
	}
	if err := o.require(e, "bootstrap-server"); err != nil {
		return err
	}
	for _, check := range []func(*env, *options) error{checkDescribeGroups, checkDeleteGroups, checkResetOffsets} {
		if err := check(e, o); err != nil {
			return err
		}
	}
	if err := o.exclude(e, "group", "all-groups", "list"); err != nil {
		return err
	}
	if err := o.exclude(e, "topic", "list", "describe"); err != nil {
		return err
	}
	if given(o, groupActions) != 1 {
		return o.die(e, "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets")
	}
	return nil
}

func given(o *options, names []string) (n int) {
	for _, name := range names {
		if o.has(name) {
			n++
		}
	}
	return n
}

func checkDescribeGroups(e *env, o *options) error {
	state, _ := o.str("state")
	switch {
	case !o.has("describe"):
	case !o.has("group") && !o.has("all-groups"):
		return o.die(e, "Option [describe] takes one of these options: [group], [all-groups]")
	case given(o, []string{"members", "offsets", "state"}) > 1:
		return o.die(e, "Option [describe] takes at most one of these options: [members], [offsets], [state]")
	case state != "":
		return o.die(e, "Option [describe] does not take a value for [state]")
	}
	return nil
}

func checkDeleteGroups(e *env, o *options) error {
	switch {
	case o.has("delete") && !o.has("group") && !o.has("all-groups"):
		return o.die(e, "Option [delete] takes one of these options: [group], [all-groups]")
	case o.has("delete") && o.has("topic"):
		return o.die(e, "The consumer does not support topic-specific offset deletion from a consumer group.")
	case o.has("delete-offsets") && (!o.has("group") || !o.has("topic")):
		return o.die(e, "Option [delete-offsets] takes the following options: [group], [topic]")
	}
	return nil
}

const noExecute = "WARN: No action will be performed as the --execute option is missing." +
	"In a future major release, the default behavior of this command will be to prompt the user before executing the reset rather than doing a dry run. " +
	"You should add the --dry-run option explicitly if you are scripting this command and want to keep the current default behavior without prompting."

func checkResetOffsets(e *env, o *options) error {
	if !o.has("reset-offsets") {
		return nil
	}
	if o.has("dry-run") && o.has("execute") {
		return o.die(e, "Option [reset-offsets] only accepts one of [execute] and [dry-run]")
	}
	if !o.has("dry-run") && !o.has("execute") {
		fmt.Fprintln(e.stderr, noExecute)
	}
	if !o.has("group") && !o.has("all-groups") {
		return o.die(e, "Option [reset-offsets] takes one of these options: [group], [all-groups]")
	}
	for i, s := range resetScenarios {
		if err := o.exclude(e, s, append(slices.Clone(resetScenarios[:i]), resetScenarios[i+1:]...)...); err != nil {
			return err
		}
	}
	return nil
}

// groups are those the command is about, in order, each once.
func (g *groupsTool) groups(ctx context.Context) ([]string, error) {
	if g.o.has("all-groups") {
		listed, err := g.a.ListGroups(ctx, nil)
		var out []string
		for _, l := range listed {
			out = append(out, l.Group)
		}
		return out, err
	}
	var out []string
	for _, id := range g.o.all("group") {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

var groupStates = []string{"PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty"}

func (g *groupsTool) list(ctx context.Context) error {
	var states []string
	list, err := g.o.str("state")
	if err != nil {
		return wrongUse(err.Error())
	}
	if list != "" {
		for _, s := range strings.Split(list, ",") {
			s = strings.TrimSpace(s)
			if !slices.Contains(groupStates, s) {
				return wrongUse(fmt.Sprintf("Invalid state list '%s'. Valid states are: %s", list, strings.Join(groupStates, ", ")))
			}
			states = append(states, s)
		}
	}
	listed, err := g.a.ListGroups(ctx, states)
	if err != nil {
		return err
	}
	width := 15
	for _, l := range listed {
		width = max(width, len(l.Group))
	}
	switch withState := g.o.has("state"); {
	case g.asJSON:
		return printJSON(g.e, append([]admin.GroupListing{}, listed...))
	case withState:
		fmt.Fprintf(g.e.stdout, "%-*s %s\n", width, "GROUP", "STATE")
		for _, l := range listed {
			fmt.Fprintf(g.e.stdout, "%-*s %s\n", width, l.Group, l.State)
		}
	default:
		for _, l := range listed {
			fmt.Fprintln(g.e.stdout, l.Group)
		}
	}
	return nil
}
