package group

import (
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// JoinRequest is a JoinGroup.
type JoinRequest struct {
	Group      string
	MemberID   string  // "": a new member
	InstanceID *string // a static member
	// RequireKnownID (version 4 and later, dynamic members): a new member is only given
	// an id, and joins when it comes back with it. So a client that retries is no two
	// members (KIP-394).
	RequireKnownID     bool
	ClientID           string
	ClientHost         string // as Java prints it: /10.0.0.1
	RebalanceTimeoutMs int32
	SessionTimeoutMs   int32
	ProtocolType       string
	Protocols          []Protocol
}

// JoinResult answers it.
type JoinResult struct {
	Code         kafkaerr.Code
	Generation   int32 // -1 on most errors
	ProtocolType *string
	Protocol     *string
	Leader       string
	MemberID     string
	Members      []JoinedMember // for the leader
}

// JoinedMember is what the leader is told of a member.
type JoinedMember struct {
	ID         string
	InstanceID *string
	Metadata   []byte
}

// Caller is who speaks for a group: what Heartbeat, SyncGroup and OffsetCommit begin with.
type Caller struct {
	Group      string
	MemberID   string
	InstanceID *string
	Generation int32
}

// SyncRequest is a SyncGroup.
type SyncRequest struct {
	Caller
	ProtocolType *string           // nil: not said
	Protocol     *string           // nil: not said
	Assignment   map[string][]byte // from the leader: by member id
}

// SyncResult answers it.
type SyncResult struct {
	Code         kafkaerr.Code
	ProtocolType *string
	Protocol     *string
	Assignment   []byte
}

// Leaving is one member of a LeaveGroup. An empty id with an instance id removes a static
// member from outside.
type Leaving struct {
	MemberID   string
	InstanceID *string
}

// Commit is an OffsetCommit of version 1 or later.
type Commit struct {
	Caller  // Generation -1: no member, offsets only
	Offsets map[topic.Partition]OffsetAndMetadata
}

// Fetched is what OffsetFetch finds for a partition.
type Fetched struct {
	Code        kafkaerr.Code
	Offset      int64 // -1: nothing is committed
	LeaderEpoch int32 // -1 not known
	Metadata    string
}

// Description is a group for DescribeGroups.
type Description struct {
	Code         kafkaerr.Code
	State        string // "" on an error; "Dead": there is no such group
	ProtocolType string
	Protocol     string // only of a Stable group
	Members      []DescribedMember
}

// DescribedMember is a member of it; metadata and assignment only of a Stable group.
type DescribedMember struct {
	ID         string
	InstanceID *string
	ClientID   string
	ClientHost string
	Metadata   []byte
	Assignment []byte
}

// Listed is a group for ListGroups.
type Listed struct {
	Group        string
	ProtocolType string
	State        string
}
