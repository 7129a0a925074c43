package assignor

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/topic"
)

// ProtocolType is what consumer groups call themselves towards the broker.
const ProtocolType = "consumer"

// noGeneration is the generation of a member that was in no group before.
const noGeneration int32 = -1

// Subscription is what a member says when it joins. Its bytes, version 1:
//
//	0–1  version     1; version 0 ends after the user data
//	     topics      array of strings
//	     user data   bytes, or -1: what only the assignor understands
//	     owned       array of (topic, array of partition numbers)
type Subscription struct {
	Topics     []string
	UserData   []byte
	Owned      []topic.Partition // what it reads at the moment; empty for an eager member
	InstanceID string            // group.instance.id, told by the broker and not in the bytes; "" = dynamic
}

// Encode gives the bytes of version 1, as 2.8's Java client sends them.
func (s Subscription) Encode() []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version = 1
	m.Topics, m.UserData = s.Topics, s.UserData
	for _, g := range byTopic(s.Owned) {
		o := kmsg.NewConsumerMemberMetadataOwnedPartition()
		o.Topic, o.Partitions = g.name, g.ids
		m.OwnedPartitions = append(m.OwnedPartitions, o)
	}
	return m.AppendTo(nil)
}

// DecodeSubscription reads any version; of a newer one than 1 it takes what 1 has.
func DecodeSubscription(b []byte) (Subscription, error) {
	m := kmsg.NewConsumerMemberMetadata()
	if err := readAsKnown(b, 1, m.ReadFrom); err != nil {
		return Subscription{}, fmt.Errorf("subscription: %w", err)
	}
	s := Subscription{Topics: m.Topics, UserData: m.UserData}
	for _, o := range m.OwnedPartitions {
		for _, id := range o.Partitions {
			s.Owned = append(s.Owned, topic.Partition{Topic: o.Topic, Partition: id})
		}
	}
	return s, nil
}

// EncodeAssignment gives the bytes of an assignment: version, the partitions by topic, no user data.
func EncodeAssignment(parts []topic.Partition) []byte {
	m := kmsg.NewConsumerMemberAssignment()
	m.Version = 1
	for _, g := range byTopic(parts) {
		t := kmsg.NewConsumerMemberAssignmentTopic()
		t.Topic, t.Partitions = g.name, g.ids
		m.Topics = append(m.Topics, t)
	}
	return m.AppendTo(nil)
}

// DecodeAssignment reads any version. No bytes at all mean no partitions: so the
// broker answers a member that the leader forgot.
func DecodeAssignment(b []byte) ([]topic.Partition, error) {
	out, _, err := DecodeAssignmentData(b)
	return out, err
}

// DecodeAssignmentData gives also what the rule of the leader says to itself; nil: nothing.
func DecodeAssignmentData(b []byte) (out []topic.Partition, userData []byte, err error) {
	if len(b) == 0 {
		return nil, nil, nil
	}
	m := kmsg.NewConsumerMemberAssignment()
	if err := readAsKnown(b, 1, m.ReadFrom); err != nil {
		return nil, nil, fmt.Errorf("assignment: %w", err)
	}
	for _, t := range m.Topics {
		for _, id := range t.Partitions {
			out = append(out, topic.Partition{Topic: t.Topic, Partition: id})
		}
	}
	return out, m.UserData, nil
}

// readAsKnown hands the bytes to read with a version that it knows: newer versions
// only add fields at the end.
func readAsKnown(b []byte, highest int16, read func([]byte) error) error {
	if len(b) < 2 {
		return fmt.Errorf("%d bytes are too few for a version", len(b))
	}
	v := int16(binary.BigEndian.Uint16(b))
	if v < 0 {
		return fmt.Errorf("version %d does not exist", v)
	}
	if v > highest {
		b = slices.Clone(b)
		binary.BigEndian.PutUint16(b, uint16(highest))
	}
	return read(b)
}

type topicIDs struct {
	name string
	ids  []int32
}

// byTopic groups partitions; topics and numbers come out sorted.
func byTopic(parts []topic.Partition) (out []topicIDs) {
	sorted := slices.SortedFunc(slices.Values(parts), topic.Partition.Compare)
	for _, p := range sorted {
		if n := len(out); n == 0 || out[n-1].name != p.Topic {
			out = append(out, topicIDs{name: p.Topic})
		}
		g := &out[len(out)-1]
		g.ids = append(g.ids, p.Partition)
	}
	return out
}

// stickyUserData is what a member of a sticky group remembers of its last generation:
// array of (topic, array of partition numbers), and the generation.
func stickyUserData(owned []topic.Partition, generation int32) []byte {
	m := kmsg.NewStickyMemberMetadata()
	m.Generation = generation
	for _, g := range byTopic(owned) {
		a := kmsg.NewStickyMemberMetadataCurrentAssignment()
		a.Topic, a.Partitions = g.name, g.ids
		m.CurrentAssignment = append(m.CurrentAssignment, a)
	}
	return m.AppendTo(nil)
}

// claim is what a member owned, and in which generation.
type claim struct {
	parts      []topic.Partition
	generation int32
}

// stickyClaim reads stickyUserData. What cannot be read claims nothing: such a member
// is treated as new, as in Kafka.
func stickyClaim(s Subscription) claim {
	m := kmsg.NewStickyMemberMetadata()
	if len(s.UserData) == 0 || m.ReadFrom(s.UserData) != nil {
		return claim{generation: noGeneration}
	}
	c := claim{generation: m.Generation}
	for _, a := range m.CurrentAssignment {
		for _, id := range a.Partitions {
			c.parts = append(c.parts, topic.Partition{Topic: a.Topic, Partition: id})
		}
	}
	return c
}

// cooperativeUserData is the generation alone: ownership is in the subscription itself.
func cooperativeUserData(generation int32) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(generation))
}

func cooperativeClaim(s Subscription) claim {
	c := claim{parts: s.Owned, generation: noGeneration}
	if len(s.UserData) >= 4 {
		c.generation = int32(binary.BigEndian.Uint32(s.UserData))
	}
	return c
}
