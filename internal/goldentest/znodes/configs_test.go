package znodes

import (
	"context"
	"strings"
	"testing"

	"kz/internal/zk"
	"kz/zkpaths"
)

// A topic's config changed by the old tool, and a broker restarted among many configs. What the
// captured cluster had been given before, quotas and credentials among it, kz cannot set yet: it is put
// there by the test, with the versions and the notifications that it came with.
func TestConfigs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.mustStart("broker-1", "broker-2")
	c.topic("t", []int32{1, 2})
	c.put(load(t, "before-18").tree)
	c.step("18-configs-topic-tool", func() {
		c.tool("kafka-topics", "--alter", "--topic", "t", "--config", "retention.ms=7777")
		c.tool("kafka-topics", "--alter", "--topic", "t", "--delete-config", "retention.ms")
	})
	c.step("19-broker-restart-with-configs", func() {
		c.broker("broker-2").Stop()
		c.mustStart("broker-2")
		c.isr("t", 0, 2)
	})
}

// put makes /config of the server what it is in tree, by writes of the test's own.
func (c *cluster) put(tree []znode) {
	c.t.Helper()
	ctx := context.Background()
	for _, z := range tree { // sorted: parents and earlier notifications first
		if !strings.HasPrefix(z.Path, zkpaths.Config+"/") {
			continue
		}
		var data []byte
		if z.Data != nil {
			data = []byte(*z.Data)
		}
		if strings.HasPrefix(z.Path, zkpaths.ConfigChangePrefix) {
			path, err := c.znodes.CreateSequential(ctx, zkpaths.ConfigChangePrefix, data)
			if err != nil || path != z.Path {
				c.t.Fatalf("%s became %s, %v", z.Path, path, err)
			}
			continue
		}
		stat, there, err := c.znodes.Exists(ctx, z.Path)
		must(c.t, err)
		if !there {
			must(c.t, c.znodes.Do(ctx, zk.CreateOp(z.Path, data))[0].Err)
		}
		for v := stat.Version; v < z.Version; v++ {
			_, err := c.znodes.Set(ctx, z.Path, data, v)
			must(c.t, err)
		}
	}
}
