// Package zkpaths is every znode path and the JSON at it. Mirrors kafka.zk.ZkData.
//
// What comes in: a value, or the bytes of a znode. What goes out: the bytes that
// Kafka 2.8 (Scala 2.13 build) would write, or the value. Nobody runs it: these are
// pure functions, and the package imports nothing of ours.
//
// The one rule: we write to the byte what Kafka writes, key order included, and we
// read whatever any Kafka from 0.8 on may have written. So encoders are strict about
// order (see hashorder.go) and decoders ignore unknown keys and key order. The one
// exception is /admin/reassign_partitions, which Kafka itself reads strictly.
package zkpaths
