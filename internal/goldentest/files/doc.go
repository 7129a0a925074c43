// Package files plays what happened to a cluster of Apache Kafka 2.8.2 with a cluster of kz
// brokers, and compares what is left on disk.
//
// What comes in: testdata, the files of the real brokers after each step. What goes out: a
// difference, or nothing. Files that one log makes alone (segments, indexes, recovery of
// damaged directories, deletion) are compared in broker/commitlog; here are those that take
// several brokers and a controller. All runs in the test's goroutine; brokers are of this process.
package files
