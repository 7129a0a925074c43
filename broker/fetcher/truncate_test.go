package fetcher

import (
	"testing"

	"kz/internal/topic"
)

// Ref: Kafka 2.8 server/AbstractFetcherThread.scala, getOffsetTruncationState; KIP-101, KIP-279.
func TestTruncationOffset(t *testing.T) {
	const logEnd, highWatermark = 20, 5
	for _, row := range []struct {
		name   string
		leader epochAnswer
		local  localEpoch
		want   int64
		agreed bool
	}{
		{"the leader's epoch went further: keep all", epochAnswer{epoch: 3, end: 30}, localEpoch{3, 20, true}, 20, true},
		{"the leader's epoch ended earlier: cut there", epochAnswer{epoch: 3, end: 12}, localEpoch{3, 20, true}, 12, true},
		{"our part of the epoch is the shorter one: cut what follows it", epochAnswer{epoch: 2, end: 18}, localEpoch{2, 15, true}, 15, true},
		{"an epoch that we do not have: cut to what is below and ask again", epochAnswer{epoch: 2, end: 18}, localEpoch{1, 9, true}, 9, false},
		{"never above the log end, also when asking again", epochAnswer{epoch: 2, end: 18}, localEpoch{1, 25, true}, 20, false},
		{"we have no epoch that old: the leader's offset", epochAnswer{epoch: 0, end: 12}, localEpoch{-1, -1, false}, 12, true},
		{"and not above our end", epochAnswer{epoch: 0, end: 42}, localEpoch{-1, -1, false}, 20, true},
		{"an old leader without epochs: its offset", epochAnswer{epoch: -1, end: 12}, localEpoch{-1, -1, false}, 12, true},
		{"the leader knows nothing: the high watermark", epochAnswer{epoch: -1, end: -1}, localEpoch{3, 20, true}, 5, true},
	} {
		got, agreed := truncationOffset(row.leader, row.local, logEnd, highWatermark)
		if got != row.want || agreed != row.agreed {
			t.Errorf("%s: got %d %v, want %d %v", row.name, got, agreed, row.want, row.agreed)
		}
	}
}

// Ref: Kafka 2.8 server/AbstractFetcherThread.scala, fetchOffsetAndTruncate.
func TestDecideRange(t *testing.T) {
	for _, row := range []struct {
		name                string
		local, lStart, lEnd int64
		want                rangeDecision
	}{
		{"the leader's log is shorter: cut ours", 20, -1, 12, rangeDecision{12, -1}},
		{"the leader's log begins above our end: start over", 20, 50, 90, rangeDecision{-1, 50}},
		{"the leader has our end by now: go on", 20, 0, 30, rangeDecision{-1, -1}},
		{"the leader ends where we do: go on", 20, 0, 20, rangeDecision{-1, -1}},
		{"the leader begins where we end: go on", 20, 20, 30, rangeDecision{-1, -1}},
	} {
		if got := decideRange(row.local, row.lStart, row.lEnd); got != row.want {
			t.Errorf("%s: got %+v, want %+v", row.name, got, row.want)
		}
	}
}

// Ref: Kafka 2.8 server/AbstractFetcherManager.scala, getFetcherId. The hash codes are
// String.hashCode's.
func TestIndex(t *testing.T) {
	for _, row := range []struct {
		p       topic.Partition
		n, want int
	}{
		{topic.Partition{Topic: "", Partition: 7}, 4, 3},
		{topic.Partition{Topic: "a", Partition: 0}, 4, 31 * 97 % 4},
		{topic.Partition{Topic: "orders", Partition: 3}, 1, 0},
		{topic.Partition{Topic: "polygenelubricants", Partition: 0}, 7, 0}, // hashes to MinInt32, times 31 again
	} {
		if got := index(row.p, row.n); got != row.want {
			t.Errorf("%v of %d: got %d, want %d", row.p, row.n, got, row.want)
		}
	}
}
