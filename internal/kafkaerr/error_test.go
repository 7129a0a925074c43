package kafkaerr_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"kz/internal/kafkaerr"
)

// Ref: Kafka 2.8 org.apache.kafka.common.protocol.Errors.
func TestCodes(t *testing.T) {
	for _, c := range []struct {
		code      kafkaerr.Code
		number    int16
		name      string
		retriable bool
		refresh   bool
	}{
		{kafkaerr.UnknownServerError, -1, "UNKNOWN_SERVER_ERROR", false, false},
		{kafkaerr.None, 0, "NONE", false, false},
		{kafkaerr.NotLeaderOrFollower, 6, "NOT_LEADER_OR_FOLLOWER", true, true},
		{kafkaerr.NotEnoughReplicasAfterAppend, 20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", true, false},
		{kafkaerr.FencedLeaderEpoch, 74, "FENCED_LEADER_EPOCH", true, true},
		{kafkaerr.InvalidRecord, 87, "INVALID_RECORD", false, false},
		{kafkaerr.InconsistentClusterID, 104, "INCONSISTENT_CLUSTER_ID", false, false},
	} {
		if int16(c.code) != c.number || c.code.Name() != c.name || c.code.Retriable() != c.retriable || c.code.RefreshesMetadata() != c.refresh {
			t.Errorf("%s: %d %s retriable %v refresh %v", c.name, c.code, c.code.Name(), c.code.Retriable(), c.code.RefreshesMetadata())
		}
	}
	if got := kafkaerr.Code(999).Name(); got != "UNKNOWN_CODE_999" {
		t.Errorf("a code of a later Kafka is called %s", got)
	}
}

func TestCodeSurvivesWrapping(t *testing.T) {
	err := fmt.Errorf("while shutting down: %w", kafkaerr.Wrap(kafkaerr.KafkaStorageError, "log.append orders-0", io.ErrShortWrite))
	if !errors.Is(err, kafkaerr.KafkaStorageError) || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("%v lost its code or its cause", err)
	}
	if got := kafkaerr.CodeOf(err); got != kafkaerr.KafkaStorageError {
		t.Errorf("CodeOf = %v", got)
	}
}

func TestCodeOf(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want kafkaerr.Code
	}{
		{"nil is success", nil, kafkaerr.None},
		{"a bare code", kafkaerr.CorruptMessage, kafkaerr.CorruptMessage},
		{"a foreign error is ours to answer for", io.EOF, kafkaerr.UnknownServerError},
		{"the outer code answers", kafkaerr.Wrap(kafkaerr.NotLeaderOrFollower, "x", kafkaerr.OffsetOutOfRange), kafkaerr.NotLeaderOrFollower},
	} {
		if got := kafkaerr.CodeOf(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if kafkaerr.MessageOf(kafkaerr.New(kafkaerr.InvalidConfig, "why")) != "why" || kafkaerr.MessageOf(io.EOF) != "" {
		t.Error("MessageOf")
	}
}
