// Package zkrelay stands between ZooKeeper's clients and a ZooKeeper server and writes down what
// they say. A transaction log knows only what succeeded; the relay knows also what was asked for and
// refused, with path, data and expected version, and what was read.
//
//	what comes in   connections of clients. Each client has a door of its own, an address that nobody
//	                else uses: that is how the relay knows who speaks
//	what goes out   the same bytes, unchanged and in order, to the server and back; a list of Calls
//	who runs it     two goroutines per connection, one for each direction; they end with it, or on Close
//
// The one rule: it never changes or makes up a byte. It can only be slow: a door may hold back what the
// server says (the client does not hear yet that it was deposed), or be shut (the client has lost
// ZooKeeper and nobody else).
//
// The frames are decoded by code of its own, and ReadTree is a client of its own: what kz's ZooKeeper
// room believes about the protocol is not used to check kz.
package zkrelay
