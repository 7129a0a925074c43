package group

import (
	"fmt"

	"kz/internal/topic"
)

// OffsetAndMetadata is a committed offset as it is stored.
type OffsetAndMetadata struct {
	Offset          int64
	LeaderEpoch     int32 // of the last record read; -1 not known
	Metadata        string
	CommitTimestamp int64 // epoch ms
	ExpireTimestamp int64 // epoch ms; -1: offsets.retention.minutes decides
}

// The keys of __consumer_offsets tell by their version what the record is.
//
//	version i16   0 or 1: an offset   2: a group
const (
	offsetKeyVersion = 1
	groupKeyVersion  = 2
)

// offsetKey identifies an offset:
//
//	version i16 (1; 0 is read too)   group string   topic string   partition i32
func offsetKey(group string, p topic.Partition) []byte {
	b := putI16(nil, offsetKeyVersion)
	b = putStr(putStr(b, group), p.Topic)
	return putI32(b, p.Partition)
}

// offsetValue stores an offset. Version 1 is written for a commit with a retention of its
// own, version 3 for all others; 0 and 2 are what older brokers wrote.
//
//	              0   1   2   3
//	version i16   ×   ×   ×   ×
//	offset i64    ×   ×   ×   ×
//	epoch i32                 ×   -1: not known
//	metadata      ×   ×   ×   ×   string
//	committed i64 ×   ×   ×   ×   epoch ms
//	expires i64       ×           epoch ms
//
// Mirrors GroupMetadataManager.offsetCommitValue.
func offsetValue(o OffsetAndMetadata) []byte {
	if o.ExpireTimestamp >= 0 {
		b := putI64(putI16(nil, 1), o.Offset)
		b = putI64(putStr(b, o.Metadata), o.CommitTimestamp)
		return putI64(b, o.ExpireTimestamp)
	}
	b := putI32(putI64(putI16(nil, 3), o.Offset), o.LeaderEpoch)
	return putI64(putStr(b, o.Metadata), o.CommitTimestamp)
}

// readOffsetValue reads every version.
func readOffsetValue(b []byte) (OffsetAndMetadata, error) {
	r := reader{b: b}
	version := r.i16()
	if version < 0 || version > 3 {
		return OffsetAndMetadata{}, fmt.Errorf("version %d of an offset's value is not known", version)
	}
	o := OffsetAndMetadata{Offset: r.i64(), LeaderEpoch: -1, ExpireTimestamp: -1}
	if version >= 3 {
		o.LeaderEpoch = r.i32()
	}
	o.Metadata, o.CommitTimestamp = r.str(), r.i64()
	if version == 1 {
		o.ExpireTimestamp = r.i64()
	}
	return o, r.err()
}

// recordKey is a key as read: of an offset, or of a group.
type recordKey struct {
	group    string
	isOffset bool
	offset   topic.Partition // of an offset
}

func readKey(b []byte) (recordKey, error) {
	r := reader{b: b}
	switch version := r.i16(); {
	case r.bad || version < 0 || version > groupKeyVersion:
		return recordKey{}, fmt.Errorf("version %d of a key is not known", version)
	case version == groupKeyVersion:
		return recordKey{group: r.str()}, r.err()
	}
	k := recordKey{group: r.str(), isOffset: true}
	k.offset = topic.Partition{Topic: r.str(), Partition: r.i32()}
	return k, r.err()
}
