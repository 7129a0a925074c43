//go:build !mutant

package mutant

// TruncateAtHW: a follower cuts its log at its high watermark, as before KIP-101, instead
// of asking its leader where its last epoch ended.
func TruncateAtHW() bool { return false }

// HWIsLEO: a leader's high watermark is its log end, whatever its followers have.
func HWIsLEO() bool { return false }

// AnyEpoch: a request is served whatever leader epoch it names.
func AnyEpoch() bool { return false }

// UnconditionalStateWrite: a leader writes the ISR over any version of the state znode.
func UnconditionalStateWrite() bool { return false }

// LeaderNotInISR: any live replica may be elected, although the ISR has live ones.
func LeaderNotInISR() bool { return false }

// AckBeforeISR: acks=all is answered when the leader has the records.
func AckBeforeISR() bool { return false }
