package config

import (
	"strings"
	"testing"

	"kz/internal/kafkaerr"
	"kz/internal/record"
)

// Ref: what Kafka 2.8.2 answers to CreateTopics with these configs
func TestValidateTopicOverrides(t *testing.T) {
	for _, row := range []struct {
		rule, key, value, message string
	}{
		{"a number is a number", "retention.ms", "abc", "Invalid value abc for configuration retention.ms: Not a number of type LONG"},
		{"below the range", "retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"},
		{"smallest segment", "segment.bytes", "10", "Invalid value 10 for configuration segment.bytes: Value must be at least 14"},
		{"one word of a list", "cleanup.policy", "compact,foo", "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete"},
		{"codecs", "compression.type", "brotli", "Invalid value brotli for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"at least one in sync", "min.insync.replicas", "0", "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"},
		{"booleans", "unclean.leader.election.enable", "maybe", "Invalid value maybe for configuration unclean.leader.election.enable: Expected value to be either true or false"},
		{"versions", "message.format.version", "9.9", "Invalid value 9.9 for configuration message.format.version: Version `9.9` is not a valid version"},
		{"clocks", "message.timestamp.type", "x", "Invalid value x for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime"},
		{"the value is shown as parsed", "min.cleanable.dirty.ratio", "2", "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{"throttled replicas", "leader.replication.throttled.replicas", "x", "Invalid value [x] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."},
		{"unknown name", "no.such.config", "1", "Unknown topic config name: no.such.config"},
		{"a broker's name for it", "log.retention.ms", "1", "Unknown topic config name: log.retention.ms"},
		{"compaction lags", "min.compaction.lag.ms", "9223372036854775807", ""},
		{"an empty policy is accepted", "cleanup.policy", "", ""},
		{"a format above the protocol is accepted", "message.format.version", "2.8", ""},
		{"blanks around a value", "retention.ms", " 5 ", ""},
	} {
		t.Run(row.rule, func(t *testing.T) {
			err := ValidateTopicOverrides(map[string]string{row.key: row.value})
			if got := kafkaerr.MessageOf(err); got != row.message {
				t.Errorf("got  %q\nwant %q", got, row.message)
			}
			if want := row.message != ""; (err != nil) != want || want && kafkaerr.CodeOf(err) != kafkaerr.InvalidConfig {
				t.Errorf("error %v", err)
			}
		})
	}
	err := ValidateTopicOverrides(map[string]string{"min.compaction.lag.ms": "3", "max.compaction.lag.ms": "2"})
	if want := "conflict topic config setting min.compaction.lag.ms (3) > max.compaction.lag.ms (2)"; kafkaerr.MessageOf(err) != want {
		t.Errorf("%v", err)
	}
}

// Every topic key changes the log's config (the throttles, which kz does not have, excepted).
func TestTopicConfigAppliesEveryKey(t *testing.T) {
	c := mustParse(t, with())
	values := map[string]string{"cleanup.policy": "compact", "compression.type": "lz4", "message.downconversion.enable": "false",
		"message.format.version": "2.0", "message.timestamp.type": "LogAppendTime", "preallocate": "true", "unclean.leader.election.enable": "true",
		"min.cleanable.dirty.ratio": "0.25"}
	for _, k := range TopicKeys() {
		if k.Serving == notYet {
			continue
		}
		value, ok := values[k.Name]
		if !ok {
			value = "77"
		}
		got, err := c.TopicConfig(map[string]string{k.Name: value})
		if err != nil || got == c.LogDefaults {
			t.Errorf("%s=%s: err %v, changed %v", k.Name, value, err, got != c.LogDefaults)
		}
		if shown := c.TopicValue(k, map[string]string{k.Name: value}); shown != value {
			t.Errorf("%s: described as %q, set to %q", k.Name, shown, value)
		}
	}
	got, err := c.TopicConfig(map[string]string{"retention.ms": "x", "segment.bytes": "99", "unknown": "1", "message.timestamp.type": "LogAppendTime"})
	if kafkaerr.CodeOf(err) != kafkaerr.InvalidConfig || got.SegmentBytes != 99 || got.RetentionMs != c.LogDefaults.RetentionMs || got.TimestampType != record.LogAppendTime {
		t.Errorf("one bad override must not take the others down: %+v, %v", got, err)
	}
	bad := map[string]string{"message.format.version": "0.10.2", "min.insync.replicas": "0", "retention.ms": "x"}
	_, err = c.TopicConfig(bad)
	for name := range bad {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not among the faults: %v", name, err)
		}
	}
}
