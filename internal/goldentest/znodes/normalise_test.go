package znodes

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kz/internal/fidelity"
)

// A rule removes one thing that time or chance decides, from kz's writes and from Kafka's alike.
type rule struct {
	name, why string
	writes    func([]write) []write
	tree      func([]znode) []znode

	// For the account: which operations it takes from the comparison, and what they are then. Rules that
	// only make equal what time or chance decides have neither.
	about   func(w write, o *op) bool
	verdict fidelity.Verdict
	row     string // a piece of docs/divergence.md, or the missing system
}

// always are the rules of every step. Two more are in how lines are compared: order counts only inside
// one writer (between two brokers it is that of two clocks), and a pipelined batch counts as a set.
var always = []rule{
	{
		name:   "session timeout",
		why:    "these clusters use shorter sessions than the captured one, so that a death is noticed sooner",
		writes: each(func(w *write) { w.Timeout = 0 }),
	},
	{
		name: "lost elections",
		why:  "whether a broker hears that /controller is gone before it hears that somebody else has it, is a race",
		writes: without(func(w write) bool {
			return w.Error == "NODEEXISTS" && w.Parts != nil && w.Parts[0].Path == "/controller"
		}),
	},
	{
		name: "expired sessions",
		why:  "when a session ends is for the server's clock to say, not for the broker, which may already have another",
		writes: each(func(w *write) {
			if w.Op == "closeSession" && w.By != "client" {
				w.Who = "ZooKeeper, for " + w.Who
			}
		}),
	},
	{
		name: "producer id block",
		why:  "a starting broker claims it on the thread that starts, while the controller's thread stands for election: two orders inside one broker",
		writes: each(func(w *write) {
			if strings.HasSuffix(w.Path, "/latest_producer_id_block") && w.Op == "setData" {
				w.Who += ", starting"
			}
		}),
	},
	{
		name:   "isr notices",
		why:    "how many ISR changes share a notification depends on when they happen; who announces which, and that the controller deletes each, does not",
		writes: mergeNotices,
	},
}

func each(f func(*write)) func([]write) []write {
	return func(ws []write) []write {
		for i := range ws {
			f(&ws[i])
		}
		return ws
	}
}

func without(drop func(write) bool) func([]write) []write {
	return func(ws []write) []write { return slices.DeleteFunc(ws, drop) }
}

const noticePrefix = "/isr_change_notification/isr_change_"

// mergeNotices replaces what is written below /isr_change_notification by one line for each writer: the
// partitions it announced, or that it deleted all, or how many it left.
func mergeNotices(ws []write) []write {
	announced := map[string]map[string]bool{}
	deleted := map[string]int{}
	left := 0
	var rest []write
	for _, w := range ws {
		last := *w.ops()[len(w.ops())-1]
		if !strings.HasPrefix(last.Path, noticePrefix) || last.Error != "" {
			rest = append(rest, w)
			continue
		}
		if last.Op == "delete" {
			deleted[w.Who]++
			left--
			continue
		}
		left++
		if announced[w.Who] == nil {
			announced[w.Who] = map[string]bool{}
		}
		for _, p := range noticed(last.Data) {
			announced[w.Who][p] = true
		}
	}
	for who, parts := range announced {
		var names []string
		for p := range parts {
			names = append(names, p)
		}
		slices.Sort(names)
		rest = append(rest, write{Who: who, op: op{Op: "announces ISR changes", Path: strings.Join(names, " ")}})
	}
	for who := range deleted {
		rest = append(rest, write{Who: who, op: op{Op: "deletes ISR notices", Path: fmt.Sprintf("and leaves %d", left)}})
	}
	slices.SortStableFunc(rest, func(a, b write) int { return isNotice(a) - isNotice(b) })
	return rest
}

// isNotice sorts the merged lines behind all others, announcements first.
func isNotice(w write) int {
	switch w.Op {
	case "announces ISR changes":
		return 1
	case "deletes ISR notices":
		return 2
	}
	return 0
}

func noticed(data *string) []string {
	var n struct {
		Partitions []struct {
			Topic     string
			Partition int32
		}
	}
	if data == nil || json.Unmarshal([]byte(*data), &n) != nil {
		return []string{"unreadable: " + text(data)}
	}
	var out []string
	for _, p := range n.Partitions {
		out = append(out, fmt.Sprintf("%s-%d", p.Topic, p.Partition))
	}
	return out
}

// randomReplicas is the rule for topics whose replica lists the brokers choose at random. The lists
// become names (R0 is the list of partition 0), and what must follow from them is checked by that: a
// state whose ISR is not the list, or whose leader is not its first member, keeps its numbers.
func randomReplicas(topics ...string) rule {
	swap := func(all []*op) {
		for _, topic := range topics {
			lists := map[string]string{} // "[2,3,1]" -> name
			for _, o := range all {
				if o.Path == "/brokers/topics/"+topic && o.Data != nil {
					learnLists(*o.Data, lists)
				}
			}
			for _, o := range all {
				if o.Data != nil && (o.Path == "/brokers/topics/"+topic || strings.HasPrefix(o.Path, "/brokers/topics/"+topic+"/")) {
					s := nameLists(o.Path, *o.Data, lists)
					o.Data = &s
				}
			}
		}
	}
	return rule{
		name: "random replicas",
		why:  "CreateTopics and CreatePartitions without an assignment begin at a random broker",
		writes: func(ws []write) []write {
			var all []*op
			for i := range ws {
				all = append(all, ws[i].ops()...)
			}
			swap(all)
			return ws
		},
		tree: func(zs []znode) []znode {
			var all []*op
			for _, z := range zs {
				all = append(all, &op{Path: z.Path, Data: z.Data})
			}
			swap(all)
			for i := range zs {
				zs[i].Data = all[i].Data
			}
			return zs
		},
	}
}

var listOf = regexp.MustCompile(`"(\d+)":(\[[\d,]*\])`)

// learnLists reads {"partitions":{"0":[2,3,1],...}}: each list gets the name of its partition.
func learnLists(topic string, lists map[string]string) {
	for _, m := range listOf.FindAllStringSubmatch(topic, -1) {
		lists[m[1]] = m[2]
	}
}

var partitionOf = regexp.MustCompile(`/partitions/(\d+)/state$`)

func nameLists(path, data string, lists map[string]string) string {
	if m := partitionOf.FindStringSubmatch(path); m != nil {
		list := lists[m[1]]
		first, _, _ := strings.Cut(strings.Trim(list, "[]"), ",")
		want := fmt.Sprintf(`"leader":%s,"version":1,"leader_epoch":0,"isr":%s}`, first, list)
		return strings.Replace(data, want, `leader and ISR from the list}`, 1)
	}
	return listOf.ReplaceAllString(data, `"$1":R$1`)
}

// ignoring leaves paths out, on both sides, because kz lacks the system that writes there.
func ignoring(why, system string, paths ...string) rule {
	hit := func(p string) bool {
		return slices.ContainsFunc(paths, func(x string) bool { return p == x || strings.HasPrefix(p, x+"/") })
	}
	return rule{
		name:   "ignoring " + strings.Join(paths, ", "),
		why:    why,
		writes: without(func(w write) bool { return slices.ContainsFunc(w.ops(), func(o *op) bool { return hit(o.Path) }) }),
		tree:   func(zs []znode) []znode { return slices.DeleteFunc(zs, func(z znode) bool { return hit(z.Path) }) },

		about:   func(_ write, o *op) bool { return hit(o.Path) },
		verdict: fidelity.Refused,
		row:     system,
	}
}

func (c capture) normalised(rules []rule) capture {
	var out capture
	for _, w := range c.writes { // rules change what they get: the parts too must be copies
		w.Parts = slices.Clone(w.Parts)
		out.writes = append(out.writes, w)
	}
	out.tree = slices.Clone(c.tree)
	for _, r := range rules {
		if r.writes != nil {
			out.writes = r.writes(out.writes)
		}
		if r.tree != nil {
			out.tree = r.tree(out.tree)
		}
	}
	return out
}
