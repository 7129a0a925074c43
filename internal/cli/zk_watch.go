package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/zk"
)

func zkWatchCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name: "watch", Usage: "tell what happens to a znode, its data and its list of children", ArgsUsage: "PATH",
		UsageText: "kz zk watch [--zookeeper ADDRESS] [--recursive] [--count N] [--for D] [-o json] PATH",
		Description: "A watch says that something changed, not what, and is used up by that: whoever wants to know\n" +
			"reads again, which sets the next watch. So does Kafka, and so does this: several quick writes can\n" +
			"be one event, and the versions show it. The znode need not exist yet.\n" +
			"With --recursive it is ZooKeeper's persistent watch (3.6 or newer), which stays and tells every\n" +
			"change of the znode and of all below it. -o json prints an object a line.",
		Flags: zkFlags(
			&ucli.BoolFlag{Name: "recursive", Aliases: []string{"r"}, Usage: "everything below PATH, too, by one persistent watch"},
			&ucli.IntFlag{Name: "count", Usage: "end after `N` events", DefaultText: "none: until Ctrl-C"},
			&ucli.DurationFlag{Name: "for", Usage: "end after `TIME`, such as 30s", DefaultText: "none: until Ctrl-C"},
		),
		OnUsageError: usageError,
		Action:       func(c *ucli.Context) error { return runZkWatch(c, e) },
	}
}

// A zkChange is one thing that a watch led to. What nobody said is nil.
type zkChange struct {
	Path    string   `json:"path"`
	Event   string   `json:"event"` // "created", "deleted", "data changed", "children changed"
	Was     *int32   `json:"versionBefore"`
	Version *int32   `json:"versionAfter"` // of the data; of the list of children its cversion
	Zxid    *string  `json:"zxid"`
	Owner   *string  `json:"ephemeralOwner"` // of a created ephemeral
	Data    *string  `json:"data"`
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
}

// text is a sentence.
func (ch zkChange) text(w io.Writer) {
	var b strings.Builder
	zxid := ""
	if ch.Zxid != nil {
		zxid = ", zxid " + *ch.Zxid
	}
	switch ch.Event {
	case "created":
		fmt.Fprintf(&b, "%s was created", ch.Path)
		if ch.Version != nil {
			fmt.Fprintf(&b, ": v%d%s", *ch.Version, zxid)
		} else {
			b.WriteString(", and is gone again")
		}
		if ch.Owner != nil {
			fmt.Fprintf(&b, ", ephemeral of session %s", *ch.Owner)
		}
	case "deleted":
		fmt.Fprintf(&b, "%s was deleted", ch.Path)
		if ch.Was != nil {
			fmt.Fprintf(&b, "; it was at v%d", *ch.Was)
		}
	case "data changed":
		fmt.Fprintf(&b, "%s changed", ch.Path)
		switch {
		case ch.Version == nil:
			b.WriteString(", and is gone by now")
		case ch.Was == nil:
			fmt.Fprintf(&b, ": now v%d%s", *ch.Version, zxid)
		default:
			fmt.Fprintf(&b, ": v%d -> v%d%s", *ch.Was, *ch.Version, zxid)
			if n := *ch.Version - *ch.Was; n > 1 {
				fmt.Fprintf(&b, " (%d writes, one event)", n)
			}
		}
	default:
		fmt.Fprintf(&b, "children of %s:", ch.Path)
		for _, name := range ch.Added {
			b.WriteString(" +" + name)
		}
		for _, name := range ch.Removed {
			b.WriteString(" -" + name)
		}
		fmt.Fprintf(&b, " (cversion %d -> %d%s)", *ch.Was, *ch.Version, zxid)
	}
	if ch.Data != nil {
		fmt.Fprintf(&b, ": %s", *ch.Data)
	}
	fmt.Fprintln(w, b.String())
}

// A zkWatcher waits for the next changes. begin tells how things are.
type zkWatcher interface {
	begin(ctx context.Context) (string, error)
	next(ctx context.Context) ([]zkChange, error)
	close()
}

func runZkWatch(c *ucli.Context, e *env) error {
	asJSON, err := zkFormat(c)
	if err != nil {
		return err
	}
	path, err := zkPath(c, "")
	if err != nil {
		return err
	}
	count, limit := c.Int("count"), c.Duration("for")
	if c.IsSet("count") && count < 1 || c.IsSet("for") && limit <= 0 {
		return exitf(exitUsage, "kz zk watch: --count is at least 1, and --for a time above 0, such as 30s.")
	}
	address, err := zkAddress(c, e)
	if err != nil {
		return err
	}
	var w zkWatcher
	if c.Bool("recursive") {
		w, err = openTreeWatcher(c.Context, e, address, path)
	} else {
		w, err = openNodeWatcher(c.Context, e, address, path)
	}
	if err != nil {
		return err
	}
	defer w.close()
	ctx := c.Context
	until := "until Ctrl-C"
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
		until = fmt.Sprintf("at most %v", limit)
	}
	now, err := w.begin(ctx)
	if err != nil && ctx.Err() == nil {
		return exitf(exitFailed, "kz zk watch: %s: %v", path, err)
	}
	fmt.Fprintf(e.stderr, "Watching %s, %s; %s.\n", path, until, now)
	seen, err := tellChanges(ctx, e, w, count, asJSON)
	switch {
	case err == nil:
		return nil
	case c.Context.Err() != nil:
		return &exitError{code: exitInterrupted}
	case !errors.Is(err, context.DeadlineExceeded) || ctx.Err() == nil:
		return exitf(exitFailed, "kz zk watch: the watch is over, because the connection is: %v. Start it again; compare with kz zk get %s", err, path)
	case count > 0:
		return exitf(exitFailed, "kz zk watch: %d of %d events within %v.", seen, count, limit)
	}
	fmt.Fprintf(e.stderr, "Over after %v; events: %d.\n", limit, seen)
	return nil
}

// tellChanges prints changes until there were count of them, 0 being no bound, or ctx ends.
func tellChanges(ctx context.Context, e *env, w zkWatcher, count int, asJSON bool) (seen int, err error) {
	for {
		changes, err := w.next(ctx)
		if err != nil {
			return seen, err
		}
		for _, ch := range changes {
			if asJSON {
				err = printLine(e.stdout, ch)
			} else {
				ch.text(e.stdout)
			}
			if seen++; err != nil || seen == count {
				return seen, err
			}
		}
	}
}

// ---- one znode, by watches that are used up ------------------------------------------

// nodeLook is a znode as it was read once.
type nodeLook struct {
	exists   bool
	stat     zk.Stat
	data     []byte
	children []string
}

// nodeWatcher compares what it reads with what it read before. A read sets the watch
// before it looks, so no change is missed: at worst it is seen before its event comes.
type nodeWatcher struct {
	client *zk.Client
	path   string
	last   nodeLook
	fired  chan zk.EventType
}

func openNodeWatcher(ctx context.Context, e *env, connect, path string) (zkWatcher, error) {
	client, err := openZk(ctx, e, connect)
	if err != nil {
		return nil, err
	}
	w := &nodeWatcher{client: client, path: path, fired: make(chan zk.EventType, 16)}
	put := func(t zk.EventType) {
		select {
		case w.fired <- t: // two watches can be armed at a time; the rest is room for rereads,
		default: // of which one is as good as many
		}
	}
	client.RegisterData(path, put)
	client.RegisterChild(path, put)
	return w, nil
}

func (w *nodeWatcher) close() { w.client.Close() }

func (w *nodeWatcher) begin(ctx context.Context) (string, error) {
	var err error
	if w.last, err = w.look(ctx); err != nil {
		return "", err
	}
	if !w.last.exists {
		return "it does not exist yet", nil
	}
	return fmt.Sprintf("it is at v%d and has %d children", w.last.stat.Version, len(w.last.children)), nil
}

func (w *nodeWatcher) next(ctx context.Context) ([]zkChange, error) {
	for {
		select {
		case <-w.fired:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		now, err := w.look(ctx)
		if err != nil {
			return nil, err
		}
		changes := compareLooks(w.path, w.last, now)
		if w.last = now; len(changes) > 0 {
			return changes, nil
		}
	}
}

// look reads the znode and its children, and sets the watches that are not set. The stat is
// of the data's moment; the list of children may be a little newer, and then its event comes.
func (w *nodeWatcher) look(ctx context.Context) (nodeLook, error) {
	ctx, cancel := context.WithTimeout(ctx, zkWait)
	defer cancel()
	_, found, err := w.client.Exists(ctx, w.path)
	if err != nil || !found {
		return nodeLook{}, err
	}
	look := nodeLook{exists: true}
	if look.children, err = w.client.Children(ctx, w.path, true); err == nil {
		look.data, look.stat, err = w.client.Get(ctx, w.path)
	}
	if errors.Is(err, zk.NoNode) { // gone between the reads: its event is on its way
		return nodeLook{}, nil
	}
	slices.Sort(look.children)
	return look, err
}

// compareLooks says what must have happened between two looks at a path.
func compareLooks(path string, was, now nodeLook) []zkChange {
	var out []zkChange
	gone := was.exists && (!now.exists || now.stat.Czxid != was.stat.Czxid)
	fresh := now.exists && (!was.exists || gone)
	before := was
	if gone {
		out = append(out, zkChange{Path: path, Event: "deleted", Was: &before.stat.Version})
	}
	switch {
	case fresh:
		out = append(out, createdChange(path, now.data, now.stat))
	case now.exists && now.stat.Version != was.stat.Version:
		out = append(out, dataChange(path, &was.stat.Version, now.data, now.stat))
	}
	if fresh { // what it had before was another node's
		was = nodeLook{}
	}
	if now.exists && (!slices.Equal(was.children, now.children) || !fresh && was.stat.Cversion != now.stat.Cversion) {
		zxid := hexZxid(now.stat.Pzxid)
		out = append(out, zkChange{Path: path, Event: "children changed", Was: &was.stat.Cversion, Version: &now.stat.Cversion, Zxid: &zxid,
			Added: without(now.children, was.children), Removed: without(was.children, now.children)})
	}
	return out
}

func createdChange(path string, data []byte, stat zk.Stat) zkChange {
	ch := dataChange(path, nil, data, stat)
	ch.Event = "created"
	if stat.EphemeralOwner != 0 {
		owner := hexZxid(stat.EphemeralOwner)
		ch.Owner = &owner
	}
	return ch
}

func dataChange(path string, was *int32, data []byte, stat zk.Stat) zkChange {
	zxid := hexZxid(stat.Mzxid)
	return zkChange{Path: path, Event: "data changed", Was: was, Version: &stat.Version, Zxid: &zxid, Data: nodeOf(path, data, stat).Data}
}

// without is what list has and other has not.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}
