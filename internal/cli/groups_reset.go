package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kz/client/admin"
	"kz/internal/topic"
)

// newOffset is one line of a reset: where a partition is to go on.
type newOffset struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"newOffset"`
}

func (n newOffset) part() topic.Partition {
	return topic.Partition{Topic: n.Topic, Partition: n.Partition}
}

// reset moves, or with --dry-run only shows where it would move, the committed offsets
// of groups without members: an active member would commit its own place over ours.
func (g *groupsTool) reset(ctx context.Context) error {
	groups, err := g.groups(ctx)
	if err != nil {
		return err
	}
	plan, err := g.readPlan()
	if err != nil {
		return err
	}
	rows := []newOffset{}
	for _, id := range groups {
		d, err := g.a.DescribeGroup(ctx, id)
		if err != nil {
			return err
		}
		if d.State != "Empty" && d.State != "Dead" {
			g.complain("Assignments can only be reset if the group '%s' is inactive, but the current state is %s.", id, d.State)
			continue
		}
		some, err := g.prepare(ctx, id, plan)
		if err != nil {
			return err
		}
		if g.o.has("execute") {
			offsets := map[topic.Partition]int64{}
			for _, n := range some {
				offsets[n.part()] = n.Offset
			}
			if err := g.a.AlterGroupOffsets(ctx, id, offsets); err != nil {
				return err
			}
		}
		rows = append(rows, some...)
	}
	return g.printReset(groups, rows)
}

func (g *groupsTool) printReset(groups []string, rows []newOffset) error {
	switch {
	case g.asJSON:
		return printJSON(g.e, rows)
	case g.o.has("export"):
		for _, n := range rows {
			if len(g.o.all("group")) != 1 {
				fmt.Fprintf(g.e.stdout, "%s,", csvColumn(n.Group))
			}
			fmt.Fprintf(g.e.stdout, "%s,%d,%d\n", csvColumn(n.Topic), n.Partition, n.Offset)
		}
		fmt.Fprintln(g.e.stdout)
		return nil
	case len(groups) == 0:
		return nil
	}
	fmt.Fprintf(g.e.stdout, "\n%-30s %-30s %-10s %-15s\n", "GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")
	for _, n := range rows {
		fmt.Fprintf(g.e.stdout, "%-30s %-30s %-10d %-15d\n", n.Group, n.Topic, n.Partition, n.Offset)
	}
	return nil
}

// prepare works out one group's new offsets.
func (g *groupsTool) prepare(ctx context.Context, group string, plan []newOffset) ([]newOffset, error) {
	parts, err := g.scope(ctx, group)
	if err != nil {
		return nil, err
	}
	if g.o.has("from-file") {
		return g.fromPlan(ctx, group, plan)
	}
	scenario := resetScenario(g.o)
	if scenario == nil {
		return nil, wrongUse("Option '[reset-offsets]' requires one of the following scenarios: HashSet([by-duration], [to-offset], [from-file], [to-datetime], [to-earliest], [to-current], [shift-by], [to-latest])")
	}
	offsets, err := scenario(ctx, g, group, parts)
	if err != nil {
		return nil, err
	}
	var out []newOffset
	for _, tp := range parts {
		out = append(out, newOffset{group, tp.Topic, tp.Partition, offsets[tp]})
	}
	return out, nil
}

// scope is the partitions that --all-topics or --topic mean.
func (g *groupsTool) scope(ctx context.Context, group string) (out []topic.Partition, err error) {
	switch {
	case g.o.has("all-topics"):
		committed, err := g.a.GroupOffsets(ctx, group)
		return slices.SortedFunc(maps.Keys(committed), topic.Partition.Compare), err
	case g.o.has("topic"):
		for _, arg := range g.o.all("topic") {
			some, err := g.partitionsOf(ctx, arg)
			if err != nil {
				return nil, err
			}
			out = append(out, some...)
		}
		slices.SortFunc(out, topic.Partition.Compare)
		return slices.Compact(out), nil
	case g.o.has("from-file"):
		return nil, nil
	}
	return nil, wrongUse("One of the reset scopes should be defined: --all-topics, --topic.")
}

// A scenario says where the partitions are to go on.
type scenario func(ctx context.Context, g *groupsTool, group string, parts []topic.Partition) (map[topic.Partition]int64, error)

var scenarios = map[string]scenario{
	"to-earliest": at(func(*options) (int64, error) { return admin.EarliestTime, nil }),
	"to-latest":   at(func(*options) (int64, error) { return admin.LatestTime, nil }),
	"to-datetime": at(readDatetime),
	"by-duration": at(func(o *options) (int64, error) {
		s, err := o.str("by-duration")
		if err != nil {
			return 0, wrongUse(err.Error())
		}
		d, err := parseJavaDuration(s)
		return time.Now().Add(-d).UnixMilli(), err
	}),
	"to-offset": func(ctx context.Context, g *groupsTool, _ string, parts []topic.Partition) (map[topic.Partition]int64, error) {
		n, err := g.o.number("to-offset", 64)
		if err != nil {
			return nil, wrongUse(err.Error())
		}
		wanted := map[topic.Partition]int64{}
		for _, tp := range parts {
			wanted[tp] = n
		}
		return g.withinRange(ctx, wanted)
	},
	"shift-by":   shiftBy,
	"to-current": toCurrent,
}

func resetScenario(o *options) scenario {
	for _, name := range resetScenarios {
		if o.has(name) {
			return scenarios[name]
		}
	}
	return nil
}

func readDatetime(o *options) (int64, error) {
	s, err := o.str("to-datetime")
	if err != nil {
		return 0, wrongUse(err.Error())
	}
	t, err := parseJavaDatetime(s)
	return t.UnixMilli(), err
}

// at is the scenarios that look for a time; where no record is as late, it is the end.
func at(when func(*options) (int64, error)) scenario {
	return func(ctx context.Context, g *groupsTool, _ string, parts []topic.Partition) (map[topic.Partition]int64, error) {
		t, err := when(g.o)
		if err != nil {
			return nil, err
		}
		found, err := g.offsetsAt(ctx, parts, t)
		if err != nil {
			return nil, err
		}
		var late []topic.Partition
		for tp, offset := range found {
			if offset < 0 {
				late = append(late, tp)
			}
		}
		ends, err := g.offsetsAt(ctx, late, admin.LatestTime)
		maps.Copy(found, ends)
		return found, err
	}
}

func shiftBy(ctx context.Context, g *groupsTool, group string, parts []topic.Partition) (map[topic.Partition]int64, error) {
	n, err := g.o.number("shift-by", 64)
	if err != nil {
		return nil, wrongUse(err.Error())
	}
	committed, err := g.a.GroupOffsets(ctx, group)
	if err != nil {
		return nil, err
	}
	wanted := map[topic.Partition]int64{}
	for _, tp := range parts {
		o, ok := committed[tp]
		if !ok {
			return nil, wrongUse(fmt.Sprintf("Cannot shift offset for partition %v since there is no current committed offset", tp))
		}
		wanted[tp] = o.Offset + n
	}
	return g.withinRange(ctx, wanted)
}

func toCurrent(ctx context.Context, g *groupsTool, group string, parts []topic.Partition) (map[topic.Partition]int64, error) {
	committed, err := g.a.GroupOffsets(ctx, group)
	if err != nil {
		return nil, err
	}
	var without []topic.Partition
	out := map[topic.Partition]int64{}
	for _, tp := range parts {
		if o, ok := committed[tp]; ok {
			out[tp] = o.Offset
		} else {
			without = append(without, tp)
		}
	}
	ends, err := g.offsetsAt(ctx, without, admin.LatestTime)
	maps.Copy(out, ends)
	return out, err
}

func (g *groupsTool) offsetsAt(ctx context.Context, parts []topic.Partition, t int64) (map[topic.Partition]int64, error) {
	times := map[topic.Partition]int64{}
	for _, tp := range parts {
		times[tp] = t
	}
	return g.a.ListOffsets(ctx, times)
}

// withinRange moves offsets that do not exist to the nearer end, with a warning.
// Mirrors ConsumerGroupService.checkOffsetsRange.
func (g *groupsTool) withinRange(ctx context.Context, wanted map[topic.Partition]int64) (map[topic.Partition]int64, error) {
	parts := slices.SortedFunc(maps.Keys(wanted), topic.Partition.Compare)
	starts, err := g.offsetsAt(ctx, parts, admin.EarliestTime)
	if err != nil {
		return nil, err
	}
	ends, err := g.offsetsAt(ctx, parts, admin.LatestTime)
	if err != nil {
		return nil, err
	}
	out := map[topic.Partition]int64{}
	for _, tp := range parts {
		switch n := wanted[tp]; {
		case n > ends[tp]:
			warnLog(g.e, g.o.tool, "New offset (%d) is higher than latest offset for topic partition %v. Value will be set to %d", n, tp, ends[tp])
			out[tp] = ends[tp]
		case n < starts[tp]:
			warnLog(g.e, g.o.tool, "New offset (%d) is lower than earliest offset for topic partition %v. Value will be set to %d", n, tp, starts[tp])
			out[tp] = starts[tp]
		default:
			out[tp] = n
		}
	}
	return out, nil
}

// parseJavaDatetime reads what SimpleDateFormat reads by yyyy-MM-dd'T'HH:mm:ss.SSSXXX;
// without a zone it is UTC. Mirrors Utils.getDateTime.
func parseJavaDatetime(s string) (time.Time, error) {
	_, clock, ok := strings.Cut(s, "T")
	if !ok || clock == "" {
		return time.Time{}, errors.New("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
	}
	zoned := s
	if !strings.ContainsAny(clock, "+-Z") {
		zoned += "Z"
	}
	for _, layout := range []string{"2006-01-02T15:04:05.000Z07:00", "2006-01-02T15:04:05.000Z07"} {
		if t, err := time.Parse(layout, zoned); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("Unparseable date: %q", zoned)
}
