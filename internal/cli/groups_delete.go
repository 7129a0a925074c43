package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// deleted is -o json of --delete and --delete-offsets.
type deleted struct {
	Group     string `json:"group"`
	Topic     string `json:"topic,omitempty"`
	Partition *int32 `json:"partition,omitempty"`
	Error     string `json:"error,omitempty"`
}

func (g *groupsTool) delete(ctx context.Context) error {
	groups, err := g.groups(ctx)
	if err != nil {
		return err
	}
	var gone, failures []string
	out := []deleted{}
	for _, id := range groups {
		err := g.a.DeleteGroup(ctx, id)
		if err == nil {
			gone = append(gone, "'"+id+"'")
			out = append(out, deleted{Group: id})
			continue
		}
		failures = append(failures, fmt.Sprintf("* Group '%s' could not be deleted due to: java.util.concurrent.ExecutionException: %s", id, javaText(err)))
		out = append(out, deleted{Group: id, Error: javaText(err)})
	}
	switch names := strings.Join(gone, ", "); {
	case g.asJSON:
		return printJSON(g.e, out)
	case len(failures) == 0:
		fmt.Fprintf(g.e.stdout, "Deletion of requested consumer groups (%s) was successful.\n", names)
	default:
		g.complain("Deletion of some consumer groups failed:\n%s", strings.Join(failures, "\n"))
		if names != "" {
			fmt.Fprintf(g.e.stdout, "\nThese consumer groups were deleted successfully: %s\n", names)
		}
	}
	return nil
}

// deleteOffsets forgets offsets of topics the group does not read now.
func (g *groupsTool) deleteOffsets(ctx context.Context) error {
	group, err := g.o.str("group")
	if err != nil {
		return wrongUse(err.Error())
	}
	results := map[topic.Partition]error{}
	var parts []topic.Partition
	for _, arg := range g.o.all("topic") {
		some, err := g.partitionsOf(ctx, arg)
		if _, use := err.(wrongUse); use {
			return err
		}
		if err != nil { // partition -1 stands for a topic that could not be described
			results[topic.Partition{Topic: arg, Partition: -1}] = err
		}
		parts = append(parts, some...)
	}
	var whole error
	if len(parts) > 0 {
		var answers map[topic.Partition]error
		answers, whole = g.a.DeleteGroupOffsets(ctx, group, parts)
		refused := whole
		for _, tp := range parts {
			if results[tp] = refused; refused == nil {
				results[tp] = answers[tp]
			}
			if whole == nil {
				whole = answers[tp]
			}
		}
	}
	return g.printDeletedOffsets(group, whole, results)
}

func (g *groupsTool) printDeletedOffsets(group string, whole error, results map[topic.Partition]error) error {
	parts := make([]topic.Partition, 0, len(results))
	for tp := range results {
		parts = append(parts, tp)
	}
	slices.SortFunc(parts, func(a, b topic.Partition) int {
		return strings.Compare(a.Topic+strconv.Itoa(int(a.Partition)), b.Topic+strconv.Itoa(int(b.Partition)))
	})
	if g.asJSON {
		out := []deleted{}
		for _, tp := range parts {
			d := deleted{Group: group, Topic: tp.Topic}
			if tp.Partition >= 0 {
				d.Partition = &tp.Partition
			}
			if results[tp] != nil {
				d.Error = javaText(results[tp])
			}
			out = append(out, d)
		}
		return printJSON(g.e, out)
	}
	switch code := kafkaerr.CodeOf(whole); {
	case whole == nil:
		fmt.Fprintf(g.e.stdout, "Request succeed for deleting offsets with topic %s group %s\n", strings.Join(g.o.all("topic"), ", "), group)
	case code == kafkaerr.InvalidGroupID:
		g.complain("'%s' is not valid.", group)
	case code == kafkaerr.GroupIDNotFound:
		g.complain("'%s' does not exist.", group)
	case code == kafkaerr.NonEmptyGroup:
		g.complain("Deleting offsets of a consumer group '%s' is forbidden if the group is not empty.", group)
	case code == kafkaerr.GroupSubscribedToTopic, code == kafkaerr.UnknownTopicOrPartition:
		g.complain("Encounter some partition level error, see the follow-up details:")
	default:
		g.complain("Encounter some unknown error: %s", code.Name())
	}
	fmt.Fprintf(g.e.stdout, "\n%-30s %-15s %-15s\n", "TOPIC", "PARTITION", "STATUS")
	for _, tp := range parts {
		id, status := strconv.Itoa(int(tp.Partition)), "Successful"
		if tp.Partition < 0 {
			id = "Not Provided"
		}
		if results[tp] != nil {
			status = "Error: " + javaText(results[tp])
		}
		fmt.Fprintf(g.e.stdout, "%-30s %-15s %-15s\n", tp.Topic, id, status)
	}
	return nil
}

// partitionsOf reads topic:0,1 or, of a topic alone, asks for its partitions.
func (g *groupsTool) partitionsOf(ctx context.Context, arg string) ([]topic.Partition, error) {
	var out []topic.Partition
	name, ids, listed := strings.Cut(arg, ":")
	if listed {
		for _, s := range strings.Split(ids, ",") {
			id, err := strconv.ParseInt(s, 10, 32)
			if err != nil {
				return nil, wrongUse(fmt.Sprintf("For input string: %q", s))
			}
			out = append(out, topic.Partition{Topic: name, Partition: int32(id)})
		}
		return out, nil
	}
	cl, err := g.a.DescribeTopic(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, p := range cl.Partitions {
		out = append(out, topic.Partition{Topic: name, Partition: p.ID})
	}
	return out, nil
}
