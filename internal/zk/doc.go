// Package zk is a broker's ZooKeeper client over all its sessions. Mirrors
// kafka.zookeeper.ZooKeeperClient, and the retries, the fencing and the
// CheckedEphemeral of kafka.zk.KafkaZkClient. go-zookeeper's types stop here.
//
// What comes in: operations (Op), singly, as a batch, or as one transaction; handlers
// for watched paths and for the end of a session. What goes out: one Result per
// operation, handler calls, and journal events for every write and every session.
//
// Who runs it: the caller's goroutine queues its operations one after the other, each
// is then waited for on a goroutine of its own; one event goroutine calls the handlers,
// in order; one session goroutine replaces an expired session and runs the hooks around
// that. All of them end in Close.
//
// The rules that keep it safe:
//
//   - One go-zookeeper connection is one session. go-zookeeper would replace an expired
//     session silently, and code of the old session would go on in the new one. So our
//     dialer refuses to dial once the session is over, and the session goroutine makes
//     a new connection, after everybody was told.
//   - A lost connection means "unknown", not "failed". The operation is sent again, and
//     Result.Retried says that an error may be the echo of its own success: read back.
//   - Events missed while disconnected are not delivered. After a reconnect every
//     registered path gets Reread, and its handler must read it again.
//
// Apart from all that, for who only looks on: Persistent (persistent.go), a session of its
// own with a watch that stays.
package zk
