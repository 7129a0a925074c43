package client

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
)

// newest is the highest version of each API that a client of Kafka 2.8 sends. kmsg
// knows newer ones, with fields and rules we have not read: they are never chosen.
// Source: clients/src/main/resources/common/message of 2.8.
var newest = map[int16]int16{
	int16(kmsg.Produce):                    9,
	int16(kmsg.Fetch):                      12,
	int16(kmsg.ListOffsets):                6,
	int16(kmsg.Metadata):                   11,
	int16(kmsg.OffsetCommit):               8,
	int16(kmsg.OffsetFetch):                7,
	int16(kmsg.FindCoordinator):            3,
	int16(kmsg.JoinGroup):                  7,
	int16(kmsg.Heartbeat):                  4,
	int16(kmsg.LeaveGroup):                 4,
	int16(kmsg.SyncGroup):                  5,
	int16(kmsg.DescribeGroups):             5,
	int16(kmsg.ListGroups):                 4,
	int16(kmsg.ApiVersions):                3,
	int16(kmsg.CreateTopics):               7,
	int16(kmsg.DeleteTopics):               6,
	int16(kmsg.DeleteRecords):              2,
	int16(kmsg.InitProducerID):             4,
	int16(kmsg.OffsetForLeaderEpoch):       4,
	int16(kmsg.DescribeConfigs):            4,
	int16(kmsg.CreatePartitions):           3,
	int16(kmsg.DeleteGroups):               2,
	int16(kmsg.ElectLeaders):               2,
	int16(kmsg.ListPartitionReassignments): 0,
	int16(kmsg.OffsetDelete):               0,
	int16(kmsg.DescribeCluster):            0,
}

// versionRange is what a broker advertised for one API.
type versionRange struct{ min, max int16 }

// versions is what a broker advertised. Mirrors NodeApiVersions.
type versions map[int16]versionRange

// choose picks the highest version that both sides speak, at most limit (-1: no limit).
// An API the broker does not have is UNSUPPORTED_VERSION, as in Kafka's clients.
func (v versions) choose(key, limit int16) (int16, error) {
	mine, ok := newest[key]
	if !ok {
		panic("client: no version pinned for " + kmsg.NameForKey(key)) // a caller's bug, not a broker's
	}
	if limit >= 0 && limit < mine {
		mine = limit
	}
	theirs, ok := v[key]
	if !ok {
		return 0, kafkaerr.New(kafkaerr.UnsupportedVersion, "The broker does not support "+kmsg.NameForKey(key))
	}
	if theirs.min > mine {
		return 0, kafkaerr.New(kafkaerr.UnsupportedVersion, fmt.Sprintf("The broker does not support %s with version in range [0,%d]. The supported range is [%d,%d].", kmsg.NameForKey(key), mine, theirs.min, theirs.max))
	}
	return min(mine, theirs.max), nil
}
