package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"kz/internal/record"
)

// log dumps a segment, batch by batch.
func (d *dump) log(name string, base int64) error {
	if !d.asJSON {
		fmt.Fprintf(d.out, "Starting offset: %d\n", base)
	}
	f, err := openBatches(name)
	if err != nil {
		return err
	}
	defer f.Close()
	last := int64(-1)
	for {
		b, position, err := f.next()
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if err := d.batch(name, b, position); err != nil {
			return err
		}
		if d.deep {
			if err := d.records(name, b, position, &last); err != nil {
				return err
			}
		}
	}
	if left := f.size - f.position; left > 0 {
		if d.asJSON {
			return d.object(map[string]any{"type": "invalidBytes", "file": name, "bytes": left})
		}
		fmt.Fprintf(d.out, "Found %d invalid bytes at the end of %s\n", left, filepath.Base(name))
	}
	return nil
}

// batchJSON is a batch with -o json: the fields of Kafka's line, by their names there.
type batchJSON struct {
	Type                 string `json:"type"`
	File                 string `json:"file"`
	BaseOffset           int64  `json:"baseOffset"`
	LastOffset           int64  `json:"lastOffset"`
	Count                int32  `json:"count"`
	BaseSequence         int32  `json:"baseSequence"`
	LastSequence         int32  `json:"lastSequence"`
	ProducerID           int64  `json:"producerId"`
	ProducerEpoch        int16  `json:"producerEpoch"`
	PartitionLeaderEpoch int32  `json:"partitionLeaderEpoch"`
	IsTransactional      bool   `json:"isTransactional"`
	IsControl            bool   `json:"isControl"`
	Position             int64  `json:"position"`
	TimestampType        string `json:"timestampType"`
	MaxTimestamp         int64  `json:"maxTimestamp"`
	Size                 int    `json:"size"`
	Magic                int8   `json:"magic"`
	CompressCodec        string `json:"compresscodec"`
	CRC                  uint32 `json:"crc"`
	IsValid              bool   `json:"isvalid"`
}

func (d *dump) batch(name string, b record.Batch, position int64) error {
	j := batchJSON{
		Type: "batch", File: name, BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(), Count: b.Count(),
		BaseSequence: b.BaseSequence(), LastSequence: b.LastSequence(), ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(),
		PartitionLeaderEpoch: b.LeaderEpoch(), IsTransactional: b.IsTransactional(), IsControl: b.IsControl(), Position: position,
		TimestampType: timestampType(b), MaxTimestamp: b.MaxTimestamp(), Size: len(b), Magic: b.Magic(),
		CompressCodec: codecName(b), CRC: b.CRC(), IsValid: b.CheckCRC() == nil,
	}
	if d.asJSON {
		return d.object(j)
	}
	_, err := fmt.Fprintf(d.out, "baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d partitionLeaderEpoch: %d isTransactional: %t isControl: %t position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %t\n",
		j.BaseOffset, j.LastOffset, j.Count, j.BaseSequence, j.LastSequence, j.ProducerID, j.ProducerEpoch, j.PartitionLeaderEpoch,
		j.IsTransactional, j.IsControl, j.Position, j.TimestampType, j.MaxTimestamp, j.Size, j.Magic, j.CompressCodec, j.CRC, j.IsValid)
	return err
}

func timestampType(b record.Batch) string {
	if b.IsLogAppendTime() {
		return "LogAppendTime"
	}
	return "CreateTime"
}

// codecName is Kafka's enum name: NONE, GZIP …
func codecName(b record.Batch) string { return strings.ToUpper(b.Codec().Name()) }

// recordJSON is a record with -o json. Key and value are there with --print-data-log.
type recordJSON struct {
	Type       string   `json:"type"`
	File       string   `json:"file"`
	Offset     int64    `json:"offset"`
	KeySize    int      `json:"keySize"`
	ValueSize  int      `json:"valueSize"`
	Timestamp  int64    `json:"timestamp"`
	Position   int64    `json:"position"`
	Sequence   int32    `json:"sequence"`
	HeaderKeys []string `json:"headerKeys"`
	Marker     string   `json:"endTxnMarker,omitempty"`
	Key        *string  `json:"key,omitempty"`
	Payload    *string  `json:"payload,omitempty"`
}

// records dumps what is inside a batch. last is the offset of the record before, over
// the whole file, to find gaps.
func (d *dump) records(name string, b record.Batch, position int64, last *int64) error {
	for r, err := range b.Records() {
		if err != nil {
			return fmt.Errorf("%s: the batch at position %d cannot be read: %w", name, position, err)
		}
		if *last != -1 && r.Offset != *last+1 {
			d.gaps.add(name, *last, r.Offset)
		}
		*last = r.Offset
		if d.asJSON {
			err = d.recordObject(name, b, r, position)
		} else {
			err = d.recordLine(b, r, position)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *dump) recordLine(b record.Batch, r record.Record, position int64) error {
	prefix := "| "
	if !d.skipMetadata {
		fmt.Fprintf(d.out, "| offset: %d isValid: true crc: null keySize: %d valueSize: %d %s: %d baseOffset: %d lastOffset: %d baseSequence: %d lastSequence: %d producerEpoch: %d partitionLeaderEpoch: %d batchSize: %d magic: %d compressType: %s position: %d sequence: %d headerKeys: [%s]",
			r.Offset, size(r.Key), size(r.Value), timestampType(b), r.Timestamp, b.BaseOffset(), b.LastOffset(), b.BaseSequence(), b.LastSequence(),
			b.ProducerEpoch(), b.LeaderEpoch(), len(b), b.Magic(), codecName(b), position, sequence(b, r), strings.Join(headerKeys(r), ","))
		prefix = " "
		if b.IsControl() {
			marker, err := controlText(b)
			if err != nil {
				return err
			}
			fmt.Fprint(d.out, " "+marker)
		}
	}
	if d.contents && !b.IsControl() {
		key, payload, err := d.content(r)
		if err != nil {
			return err
		}
		if key != nil {
			fmt.Fprintf(d.out, "%skey: %s", prefix, *key)
		}
		if payload != nil {
			fmt.Fprintf(d.out, " payload: %s", *payload)
		}
	}
	_, err := fmt.Fprintln(d.out)
	return err
}

func (d *dump) recordObject(name string, b record.Batch, r record.Record, position int64) error {
	j := recordJSON{Type: "record", File: name, Offset: r.Offset, KeySize: size(r.Key), ValueSize: size(r.Value), Timestamp: r.Timestamp, Position: position, Sequence: sequence(b, r), HeaderKeys: headerKeys(r)}
	if b.IsControl() {
		marker, err := controlText(b)
		if err != nil {
			return err
		}
		j.Marker = marker
	} else if d.contents {
		var err error
		if j.Key, j.Payload, err = d.content(r); err != nil {
			return err
		}
	}
	return d.object(j)
}

// controlText describes the marker in a control batch.
func controlText(b record.Batch) (string, error) {
	m, err := record.ParseMarker(b)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("endTxnMarker: %s coordinatorEpoch: %d", m.Type, m.CoordinatorEpoch), nil
}

// text is what Java's StringDecoder makes of bytes: what is no UTF-8 becomes U+FFFD.
func text(b []byte) string { return string([]rune(string(b))) }

func size(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}

func sequence(b record.Batch, r record.Record) int32 {
	if b.BaseSequence() < 0 {
		return -1
	}
	return record.NextSequence(b.BaseSequence(), int32(r.Offset-b.BaseOffset()))
}

func headerKeys(r record.Record) []string {
	keys := make([]string, len(r.Headers))
	for i, h := range r.Headers {
		keys[i] = h.Key
	}
	return keys
}
