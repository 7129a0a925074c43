package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/nearest"
	"kz/internal/up"
)

func demoCommand(e *env) *ucli.Command {
	kill := &ucli.Command{
		Name: "kill-a-broker", Usage: "kill a leader and watch the cluster recover; needs nothing, ends by itself",
		UsageText: "kz demo kill-a-broker [-o json]",
		Description: "Starts a ZooKeeper and three brokers in a temporary directory on free ports of this machine, kills\n" +
			"the leader of a partition with signal 9 while records are written, and tells from the journals and\n" +
			"the znodes what happens. In the end nothing of it is left. Exit code 0: no acknowledged record was lost.",
		Flags:        []ucli.Flag{&ucli.StringFlag{Name: "o", Value: "text", Usage: "output `FORMAT`: text or json"}},
		OnUsageError: usageError,
		Action:       func(c *ucli.Context) error { return runKillABroker(c.Context, e, c.String("o"), c.NArg()) },
	}
	cmd := &ucli.Command{
		Name: "demo", Usage: "watch a cluster of its own break and recover: kill-a-broker",
		UsageText: "kz demo kill-a-broker", Subcommands: []*ucli.Command{kill},
	}
	cmd.Action = func(c *ucli.Context) error {
		if c.NArg() == 0 {
			return ucli.ShowSubcommandHelp(c)
		}
		if near := nearest.To(c.Args().First(), []string{kill.Name}); near != "" {
			return exitf(exitUsage, "kz demo: no demo %q. Did you mean %q?", c.Args().First(), near)
		}
		return exitf(exitUsage, "kz demo: no demo %q. There is %s.", c.Args().First(), kill.Name)
	}
	return cmd
}

// A demoStep is one sentence of the story and when it was told, in milliseconds.
type demoStep struct {
	At   int64  `json:"atMs"`
	Text string `json:"text"`
}

// demoState is the state znode of the partition at one moment of the story.
type demoState struct {
	Version int32  `json:"version"`
	Data    string `json:"data"`
}

// demoResult is what the story comes to; -o json prints it.
type demoResult struct {
	Demo         string       `json:"demo"`
	OK           bool         `json:"ok"`
	Changed      []up.Setting `json:"changed"` // the values that are not Kafka's
	Steps        []demoStep   `json:"steps"`
	Before       demoState    `json:"before"`
	Elected      demoState    `json:"elected"`
	Rejoined     demoState    `json:"rejoined"`
	Acknowledged int          `json:"acknowledged"`
	Lost         []string     `json:"lost"`
	Duplicates   int          `json:"duplicates"`
}

// A narrator tells the story: sentences to stdout, what is awaited to stderr. With JSON
// the sentences are kept for the end.
type narrator struct {
	e      *env
	quiet  bool
	began  time.Time
	result demoResult
}

func (n *narrator) say(format string, args ...any) {
	s := demoStep{At: time.Since(n.began).Milliseconds(), Text: fmt.Sprintf(format, args...)}
	n.result.Steps = append(n.result.Steps, s)
	if !n.quiet {
		indented := strings.ReplaceAll(s.Text, "\n", "\n         ")
		fmt.Fprintf(n.e.stdout, "%5.1f s  %s\n", float64(s.At)/1000, indented)
	}
}

// demoLook is how often a condition is looked at.
const demoLook = 20 * time.Millisecond

// await waits for a condition, at most so long, and says once for what.
func (n *narrator) await(ctx context.Context, what string, atMost time.Duration, holds func() (bool, error)) error {
	fmt.Fprintf(n.e.stderr, "         ... %s (at most %v)\n", what, atMost)
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	beat := time.NewTicker(demoLook)
	defer beat.Stop()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-beat.C:
		case <-ctx.Done():
			return fmt.Errorf("waited %v for this, in vain: %s", atMost, what)
		}
	}
}

func runKillABroker(ctx context.Context, e *env, format string, rest int) error {
	if format != "text" && format != "json" {
		return exitf(exitUsage, "kz demo: -o %s: the formats are text and json.", format)
	}
	if rest > 0 {
		return exitf(exitUsage, "kz demo kill-a-broker: takes no arguments but its flags.")
	}
	dir, err := os.MkdirTemp("", "kz-demo-")
	if err != nil {
		return exitf(exitFailed, "kz demo: %v", err)
	}
	defer os.RemoveAll(dir)
	n := &narrator{e: e, quiet: format == "json", began: time.Now()}
	n.result.Demo, n.result.Lost = "kill-a-broker", []string{}
	if err := killABroker(ctx, n, dir); err != nil {
		return exitf(exitFailed, "kz demo: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return exitf(exitFailed, "kz demo: %v", err)
	}
	n.say("Done: every process is ended, and its directory is removed.")
	n.result.OK = len(n.result.Lost) == 0
	if n.quiet {
		enc := json.NewEncoder(e.stdout)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(n.result); err != nil {
			return err
		}
	}
	if !n.result.OK {
		return exitf(exitFailed, "kz demo: %d acknowledged records were lost. That is a bug in kz.", len(n.result.Lost))
	}
	return nil
}

// demoCluster is a cluster for one story, on free ports.
func demoCluster(dir string, profile up.Profile) (*up.Cluster, error) {
	ports, err := up.FreePorts(4)
	if err != nil {
		return nil, err
	}
	return up.New(up.Config{Dir: dir, ZooPort: ports[0], Ports: map[int32]int{1: ports[1], 2: ports[2], 3: ports[3]}, Profile: profile})
}
