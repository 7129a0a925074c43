// Package network owns the listeners and connections: frames in, answers out. It is rooms
// 1, 2 and 7 of a request's way through the broker, Kafka's SocketServer and RequestChannel.
//
// What comes in: bytes of clients, followers and controllers. What goes out: Requests, on
// one bounded queue that the handlers of package api take from, and their answers, on the
// connection they came from.
//
// Who runs it: one acceptor goroutine for each listener, and one goroutine for each
// connection, which reads one request, puts it on the queue (waiting while the queue is
// full), waits for its answer, writes that, and only then reads again. Kafka calls this
// muting the channel: so a connection has at most one request inside the broker, its
// answers are in order, and what a client pipelines waits in the socket. Respond, from
// whatever goroutine, only hands the answer over, so that a client that does not read can
// hold up nobody but itself.
//
// The one rule: a Request is ended exactly once, by Respond, NoResponse or Close; until
// then its Body is valid, and its connection waits.
//
// Bad bytes close the connection they came on and nothing else.
package network
