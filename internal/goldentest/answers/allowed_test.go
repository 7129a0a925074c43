package answers

import (
	"os"
	"strings"
	"testing"
)

// allowedGap lets answers differ: in which cases (a pattern of path.Match) and steps (none: all),
// which field (a regular expression over the whole path) and what kz says there (a regular
// expression; empty: anything). row is a piece of docs/divergence.md, which tells users.
type allowedGap struct {
	cases   string
	steps   []int
	field   string
	kz      string
	why     string
	row     string
	refuses bool // kz refuses the step: what it would have written is missing later
	used    bool
}

const (
	code        = `Topics\[\d+\]\.Partitions\[\d+\]\.ErrorCode`
	caseStopped = "case stopped" // the field of a case that cannot go on
)

var allowedGaps = []allowedGap{
	{cases: "idempotence/*", field: code, kz: "^UNSUPPORTED_FOR_MESSAGE_FORMAT$", refuses: true,
		why: "kz has no producer state yet", row: producerState},
	{cases: "idempotence/*", field: `Topics\[0\]\.Partitions\[0\]\.LogAppendTime`, kz: "^-1$",
		why: "part of the above", row: producerState},
	{cases: "fetch/isolation-level", field: code, kz: "^UNSUPPORTED_FOR_MESSAGE_FORMAT$", refuses: true,
		why: "kz has no producer state yet", row: producerState},
	{cases: "produce/transactional-acks-1", field: code, kz: "^UNSUPPORTED_FOR_MESSAGE_FORMAT$", refuses: true,
		why: "kz has no producer state yet", row: producerState},

	{cases: "versions/FindCoordinator/*", steps: []int{2}, field: ".*", kz: `^(UNSUPPORTED_VERSION|transactions are not supported.*|-1|)$`,
		why: "kz has no transaction coordinator yet", row: transactionalID},
	{cases: "fresh/find-coordinator-first-use", steps: []int{3, 4}, field: ".*", kz: `^(UNSUPPORTED_VERSION|transactions are not supported.*|-1|)$`,
		why: "kz has no transaction coordinator yet", row: transactionalID},

	{cases: "fresh/find-coordinator-first-use", steps: []int{6}, field: "(partitions|replication factor)", kz: "^0$",
		why: "nobody creates __transaction_state", row: transactionalID},
	{cases: "fresh/find-coordinator-first-use", steps: []int{7}, field: `Resources\[1\]\..*`,
		why: "nobody creates __transaction_state", row: transactionalID},

	{cases: "produce/*", field: caseStopped, kz: `^creating a topic with message.format.version=0\.\d+\.\d: INVALID_CONFIG$`,
		why: "kz stores format 2 only", row: formats01},
	{cases: "produce/codec-bit-with-plain-data", field: code, kz: "^INVALID_RECORD$",
		why: "Kafka's decompressors throw what nobody catches", row: "compressed records that cannot be decompressed"},
	{cases: "produce/codec-5", field: code, kz: "^UNSUPPORTED_COMPRESSION_TYPE$",
		why: "Kafka's lookup throws what nobody catches", row: "compressed records that cannot be decompressed"},
	{cases: "produce/offset-deltas-with-gap-gzip", steps: []int{1}, field: code, kz: "^NONE$",
		why: "Kafka means to rebuild the batch and fails", row: "a compressed batch whose offset deltas have a gap"},
	{cases: "produce/offset-deltas-with-gap-gzip", field: `.*\.(BaseOffset|HighWatermark|LastStableOffset|RecordBatches)`,
		why: "the batch that kz rebuilt", row: "a compressed batch whose offset deltas have a gap"},

	{cases: "createtopics/assignment-duplicate-replica", field: `Topics\[0\]\.ErrorMessage`, kz: "^Duplicate replica assignment found: partition 0",
		why: "Kafka prints Scala's collections", row: "some messages show Scala's collections"},
	{cases: "describeconfigs/all-broker-keys", field: `Resources\[0\]\.Configs\[53\]\.ConfigSynonyms\[1\]\.Value`, kz: `^2\.6$`,
		why: "the default of inter.broker.protocol.version", row: "`inter.broker.protocol.version` is 2.8-IV1 by default"},
	{cases: "describeconfigs/errors", steps: []int{13}, field: `Resources\[0\]\.Configs`, kz: `^\[\]$`,
		why: "kz has no named loggers", row: "DescribeConfigs of a broker's loggers lists them"},
	{cases: "framing/metadata-negative-array-length", field: "",
		why: "kmsg reads null where the protocol allows none", row: "a negative count of a list that cannot be null"},
	{cases: "controller/old-leader-epoch", steps: []int{4}, field: `Partitions\[0\]\.ErrorCode`, kz: "^NONE$",
		why: "kz keeps nothing of a LeaderAndIsr that does not concern it", row: "LeaderAndIsr for a partition that this broker is no replica of"},

	{cases: "down/broker-3-stopped", steps: []int{22}, field: `Topics\[0\]\.Partitions\[0\]\.(LeaderEpoch|Replicas)`,
		why: "the reassignment before was refused", row: notServedYet},
	{cases: "down/broker-3-stopped", steps: []int{23}, field: `Topics\[0\]\.Error(Code|Message)`,
		why: "the reassignment before was refused", row: notServedYet},
	{cases: "down/broker-3-stopped", steps: []int{27}, field: `Topics\[0\]\.(ErrorCode|Partitions)`,
		why: "the deletion before was refused", row: notServedYet},
}

const transactionalID = "FindCoordinator for a transactional id names the coordinator"

const notServedYet = "`/admin/delete_topics/<topic>`, `/admin/reassign_partitions`"

// What the list allows is told to users.
func TestAllowedGapsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/divergence.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range allowedGaps {
		if a.why == "" || a.row == "" || !strings.Contains(string(doc), a.row) {
			t.Errorf("%s %s: docs/divergence.md does not say %q", a.cases, a.field, a.row)
		}
	}
}
