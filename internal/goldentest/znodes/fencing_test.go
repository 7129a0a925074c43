package znodes

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/fidelity"
	"kz/internal/zk"
	"kz/zkpaths"
)

// A deposed controller that has not heard of it is stopped by the check on /controller_epoch.
func TestFencing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.mustStart("broker-1", "broker-2", "broker-3")
	c.topic("t", []int32{1, 2, 3})
	c.step("29-deposed-controller", func() {
		c.relay.Hold("broker-1")
		c.nextController(3, []string{"broker-2"}, func() {
			c.byHand("hand", func(ctx context.Context, hand *zk.Client) error {
				return hand.Delete(ctx, zkpaths.Controller, zk.AnyVersion)
			})
		})
		asked := c.askToLeave("broker-1", 2)
		c.logged("broker-1", "controlled shutdown broker=2") // it has begun to do it
		c.relay.Release("broker-1")
		asked()
	}, rule{
		name: "another stimulus",
		why: "the captured controller was asked to reassign a partition, which kz refuses; here it is asked to let a broker go. " +
			"Either makes it write, and the check fails before it matters what",
		writes: each(func(w *write) {
			if w.Error == "BADVERSION" && len(w.Parts) == 2 {
				w.Parts[1] = op{Op: "what it was asked for", Error: w.Parts[1].Error}
			}
		}),
		about:   func(w write, o *op) bool { return w.Error == "BADVERSION" && len(w.Parts) == 2 && o == &w.Parts[1] },
		verdict: fidelity.Refused,
		row:     "reassignment",
	})
	c.step("29b-epoch-changed-by-hand", func() {
		c.byHand("hand", func(ctx context.Context, hand *zk.Client) error {
			_, err := hand.Set(ctx, zkpaths.ControllerEpoch, []byte("2"), zk.AnyVersion)
			return err
		})
		c.tool("kafka-topics", "--create", "--topic", "t2", "--replica-assignment", "1:2")
	})
}

// askToLeave sends a controller a ControlledShutdown in the name of a broker, in a version that knows
// no broker epoch; the function it returns waits for the end of that, whatever it is.
func (c *cluster) askToLeave(controller string, id int32) func() {
	c.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.nodes[controller].Addr), kgo.RequestRetries(0), kgo.MaxVersions(nil))
	must(c.t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cl.Close()
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		req := kmsg.NewPtrControlledShutdownRequest()
		req.BrokerID, req.BrokerEpoch = id, -1
		_, _ = cl.SeedBrokers()[0].Request(ctx, req)
	}()
	return func() { <-done }
}
