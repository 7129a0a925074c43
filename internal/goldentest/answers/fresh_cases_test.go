package answers

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
)

// registerFresh needs a cluster that has no internal topics yet.
func registerFresh() {
	add("fresh/find-coordinator-first-use", func(t *T) {
		for kind, name := range []string{"group", "transaction"} {
			c := t.conn("leader")
			text := fmt.Sprintf(`{"CoordinatorKey":"first","CoordinatorType":%d}`, kind)
			c.do("FindCoordinator", 2, text)
			t.until(name+" coordinator", func() bool { // found, or refused for good
				code := c.send("FindCoordinator", 2, text).quiet().(*kmsg.FindCoordinatorResponse).ErrorCode
				return code == 0 || kafkaerr.Code(code) == kafkaerr.UnsupportedVersion
			})
			c.do("FindCoordinator", 2, text)
		}
		c := t.conn("leader")
		md := `{"Topics":[{"Topic":"__consumer_offsets"},{"Topic":"__transaction_state"}],"AllowAutoTopicCreation":false}`
		for _, tp := range c.send("Metadata", 8, md).quiet().(*kmsg.MetadataResponse).Topics {
			copies := 0
			if len(tp.Partitions) > 0 {
				copies = len(tp.Partitions[0].Replicas)
			}
			t.note("leader", "Metadata", 8, md, obj{{"Topic", *tp.Topic}, {"IsInternal", tp.IsInternal}, {"partitions", len(tp.Partitions)}, {"replication factor", copies}})
		}
		c.do("DescribeConfigs", 1, `{"Resources":[{"ResourceType":2,"ResourceName":"__consumer_offsets","ConfigNames":["cleanup.policy","segment.bytes","compression.type"]},{"ResourceType":2,"ResourceName":"__transaction_state","ConfigNames":["cleanup.policy","segment.bytes","compression.type","min.insync.replicas","unclean.leader.election.enable"]}]}`)
	})
}
