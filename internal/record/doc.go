// Package record reads, checks, stamps and writes Kafka's record batches, to the byte.
//
// A batch is what a producer sends, what a segment file holds, and what a consumer
// gets: the same bytes all the way. So nothing here copies a batch if it can be
// helped. A Batch is a slice of somebody's buffer, its methods read fields in place,
// and the two fields that the leader fills in (base offset, leader epoch) lie outside
// the checksum so that stamping them costs twelve bytes.
//
// What comes in, what goes out:
//
//	Next, Batches       foreign bytes        -> whole batches, sizes checked
//	Batch.Records       one batch            -> its records, decompressed as they are read
//	ValidateAndAssign   what a producer sent -> the same bytes with offsets, or a refusal
//	Builder             records              -> the bytes of one batch
//	ParseMarker         a control batch      -> commit or abort of a transaction
//
// Nothing here has a goroutine or a lock: whoever holds the bytes calls. Encoders,
// decoders and windows come from pools.
//
// The one rule: these bytes come from strangers. A length is compared with what is
// really there before it is used, nothing is allocated because a length field asks
// for it, and decompression stops at MaxDecompressed. Damage gives an error with a
// Kafka code, never a panic.
//
// The layout is drawn in header.go (61 bytes before the records) and in walk.go (a
// record), and with a real example in docs/formats/batch.md.
//
// Mirrors org.apache.kafka.common.record (DefaultRecordBatch, DefaultRecord,
// MemoryRecordsBuilder) and kafka.log.LogValidator. Magic 0 and 1, the formats
// before Kafka 0.11, are recognised and refused.
package record
