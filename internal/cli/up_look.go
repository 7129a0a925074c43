package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/up"
)

// snapshotOf asks the supervisor of a directory.
func snapshotOf(ctx context.Context, dir string) (up.Snapshot, error) {
	r, err := up.Find(dir)
	if err != nil {
		return up.Snapshot{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, zkWait)
	defer cancel()
	return r.Snapshot(ctx)
}

// noCluster is the answer of the commands that need one.
func noCluster(command, dir string, err error) error {
	if errors.Is(err, up.ErrNoCluster) {
		return exitf(exitNoCluster, "kz %s: %v in %s. Start one: kz up --detach --dir %s", command, err, dir, dir)
	}
	return exitf(exitFailed, "kz %s: %v", command, err)
}

func statusCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name: "status", Usage: "show the processes of the cluster on this machine",
		UsageText: "kz status [--dir D] [-o json]",
		Flags:     []ucli.Flag{dirFlag(), &ucli.StringFlag{Name: "o", Value: "text", Usage: "output `FORMAT`: text or json"}},
		Action: flagsOnly(func(c *ucli.Context) error {
			format := c.String("o")
			if format != "text" && format != "json" {
				return exitf(exitUsage, "kz status: -o %s: the formats are text and json.", format)
			}
			s, err := snapshotOf(c.Context, c.String("dir"))
			if err != nil {
				return noCluster("status", c.String("dir"), err)
			}
			if format == "json" {
				return json.NewEncoder(e.stdout).Encode(s)
			}
			printCluster(e, s)
			if n := len(s.Faults); n > 0 {
				fmt.Fprintf(e.stdout, "faults in force or armed: %d; kz faults lists them\n", n)
			}
			return nil
		}),
	}
}

func envCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name: "env", Usage: "print where the cluster is, for a shell: eval $(kz env)",
		UsageText: "kz env [--dir D]",
		Flags:     []ucli.Flag{dirFlag()},
		Action: flagsOnly(func(c *ucli.Context) error {
			s, err := snapshotOf(c.Context, c.String("dir"))
			if err != nil {
				return noCluster("env", c.String("dir"), err)
			}
			fmt.Fprintf(e.stdout, "export KZ_BOOTSTRAP=%s\nexport KZ_ZOOKEEPER=%s\nexport KZ_DIR='%s'\n",
				strings.Join(s.Bootstrap, ","), s.ZooKeeper, strings.ReplaceAll(s.Dir, "'", `'\''`))
			return nil
		}),
	}
}

func downCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name: "down", Usage: "stop the cluster on this machine",
		UsageText: "kz down [--dir D] [--purge]",
		Flags:     []ucli.Flag{dirFlag(), &ucli.BoolFlag{Name: "purge", Usage: "then remove the directory, with all records"}},
		Action: flagsOnly(func(c *ucli.Context) error {
			dir, err := filepath.Abs(c.String("dir"))
			if err != nil {
				return exitf(exitFailed, "kz down: %v", err)
			}
			return runDown(c.Context, e, dir, c.Bool("purge"))
		}),
	}
}

func runDown(ctx context.Context, e *env, dir string, purge bool) error {
	r, err := up.Find(dir)
	switch {
	case err == nil:
		fmt.Fprintf(e.stderr, "Stopping; until all have ended, at most %v.\n", downWait)
		ctx, cancel := context.WithTimeout(ctx, downWait)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			return exitf(exitFailed, "kz down: %v", err)
		}
		fmt.Fprintln(e.stdout, "Stopped; nothing of it runs.")
	case errors.Is(err, up.ErrNoCluster) && !purge:
		return exitf(exitNoCluster, "kz down: %v in %s, so there is nothing to stop.", err, dir)
	case !errors.Is(err, up.ErrNoCluster):
		return noCluster("down", dir, err)
	}
	if purge {
		if err := up.Purge(dir); err != nil {
			return exitf(exitFailed, "kz down: %v", err)
		}
		fmt.Fprintf(e.stdout, "Removed %s.\n", dir)
	}
	return nil
}
