package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/up"
)

func faultsCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name: "faults", Usage: "list what is wrong with the cluster on purpose, or heal it",
		UsageText: "kz faults [--heal] [--dir D] [-o json]",
		Description: "Lists links with faults, moments that are armed and nodes that are paused. --heal ends them all; it\n" +
			"does not start what was killed: kz node start.",
		Flags: []ucli.Flag{dirFlag(), formatFlag(), &ucli.BoolFlag{Name: "heal", Usage: "end all of them"}},
		Action: flagsOnly(func(c *ucli.Context) error {
			format := c.String("o")
			if format != "text" && format != "json" {
				return exitf(exitUsage, "kz faults: -o %s: the formats are text and json.", format)
			}
			return runFaults(c.Context, e, c.String("dir"), format, c.Bool("heal"))
		}),
	}
}

func runFaults(ctx context.Context, e *env, dir, format string, heal bool) error {
	r, err := up.Find(dir)
	if err != nil {
		return noCluster("faults", dir, err)
	}
	ctx, cancel := context.WithTimeout(ctx, faultWait)
	defer cancel()
	ask, none := r.Faults, "No fault is in force or armed."
	if heal {
		ask, none = r.Heal, "There was nothing to heal."
	}
	all, err := ask(ctx)
	switch {
	case err != nil:
		return refused("kz faults", err)
	case format == "json":
		return json.NewEncoder(e.stdout).Encode(all)
	case len(all) == 0:
		fmt.Fprintln(e.stderr, none)
		return nil
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNODES\tSTATE\tSINCE\tEVENT\tFAULT")
	for _, f := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", f.ID, strings.Join(f.Nodes, " "), f.State, time.UnixMilli(f.AtMs).Format("15:04:05"), f.Since, f.Text)
	}
	return w.Flush()
}
