// Package requests holds a kz controller, a process on a real ZooKeeper, against what real Kafka's
// controllers sent to a foreign broker.
//
//	what comes in   the requests that broker 9, a small program, got from Apache Kafka 2.8.2, phase by
//	                phase (controller/testdata/golden-requests.txt)
//	what goes out   the same requests from kz to a broker 9 of the test's own, which registers in
//	                ZooKeeper, listens on TCP, decodes and answers; or what differs
//	who runs it     two clusters, side by side; in each every phase goes on from the one before. Phases 1
//	                to 11 begin with nothing; 14 to 24, 31 and 32 with what a reassignment, which kz
//	                refuses, had left (comes_and_goes_test.go)
//
// The controller's own stories (controller/testdata/stories) play these phases and 35 to 39 in memory.
// What only a process shows is here: the bytes on the socket, header versions, the client id, correlation ids, one
// connection for everything, and that the broker epoch in each request is the registration's czxid.
//
// The one rule: order counts between requests and not inside one, where Kafka's is that of a hash map.
package requests
