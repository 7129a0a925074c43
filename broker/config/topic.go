package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kz/broker/commitlog"
	"kz/internal/kafkaerr"
)

// ValidateTopicOverrides gives Kafka's INVALID_CONFIG with Kafka's message for the first
// bad key: unknown names first, then values, then what two keys demand of each other.
// Mirrors LogConfig.validate.
func ValidateTopicOverrides(overrides map[string]string) error {
	names := slices.Sorted(maps.Keys(overrides))
	for _, name := range names {
		if _, ok := LookupTopicKey(name); !ok {
			return kafkaerr.New(kafkaerr.InvalidConfig, "Unknown topic config name: "+name)
		}
	}
	for _, name := range names {
		k, _ := LookupTopicKey(name)
		if _, err := parseTopicValue(k, overrides[name]); err != nil {
			return kafkaerr.New(kafkaerr.InvalidConfig, invalid(name, err))
		}
	}
	lag := func(name string) int64 {
		k, _ := LookupTopicKey(name)
		text, ok := overrides[name]
		if !ok {
			text, _ = k.Default()
		}
		v, _ := k.parse(text)
		return v.(int64)
	}
	if least, most := lag("min.compaction.lag.ms"), lag("max.compaction.lag.ms"); least > most {
		return kafkaerr.New(kafkaerr.InvalidConfig, fmt.Sprintf(
			"conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", least, most))
	}
	return nil
}

// parseTopicValue refuses, beside what is no value of the key, formats that kz does not
// write. Any broker or tool of Kafka's can put one into the znode of a topic.
func parseTopicValue(k TopicKey, text string) (any, error) {
	v, err := k.parse(text)
	if err == nil && k.Name == "message.format.version" && oldFormat.MatchString(strings.TrimSpace(text)) {
		err = &valueError{text, errors.New("kz stores records in format 2 only, that is 0.11.0 and above")}
	}
	return v, err
}

// Check says what is wrong with a value of the key, in Kafka's words.
func (k TopicKey) Check(text string) error {
	if _, err := k.parse(text); err != nil {
		return errors.New(invalid(k.Name, err))
	}
	return nil
}

// TopicConfig applies a topic's overrides to the broker's defaults. Overrides that do
// not parse are an error that names each, and the default stands in their place: a broker must go on
// although somebody wrote nonsense into the znode.
func (c *Config) TopicConfig(overrides map[string]string) (commitlog.Config, error) {
	return ApplyOverrides(c.LogDefaults, overrides)
}

// ApplyOverrides is TopicConfig over any defaults. Mirrors LogConfig.fromProps.
func ApplyOverrides(defaults commitlog.Config, overrides map[string]string) (commitlog.Config, error) {
	out := defaults
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		k, ok := LookupTopicKey(name)
		if !ok {
			continue // Kafka ignores it here: the znode may come from a newer broker
		}
		v, err := parseTopicValue(k, overrides[name])
		if err != nil {
			faults = append(faults, kafkaerr.New(kafkaerr.InvalidConfig, invalid(name, err)))
			continue
		}
		apply(&out, name, v)
	}
	return out, errors.Join(faults...)
}

// apply sets the field of one topic key.
func apply(c *commitlog.Config, name string, v any) {
	switch name {
	case "cleanup.policy":
		setPolicy(c, v.([]string))
	case "compression.type":
		c.CompressionType = v.(string)
	case "delete.retention.ms":
		c.DeleteRetentionMs = v.(int64)
	case "file.delete.delay.ms":
		c.FileDeleteDelayMs = v.(int64)
	case "flush.messages":
		c.FlushMessages = v.(int64)
	case "flush.ms":
		c.FlushMs = v.(int64)
	case "index.interval.bytes":
		c.IndexIntervalBytes = int(v.(int32))
	case "max.compaction.lag.ms":
		c.MaxCompactionLagMs = v.(int64)
	case "max.message.bytes":
		c.MaxMessageBytes = int(v.(int32))
	case "message.downconversion.enable":
		c.DownconversionEnable = v.(bool)
	case "message.format.version":
		c.MessageFormatVersion = v.(string)
	case "message.timestamp.difference.max.ms":
		c.TimestampDiffMaxMs = v.(int64)
	case "message.timestamp.type":
		setTimestampType(c, v.(string))
	case "min.cleanable.dirty.ratio":
		c.MinCleanableRatio = v.(float64)
	case "min.compaction.lag.ms":
		c.MinCompactionLagMs = v.(int64)
	case "min.insync.replicas":
		c.MinInsyncReplicas = int(v.(int32))
	case "preallocate":
		c.Preallocate = v.(bool)
	case "retention.bytes":
		c.RetentionBytes = v.(int64)
	case "retention.ms":
		c.RetentionMs = v.(int64)
	case "segment.bytes":
		c.SegmentBytes = int(v.(int32))
	case "segment.index.bytes":
		c.SegmentIndexBytes = int(v.(int32))
	case "segment.jitter.ms":
		c.SegmentJitterMs = v.(int64)
	case "segment.ms":
		c.SegmentMs = v.(int64)
	case "unclean.leader.election.enable":
		c.UncleanLeaderElection = v.(bool)
	}
}
