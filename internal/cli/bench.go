package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	ucli "github.com/urfave/cli/v2"

	"kz/client/consumer"
	"kz/internal/nearest"
)

// benchCommand measures a running cluster.
func benchCommand(e *env) *ucli.Command {
	offsets := &ucli.Command{
		Name: "offsets", Usage: "count what committing offsets costs, in ZooKeeper and in __consumer_offsets",
		UsageText: "kz bench offsets [--storage all|zookeeper|kafka|dual] [--consumers N] [--partitions N] [--commits N]",
		Description: "So many consumers at a time commit the offsets of so many partitions each, so many times, to one\n" +
			"place after the other. ZooKeeper is asked what it has written; the log is read back and its bytes\n" +
			"are counted. The groups are removed in the end; the topic kz-bench-offsets stays.",
		Flags: append(clusterFlags(),
			&ucli.StringFlag{Name: "storage", Value: "all", Usage: "where to: `PLACE` is zookeeper, kafka, dual (both), or all three in turn"},
			&ucli.IntFlag{Name: "consumers", Value: 20, Usage: "how many consumers at a time, each with a group of its own"},
			&ucli.IntFlag{Name: "partitions", Value: 20, Usage: "how many partitions each commits"},
			&ucli.IntFlag{Name: "commits", Value: 50, Usage: "how often each commits them"}),
		OnUsageError: usageError,
		Action:       flagsOnly(func(c *ucli.Context) error { return runBenchOffsets(c, e) }),
	}
	cmd := &ucli.Command{
		Name: "bench", Usage: "measure a running cluster: offsets", UsageText: "kz bench offsets", Subcommands: []*ucli.Command{offsets},
	}
	cmd.Action = func(c *ucli.Context) error {
		if c.NArg() == 0 {
			return ucli.ShowSubcommandHelp(c)
		}
		return exitf(exitUsage, "kz bench: no command %q. There is offsets.", c.Args().First())
	}
	return cmd
}

// benchLimit bounds each of consumers, partitions and commits.
const benchLimit = 100_000

func runBenchOffsets(c *ucli.Context, e *env) error {
	storages, err := benchStorages(c.String("storage"))
	if err != nil {
		return err
	}
	if f := c.String("o"); f != "text" && f != "json" {
		return exitf(exitUsage, "kz bench offsets: -o %s: the formats are text and json.", f)
	}
	for _, name := range []string{"consumers", "partitions", "commits"} {
		if n := c.Int(name); n < 1 || n > benchLimit {
			return exitf(exitUsage, "kz bench offsets: --%s %d: must be from 1 to %d.", name, n, benchLimit)
		}
	}
	cfg, err := clientConfig(e, c, "bench offsets")
	if err != nil {
		return err
	}
	zooKeeper, err := zkAddress(c, e)
	if err != nil {
		return err
	}
	b, err := newOffsetsBench(c.Context, e, cfg, zooKeeper)
	if err != nil {
		return err
	}
	defer b.close()
	b.consumers, b.partitions, b.commits = c.Int("consumers"), c.Int("partitions"), c.Int("commits")
	results, err := b.runAll(c.Context, storages)
	switch {
	case c.Context.Err() != nil:
		return &exitError{code: exitInterrupted}
	case err != nil:
		return unansweredBy(err, "bench offsets", "the cluster")
	case c.String("o") == "json":
		return printJSON(e, results)
	}
	printOffsetsBench(e, results)
	return nil
}

func benchStorages(word string) ([]consumer.Storage, error) {
	all := []consumer.Storage{consumer.StoreZooKeeper, consumer.StoreKafka, consumer.StoreDual}
	if word == "all" {
		return all, nil
	}
	if s := consumer.Storage(word); slices.Contains(all, s) {
		return []consumer.Storage{s}, nil
	}
	hint := "There are zookeeper, kafka, dual and all."
	if near := nearest.To(word, []string{"zookeeper", "kafka", "dual", "all"}); near != "" {
		hint = fmt.Sprintf("Did you mean %q?", near)
	}
	return nil, exitf(exitUsage, "kz bench offsets: --storage %s. %s", word, hint)
}

// runAll measures one place after the other and removes the groups behind itself.
func (b *offsetsBench) runAll(ctx context.Context, storages []consumer.Storage) ([]offsetsResult, error) {
	results := []offsetsResult{}
	for _, s := range storages {
		fmt.Fprintf(b.e.stderr, "%s: %d consumers x %d partitions, %d commits each\n", s, b.consumers, b.partitions, b.commits)
		r, err := b.measure(ctx, s)
		b.clean(ctx)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func printOffsetsBench(e *env, results []offsetsResult) {
	const format = "%-10v %9v %10v %9v %9v  %12v %11v %9v %8v  %11v %10v\n"
	fmt.Fprintf(e.stdout, format, "STORAGE", "COMMITS/S", "OFFSETS/S", "P50-MS", "P99-MS", "ZNODE-WRITES", "ZNODE-BYTES", "ZK-TXNS", "WATCHES", "LOG-RECORDS", "LOG-BYTES")
	for _, r := range results {
		fmt.Fprintf(e.stdout, format, r.Storage, int(r.CommitsPerSecond), int(r.CommitsPerSecond)*r.Partitions,
			fmt.Sprintf("%.2f", r.P50Ms), fmt.Sprintf("%.2f", r.P99Ms), r.ZnodeWrites, r.ZnodeBytes, orDash(r.ZkTransactions), orDash(r.Watches), r.LogRecords, r.LogBytes)
	}
	r := results[0]
	fmt.Fprintf(e.stdout, "\n%d consumers, %d partitions each, %d commits each = %d commits of %d offsets\n",
		r.Consumers, r.Partitions, r.Commits/r.Consumers, r.Commits, r.Partitions)
	fmt.Fprintln(e.stdout, "ZNODE-WRITES: how far the versions of the offsets' znodes rose. ZK-TXNS, WATCHES: as ZooKeeper counts them (srvr, wchs); - where it does not say.")
}

// offsetsResult is what one place cost; -o json prints it.
type offsetsResult struct {
	Storage          consumer.Storage `json:"storage"`
	Consumers        int              `json:"consumers"`
	Partitions       int              `json:"partitions"`
	Commits          int              `json:"commits"` // of all consumers
	Seconds          float64          `json:"seconds"`
	CommitsPerSecond float64          `json:"commitsPerSecond"`
	P50Ms            float64          `json:"p50Ms"`
	P99Ms            float64          `json:"p99Ms"`
	ZnodeWrites      int64            `json:"znodeWrites"`
	ZnodeBytes       int64            `json:"znodeBytes"`     // of data; the path comes on top
	ZkTransactions   *int64           `json:"zkTransactions"` // null: the server does not say
	Watches          *int64           `json:"watches"`        // that there are in the end
	LogRecords       int64            `json:"logRecords"`
	LogBytes         int64            `json:"logBytes"` // of one replica
}

// took fills in the rates. took are the commits' durations.
func (r *offsetsResult) took(all time.Duration, commits []time.Duration) {
	slices.Sort(commits)
	ms := func(p int) float64 { return float64(commits[(len(commits)-1)*p/100].Microseconds()) / 1000 }
	r.Commits, r.Seconds, r.P50Ms, r.P99Ms = len(commits), all.Seconds(), ms(50), ms(99)
	r.CommitsPerSecond = float64(len(commits)) / max(all.Seconds(), 1e-9)
}
