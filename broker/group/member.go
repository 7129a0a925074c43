package group

import (
	"bytes"
	"slices"
	"time"
)

// Protocol is one way of assigning partitions that a member offers, and what it has to
// say for it: for consumers the assignor's name, and the subscription.
type Protocol struct {
	Name     string
	Metadata []byte
}

// member is one member of a group. All fields are guarded by the group's lock. Mirrors
// MemberMetadata.
type member struct {
	id         string  // changes only when a static member comes back
	instanceID *string // group.instance.id: a static member; nil: a dynamic one
	clientID   string
	clientHost string // as Java prints it: /10.0.0.1

	rebalanceTimeoutMs int32
	sessionTimeoutMs   int32

	protocols  []Protocol // in the order of preference
	assignment []byte     // of the current generation, once it is known

	// onJoin is the JoinGroup that waits for the generation, onSync the SyncGroup that
	// waits for the assignment; nil: none waits. Each is answered exactly once: by
	// progress, by the member's removal or replacement, or by the group's end.
	onJoin func(JoinResult)
	onSync func(SyncResult)

	// isNew until its first generation: it does not know its id yet and cannot send
	// heartbeats, so its waiting in JoinGroup is no sign of life.
	isNew   bool
	session alarm // rings when the member has been silent for too long
}

func (m *member) isStatic() bool { return m.instanceID != nil }

// seemsAlive: whoever waits here for an answer will be heard of when it has it.
func (m *member) seemsAlive() bool { return !m.isNew && (m.onJoin != nil || m.onSync != nil) }

func (m *member) sessionTimeout() time.Duration {
	return time.Duration(m.sessionTimeoutMs) * time.Millisecond
}

// metadata is what the member says for a protocol; false when it does not offer it.
func (m *member) metadata(protocol string) ([]byte, bool) {
	i := slices.IndexFunc(m.protocols, func(p Protocol) bool { return p.Name == protocol })
	if i < 0 {
		return nil, false
	}
	return m.protocols[i].Metadata, true
}

// offers says whether the member offered just these protocols before.
func (m *member) offers(protocols []Protocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// vote is the first of the member's protocols that is a candidate.
func (m *member) vote(candidate func(name string) bool) (string, bool) {
	for _, p := range m.protocols {
		if candidate(p.Name) {
			return p.Name, true
		}
	}
	return "", false
}
