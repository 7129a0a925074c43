package cli

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
)

const (
	snapshotHeader = 10 // version i16, CRC-32C u32 of all that follows, count i32
	snapshotEntry  = 46
)

// snapshotJSON is one producer of a snapshot; a producer known only by a marker has
// no sequences. In the file, 46 bytes: producer id, epoch, last sequence, last
// offset, offset delta, timestamp, coordinator epoch, first offset of an open transaction.
type snapshotJSON struct {
	Type                  string `json:"type"`
	File                  string `json:"file"`
	ProducerID            int64  `json:"producerId"`
	ProducerEpoch         int16  `json:"producerEpoch"`
	CoordinatorEpoch      int32  `json:"coordinatorEpoch"`
	CurrentTxnFirstOffset *int64 `json:"currentTxnFirstOffset"`
	FirstSequence         *int32 `json:"firstSequence,omitempty"`
	LastSequence          int32  `json:"lastSequence"`
	LastOffset            int64  `json:"lastOffset"`
	OffsetDelta           int32  `json:"offsetDelta"`
	Timestamp             int64  `json:"timestamp"`
}

// snapshot dumps a producer snapshot. One that is damaged is reported, and the tool goes on.
func (d *dump) snapshot(name string, _ int64) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if why := snapshotFault(name, b); why != "" {
		d.out.Flush()
		fmt.Fprintln(d.errs, why)
		return nil
	}
	for e := b[snapshotHeader:]; len(e) > 0; e = e[snapshotEntry:] {
		if err := d.snapshotLine(decodeSnapshot(name, e)); err != nil {
			return err
		}
	}
	return nil
}

// snapshotFault says what is wrong with a snapshot; "" is nothing. As in Kafka, the count is read
// before anything is checked.
func snapshotFault(name string, b []byte) string {
	corrupt := func(format string, args ...any) string {
		return fmt.Sprintf("Snapshot %s is corrupt (%s)", name, fmt.Sprintf(format, args...))
	}
	if len(b) < snapshotHeader {
		return corrupt("%d bytes, shorter than its header", len(b))
	}
	count := int32(binary.BigEndian.Uint32(b[6:]))
	switch {
	case count < 0:
		return fmt.Sprintf("Snapshot failed schema validation: Error reading field 'producer_entries': Array size %d cannot be negative", count)
	case binary.BigEndian.Uint16(b) != 1:
		return corrupt("version %d, not 1", binary.BigEndian.Uint16(b))
	case crc32.Checksum(b[6:], crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(b[2:]):
		return corrupt("CRC is no longer correct")
	case int64(count)*snapshotEntry != int64(len(b)-snapshotHeader):
		return corrupt("%d entries do not fill %d bytes", count, len(b)-snapshotHeader)
	}
	return ""
}

func decodeSnapshot(name string, e []byte) snapshotJSON {
	i32 := func(at int) int32 { return int32(binary.BigEndian.Uint32(e[at:])) }
	i64 := func(at int) int64 { return int64(binary.BigEndian.Uint64(e[at:])) }
	s := snapshotJSON{
		Type: "producer", File: name, ProducerID: i64(0), ProducerEpoch: int16(binary.BigEndian.Uint16(e[8:])), LastSequence: i32(10),
		LastOffset: i64(14), OffsetDelta: i32(22), Timestamp: i64(26), CoordinatorEpoch: i32(34),
	}
	if first := i64(38); first != -1 {
		s.CurrentTxnFirstOffset = &first
	}
	if s.LastOffset >= 0 {
		first := int32((int64(s.LastSequence) - int64(s.OffsetDelta)) & 0x7fffffff)
		s.FirstSequence = &first
	}
	return s
}

func (d *dump) snapshotLine(s snapshotJSON) error {
	if d.asJSON {
		return d.object(s)
	}
	open := "None"
	if s.CurrentTxnFirstOffset != nil {
		open = fmt.Sprintf("Some(%d)", *s.CurrentTxnFirstOffset)
	}
	fmt.Fprintf(d.out, "producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %s ", s.ProducerID, s.ProducerEpoch, s.CoordinatorEpoch, open)
	if s.FirstSequence != nil {
		fmt.Fprintf(d.out, "firstSequence: %d lastSequence: %d lastOffset: %d offsetDelta: %d timestamp: %d", *s.FirstSequence, s.LastSequence, s.LastOffset, s.OffsetDelta, s.Timestamp)
	}
	_, err := fmt.Fprintln(d.out)
	return err
}
