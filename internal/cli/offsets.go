package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"kz/client"
	"kz/internal/topic"
)

// offsetsWait is how long kz offsets waits for either side.
const offsetsWait = 30 * time.Second

// clusterFlags are those of every command that looks at both sides of a cluster.
func clusterFlags() []ucli.Flag {
	return zkFlags(&ucli.StringFlag{Name: "bootstrap-server", DefaultText: "the running cluster's", Usage: "brokers to ask first, `host:port,...`; then --zookeeper is theirs"})
}

// offsetsCommand looks at a group's offsets in both places they can be.
func offsetsCommand(e *env) *ucli.Command {
	compare := &ucli.Command{
		Name: "compare", Usage: "print a group's offsets in ZooKeeper beside those in __consumer_offsets", ArgsUsage: "GROUP",
		UsageText: "kz offsets compare [--bootstrap-server host:port,...] [--zookeeper ADDRESS] [-o json] GROUP",
		Description: "In ZooKeeper an offset is a znode that is overwritten: its version counts the commits, its mtime is\n" +
			"the last one. In __consumer_offsets each commit is a record: AT is the offset of the last one there.\n" +
			"Both places hold something after a commit of each kind, with offsets.storage=dual in kz's consumer,\n" +
			"or with kz.offsets.dual.commit=true in the brokers.",
		Flags: clusterFlags(), OnUsageError: usageError,
		Action: func(c *ucli.Context) error { return runOffsetsCompare(c, e) },
	}
	cmd := &ucli.Command{
		Name: "offsets", Usage: "a group's offsets, in ZooKeeper and in __consumer_offsets: compare",
		UsageText: "kz offsets compare GROUP", Subcommands: []*ucli.Command{compare},
	}
	cmd.Action = func(c *ucli.Context) error {
		if c.NArg() == 0 {
			return ucli.ShowSubcommandHelp(c)
		}
		return exitf(exitUsage, "kz offsets: no command %q. There is compare.", c.Args().First())
	}
	return cmd
}

// inZooKeeper is an offset as the old consumer keeps it.
type inZooKeeper struct {
	Offset  int64 `json:"offset"`
	When    int64 `json:"mtimeMs"`
	Version int32 `json:"version"` // commits so far, less one
}

// inKafka is an offset as the last record of __consumer_offsets about it says.
type inKafka struct {
	Offset int64 `json:"offset"`
	When   int64 `json:"commitTimestampMs"`
	At     int64 `json:"recordOffset"`
}

// comparedOffset is a line: one partition in both places; null where there is nothing.
type comparedOffset struct {
	Topic     string       `json:"topic"`
	Partition int32        `json:"partition"`
	ZooKeeper *inZooKeeper `json:"zookeeper"`
	Kafka     *inKafka     `json:"kafka"`
	Same      bool         `json:"same"`
}

// comparison is -o json: all lines, and where the records are.
type comparison struct {
	Group   string           `json:"group"`
	Records int32            `json:"offsetsPartition"` // of __consumer_offsets; -1: there is no such topic
	Offsets []comparedOffset `json:"offsets"`
}

func runOffsetsCompare(c *ucli.Context, e *env) error {
	format := c.String("o")
	if format != "text" && format != "json" {
		return exitf(exitUsage, "kz offsets compare: -o %s: the formats are text and json.", format)
	}
	if c.NArg() != 1 {
		return exitf(exitUsage, "kz offsets compare: needs one GROUP, after the flags. Which there are: kz consumer-groups --list, kz zk ls /consumers")
	}
	cfg, err := clientConfig(e, c, "offsets compare")
	if err != nil {
		return err
	}
	group := c.Args().First()
	ctx, cancel := context.WithTimeout(c.Context, offsetsWait)
	defer cancel()
	zooKeeper, err := zkAddress(c, e)
	if err != nil {
		return err
	}
	inZk, err := zkOffsets(ctx, e, zooKeeper, group)
	if err != nil {
		return err
	}
	records, inLog, err := logOffsets(ctx, cfg, group)
	if err != nil {
		return unansweredBy(err, "offsets compare", "the brokers at "+strings.Join(cfg.Bootstrap, ","))
	}
	out := compareOffsets(group, records, inZk, inLog)
	switch {
	case len(out.Offsets) == 0:
		return exitf(exitUnknown, "kz offsets compare: group %s has committed nothing, neither to ZooKeeper nor to __consumer_offsets. Which groups there are: kz consumer-groups --list, kz zk ls /consumers", group)
	case format == "json":
		return printJSON(e, out)
	}
	out.print(e)
	return nil
}

// clientConfig is for the brokers of --bootstrap-server or the running cluster's. Both sides
// must be one cluster's: who names the brokers names their ZooKeeper.
func clientConfig(e *env, c *ucli.Context, tool string) (client.Config, error) {
	said := c.String("bootstrap-server")
	switch {
	case (said == "") != (c.String("zookeeper") == ""):
		return client.Config{}, exitf(exitUsage, "kz %s: --bootstrap-server and --zookeeper go together: give both, or neither for the running cluster.", tool)
	case said == "":
		if said = runningBootstrap(c.Context); said == "" {
			return client.Config{}, exitf(exitNoCluster, "kz %s: no broker to ask. %s", tool, startOne("--bootstrap-server host:port --zookeeper host:port"))
		}
	}
	servers, err := client.ParseServers(said)
	if err != nil {
		return client.Config{}, exitf(exitUsage, "kz %s: --bootstrap-server: %v.", tool, err)
	}
	cfg := client.DefaultConfig(servers...)
	cfg.APITimeout = offsetsWait
	cfg.Network, cfg.Unreachable = e.network, warnUnreachable(e)
	return cfg, nil
}

// unansweredBy gives a failure its exit code: nobody there, or something else.
func unansweredBy(err error, tool, who string) error {
	if client.Retriable(err) || errors.Is(err, context.DeadlineExceeded) {
		return exitf(exitNoCluster, "kz %s: no answer from %s: %v. Is the cluster running? kz up starts one.", tool, who, err)
	}
	return exitf(exitFailed, "kz %s: %v", tool, err)
}

func compareOffsets(group string, records int32, inZk map[topic.Partition]inZooKeeper, inLog map[topic.Partition]inKafka) comparison {
	out := comparison{Group: group, Records: records, Offsets: []comparedOffset{}}
	all := map[topic.Partition]bool{}
	for tp := range inZk {
		all[tp] = true
	}
	for tp := range inLog {
		all[tp] = true
	}
	for _, tp := range slices.SortedFunc(maps.Keys(all), topic.Partition.Compare) {
		line := comparedOffset{Topic: tp.Topic, Partition: tp.Partition}
		if z, ok := inZk[tp]; ok {
			line.ZooKeeper = &z
		}
		if k, ok := inLog[tp]; ok {
			line.Kafka = &k
		}
		line.Same = line.ZooKeeper != nil && line.Kafka != nil && line.ZooKeeper.Offset == line.Kafka.Offset
		out.Offsets = append(out.Offsets, line)
	}
	return out
}

func (c comparison) print(e *env) {
	name := 15
	for _, o := range c.Offsets {
		name = max(name, len(o.Topic))
	}
	where := "__consumer_offsets does not exist"
	if c.Records >= 0 {
		where = fmt.Sprintf("__consumer_offsets-%d", c.Records)
	}
	fmt.Fprintf(e.stdout, "ZooKeeper: /consumers/%s/offsets   Kafka: %s\n\n", c.Group, where)
	line := func(columns ...any) {
		fmt.Fprintf(e.stdout, "%-*s %-9v  %-12v %-23v %-7v  %-12v %-23v %-7v  %s\n", append([]any{name}, columns...)...)
	}
	line("TOPIC", "PARTITION", "ZK-OFFSET", "WHEN", "VERSION", "KAFKA-OFFSET", "WHEN", "AT", "DIFFERENCE")
	for _, o := range c.Offsets {
		z, k := [3]string{"-", "-", "-"}, [3]string{"-", "-", "-"}
		if v := o.ZooKeeper; v != nil {
			z = [3]string{strconv.FormatInt(v.Offset, 10), whenText(v.When), strconv.Itoa(int(v.Version))}
		}
		if v := o.Kafka; v != nil {
			k = [3]string{strconv.FormatInt(v.Offset, 10), whenText(v.When), strconv.FormatInt(v.At, 10)}
		}
		line(o.Topic, o.Partition, z[0], z[1], z[2], k[0], k[1], k[2], o.difference())
	}
}

// difference says how far Kafka's is ahead of ZooKeeper's.
func (o comparedOffset) difference() string {
	switch {
	case o.ZooKeeper == nil:
		return "only in Kafka"
	case o.Kafka == nil:
		return "only in ZooKeeper"
	case o.Same:
		return "0"
	}
	return fmt.Sprintf("%+d", o.Kafka.Offset-o.ZooKeeper.Offset)
}

func whenText(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000")
}
