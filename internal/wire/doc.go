// Package wire is Kafka's framing: sizes, request and response headers, the table of
// the versions we speak, and a client's connection to a broker.
//
// What comes in: bytes of a stream, cut here into frames, and of a frame, cut into
// header and body. What goes out: the same the other way, and for clients a Conn that
// sends kmsg requests and matches their answers. Who runs it: parsing works on the
// caller's goroutine; a Conn owns one goroutine that reads, and callers write on their
// own. The one rule: a size is checked before it is believed, and memory is taken as
// bytes arrive, so that nobody can make us allocate what he did not send.
//
// Bodies are kmsg's (style guide, "kmsg: what to know"); docs/formats/frame.md draws
// what is ours.
package wire
