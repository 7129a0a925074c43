package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"kz/internal/kafkaerr"
)

// castagnoli is the polynomial of CRC-32C, which the processor computes.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ComputeCRC is the CRC-32C of everything from the attributes to the end.
func (b Batch) ComputeCRC() uint32 { return crc32.Checksum(b[posAttributes:], castagnoli) }

// CheckCRC compares the stored checksum with the bytes: CORRUPT_MESSAGE if they differ.
func (b Batch) CheckCRC() error {
	if got := b.ComputeCRC(); got != b.CRC() {
		return kafkaerr.Wrap(kafkaerr.CorruptMessage, "record.CheckCRC",
			fmt.Errorf("stored crc %d, computed crc %d", b.CRC(), got))
	}
	return nil
}

func (b Batch) setCRC() { binary.BigEndian.PutUint32(b[posCRC:], b.ComputeCRC()) }
