// Package zktest runs Debian's ZooKeeper for tests: a real server, on loopback, on a
// port and a directory of its own.
//
// What comes in: a *testing.T. What goes out: a *Server whose Addr a client can use, and
// which can be stopped, killed, paused and started again on the same data. Who runs it:
// the server is a child process that dies with the test binary, whatever ends that.
//
// A test is skipped, with the reason, where there is no java or no zookeeper.jar; with
// KZ_REQUIRE_ZOOKEEPER=1 it fails instead, so that CI cannot pass by skipping. With
// KZ_ZOOKEEPER="/path/to/kz zookeeper" the same tests run against the embedded server.
package zktest
