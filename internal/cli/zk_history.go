package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/journal"
	"kz/internal/up"
)

func zkHistoryCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name: "history", Usage: "list every write to a znode, also the refused ones: who, versions, zxid", ArgsUsage: "[PATH]",
		UsageText: "kz zk history [--dir D | --journal FILE] [--below] [--last N] [-o json] [PATH]",
		Description: "Reads the journal of the embedded ZooKeeper: of the cluster of kz up, or of `kz zookeeper\n" +
			"--journal FILE`. A ZooKeeper that is not embedded tells no client its history: it is in the server's\n" +
			"transaction log, on its disk. Without PATH: all writes.",
		Flags: []ucli.Flag{
			dirFlag(),
			&ucli.StringFlag{Name: "journal", Usage: "read this `FILE` instead of a cluster's"},
			&ucli.BoolFlag{Name: "below", Usage: "also what is below PATH"},
			&ucli.IntFlag{Name: "last", Value: 50, Usage: "the last `N` writes; 0 is all"},
			&ucli.StringFlag{Name: "o", Value: "text", Usage: "output `FORMAT`: text or json"},
		},
		OnUsageError: usageError,
		Action:       func(c *ucli.Context) error { return runZkHistory(c, e) },
	}
}

// A zkWrite is one write as the server decided it.
type zkWrite struct {
	Zxid    string `json:"zxid"`
	Session string `json:"session"`
	Who     string `json:"who"` // "broker 2", "" for who never registered as one
	Op      string `json:"op"`  // "create", "setData", "delete", "check", "setACL"
	Path    string `json:"path"`
	Before  *int32 `json:"versionBefore"` // nil: it was not there
	After   *int32 `json:"versionAfter"`  // nil: it is not there
	Result  string `json:"result"`        // "ok", or the error that changed nothing
	Why     string `json:"why,omitempty"` // of the delete of an ephemeral: the end of its session
}

func runZkHistory(c *ucli.Context, e *env) error {
	asJSON, err := zkFormat(c)
	if err != nil {
		return err
	}
	path, err := zkPath(c, "/")
	if err != nil {
		return err
	}
	if c.Int("last") < 0 {
		return exitf(exitUsage, "kz zk history: --last is at least 0.")
	}
	file := c.String("journal")
	if file == "" {
		if file, err = zooJournal(c.String("dir")); err != nil {
			return err
		}
	}
	h := zkHistory{path: path, below: c.Bool("below") || c.NArg() == 0, last: c.Int("last"), names: map[string]string{}}
	f, err := os.Open(file)
	if err == nil {
		defer f.Close()
		err = h.read(f)
	}
	if err != nil {
		return exitf(exitFailed, "kz zk history: %v", err)
	}
	writes := h.named()
	if asJSON {
		return printLine(e.stdout, struct {
			Writes  []zkWrite `json:"writes"`
			Earlier int       `json:"earlier"`
		}{writes, h.earlier})
	}
	if h.earlier > 0 {
		fmt.Fprintf(e.stderr, "%d earlier writes are left out: --last 0 shows all.\n", h.earlier)
	}
	if len(writes) == 0 {
		fmt.Fprintf(e.stderr, "Nobody has written to %s.\n", path)
	}
	printWrites(e.stdout, writes)
	return nil
}

// zooJournal is the journal of a cluster's embedded ZooKeeper; the cluster need not run.
func zooJournal(dir string) (string, error) {
	spec, err := up.ReadSpec(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", exitf(exitNoCluster, "kz zk history: there is no cluster in %s. Start one: kz up --detach; or name a journal: --journal FILE", dir)
	case err != nil:
		return "", exitf(exitFailed, "kz zk history: %v", err)
	case spec.ZooKeeper != "":
		return "", exitf(exitFailed, "kz zk history: the cluster in %s uses the ZooKeeper at %s, which is not embedded. It tells no client its history:\n"+
			"that is in the transaction log on its own disk. kz zk watch shows what happens from now on.", dir, spec.ZooKeeper)
	}
	return filepath.Join(dir, "zookeeper.jsonl"), nil
}

// zkHistory gathers writes from a journal, however long that is.
type zkHistory struct {
	path  string
	below bool
	last  int // 0: all

	writes  []zkWrite
	earlier int               // left out
	names   map[string]string // by session: the broker that registered in it
	ending  string            // the last end of a session, with its zxid: its ephemerals go under the same
	endedAt int64
}

// maxJournalLine bounds a line; an event names a path, which ZooKeeper bounds to a megabyte.
const maxJournalLine = 2 << 20

func (h *zkHistory) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxJournalLine)
	for lines.Scan() {
		var ev journal.Event
		if json.Unmarshal(lines.Bytes(), &ev) == nil { // a line that a kill cut off is no event
			h.take(ev)
		}
	}
	return lines.Err()
}

var brokerNode = regexp.MustCompile(`/brokers/ids/(\d+)$`) // whatever the chroot

func (h *zkHistory) take(ev journal.Event) {
	switch ev.Kind {
	case journal.SessionExpired:
		h.ending, h.endedAt = "its session expired", ev.Zxid
	case journal.SessionClosed:
		h.ending, h.endedAt = "its session was closed", ev.Zxid
	case journal.ZnodeWrite:
		if m := brokerNode.FindStringSubmatch(ev.Path); m != nil && ev.Text == "create" && ev.Result == "ok" {
			h.names[ev.Session] = "broker " + m[1]
		}
		if h.wanted(ev.Path) {
			h.add(ev)
		}
	}
}

func (h *zkHistory) wanted(path string) bool {
	return path == h.path || h.below && (h.path == "/" || strings.HasPrefix(path, h.path+"/"))
}

func (h *zkHistory) add(ev journal.Event) {
	w := zkWrite{Zxid: hexZxid(ev.Zxid), Session: ev.Session, Op: ev.Text, Path: ev.Path, Result: ev.Result, Before: versionOf(ev.VersionBefore), After: versionOf(ev.VersionAfter)}
	if ev.Zxid == h.endedAt {
		w.Why = h.ending
	}
	if h.writes = append(h.writes, w); h.last > 0 && len(h.writes) >= 2*h.last { // so that it moves seldom
		h.cut()
	}
}

// cut leaves the last ones.
func (h *zkHistory) cut() {
	if n := len(h.writes) - h.last; h.last > 0 && n > 0 {
		h.earlier += n
		h.writes = append(h.writes[:0], h.writes[n:]...)
	}
}

// named are the writes with the names of who registered as a broker before or later.
func (h *zkHistory) named() []zkWrite {
	h.cut()
	out := append([]zkWrite{}, h.writes...)
	for i := range out {
		out[i].Who = h.names[out[i].Session]
	}
	return out
}

// versionOf: the journal says -1 for a node that is not there.
func versionOf(v int32) *int32 {
	if v < 0 {
		return nil
	}
	return &v
}

func hexZxid(z int64) string { return fmt.Sprintf("0x%x", uint64(z)) }

func printWrites(out io.Writer, writes []zkWrite) {
	if len(writes) == 0 {
		return
	}
	version := func(v *int32) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf("v%d", *v)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ZXID\tSESSION\tWHO\tOP\tVERSION\tRESULT\tPATH")
	for _, wr := range writes {
		who, result := wr.Who, wr.Result
		if who == "" {
			who = "-"
		}
		if wr.Why != "" {
			result += ", " + wr.Why
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s -> %s\t%s\t%s\n", wr.Zxid, wr.Session, who, wr.Op, version(wr.Before), version(wr.After), result, wr.Path)
	}
	_ = w.Flush() // as every write to stdout: who closed it knows
}
