package commitlog

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"kz/internal/topic"
)

// The names of Kafka's files. A segment's files carry its base offset in twenty
// digits, so that a directory listing is also the order of the log.
const (
	logSuffix       = ".log"
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
	txnIndexSuffix  = ".txnindex"
	snapshotSuffix  = ".snapshot"

	// The suffixes of files in passing come after the one above.
	deletedSuffix = ".deleted" // waits for file.delete.delay.ms
	cleanedSuffix = ".cleaned" // a compaction's output, not yet complete
	swapSuffix    = ".swap"    // complete, about to take its segments' place

	deleteDirSuffix = "-delete" // a deleted partition's directory
	maxFileName     = 255       // bytes, on all common file systems
	futureDirSuffix = "-future" // a replica on its way to another directory

	epochFile          = "leader-epoch-checkpoint"
	lockFile           = ".lock"
	cleanShutdownFile  = ".kafka_cleanshutdown"
	metaPropertiesFile = "meta.properties"
	recoveryPointFile  = "recovery-point-offset-checkpoint"
	logStartFile       = "log-start-offset-checkpoint"
	highWatermarkFile  = "replication-offset-checkpoint"
)

func segmentFile(dir string, base int64, suffix string) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", base, suffix))
}

// parseSegmentFile splits 00000000000000000042.log into 42 and ".log".
func parseSegmentFile(name string) (base int64, suffix string, ok bool) {
	dot := strings.IndexByte(name, '.')
	if dot != 20 {
		return 0, "", false
	}
	for i := 0; i < dot; i++ {
		if name[i] < '0' || name[i] > '9' {
			return 0, "", false
		}
	}
	base, err := strconv.ParseInt(name[:dot], 10, 64)
	return base, name[dot:], err == nil
}

// parsePartitionDir reads orders-0 as partition 0 of orders. The last dash counts,
// since topic names may hold dashes.
func parsePartitionDir(name string) (topic.Partition, bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash <= 0 || dash == len(name)-1 {
		return topic.Partition{}, false
	}
	n, err := strconv.ParseInt(name[dash+1:], 10, 32)
	if err != nil || n < 0 || name[dash+1] == '+' {
		return topic.Partition{}, false
	}
	p := topic.Partition{Topic: name[:dash], Partition: int32(n)}
	return p, topic.ValidateName(p.Topic) == nil
}

// canBeDir says whether the partition's directory can be made and is read as this
// partition again. A znode written by hand may name one that cannot: the name is too
// long, has illegal characters, or the number is negative, and "a--1" is partition 1 of "a-".
func canBeDir(p topic.Partition) bool {
	name := p.String()
	back, ok := parsePartitionDir(name)
	return ok && back == p && len(name) <= maxFileName
}

// deletedDirName is the name that a deleted partition's directory waits under:
// <topic>-<partition>.<32 hex digits>-delete, the topic shortened to fit 255 bytes.
func deletedDirName(p topic.Partition, unique string) string {
	tail := "-" + strconv.Itoa(int(p.Partition)) + "." + unique + deleteDirSuffix
	return p.Topic[:min(len(p.Topic), maxFileName-len(tail))] + tail
}
