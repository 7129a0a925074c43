package group

import (
	"fmt"
)

// storedGroup is a group as __consumer_offsets holds it: one generation and its
// assignment, or an empty group.
type storedGroup struct {
	ProtocolType   string // "": never had members
	Generation     int32
	Protocol       *string // nil: no members
	Leader         *string
	StateTimestamp int64 // when it came into this state, epoch ms; -1 not known
	Members        []storedMember
}

type storedMember struct {
	ID                 string
	InstanceID         *string
	ClientID           string
	ClientHost         string
	RebalanceTimeoutMs int32
	SessionTimeoutMs   int32
	Subscription       []byte // its metadata for the group's protocol
	Assignment         []byte
}

// groupKey identifies a group:
//
//	version i16 (2)   group string
func groupKey(group string) []byte { return putStr(putI16(nil, groupKeyVersion), group) }

// encode is the value of a group's record, in version 3:
//
//	version i16   protocolType string   generation i32   protocol, leader nullable strings
//	state timestamp i64 (from version 2 on)
//	members i32, then each:
//	    id string   instance id nullable string (3)   client id, client host strings
//	    rebalance timeout i32 (from 1 on)   session timeout i32
//	    subscription, assignment bytes
//
// Mirrors GroupMetadataManager.groupMetadataValue.
func (s storedGroup) encode() []byte { return s.encodeAs(3) }

// encodeAs writes the versions of older brokers too: their bytes must be read.
func (s storedGroup) encodeAs(version int16) []byte {
	b := putStr(putI16(nil, version), s.ProtocolType)
	b = putNullableStr(putNullableStr(putI32(b, s.Generation), s.Protocol), s.Leader)
	if version >= 2 {
		b = putI64(b, s.StateTimestamp)
	}
	b = putI32(b, int32(len(s.Members)))
	for _, m := range s.Members {
		b = putStr(b, m.ID)
		if version >= 3 {
			b = putNullableStr(b, m.InstanceID)
		}
		b = putStr(putStr(b, m.ClientID), m.ClientHost)
		if version >= 1 {
			b = putI32(b, m.RebalanceTimeoutMs)
		}
		b = putI32(b, m.SessionTimeoutMs)
		b = putBytes(putBytes(b, m.Subscription), m.Assignment)
	}
	return b
}

// readGroupValue reads every version.
func readGroupValue(b []byte) (storedGroup, error) {
	r := reader{b: b}
	version := r.i16()
	if version < 0 || version > 3 {
		return storedGroup{}, fmt.Errorf("version %d of a group's value is not known", version)
	}
	s := storedGroup{ProtocolType: r.str(), Generation: r.i32(), Protocol: r.nullableStr(), Leader: r.nullableStr(), StateTimestamp: -1}
	if version >= 2 {
		s.StateTimestamp = r.i64()
	}
	for n := r.i32(); n > 0 && r.ok(); n-- {
		s.Members = append(s.Members, r.storedMember(version))
	}
	return s, r.err()
}

func (r *reader) storedMember(version int16) storedMember {
	m := storedMember{ID: r.str()}
	if version >= 3 {
		m.InstanceID = r.nullableStr()
	}
	m.ClientID, m.ClientHost = r.str(), r.str()
	if version >= 1 {
		m.RebalanceTimeoutMs = r.i32()
	}
	m.SessionTimeoutMs = r.i32()
	if version == 0 {
		m.RebalanceTimeoutMs = m.SessionTimeoutMs
	}
	m.Subscription, m.Assignment = r.bytes(), r.bytes()
	return m
}
