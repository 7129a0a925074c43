package znodes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kz/internal/zk"
	"kz/zkpaths"
)

const configOfU = "/config/topics/u"

// The last replica of an ISR dies; an outsider may lead only when the topic allows it; preferred
// leaders are asked for through a znode.
func TestElections(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.mustStart("broker-1", "broker-2", "broker-3")
	c.topic("u", []int32{2, 3})
	c.topic("p-zk", []int32{2, 1})
	c.topic("p-api", []int32{2, 3, 1})
	c.step("40-follower-dies", func() { c.broker("broker-3").Kill(); c.isr("u", 0, 1) })
	c.produce("broker-2", "u", 0, 1)
	c.step("41-last-replica-dies", func() { c.broker("broker-2").Kill(); c.leader("u", 0, -1) })
	c.step("42-outsider-returns", func() { c.mustStart("broker-3") })
	c.step("43-unclean-by-topic-config", func() { c.allowUnclean("true"); c.leader("u", 0, 3) }, unclean)
	c.step("44-last-replica-returns", func() { c.mustStart("broker-2"); c.isr("u", 0, 2) }, unclean)

	// To the state that step 46 begins with. The captured cluster got leader 2 by an ElectLeaders request
	// (step 45), which kz refuses; the config does the same here.
	c.broker("broker-2").Kill()
	c.isr("u", 0, 1)
	c.produce("broker-3", "u", 0, 1)
	c.allowUnclean("false")
	c.broker("broker-3").Kill()
	c.leader("u", 0, -1)
	c.settle()
	c.mustStart("broker-2")
	c.isr("p-zk", 0, 2)
	c.isr("p-api", 0, 2)
	c.announced("p-zk-0", "p-api-0")
	c.allowUnclean("true")
	c.leader("u", 0, 2)
	c.step("46-broker-returns", func() { c.mustStart("broker-3"); c.isr("u", 0, 2) }, unclean)
	c.step("47-preferred-by-znode", func() {
		c.byHand("PreferredReplicaLeaderElectionCommand", func(ctx context.Context, hand *zk.Client) error {
			return hand.Do(ctx, zk.CreateOp(zkpaths.PreferredReplicaElection, []byte(`{"version":1,"partitions":[{"topic":"p-zk","partition":0}]}`)))[0].Err
		})
		c.leader("p-zk", 0, 2)
	}, unclean)
	c.step("64-delete-unknown", func() { c.markDeleted("hand", "nope", []byte{}) }, onlyAdmin)
}

// markDeleted writes what asks for a topic's deletion, and waits until the controller has removed it.
func (c *cluster) markDeleted(who, topic string, data []byte) {
	c.t.Helper()
	path := zkpaths.DeleteTopic(topic)
	c.byHand(who, func(ctx context.Context, hand *zk.Client) error {
		return hand.Do(ctx, zk.CreateOp(path, data))[0].Err
	})
	c.exists(path, false)
}

var onlyAdmin = rule{
	name: "only /admin",
	why:  "the captured cluster had deleted topics before, which kz does not do yet; all that is written is compared, of the tree what is below /admin",
	tree: func(zs []znode) []znode {
		return slices.DeleteFunc(zs, func(z znode) bool { return !strings.HasPrefix(z.Path, "/admin") })
	},
}

// allowUnclean changes topic u's config as a broker does that is asked to, and as no broker of kz does
// yet. It is the test's own write, which is not compared.
func (c *cluster) allowUnclean(value string) {
	c.t.Helper()
	ctx := context.Background()
	_, err := c.znodes.Set(ctx, configOfU, fmt.Appendf(nil, `{"version":1,"config":{"unclean.leader.election.enable":"%s"}}`, value), zk.AnyVersion)
	must(c.t, err)
	_, err = c.znodes.CreateSequential(ctx, zkpaths.ConfigChangePrefix, []byte(`{"version":2,"entity_path":"topics/u"}`))
	must(c.t, err)
}

// unclean: the config itself is changed by the test, as kz has no AlterConfigs yet.
var unclean = ignoring("the test changes the topic's config: AlterConfigs is not served yet", "AlterConfigs", configOfU, "/config/changes")

// The controller moves leaders back by itself, by its cached ISR. It removes marks of deletion where
// that is switched off.
func TestAutomaticPreferredElection(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "auto.leader.rebalance.enable", "true", "leader.imbalance.check.interval.seconds", "5", "delete.topic.enable", "false")
	c.mustStart("broker-1", "broker-2")
	c.topic("a", []int32{2, 1}, []int32{2, 1}, []int32{1, 2})
	c.step("49-preferred-automatic", func() {
		c.broker("broker-2").Stop()
		c.mustStart("broker-2")
		c.leader("a", 0, 2)
		c.leader("a", 1, 2)
	})
	c.topic("d-off", []int32{1})
	c.step("65-delete-disabled", func() { c.markDeleted("kafka-topics", "d-off", nil) }, onlyAdmin)
}
