package znodes

import (
	"net"
	"testing"

	"kz/zkpaths"
)

// A rack and a second listener in the registration.
func TestRackAndTwoListeners(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := c.broker("broker-1", "broker.rack", "rack-a", "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT", "inter.broker.listener.name", "PLAINTEXT")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_, extra, _ := net.SplitHostPort(l.Addr().String())
	must(t, l.Close())
	n.Override("listeners", "PLAINTEXT://"+n.Addr+",EXTRA://127.0.0.1:"+extra)
	c.samePort(extra, 19161)
	c.step("90-rack-and-two-listeners", func() { c.mustStart("broker-1") })
}

// All of it below a chroot, which the broker makes in a session of its own.
func TestChroot(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.chroot = "/kz/chroot"
	c.step("92-chroot", func() { c.mustStart("broker-1") })
}

// Brokers without an id get one from /brokers/seqid and keep it, over a restart and a lost session.
func TestGeneratedBrokerIDs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	one := c.broker("broker-1", "broker.id", "-1")
	c.broker("broker-2", "broker.id", "-1")
	c.step("93-generated-broker-ids", func() {
		c.mustStart("broker-1", "broker-2")
		c.nextController(1002, nil, one.Stop)
		c.mustStart("broker-1")
	})
	c.step("94-session-lost-and-registered-again", func() {
		c.pause(one)
		c.exists(zkpaths.Broker(1001), false)
		one.Resume()
		c.exists(zkpaths.Broker(1001), true)
	})
}
