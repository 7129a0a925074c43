package group

import "kz/internal/topic"

// Stored is a record of __consumer_offsets, for whoever wants to look at it: exactly
// one of Offset and Generation is set, or none if the record says that there is nothing
// any more (a tombstone).
type Stored struct {
	Group      string
	IsOffset   bool            // else the record is about the group itself
	Partition  topic.Partition // of an offset
	Offset     *OffsetAndMetadata
	Generation *StoredGroup
}

// StoredGroup is one generation of a group.
type StoredGroup = storedGroup

// ReadStored reads a record's key and value; a nil value is a tombstone.
func ReadStored(key, value []byte) (Stored, error) {
	k, err := readKey(key)
	if err != nil {
		return Stored{}, err
	}
	s := Stored{Group: k.group, IsOffset: k.isOffset, Partition: k.offset}
	switch {
	case value == nil:
	case k.isOffset:
		var o OffsetAndMetadata
		o, err = readOffsetValue(value)
		s.Offset = &o
	default:
		var g storedGroup
		g, err = readGroupValue(value)
		s.Generation = &g
	}
	return s, err
}
