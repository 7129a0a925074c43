package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/journal"
	"kz/internal/nearest"
	"kz/internal/zkserver"
)

func zookeeperCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name:      "zookeeper",
		Usage:     "run the embedded ZooKeeper until it is told to stop (zookeeper-server-start.sh)",
		UsageText: "kz zookeeper [--port P] [--data-dir D] [--journal FILE]\nkz zookeeper [options] zoo.cfg",
		Description: "One process without replication: for learning, tests and development. In production run an\n" +
			"ensemble of Apache ZooKeeper; brokers cannot tell the difference. Its files are its own:\n" +
			"neither reads the other's.",
		Flags: []ucli.Flag{
			&ucli.IntFlag{Name: "port", Value: 2181, Usage: "listen on this `PORT`; 0 takes a free one"},
			&ucli.StringFlag{Name: "host", Value: "127.0.0.1", Usage: "listen on this `ADDRESS`; 0.0.0.0 is every address of the machine"},
			&ucli.StringFlag{Name: "data-dir", Value: "zookeeper-data", Usage: "keep log and snapshots in `DIR`"},
			&ucli.BoolFlag{Name: "memory", Usage: "keep nothing: what it knows ends with it"},
			&ucli.BoolFlag{Name: "no-fsync", Usage: "do not wait for the disk: a power failure may lose what was acknowledged"},
			&ucli.DurationFlag{Name: "tick", Value: 2 * time.Second, Usage: "sessions expire on beats of this `TIME`"},
			&ucli.DurationFlag{Name: "min-session-timeout", Usage: "no session gets less than this `TIME`", DefaultText: "2 ticks"},
			&ucli.DurationFlag{Name: "max-session-timeout", Usage: "no session gets more than this `TIME`", DefaultText: "20 ticks"},
			&ucli.IntFlag{Name: "max-client-conns", Value: defaultMaxClientConns, Usage: "let one address have `N` connections; 0 is no bound"},
			&ucli.BoolFlag{Name: "extended-types", Usage: "allow nodes with a time to live"},
			&ucli.StringFlag{Name: "journal", Usage: "append what happens to `FILE`, one JSON object a line"},
			&ucli.StringFlag{Name: "log-level", Value: "info", Usage: "from this `LEVEL` on: trace, debug, info, warn or error"},
			untilStdinEndsFlag(),
		},
		Action: func(c *ucli.Context) error { return zookeeperAction(c, e) },
	}
}

// filesBelow is where the files are in the data directory: beside the real one's
// version-2, so that neither ever takes the other's for its own.
const filesBelow = "kz"

// defaultMaxClientConns is ZooKeeper's default of maxClientCnxns.
const defaultMaxClientConns = 60

func zookeeperAction(c *ucli.Context, e *env) error {
	cfg := zkserver.Config{
		Addr: net.JoinHostPort(c.String("host"), strconv.Itoa(c.Int("port"))), Dir: c.String("data-dir"),
		Tick: c.Duration("tick"), MinSessionTimeout: c.Duration("min-session-timeout"), MaxSessionTimeout: c.Duration("max-session-timeout"),
		MaxClientConns: c.Int("max-client-conns"), Network: e.network,
	}
	if p := c.Int("port"); p < 0 || p > 65535 {
		return exitf(exitUsage, "kz zookeeper: --port %d: must be 0 to 65535.", p)
	}
	for _, name := range []string{"tick", "min-session-timeout", "max-session-timeout"} {
		if c.IsSet(name) && c.Duration(name) < time.Millisecond { // 0 would be taken for what was not said
			return exitf(exitUsage, "kz zookeeper: --%s %v: must be 1ms or more.", name, c.Duration(name))
		}
	}
	var warnings []string
	switch c.NArg() {
	case 0:
	case 1:
		file := c.Args().First()
		for _, name := range []string{"port", "host", "data-dir", "tick", "min-session-timeout", "max-session-timeout", "max-client-conns"} {
			if c.IsSet(name) {
				return exitf(exitUsage, "kz zookeeper: --%s and %s: say it in one place", name, file)
			}
		}
		var err error
		if warnings, err = readZooCfg(file, &cfg); err != nil {
			return exitf(exitFailed, "kz zookeeper: %s is not a usable config:\n%v", filepath.Base(file), err)
		}
	default:
		return exitf(exitUsage, "kz zookeeper: one zoo.cfg at most, and options before it, not %q", c.Args().Slice())
	}
	if cfg.Dir = filepath.Join(cfg.Dir, filesBelow); c.Bool("memory") {
		cfg.Dir = ""
	}
	cfg.NoFsync = cfg.NoFsync || c.Bool("no-fsync")
	cfg.ExtendedTypes = cfg.ExtendedTypes || c.Bool("extended-types")
	if err := cfg.Validate(); err != nil {
		return exitf(exitUsage, "kz zookeeper: %v", err)
	}
	return runZooKeeper(untilStdinEnds(c, e), e, cfg, warnings, c.String("journal"), c.String("log-level"))
}

func runZooKeeper(ctx context.Context, e *env, cfg zkserver.Config, warnings []string, journalFile, level string) error {
	log, err := newLog(e, level)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		log.Warn().Msg(w)
	}
	cfg.Log = log
	if journalFile != "" {
		cfg.Journal = journal.New(-1) // no broker's
		w, err := openJournal(journalFile, cfg.Journal, log)
		if err != nil {
			return exitf(exitFailed, "kz zookeeper: %v", err)
		}
		defer w.Close()
	}
	s := zkserver.New(cfg)
	if err := s.Start(); err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return exitf(exitFailed, "kz zookeeper: cannot start: %v\nSomebody serves there already; choose another port with --port.", err)
		}
		return exitf(exitFailed, "kz zookeeper: cannot start: %v", err)
	}
	if cfg.Dir == "" {
		log.Warn().Msg("nothing is kept: the tree ends with this process")
	}
	select {
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errBereft) {
			log.Info().Msgf("kz up was killed: its brokers stop, and need this ZooKeeper for it; at most %v", bereftWait)
			awaitNobody(s)
		}
		log.Info().Msg("stopping")
		s.Stop()
		log.Info().Msg("stopped")
		return nil
	case <-s.Done():
		s.Stop()
		return exitf(exitFailed, "kz zookeeper: ended by itself: %v", s.Err())
	}
}

// bereftWait is how long brokers may take to stop when kz up was killed.
const bereftWait = 20 * time.Second

// awaitNobody returns when no client is connected, or the server has ended, or after bereftWait.
func awaitNobody(s *zkserver.Server) {
	end := time.After(bereftWait)
	beat := time.NewTicker(50 * time.Millisecond)
	defer beat.Stop()
	for s.Clients() > 0 {
		select {
		case <-beat.C:
		case <-s.Done():
			return
		case <-end:
			return
		}
	}
}

// zooKey is what one key of zoo.cfg does to the config.
type zooKey func(value string, cfg *zkserver.Config) error

// zooKeys are the keys of zoo.cfg that mean something here.
var zooKeys = map[string]zooKey{
	"dataDir": func(v string, cfg *zkserver.Config) error { cfg.Dir = v; return nil },
	"clientPort": func(v string, cfg *zkserver.Config) error {
		host, _, _ := net.SplitHostPort(cfg.Addr)
		cfg.Addr = net.JoinHostPort(host, v)
		_, err := strconv.ParseUint(v, 10, 16)
		return err
	},
	"clientPortAddress": func(v string, cfg *zkserver.Config) error {
		_, port, _ := net.SplitHostPort(cfg.Addr)
		cfg.Addr = net.JoinHostPort(v, port)
		return nil
	},
	"tickTime":                  zooMillis(func(cfg *zkserver.Config) *time.Duration { return &cfg.Tick }),
	"minSessionTimeout":         zooMillis(func(cfg *zkserver.Config) *time.Duration { return &cfg.MinSessionTimeout }),
	"maxSessionTimeout":         zooMillis(func(cfg *zkserver.Config) *time.Duration { return &cfg.MaxSessionTimeout }),
	"maxClientCnxns":            zooInt(func(cfg *zkserver.Config) *int { return &cfg.MaxClientConns }),
	"snapCount":                 zooInt(func(cfg *zkserver.Config) *int { return &cfg.SnapshotEvery }),
	"autopurge.snapRetainCount": zooInt(func(cfg *zkserver.Config) *int { return &cfg.SnapshotsKept }),
	"jute.maxbuffer":            zooInt(func(cfg *zkserver.Config) *int { return &cfg.MaxRequest }),
	"forceSync":                 func(v string, cfg *zkserver.Config) error { cfg.NoFsync = v == "no"; return nil },
	"extendedTypesEnabled": func(v string, cfg *zkserver.Config) (err error) {
		cfg.ExtendedTypes, err = strconv.ParseBool(v)
		return err
	},
	"DigestAuthenticationProvider.superDigest": func(v string, cfg *zkserver.Config) error { cfg.SuperDigest = v; return nil },
}

func zooInt(field func(*zkserver.Config) *int) zooKey {
	return func(v string, cfg *zkserver.Config) (err error) {
		*field(cfg), err = strconv.Atoi(v)
		return err
	}
}

// zooMillis reads milliseconds; -1 means the default, as in ZooKeeper.
func zooMillis(field func(*zkserver.Config) *time.Duration) zooKey {
	return func(v string, cfg *zkserver.Config) error {
		n, err := strconv.ParseInt(v, 10, 32)
		if *field(cfg) = time.Duration(n) * time.Millisecond; n == -1 {
			*field(cfg) = 0
		}
		return err
	}
}

// Keys that promise what one process cannot keep are refused by name.
var zooRefused = []string{"server.", "group.", "weight.", "dynamicConfigFile", "secureClientPort", "ssl.", "peerType", "quorum.", "authProvider", "requireClientAuthScheme", "sessionRequireClientSASLAuth"}

// Keys that do no harm where there is nothing for them to do.
var zooIgnored = []string{"initLimit", "syncLimit", "4lw.commands.whitelist", "admin.", "autopurge.", "dataLogDir", "standaloneEnabled", "reconfigEnabled",
	"metricsProvider.", "preAllocSize", "globalOutstandingLimit", "skipACL", "leaderServes", "cnxTimeout", "electionAlg", "audit.enable"}

// readZooCfg reads a zoo.cfg into cfg. All faults are reported at once.
func readZooCfg(file string, cfg *zkserver.Config) (warnings []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cfg.Dir = ""
	warnings, err = parseZooCfg(f, cfg)
	if err == nil && cfg.Dir == "" {
		err = errors.New("dataDir is missing")
	}
	return warnings, err
}

func parseZooCfg(r io.Reader, cfg *zkserver.Config) (warnings []string, err error) {
	startsWith := func(key string) func(string) bool { return func(p string) bool { return strings.HasPrefix(key, p) } }
	var errs []error
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		known := zooKeys[key]
		switch {
		case known != nil:
			if err := known(value, cfg); err != nil {
				errs = append(errs, fmt.Errorf("%s=%s: must be a number in range, or true or false", key, value))
			}
		case slices.ContainsFunc(zooRefused, startsWith(key)):
			errs = append(errs, fmt.Errorf("%s: kz zookeeper is one process without replication, TLS and SASL; run Apache ZooKeeper for it", key))
		case slices.ContainsFunc(zooIgnored, startsWith(key)):
		default:
			warning := key + " is not known here and has no effect"
			if near := nearest.To(key, slices.Sorted(maps.Keys(zooKeys))); near != "" {
				warning += fmt.Sprintf("; did you mean %s?", near)
			}
			warnings = append(warnings, warning)
		}
	}
	return warnings, errors.Join(append(errs, lines.Err())...)
}
