package zkpaths

import (
	"encoding/json"
	"fmt"
)

// TopicPartition is an entry of the lists below.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// EncodeISRChange is the data of /isr_change_notification/isr_change_<10 digits>: the
// partitions whose ISR a leader changed. Mirrors
// kafka.zk.IsrChangeNotificationSequenceZNode.
//
//	written by  a leader, batched, after its own writes of state
//	guarded by  nothing: each notification is a new sequential node
//	watched by  the controller (children), who deletes what it handled
//
//	{"version":1,"partitions":[{"topic":"t","partition":1},{"topic":"t","partition":0}]}
//
// The entries are in the order of the Scala set that Kafka makes of them.
func EncodeISRChange(ps []TopicPartition) []byte {
	return encodePartitions(scalaTableOrder(ps, partitionMapHash))
}

// partitionMapHash is the hash of java.util.Map{"topic": t, "partition": p}: the sum of
// its entries' hashes, each key xor value.
func partitionMapHash(p TopicPartition) int32 {
	return (javaHash("topic") ^ javaHash(p.Topic)) + (javaHash("partition") ^ p.Partition)
}

// DecodeISRChange reads it back, in the order it is written there.
func DecodeISRChange(b []byte) ([]TopicPartition, error) {
	ps, err := decodePartitions(b)
	if err != nil {
		return nil, fmt.Errorf("isr change notification: %w", err)
	}
	return ps, nil
}

func encodePartitions(ps []TopicPartition) []byte {
	w := &writer{}
	w.raw(`{"version":1,"partitions":`)
	list(w, ps, func(p TopicPartition) {
		w.raw(`{"topic":`).str(p.Topic).raw(`,"partition":`).num(int64(p.Partition)).raw("}")
	})
	return w.raw("}").buf
}

func decodePartitions(b []byte) ([]TopicPartition, error) {
	o, err := parseObject(b)
	if err != nil {
		return nil, err
	}
	entries, err := get[[]json.RawMessage](o, "partitions")
	if err != nil {
		return nil, err
	}
	ps := make([]TopicPartition, len(entries))
	for i, raw := range entries {
		e, err := parseObject(raw)
		if err != nil {
			return nil, fmt.Errorf("partitions[%d]: %w", i, err)
		}
		if ps[i].Topic, err = get[string](e, "topic"); err != nil {
			return nil, fmt.Errorf("partitions[%d]: %w", i, err)
		}
		if ps[i].Partition, err = get[int32](e, "partition"); err != nil {
			return nil, fmt.Errorf("partitions[%d]: %w", i, err)
		}
	}
	return ps, nil
}

// EncodeLogDirEvent is the data of /log_dir_event_notification/log_dir_event_<10 digits>:
// a broker lost a log directory (event 1, the only one there is). Mirrors
// kafka.zk.LogDirEventNotificationSequenceZNode.
//
//	written by  the broker that lost it
//	watched by  the controller (children), who deletes what it handled
//
//	{"version":1,"broker":0,"event":1}
func EncodeLogDirEvent(broker int32) []byte {
	w := &writer{}
	return w.raw(`{"version":1,"broker":`).num(int64(broker)).raw(`,"event":1}`).buf
}

// DecodeLogDirEvent says which broker it was.
func DecodeLogDirEvent(b []byte) (broker int32, err error) {
	o, err := parseObject(b)
	if err == nil {
		broker, err = get[int32](o, "broker")
	}
	if err != nil {
		return 0, fmt.Errorf("log dir event: %w", err)
	}
	return broker, nil
}
