package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kz/client"
	"kz/client/admin"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

var getOffsetsOptions = []option{
	{name: "broker-list", arg: "host:port,...", help: "brokers to ask first"},
	{name: "topic", arg: "topic", help: "topic to ask about"},
	{name: "partitions", arg: "id,...", help: "only these partitions"},
	{name: "time", arg: "ms", def: "-1", help: "-1 the end, -2 the beginning, else the first record at or after this time"},
	{name: "offsets", arg: "count", def: "1", help: "deprecated and ignored"},
	{name: "max-wait-ms", arg: "ms", def: "1000", help: "deprecated and ignored"},
}

// offsetOf is a line of the answer.
type offsetOf struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    *int64 `json:"offset"` // null: no record is as late as that
}

// runGetOffsets is kafka.tools.GetOffsetShell, which has no script of its own in 2.8.
func runGetOffsets(ctx context.Context, e *env, args []string) error {
	o, err := parseOptions("get-offsets", getOffsetsOptions, args)
	if err != nil {
		return err
	}
	if err := o.helpOrVersion(e, args, "An interactive shell for getting topic offsets."); err != nil {
		return err
	}
	o.fill(ctx, "broker-list")
	if err := o.require(e, "broker-list", "topic"); err != nil {
		return err
	}
	servers, err := o.str("broker-list")
	if err != nil {
		return exitf(exitFailed, "%v", err)
	}
	if err := o.validServers(e, servers); err != nil {
		return err
	}
	name, err := o.str("topic")
	if err != nil {
		return exitf(exitFailed, "%v", err)
	}
	wanted, err := readPartitionIDs(o)
	if err != nil {
		return err
	}
	at, err := o.number("time", 64)
	if err != nil {
		return exitf(exitFailed, "%v", err)
	}
	if at < admin.EarliestTime {
		return exitf(exitFailed, "kz get-offsets: --time %d: a time is not negative, but for -1 (the end) and -2 (the beginning)", at)
	}
	a, err := openAdmin(e, "get-offsets", map[string]string{"bootstrap.servers": servers, "client.id": "GetOffsetShell"}, 0)
	if err != nil {
		return err
	}
	defer a.Close()
	rows, err := getOffsets(ctx, e, a, name, wanted, at)
	if err != nil {
		if _, known := err.(*exitError); known {
			return err
		}
		return exitf(exitFailed, "%s", javaText(err))
	}
	return printOffsetsOf(e, o, rows)
}

func readPartitionIDs(o *options) ([]int32, error) {
	list, err := o.str("partitions")
	if err != nil {
		return nil, exitf(exitFailed, "%v", err)
	}
	if list == "" {
		return nil, nil
	}
	var out []int32
	for _, s := range strings.Split(list, ",") {
		id, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return nil, exitf(exitFailed, "--partitions expects a comma separated list of numeric partition ids, but received: %s", list)
		}
		out = append(out, int32(id))
	}
	return out, nil
}

func getOffsets(ctx context.Context, e *env, a *admin.Admin, name string, wanted []int32, at int64) ([]offsetOf, error) {
	cl, err := a.Topics(ctx, "listTopics", nil)
	if err != nil {
		return nil, err
	}
	t, exists := cl.Topics[name]
	if !exists || t.Err == kafkaerr.UnknownTopicOrPartition {
		return nil, exitf(exitFailed, "Topic %s does not exist", name)
	}
	parts := slices.DeleteFunc(slices.Clone(t.Partitions), func(p client.Partition) bool { return wanted != nil && !slices.Contains(wanted, p.ID) })
	if len(parts) == 0 {
		return nil, exitf(exitFailed, "Topic %s does not have any of the requested partitions %s", name, joinIDs(wanted))
	}
	for _, id := range wanted {
		if !slices.ContainsFunc(parts, func(p client.Partition) bool { return p.ID == id }) {
			fmt.Fprintf(e.stderr, "Error: partition %d does not exist\n", id)
		}
	}
	times := map[topic.Partition]int64{}
	for _, p := range parts {
		if p.Leader == client.NoLeader {
			fmt.Fprintf(e.stderr, "Error: partition %d does not have a leader. Skip getting offsets\n", p.ID)
			continue
		}
		times[topic.Partition{Topic: name, Partition: p.ID}] = at
	}
	found, err := a.ListOffsets(ctx, times)
	rows := []offsetOf{}
	for _, p := range parts {
		if offset, asked := found[topic.Partition{Topic: name, Partition: p.ID}]; asked {
			row := offsetOf{Topic: name, Partition: p.ID}
			if offset >= 0 {
				row.Offset = &offset
			}
			rows = append(rows, row)
		}
	}
	return rows, err
}

func printOffsetsOf(e *env, o *options, rows []offsetOf) error {
	asJSON, err := o.json()
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(e, rows)
	}
	for _, r := range rows {
		offset := ""
		if r.Offset != nil {
			offset = strconv.FormatInt(*r.Offset, 10)
		}
		fmt.Fprintf(e.stdout, "%s:%d:%s\n", r.Topic, r.Partition, offset)
	}
	return nil
}
