package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kz/client/admin"
	"kz/internal/topic"
)

// offsetRow is one line of --describe: a partition, how far the group has read it and
// who reads it. Mirrors PartitionAssignmentState.
type offsetRow struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Current   *int64 `json:"currentOffset"` // null: nothing committed
	End       int64  `json:"logEndOffset"`
	Lag       *int64 `json:"lag"`
	Consumer  string `json:"consumerId,omitempty"`
	Host      string `json:"host,omitempty"`
	ClientID  string `json:"clientId,omitempty"`
}

// describe shows each group, in the order of their names. All are asked about first:
// one that cannot be described ends the command before anything is printed.
func (g *groupsTool) describe(ctx context.Context) error {
	ids, err := g.groups(ctx)
	if err != nil {
		return err
	}
	slices.Sort(ids)
	var groups []admin.GroupDescription
	rows := map[string][]offsetRow{}
	byOffset := !g.o.has("members") && !g.o.has("state")
	for _, id := range ids {
		d, err := g.a.DescribeGroup(ctx, id)
		if err != nil {
			return err
		}
		groups = append(groups, d)
		if byOffset {
			if rows[id], err = g.offsetRows(ctx, d); err != nil {
				return err
			}
		}
	}
	switch {
	case g.asJSON:
		return printJSON(g.e, groupsJSON(groups, rows, byOffset))
	case byOffset:
		for _, d := range groups {
			if g.introduce(d) && len(rows[d.Group]) > 0 {
				g.printOffsetRows(rows[d.Group])
			}
		}
	case g.o.has("members"):
		for _, d := range groups {
			if g.introduce(d) && len(d.Members) > 0 {
				g.printMembers(d)
			}
		}
	default:
		for _, d := range groups {
			if g.introduce(d) {
				g.printState(d)
			}
		}
	}
	return nil
}

// introduce says what has to be said about a group's state before its rows, and
// whether there are any.
func (g *groupsTool) introduce(d admin.GroupDescription) bool {
	switch d.State {
	case "Dead":
		g.complain("Consumer group '%s' does not exist.", d.Group)
		return false
	case "Empty":
		fmt.Fprintf(g.e.stderr, "\nConsumer group '%s' has no active members.\n", d.Group)
	case "PreparingRebalance", "CompletingRebalance":
		fmt.Fprintf(g.e.stderr, "\nWarning: Consumer group '%s' is rebalancing.\n", d.Group)
	}
	return true
}

// offsetRows joins what is assigned and what is committed: members with the most
// partitions first, then what nobody reads.
func (g *groupsTool) offsetRows(ctx context.Context, d admin.GroupDescription) ([]offsetRow, error) {
	committed, err := g.a.GroupOffsets(ctx, d.Group)
	if err != nil {
		return nil, err
	}
	times := map[topic.Partition]int64{}
	for tp := range committed {
		times[tp] = admin.LatestTime
	}
	for _, m := range d.Members {
		for _, tp := range m.Assignment {
			times[tp] = admin.LatestTime
		}
	}
	ends, err := g.a.ListOffsets(ctx, times)
	if err != nil {
		return nil, err
	}
	row := func(tp topic.Partition) offsetRow {
		r := offsetRow{Group: d.Group, Topic: tp.Topic, Partition: tp.Partition, End: ends[tp]}
		if o, ok := committed[tp]; ok {
			lag := r.End - o.Offset
			r.Current, r.Lag = &o.Offset, &lag
		}
		return r
	}
	members := slices.Clone(d.Members)
	slices.SortStableFunc(members, func(a, b admin.MemberDescription) int { return len(b.Assignment) - len(a.Assignment) })
	var out []offsetRow
	assigned := map[topic.Partition]bool{}
	for _, m := range members {
		parts := slices.Clone(m.Assignment)
		slices.SortStableFunc(parts, func(a, b topic.Partition) int { return cmp.Compare(a.Partition, b.Partition) })
		for _, tp := range parts {
			r := row(tp)
			r.Consumer, r.Host, r.ClientID = m.ID, m.Host, m.ClientID
			out = append(out, r)
			assigned[tp] = true
		}
	}
	for _, tp := range slices.SortedFunc(maps.Keys(committed), topic.Partition.Compare) {
		if !assigned[tp] {
			out = append(out, row(tp))
		}
	}
	return out, nil
}

func (g *groupsTool) printOffsetRows(rows []offsetRow) {
	group, name, consumer, host := 15, 15, 15, 15
	for _, r := range rows {
		group, name = max(group, len(r.Group)), max(name, len(r.Topic))
		consumer, host = max(consumer, len(r.Consumer)), max(host, len(r.Host))
	}
	line := func(columns ...any) {
		w := []any{-group, columns[0], -name, columns[1]}
		w = append(append(w, columns[2:6]...), -consumer, columns[6], -host, columns[7], columns[8])
		fmt.Fprintf(g.e.stdout, "%*v %*v %-10v %-15v %-15v %-15v %*v %*v %v\n", w...)
	}
	fmt.Fprintln(g.e.stdout)
	line("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
	for _, r := range rows {
		line(r.Group, r.Topic, r.Partition, orDash(r.Current), r.End, orDash(r.Lag), dashIfEmpty(r.Consumer), dashIfEmpty(r.Host), dashIfEmpty(r.ClientID))
	}
}

func orDash(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

func dashIfEmpty(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (g *groupsTool) printMembers(d admin.GroupDescription) {
	group, consumer, instance, host, clientID := max(15, len(d.Group)), 15, 17, 15, 15
	static := false
	for _, m := range d.Members {
		consumer, instance = max(consumer, len(m.ID)), max(instance, len(m.InstanceID))
		host, clientID = max(host, len(m.Host)), max(clientID, len(m.ClientID))
		static = static || m.InstanceID != ""
	}
	line := func(m admin.MemberDescription, id, partitions, assignment string) {
		fmt.Fprintf(g.e.stdout, "%-*s %-*s ", group, id, consumer, m.ID)
		if static {
			fmt.Fprintf(g.e.stdout, "%-*s ", instance, m.InstanceID)
		}
		fmt.Fprintf(g.e.stdout, "%-*s %-*s %-15s ", host, m.Host, clientID, m.ClientID, partitions)
		if g.o.has("verbose") {
			fmt.Fprint(g.e.stdout, assignment)
		}
		fmt.Fprintln(g.e.stdout)
	}
	fmt.Fprintln(g.e.stdout)
	line(admin.MemberDescription{ID: "CONSUMER-ID", InstanceID: "GROUP-INSTANCE-ID", Host: "HOST", ClientID: "CLIENT-ID"}, "GROUP", "#PARTITIONS", "ASSIGNMENT")
	for _, m := range d.Members {
		line(m, d.Group, strconv.Itoa(len(m.Assignment)), assignmentText(m.Assignment))
	}
}

// assignmentText is t1(0,1), t2(0).
func assignmentText(parts []topic.Partition) string {
	byTopic := map[string][]int32{}
	for _, tp := range slices.SortedFunc(slices.Values(parts), topic.Partition.Compare) {
		byTopic[tp.Topic] = append(byTopic[tp.Topic], tp.Partition)
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(byTopic)) {
		out = append(out, fmt.Sprintf("%s(%s)", name, joinIDs(byTopic[name])))
	}
	return dashIfEmpty(strings.Join(out, ", "))
}

func (g *groupsTool) printState(d admin.GroupDescription) {
	coordinator := fmt.Sprintf("%s (%d)", d.Coordinator.Addr, d.Coordinator.ID)
	width := max(25, len(coordinator)) // of the group's column: so it is in Kafka
	line := func(columns ...any) {
		fmt.Fprintf(g.e.stdout, "\n%*s %-25s %-20s %-15s %v", append([]any{-width}, columns...)...)
	}
	line("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
	line(d.Group, coordinator, d.Protocol, d.State, len(d.Members))
	fmt.Fprintln(g.e.stdout)
}

// groupJSON is -o json of --describe: everything that is known, whatever was asked for.
type groupJSON struct {
	Group       string       `json:"group"`
	State       string       `json:"state"`
	Coordinator int32        `json:"coordinator"`
	Strategy    string       `json:"assignmentStrategy"`
	Members     []memberJSON `json:"members"`
	Offsets     []offsetRow  `json:"offsets,omitempty"` // not with --members or --state
}

type memberJSON struct {
	ID         string             `json:"consumerId"`
	InstanceID string             `json:"groupInstanceId,omitempty"`
	Host       string             `json:"host"`
	ClientID   string             `json:"clientId"`
	Assignment map[string][]int32 `json:"assignment"`
}

func groupsJSON(groups []admin.GroupDescription, rows map[string][]offsetRow, byOffset bool) []groupJSON {
	out := []groupJSON{}
	for _, d := range groups {
		j := groupJSON{Group: d.Group, State: d.State, Coordinator: d.Coordinator.ID, Strategy: d.Protocol, Members: []memberJSON{}}
		for _, m := range d.Members {
			mj := memberJSON{ID: m.ID, InstanceID: m.InstanceID, Host: m.Host, ClientID: m.ClientID, Assignment: map[string][]int32{}}
			for _, tp := range m.Assignment {
				mj.Assignment[tp.Topic] = append(mj.Assignment[tp.Topic], tp.Partition)
			}
			j.Members = append(j.Members, mj)
		}
		if byOffset {
			j.Offsets = rows[d.Group]
		}
		out = append(out, j)
	}
	return out
}
