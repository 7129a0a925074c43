package files

import (
	"testing"

	"kz/internal/fidelity"
)

// notHeld is what was captured of Kafka's files that no test holds kz against, with the number of
// cases (directories, or files): the systems that write them are missing, except in the last two rows.
var notHeld = []struct {
	what    string
	cases   int
	verdict fidelity.Verdict
	why     string
}{
	{"directories with message formats 0 and 1", 31, fidelity.Refused, "`message.format.version` below 0.11.0 on a topic"},
	{"producer snapshots with producers in them", 7, fidelity.Refused, "producer snapshots, transaction indexes"},
	{"directories with open or ended transactions", 10, fidelity.Refused, "transactions"},
	{"partitions of `__consumer_offsets`", 3, fidelity.Refused, "groups"},
	{"a topic compacted, step by step", 5, fidelity.Refused, "compaction; moves between directories"},
	{"a directory that moves to another disk (`-future`)", 1, fidelity.Refused, "compaction; moves between directories"},
	{"the list of directories through moves, reassignments, deletions", 6, fidelity.Refused, "reassignment, topic deletion"},
	{"segments as a kill left them, with preallocated ends", 16, fidelity.Uncompared, "what recovery makes of such directories is compared"},
	{"segments with stamps of the broker's clock (LogAppendTime), without stamps", 5, fidelity.Uncompared, "opened and read; appends of the same are covered by the answers"},
}

// What is not compared is in the account, too.
func TestNotHeldAgainstKafka(t *testing.T) {
	sheet := fidelity.Open(t, "files/not-held")
	for _, n := range notHeld {
		sheet.AddN(n.what, "", n.verdict, n.why, n.cases)
	}
}
