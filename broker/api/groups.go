package api

import (
	"context"

	"kz/broker/admin"
	"kz/broker/group"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Groups is the part of *group.Coordinator that handlers use.
type Groups interface {
	PartitionFor(group string) int32
	Join(r group.JoinRequest, respond func(group.JoinResult))
	Sync(r group.SyncRequest, respond func(group.SyncResult))
	Heartbeat(r group.Caller) kafkaerr.Code
	Leave(groupID string, leaving []group.Leaving) (kafkaerr.Code, []kafkaerr.Code)
	CommitOffsets(r group.Commit, respond func(map[topic.Partition]kafkaerr.Code))
	FetchOffsets(groupID string, requireStable bool, partitions []topic.Partition) (map[topic.Partition]group.Fetched, kafkaerr.Code)
	DeleteOffsets(groupID string, ps []topic.Partition) (map[topic.Partition]kafkaerr.Code, kafkaerr.Code)
	DeleteGroups(ids []string) map[string]kafkaerr.Code
	Describe(id string) group.Description
	List(states []string) ([]group.Listed, kafkaerr.Code)
	TopicsDeleted(ps []topic.Partition)
}

var _ Groups = (*group.Coordinator)(nil)

// Offsets is the part of *admin.Offsets that handlers use: those in ZooKeeper.
type Offsets interface {
	Set(ctx context.Context, group string, p topic.Partition, offset int64) error
	Get(ctx context.Context, group string, p topic.Partition) (offset int64, found bool, err error)
}

var _ Offsets = (*admin.Offsets)(nil)
