package znodes

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// differences compares two normalised captures; "" is equal.
func differences(kafka, kz capture) string {
	var out strings.Builder
	if d := cmp.Diff(byWriter(kafka.writes), byWriter(kz.writes)); d != "" {
		out.WriteString("writes (- Kafka, + kz):\n" + d)
	}
	if d := cmp.Diff(treeLines(kafka.tree), treeLines(kz.tree)); d != "" {
		out.WriteString("znodes (- Kafka, + kz):\n" + d)
	}
	return out.String()
}

func treeLines(zs []znode) []string {
	var out []string
	for _, z := range zs {
		out = append(out, z.String())
	}
	slices.Sort(out)
	return out
}

// byWriter is each writer's lines, in its order, batches sorted.
func byWriter(ws []write) map[string][]string {
	out := map[string][]string{}
	var batch []string // the end of out[who] that is one batch, for the writer whose turn it is
	perWriter := map[string][]write{}
	for _, w := range ws {
		perWriter[w.Who] = append(perWriter[w.Who], w)
	}
	for who, ws := range perWriter {
		var shape string
		seen := map[string]bool{}
		flush := func() {
			slices.Sort(batch)
			out[who] = append(out[who], batch...)
			batch, seen = nil, map[string]bool{}
		}
		for _, w := range ws {
			path := w.ops()[len(w.ops())-1].Path
			if s := shapeOf(w); s == "" || s != shape || seen[path] {
				flush()
				shape = s
			}
			seen[path] = true
			batch = append(batch, w.String())
		}
		flush()
	}
	return out
}

var partitionPath = regexp.MustCompile(`^/brokers/topics/[^/]+/partitions/\d+(/state)?$`)

// shapeOf says which writes belong to one pipelined batch: those of one kind to different partitions.
// Kafka sends them together, in the order of a hash map, and waits for all. "" is no batch.
func shapeOf(w write) string {
	last := w.ops()[len(w.ops())-1]
	m := partitionPath.FindStringSubmatch(last.Path)
	if m == nil {
		return ""
	}
	return w.Op + " " + last.Op + m[1]
}
