package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	ucli "github.com/urfave/cli/v2"

	"kz/client"
	"kz/internal/up"
	"kz/internal/zk"
)

const (
	defaultClusterDir = "kz-cluster"
	upWait            = time.Minute      // for a whole cluster to serve
	downWait          = 40 * time.Second // for a whole cluster to stop
	maxBrokers        = 50               // one machine has to bear them
)

func dirFlag() ucli.Flag {
	return &ucli.StringFlag{Name: "dir", Value: defaultClusterDir, EnvVars: []string{dirVariable}, Usage: "the cluster's `DIRECTORY`: data, logs, journals"}
}

func upCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name: "up", Usage: "run a cluster on this machine: a ZooKeeper and brokers, each a process of its own",
		UsageText: "kz up [--brokers 3] [--dir D] [--zookeeper host:port] [--profile class|faithful] [--detach]",
		Description: "Without --detach it tells what happens until Ctrl-C stops the cluster. Started again on its\n" +
			"directory it is the same cluster: same id, topics and records. It listens on 127.0.0.1 only.",
		Flags: []ucli.Flag{
			&ucli.IntFlag{Name: "brokers", Value: 3, Usage: "run `N` brokers, with ids from 1 on"},
			dirFlag(),
			&ucli.StringFlag{Name: "zookeeper", Usage: "use the ZooKeeper at `HOST:PORT` instead of an embedded one"},
			&ucli.StringFlag{Name: "profile", Value: "class", Usage: "`NAME`: class shortens Kafka's waits, faithful changes none"},
			&ucli.IntFlag{Name: "port-base", Value: 9092, Usage: "broker 1 listens on `PORT`, broker 2 on the next"},
			&ucli.IntFlag{Name: "zookeeper-port", Value: 2181, Usage: "the embedded ZooKeeper listens on `PORT`"},
			&ucli.BoolFlag{Name: "detach", Usage: "return when it serves; kz down stops it"},
		},
		Action: flagsOnly(func(c *ucli.Context) error { return runUp(c, e) }),
	}
}

// readSpec is what the flags ask for, or what the directory holds, which wins: a flag that
// was typed and says something else is refused.
func readSpec(c *ucli.Context, dir string) (spec up.Spec, fresh bool, err error) {
	n, base, zoo := c.Int("brokers"), c.Int("port-base"), c.Int("zookeeper-port")
	asked := up.Spec{Ports: up.Brokers(n, base), ZooPort: zoo, ZooKeeper: c.String("zookeeper"), Profile: c.String("profile")}
	switch {
	case n < 1 || n > maxBrokers:
		return spec, false, exitf(exitUsage, "kz up: --brokers %d: must be 1 to %d.", n, maxBrokers)
	case base < 1 || base+n-1 > 65535:
		return spec, false, exitf(exitUsage, "kz up: --port-base %d: the ports of %d brokers must be 1 to 65535.", base, n)
	case zoo < 1 || zoo > 65535:
		return spec, false, exitf(exitUsage, "kz up: --zookeeper-port %d: must be 1 to 65535.", zoo)
	}
	if asked.ZooKeeper != "" {
		servers, _, err := zk.ParseConnect(asked.ZooKeeper)
		if err == nil {
			_, err = client.ParseServers(strings.Join(servers, ","))
		}
		if err != nil {
			return spec, false, exitf(exitUsage, "kz up: --zookeeper: %v.", err)
		}
	}
	if _, err := up.ProfileNamed(asked.Profile); err != nil {
		return spec, false, exitf(exitUsage, "kz up: --profile: %v.", err)
	}
	if err := asked.Check(); err != nil {
		return spec, false, exitf(exitUsage, "kz up: %v. Choose others: --port-base, --zookeeper-port.", err)
	}
	spec, err = up.ReadSpec(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return asked, true, nil
	}
	if err != nil {
		return spec, false, exitf(exitFailed, "kz up: %v.", err)
	}
	for flag, differs := range map[string]bool{
		"brokers":        len(asked.Ports) != len(spec.Ports),
		"port-base":      asked.Ports[1] != spec.Ports[1],
		"zookeeper-port": asked.ZooPort != spec.ZooPort,
		"zookeeper":      asked.ZooKeeper != spec.ZooKeeper,
		"profile":        asked.Profile != spec.Profile,
	} {
		if c.IsSet(flag) && differs {
			return spec, false, exitf(exitUsage, "kz up: --%s is not what the cluster in %s has. Leave it out to start that cluster, name another --dir, or remove it: kz down --purge --dir %s", flag, dir, dir)
		}
	}
	return spec, false, nil
}

func runUp(c *ucli.Context, e *env) error {
	dir, err := filepath.Abs(c.String("dir"))
	if err != nil {
		return exitf(exitFailed, "kz up: %v", err)
	}
	if s, err := snapshotOf(c.Context, dir); err == nil {
		already := map[string]string{"starting": "is starting already", "stopping": "is being stopped", "running": "runs already"}[s.State]
		fmt.Fprintf(e.stderr, "This cluster %s; process %d watches over it.\n", already, s.Supervisor)
		if c.Bool("detach") && s.State == "starting" {
			starting, cancel := context.WithTimeout(c.Context, upWait)
			defer cancel()
			if s, err = up.AwaitRunning(starting, dir, nil); err != nil {
				return exitf(exitFailed, "kz up: %v; what it says is in %s", err, filepath.Join(dir, "supervisor.log"))
			}
		}
		printCluster(e, s)
		printNext(e, s)
		return nil
	}
	spec, fresh, err := readSpec(c, dir)
	if err != nil {
		return err
	}
	if fresh {
		if err := up.WriteSpec(dir, spec); err != nil {
			return exitf(exitFailed, "kz up: %v", err)
		}
	}
	if err := superviseIn(c, e, dir, spec); err != nil {
		if c.Context.Err() != nil {
			return err
		}
		hint := ""
		if taken := up.ErrPortTaken.Error(); strings.Contains(err.Error(), taken) { // perhaps said by the detached process
			hint = "\nEnd what listens there, or choose other ports: --port-base, --zookeeper-port; they need another --dir when this one holds a cluster."
			if fresh {
				_ = up.Purge(dir) // nothing was started: other ports must be free to choose
			}
			if c.Bool("detach") {
				hint = "" // it has said so
			}
		}
		return exitf(exitFailed, "kz up: %v%s", err, hint)
	}
	return nil
}

func superviseIn(c *ucli.Context, e *env, dir string, spec up.Spec) error {
	fmt.Fprintf(e.stderr, "Starting %d brokers; until all serve, at most %v.\n", len(spec.Ports), upWait)
	starting, cancel := context.WithTimeout(c.Context, upWait)
	defer cancel()
	if c.Bool("detach") {
		s, err := up.StartDetached(starting, dir, "up", "--dir", dir)
		if err == nil {
			printStarted(e, s)
		}
		return err
	}
	profile, err := up.ProfileNamed(spec.Profile)
	if err != nil {
		return err
	}
	s, err := up.Supervise(up.Config{Dir: dir, Ports: spec.Ports, ZooPort: spec.ZooPort, ZooKeeper: spec.ZooKeeper, Profile: profile})
	if err != nil {
		return err
	}
	err = s.Start(starting)
	if err == nil {
		printStarted(e, s.Snapshot())
		tellUntilStop(c.Context, e, s)
		fmt.Fprintf(e.stderr, "Stopping; until all have ended, at most %v.\n", downWait)
	}
	return errors.Join(err, s.Close())
}

// tellUntilStop tells what happens until Ctrl-C or kz down.
func tellUntilStop(ctx context.Context, e *env, s *up.Supervisor) {
	teller, err := s.Tell()
	if err != nil {
		fmt.Fprintf(e.stderr, "kz up: what happens cannot be told: %v\n", err)
		select {
		case <-ctx.Done():
		case <-s.StopAsked():
		}
		return
	}
	for {
		more := teller.More()
		for _, sentence := range teller.Next() {
			fmt.Fprintf(e.stdout, "%s  %s\n", time.Now().Format("15:04:05.0"), sentence)
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		case <-s.StopAsked():
			return
		}
	}
}

// printCluster is a line per node, and how much of it is not as Kafka has it.
func printCluster(e *env, s up.Snapshot) {
	printNodes(e, s)
	if n := len(s.Changed); n > 0 {
		fmt.Fprintf(e.stdout, "profile %s: %d settings are not Kafka's; kz status -o json lists them\n", s.Profile, n)
	}
}

// printStarted tells of a cluster that has just come up: with what is not Kafka's in full.
func printStarted(e *env, s up.Snapshot) {
	printNodes(e, s)
	var changed []string
	for _, c := range s.Changed {
		whose := "Kafka"
		if c.Key == "tickTime" {
			whose = "ZooKeeper"
		}
		changed = append(changed, fmt.Sprintf("%s=%s (%s: %s)", c.Key, c.Value, whose, c.Kafka))
	}
	if len(changed) > 0 {
		fmt.Fprintf(e.stdout, "profile %s: %s\n", s.Profile, strings.Join(changed, ", "))
	}
	printNext(e, s)
}

func printNodes(e *env, s up.Snapshot) {
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	for _, n := range s.Nodes {
		pid := "not ours"
		switch {
		case n.PID != 0:
			pid = "pid " + strconv.Itoa(n.PID)
		case n.Log != "": // not started yet, or ended
			pid = "no process"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", n.Name, n.Address, n.State, pid)
	}
	_ = w.Flush()
}

// printNext is what to type: the tools find the cluster of this directory by themselves,
// another one when they are told.
func printNext(e *env, s up.Snapshot) {
	if here, err := filepath.Abs(clusterDir()); err == nil && here == s.Dir {
		fmt.Fprintln(e.stdout, "next: kz topics --list")
		return
	}
	fmt.Fprintf(e.stdout, "next: kz topics --bootstrap-server %s --list\n", s.Bootstrap[0])
}
