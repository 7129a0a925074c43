package replica

import (
	"time"

	"kz/broker/commitlog"
	"kz/internal/mutant"
)

// highWatermark is the mark that the followers allow: the smallest log end among the
// leader, the maximal ISR, and every replica that has caught up within maxLag even
// if it is not in the ISR. The last ones are waited for because otherwise the mark
// would run ahead of a follower that is about to join, and it could never join.
//
// The caller never lets the mark go back; this function may well return less than
// the current one. Ref: Kafka 2.8 Partition.maybeIncrementLeaderHW.
func highWatermark(leaderEnd commitlog.OffsetMetadata, followers []followerState, isr *isrState, now time.Time, maxLag time.Duration) commitlog.OffsetMetadata {
	mark := leaderEnd
	if mutant.HWIsLEO() {
		return mark
	}
	for i := range followers {
		f := &followers[i]
		if f.end.Offset < mark.Offset && (now.Sub(f.caughtUp) <= maxLag || isr.inMaximal(f.id)) {
			mark = f.end
		}
	}
	return mark
}

// ackVerdict says whether an acks=all append up to required (exclusive) is done. The
// records of a produce that ends in NOT_ENOUGH_REPLICAS_AFTER_APPEND stay in the log:
// the ISR was large enough when they were appended and shrank before they were
// committed. Ref: Kafka 2.8 Partition.checkEnoughReplicasReachOffset.
func ackVerdict(highWatermark, required int64, maximalISR, minISR int) (done, enough bool) {
	if highWatermark < required {
		return false, false
	}
	return true, maximalISR >= minISR
}
