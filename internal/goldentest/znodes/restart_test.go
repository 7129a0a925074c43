package znodes

import (
	"strings"
	"testing"
	"time"

	"kz/internal/zkrelay"
	"kz/zkpaths"
)

// A broker whose id or address is taken ends; ZooKeeper is restarted under the brokers.
func TestRestarts(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.mustStart("broker-1", "broker-2")
	c.topic("b", []int32{1, 2}, []int32{2, 1})
	c.step("80-duplicate-broker-id", func() {
		if c.start("broker-2-dup") {
			c.t.Error("two brokers with one id run")
		}
	})
	c.step("81-same-endpoint-other-id", func() {
		other := c.broker("broker-3-dup")
		other.Override("advertised.listeners", "PLAINTEXT://"+c.nodes["broker-2"].Addr)
		if c.start("broker-3-dup") {
			c.t.Error("two brokers at one address run")
		}
	})
	// The captured cluster was bounced here, as in step 82.
	c.broker("broker-2").Kill()
	c.gone("b", 2, 2)
	c.settle()
	c.mustStart("broker-2")
	c.isr("b", 0, 2)
	c.isr("b", 1, 2)
	c.announced("b-0", "b-1")
	c.step("83-zookeeper-restart-short", func() {
		c.server.Stop()
		c.server.StartAgain(c.t)
		c.quiet(6 * time.Second)
	})
	c.step("84-zookeeper-restart-long", func() {
		c.server.Stop()
		c.quiet(10 * time.Second) // sessions are of 6
		c.server.StartAgain(c.t)
		c.quiet(8 * time.Second)
	})
	c.step("85-zookeeper-restart-brokers-asleep", func() {
		one, two := c.broker("broker-1"), c.broker("broker-2")
		c.pause(one)
		c.pause(two)
		c.server.Stop()
		c.server.StartAgain(c.t)
		c.exists(zkpaths.Broker(1), false)
		c.exists(zkpaths.Broker(2), false)
		// Both are registered before one of them hears that there is no controller; broker 1 hears it first.
		c.relay.HoldAt("broker-1", registers)
		c.relay.HoldAt("broker-2", registers)
		one.Resume()
		two.Resume()
		c.exists(zkpaths.Broker(1), true)
		c.exists(zkpaths.Broker(2), true)
		c.nextController(1, nil, func() { c.relay.Release("broker-1") })
		c.relay.Release("broker-2")
		c.isr("b", 0, 2)
		c.isr("b", 1, 2)
	})
}

func registers(call zkrelay.Call) bool {
	return call.Op == "multi" && strings.HasPrefix(call.Parts[0].Path, zkpaths.BrokerIDs+"/")
}

// A broker that comes back before its old session has ended finds its id taken, and ends.
func TestBouncedTooFast(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "zookeeper.session.timeout.ms", "15000") // the new one must try before the old one is forgotten
	c.mustStart("broker-1", "broker-2")
	c.topic("b", []int32{1, 2}, []int32{2, 1})
	c.step("82-bounced-too-fast", func() {
		c.broker("broker-2").Kill()
		if c.start("broker-2") {
			c.t.Error("the broker came up while its old session lived")
		}
		c.exists(zkpaths.Broker(2), false)
		c.gone("b", 2, 2)
		c.mustStart("broker-2")
		c.isr("b", 0, 2)
		c.isr("b", 1, 2)
	})
}
