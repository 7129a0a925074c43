package znodes

import (
	"testing"

	"kz/zkpaths"
)

func notIn(s zkpaths.PartitionState, id int32) bool {
	for _, x := range s.ISR {
		if x == id {
			return false
		}
	}
	return true
}

// gone waits until a broker is in no ISR of topic.
func (c *cluster) gone(topic string, partitions, id int32) {
	c.t.Helper()
	for p := range partitions {
		c.state(topic, p, "a broker less in the ISR", func(s zkpaths.PartitionState) bool { return notIn(s, id) })
	}
}

// Leader and controller are killed, stopped in good order, frozen, and started again.
func TestFailures(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.mustStart("broker-1", "broker-2", "broker-3")
	c.topic("t", []int32{1, 2, 3}, []int32{2, 3, 1}, []int32{3, 1, 2})
	full := func() {
		for p := range int32(3) {
			c.isr("t", p, 3)
		}
	}
	c.step("20-leader-killed", func() {
		c.broker("broker-2").Kill()
		c.gone("t", 3, 2)
	})
	c.step("21-leader-restarted", func() { c.mustStart("broker-2"); full() })
	c.step("22-controlled-shutdown-leader", func() { c.broker("broker-3").Stop() })
	c.step("23-restart-after-controlled-shutdown", func() { c.mustStart("broker-3"); full() })
	c.step("24-controlled-shutdown-controller", func() {
		c.nextController(2, []string{"broker-3"}, c.broker("broker-1").Stop)
	})
	c.step("25-restart-old-controller", func() { c.mustStart("broker-1"); full() })
	c.step("26-controller-killed", func() {
		c.nextController(3, []string{"broker-1"}, c.broker("broker-2").Kill)
		c.gone("t", 3, 2)
	})
	c.step("27-killed-controller-restarted", func() { c.mustStart("broker-2"); full() })
	c.step("28-zombie-controller", func() {
		zombie := c.broker("broker-3")
		c.nextController(1, []string{"broker-2"}, func() { c.pause(zombie) })
		c.gone("t", 3, 3)
		zombie.Resume()
		c.exists(zkpaths.Broker(3), true)
		full()
	})
}
