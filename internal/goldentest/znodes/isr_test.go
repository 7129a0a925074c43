package znodes

import (
	"context"
	"testing"
	"time"

	"kz/internal/zk"
	"kz/zkpaths"
)

// A frozen follower falls out of the ISR, comes back, and does not fall out when it misses nothing.
func TestISR(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "replica.lag.time.max.ms", "5000", "zookeeper.session.timeout.ms", "60000")
	c.mustStart("broker-1", "broker-2", "broker-3")
	c.topic("lag", []int32{1, 2, 3})
	c.topic("lag2", []int32{2, 3, 1})
	follower := c.broker("broker-3")
	c.step("30-isr-shrink", func() {
		c.pause(follower)
		c.produce("broker-1", "lag", 0, 1)
		c.produce("broker-2", "lag2", 0, 1)
		c.isr("lag", 0, 2)
		c.isr("lag2", 0, 2)
	})
	c.step("31-isr-expand", func() {
		follower.Resume()
		c.isr("lag", 0, 3)
		c.isr("lag2", 0, 3)
	})
	c.step("32-isr-idle-follower", func() {
		c.pause(follower)
		c.quiet(12 * time.Second)
		follower.Resume()
	})
}

// quiet waits for time to pass, where an absence of writes is the subject.
func (c *cluster) quiet(d time.Duration) { <-time.After(d) }

// The leader's copy of the state's version is stale: its one attempt to shrink the ISR fails, and it
// does not try again.
func TestStaleVersion(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "replica.lag.time.max.ms", "5000", "zookeeper.session.timeout.ms", "60000")
	c.mustStart("broker-1", "broker-2", "broker-3")
	c.topic("lag", []int32{1, 2, 3})
	c.step("34-stale-zkversion", func() {
		c.byHand("hand", func(ctx context.Context, hand *zk.Client) error {
			path := zkpaths.PartitionStatePath("lag", 0)
			data, _, err := c.znodes.Get(ctx, path)
			if err != nil {
				return err
			}
			_, err = hand.Set(ctx, path, data, zk.AnyVersion)
			return err
		})
		c.pause(c.broker("broker-3"))
		c.produce("broker-1", "lag", 0, 1)
		c.wrote("the leader to try", func(w write) bool { return w.Who == "broker-1" && w.Error == "BADVERSION" })
		c.quiet(5 * time.Second)
		c.broker("broker-3").Resume()
		c.quiet(5 * time.Second)
	})
}

// A leader is frozen past its session and thawed: it writes nothing of what it had in mind.
func TestZombieLeader(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "replica.lag.time.max.ms", "5000")
	c.mustStart("broker-1", "broker-2", "broker-3")
	c.topic("z", []int32{2, 3, 1})
	c.topic("z2", []int32{2, 1, 3})
	zombie := c.broker("broker-2")
	c.step("33-zombie-leader", func() {
		c.pause(zombie)
		c.leader("z", 0, 3)
		c.leader("z2", 0, 1)
		c.produce("broker-3", "z", 0, 3)
		c.quiet(6 * time.Second)
		zombie.Resume()
		c.isr("z", 0, 3)
		c.isr("z2", 0, 3)
	})
}

// A leader loses ZooKeeper and nobody else; its session ends, and others elect. It goes on serving,
// wants to shrink its ISR, and gets ZooKeeper back: nothing of that is written.
func TestLeaderCutFromZookeeper(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "replica.lag.time.max.ms", "5000")
	c.mustStart("broker-1", "broker-2", "broker-3")
	c.topic("y", []int32{2, 3, 1})
	c.step("33b-leader-cut-from-zookeeper", func() {
		c.relay.Shut("broker-2")
		c.leader("y", 0, 3)
		c.produce("broker-3", "y", 0, 1)
		c.produce("broker-2", "y", 0, 2) // it does not know, and takes them
		c.quiet(8 * time.Second)
		c.relay.Release("broker-2")
		c.exists(zkpaths.Broker(2), true)
		c.isr("y", 0, 3)
	})
}
