package config

import (
	"strings"
	"testing"
	"time"

	"kz/broker/group"
)

// Every key of the group coordinator reaches it.
func TestGroupKeys(t *testing.T) {
	if got, want := mustParse(t, with()).Group, (group.Config{
		MinSessionTimeout: 6 * time.Second, MaxSessionTimeout: 30 * time.Minute, InitialRebalanceDelay: 3 * time.Second, MaxSize: 1<<31 - 1,
		MaxMetadataSize: 4096, Retention: 7 * 24 * time.Hour, RetentionCheck: 10 * time.Minute,
		Partitions: 50, CommitTimeout: 5 * time.Second, CommitAcks: -1, LoadBufferSize: 5 << 20,
	}); got != want {
		t.Errorf("defaults %+v", got)
	}
	got := mustParse(t, with("group.min.session.timeout.ms", "1", "group.max.session.timeout.ms", "2", "group.initial.rebalance.delay.ms", "3", "group.max.size", "4",
		"offset.metadata.max.bytes", "5", "offsets.retention.minutes", "6", "offsets.retention.check.interval.ms", "7", "offsets.topic.num.partitions", "8",
		"offsets.commit.timeout.ms", "9", "offsets.commit.required.acks", "1", "offsets.load.buffer.size", "11", "offsets.topic.compression.codec", "4")).Group
	if want := (group.Config{MinSessionTimeout: time.Millisecond, MaxSessionTimeout: 2 * time.Millisecond, InitialRebalanceDelay: 3 * time.Millisecond, MaxSize: 4,
		MaxMetadataSize: 5, Retention: 6 * time.Minute, RetentionCheck: 7 * time.Millisecond, Partitions: 8, CommitTimeout: 9 * time.Millisecond, CommitAcks: 1,
		LoadBufferSize: 11, CompressionCodec: 4}); got != want {
		t.Errorf("%+v", got)
	}
	if _, _, err := Parse(with("offsets.topic.compression.codec", "5")); err == nil {
		t.Error("codec 5 was taken")
	}
}

// Our own key is known like Kafka's, and mistyped it is guessed.
func TestOwnKey(t *testing.T) {
	c, warnings, err := Parse(with("kz.offsets.dual.commit", "true"))
	if err != nil || len(warnings) > 0 || !c.DualCommit || mustParse(t, with()).DualCommit {
		t.Errorf("%v %v", warnings, err)
	}
	if v, ok := c.Value("kz.offsets.dual.commit"); !ok || v != "true" {
		t.Errorf("shown as %q", v)
	}
	_, warnings, err = Parse(with("kz.offset.dual.commit", "true"))
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "did you mean kz.offsets.dual.commit?") {
		t.Errorf("%q %v", warnings, err)
	}
}
