package replica

import (
	"testing"

	"kz/broker/commitlog"
	"kz/internal/kafkaerr"
)

// Ref: Kafka 2.8 cluster/Partition.scala, checkCurrentLeaderEpoch.
func TestCheckEpoch(t *testing.T) {
	for _, row := range []struct {
		name             string
		requested, known int32
		want             kafkaerr.Code
	}{
		{"the same", 5, 5, kafkaerr.None},
		{"not said", -1, 5, kafkaerr.None},
		{"older: the asker is fenced", 4, 5, kafkaerr.FencedLeaderEpoch},
		{"newer: we are behind", 6, 5, kafkaerr.UnknownLeaderEpoch},
	} {
		if got := checkEpoch(row.requested, row.known); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}

// Ref: Kafka 2.8 server/ReplicaManager.scala, becomeLeaderOrFollower.
func TestLeaderAndISRVerdict(t *testing.T) {
	for _, row := range []struct {
		name             string
		requested, known int32
		replicas         []int32
		want             kafkaerr.Code
	}{
		{"the first one", 0, noEpoch, []int32{1, 2}, kafkaerr.None},
		{"a newer epoch", 6, 5, []int32{1, 2}, kafkaerr.None},
		{"a repeat", 5, 5, []int32{1, 2}, kafkaerr.StaleControllerEpoch},
		{"an older epoch", 4, 5, []int32{1, 2}, kafkaerr.StaleControllerEpoch},
		{"not a replica", 6, 5, []int32{2, 3}, kafkaerr.UnknownTopicOrPartition},
		{"not a replica and old: the epoch is looked at first", 4, 5, []int32{2, 3}, kafkaerr.StaleControllerEpoch},
	} {
		if got := leaderAndISRVerdict(row.requested, row.known, 1, row.replicas); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}

// Ref: Kafka 2.8 server/ReplicaManager.scala, stopReplicas.
func TestStopVerdict(t *testing.T) {
	for _, row := range []struct {
		name             string
		requested, known int32
		want             kafkaerr.Code
	}{
		{"a newer epoch", 6, 5, kafkaerr.None},
		{"the same epoch", 5, 5, kafkaerr.FencedLeaderEpoch},
		{"an older epoch", 4, 5, kafkaerr.FencedLeaderEpoch},
		{"unknown, before version 3", noEpoch, 5, kafkaerr.None},
		{"the topic is being deleted", deletedEpoch, 5, kafkaerr.None},
	} {
		if got := stopVerdict(row.requested, row.known); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}

// Ref: Kafka 2.8 cluster/Partition.scala, checkEnoughReplicasReachOffset.
func TestAckVerdict(t *testing.T) {
	for _, row := range []struct {
		name               string
		hw, required       int64
		maximal, minISR    int
		wantDone, wantFine bool
	}{
		{"not there yet", 4, 5, 3, 1, false, false},
		{"there, enough replicas", 5, 5, 2, 2, true, true},
		{"past it", 9, 5, 2, 2, true, true},
		{"there, but the ISR shrank below the minimum since", 5, 5, 1, 2, true, false},
	} {
		done, fine := ackVerdict(row.hw, row.required, row.maximal, row.minISR)
		if done != row.wantDone || fine != row.wantFine {
			t.Errorf("%s: got %v %v, want %v %v", row.name, done, fine, row.wantDone, row.wantFine)
		}
	}
}

// Ref: Kafka 2.8 server/DelayedFetch.scala, tryComplete, cases F and G.
func TestReadable(t *testing.T) {
	place := func(offset, base int64, pos int) commitlog.OffsetMetadata {
		return commitlog.OffsetMetadata{Offset: offset, SegmentBase: base, Position: pos}
	}
	for _, row := range []struct {
		name       string
		start, end commitlog.OffsetMetadata
		want       int
		settled    bool
	}{
		{"at the end: nothing", place(9, 0, 900), place(9, 0, 900), 0, false},
		{"the same offset after a roll: nothing, though the segments differ", place(9, 9, 0), place(9, 0, 900), 0, false},
		{"behind in the same segment: the bytes between", place(5, 0, 500), place(9, 0, 900), 400, false},
		{"at most the partition's limit", place(0, 0, 0), place(90, 0, 9000), 1000, false},
		{"behind in an older segment: answer", place(5, 0, 500), place(19, 10, 900), 0, true},
		{"the log was cut into an older segment: answer", place(19, 10, 900), place(5, 0, 500), 0, true},
		{"the log was cut in this segment: nothing to read", place(9, 0, 900), place(5, 0, 500), 0, false},
	} {
		got, settled := readable(row.start, row.end, 1000)
		if got != row.want || settled != row.settled {
			t.Errorf("%s: got %d %v, want %d %v", row.name, got, settled, row.want, row.settled)
		}
	}
}
