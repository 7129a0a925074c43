package fidelity

const introduction = `# How far kz is Kafka

Real Apache Kafka 2.8.2 was recorded: what it answered, what it wrote to ZooKeeper and to disk, what its
controller told other brokers, what its tools printed. The tests put kz into the same situations and
compare. This page is their account. It is made of ` + "`internal/fidelity/measured`" + `, which the tests check
each time they run; ` + "`scripts/fidelity.sh`" + ` measures anew and writes it. Do not edit it by hand.

- **same**: kz did what Kafka did, to the byte, field or line. What must differ from run to run (ports,
  times, ids, names) is a placeholder on both sides.
- **differs**: kz does something else, for a reason that [divergence.md](divergence.md) tells.
- **refused**: it takes a system that kz does not have yet. kz says so by name; nothing is half done.
- **not compared**: it exists, and no test compares it.

The last column below is "same" as a share of what exists: of all but the refused.

`

var chapters = map[string]string{
	"answers": "Three brokers were asked what three brokers of Kafka were asked (`internal/goldentest/answers`), and " +
		"each answer was compared field by field. The numbers are answers, version by version. Refused are also " +
		"steps that come after one that is refused, in the same case, and answers that tell of records it would have written.",
	"znodes": "Clusters were driven through what a cluster of Kafka was driven through (`internal/goldentest/znodes`): all " +
		"writes to ZooKeeper, in order, failed ones included, and the tree after each step. A step is the same when all of it is.",
	"requests": "What a controller sends to a broker that is none of its kind, in 40 phases. As processes: over TCP, with " +
		"everything a socket shows (`internal/goldentest/requests`). In memory: the requests and their order (`controller/testdata/stories`).",
	"files": "The same appends make the same files, byte by byte; directories that were damaged are mended as Kafka mends " +
		"them (`broker/commitlog`, `internal/record`, `internal/goldentest/files`).",
	"tools": "Commands that were typed to Kafka's tools, typed to kz (`internal/cli`): standard output, exit code, and the " +
		"message of errors.",
}
