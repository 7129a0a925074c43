package commitlog

import (
	"encoding/binary"
	"errors"
	"os"
)

// A .txnindex lists the aborted transactions of a segment, 34 bytes each:
//
//	0–1 version 0   2–9 producer id   10–17 first offset   18–25 last offset   26–33 last stable offset
//
// kz writes none before it has transactions, but keeps what a Kafka broker left and
// cuts it with its log.
const (
	txnEntrySize     = 34
	maxTxnIndexBytes = 256 << 20
)

// truncateTxnIndex cuts the file before the first transaction that ended at or after
// offset.
func truncateTxnIndex(d *disk, path string, offset int64) error {
	b, err := d.readFile(path, maxTxnIndexBytes)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	keep := 0
	for keep+txnEntrySize <= len(b) && int64(binary.BigEndian.Uint64(b[keep+18:])) < offset {
		keep += txnEntrySize
	}
	if keep == len(b) {
		return nil
	}
	f, err := d.open(path, false)
	if err != nil {
		return err
	}
	defer f.Close()
	return d.truncate(f, path, int64(keep))
}
