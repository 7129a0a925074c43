// Package purgatory parks operations until a condition holds, time runs out, or they are
// cancelled. It knows nothing of Kafka: K is what is watched, an Operation is what waits.
//
// What comes in: an Operation with the keys that may complete it and a timeout; later, a
// key about which something changed. What goes out: exactly one OnComplete for each
// operation. Who runs it: progress completes an operation on the goroutine that reported
// it (CheckAndComplete), loss of leadership and Stop on theirs (CompleteAll, Stop), and
// timeouts on the purgatory's own, the reaper's. The one rule: whoever wins the
// operation's flag (force) completes it, all others find it done.
//
// The timeouts stand in a hierarchical timing wheel (Timer), where adding and cancelling
// take the same time whether ten operations wait or a million. Both are usable alone.
package purgatory
