package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rs/zerolog"
	ucli "github.com/urfave/cli/v2"

	"kz/broker"
	"kz/broker/config"
	"kz/internal/journal"
	"kz/internal/zk"
)

func brokerCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name:      "broker",
		Usage:     "run one broker until it is told to stop (kafka-server-start.sh)",
		UsageText: "kz broker --config server.properties [--override key=value ...] [--journal FILE]",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "config", Usage: "read this server.properties `FILE`"},
			&ucli.StringSliceFlag{Name: "override", Usage: "set `KEY=VALUE` after the file was read; may be repeated"},
			&ucli.StringFlag{Name: "journal", Usage: "append what happens to `FILE`, one JSON object a line"},
			&ucli.StringFlag{Name: "log-level", Value: "info", Usage: "show lines from this `LEVEL` on: trace, debug, info, warn or error"},
			untilStdinEndsFlag(),
			obeyStdinFlag(),
		},
		Action: flagsOnly(func(c *ucli.Context) error { return runBroker(c, e) }),
	}
}

func runBroker(c *ucli.Context, e *env) error {
	log, err := newLog(e, c.String("log-level"))
	if err != nil {
		return err
	}
	cfg, err := readConfig(c.String("config"), c.StringSlice("override"), log)
	if err != nil {
		return err
	}
	j := journal.New(cfg.BrokerID)
	flush := func() {}
	if file := c.String("journal"); file != "" {
		w, err := openJournal(file, j, log)
		if err != nil {
			return exitf(exitFailed, "kz broker: %v", err)
		}
		defer w.Close()
		flush = w.flush
	}
	ctx, network := untilStdinEnds(c, e), e.network
	if c.Bool("obey-stdin") {
		if ctx, network, err = obeyStdin(c.Context, e, j, flush); err != nil {
			return exitf(exitFailed, "kz broker: %v", err)
		}
	}
	b := broker.New(cfg, broker.Options{Network: network, Journal: j, Log: log})
	if err := b.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return &exitError{code: exitInterrupted}
		}
		return exitf(exitFailed, "kz broker: cannot start: %v%s", err, whatToTry(err))
	}
	select {
	case <-ctx.Done():
		log.Info().Msg("stopping; another Ctrl-C ends at once, without closing the logs")
		b.Stop()
		log.Info().Msg("stopped")
		return nil
	case <-b.Done():
		b.Stop()
		return exitf(exitFailed, "kz broker: ended by itself: %v", b.Err())
	}
}

// whatToTry is a sentence for the mistakes that everybody makes once.
func whatToTry(err error) string {
	switch {
	case errors.Is(err, zk.ErrNoSession):
		return ". Is ZooKeeper running? It is looked for where zookeeper.connect says; scripts/zookeeper.sh start starts one."
	case errors.Is(err, syscall.EADDRINUSE):
		return ". Another process listens there: give this broker listeners of its own, such as --override listeners=PLAINTEXT://127.0.0.1:9093."
	}
	return ""
}

// readConfig reads the file, then the overrides, and says what it thinks of them.
func readConfig(file string, overrides []string, log zerolog.Logger) (*config.Config, error) {
	props := map[string]string{}
	if file == "" && len(overrides) == 0 {
		return nil, exitf(exitUsage, "kz broker: --config FILE is missing. A commented one is scripts/server.properties.")
	}
	if file != "" {
		var err error
		if props, err = config.ReadProperties(file); err != nil {
			return nil, exitf(exitFailed, "kz broker: cannot read %s: %v", file, err)
		}
	}
	for _, kv := range overrides {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || strings.TrimSpace(k) == "" {
			return nil, exitf(exitUsage, "kz broker: --override %s: must be key=value", kv)
		}
		props[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	cfg, warnings, err := config.Parse(props)
	for _, w := range warnings {
		log.Warn().Msg(w)
	}
	if err != nil {
		return nil, exitf(exitFailed, "kz broker: %s is not a usable config:\n%v", describe(file), err)
	}
	return cfg, nil
}

func describe(file string) string {
	if file == "" {
		return "what --override says"
	}
	return filepath.Base(file)
}

// newLog writes lines for people: colour only on a terminal, never with NO_COLOR.
func newLog(e *env, level string) (zerolog.Logger, error) {
	l, err := zerolog.ParseLevel(level)
	if err != nil || level == "" {
		return zerolog.Logger{}, exitf(exitUsage, "kz broker: --log-level %s: must be trace, debug, info, warn or error", level)
	}
	zerolog.TimeFieldFormat = zerolog.TimeFormatUnixMs // for the milliseconds below; the library's only setting for it is global
	out := zerolog.ConsoleWriter{Out: e.stderr, TimeFormat: "15:04:05.000", NoColor: !colour(e.stderr)}
	return zerolog.New(out).Level(l).With().Timestamp().Logger(), nil
}

// colour says whether w is a terminal on which colours are wanted.
func colour(w any) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// openJournal appends the journal's events to a file.
func openJournal(path string, j *journal.Journal, log zerolog.Logger) (*journalFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("--journal: %w", err)
	}
	return newJournalFile(f, j, log), nil
}
